/**
 * Pulls of mail from other mailboxes, as values by key: the schema stays, and a pull never enters a snapshot of the mailbox. Calls
 * are synchronous, so each is a transaction.
 */
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import type { NewPull, Pull, PullConnection, PullEnd, PullFault, PullProgress } from '../contract/pulls.ts';

const PREFIX = 'pull:';
/** When the mailbox last logged in anywhere. It outlives its pull: otherwise, new pulls could guess passwords quickly. */
const LOGIN_KEY = 'pull_login';
const PULLS_MAX = 3;
const PULL_AGE_MAX_MS = 30 * 24 * 3_600_000;
/** Minimum time between two log-ins of a mailbox. */
export const LOGIN_PAUSE_MS = 60_000;
/** A connection whose progress was not saved for this long counts as lost. */
const LEASE_MS = 60_000;
/** Time between a complete pass and the next one. */
const PASS_PAUSE_MS = 15 * 60_000;
const RETRY_MS_MAX = 3_600_000;
const ENDING_FAULTS: ReadonlySet<PullFault> = new Set(['login_refused', 'host_not_allowed', 'secret_lost']);

export type TooManyPulls = { readonly kind: 'too_many'; readonly what: string; readonly max: number };

const NO_PROGRESS: PullProgress = { folders: {}, imported: 0, duplicates: 0, failed: 0, passes: 0 };

const keyOf = (pullId: string): string => PREFIX + pullId;
const save = (kv: SyncKvStorage, pull: Pull): void => kv.put(keyOf(pull.pullId), pull);

/** @returns the pull, if it is open and this is its connection. */
function findConnected(kv: SyncKvStorage, { pullId, connectedAt }: PullConnection): Pull | null {
  const pull = kv.get<Pull>(keyOf(pullId));
  return pull && isOpen(pull) && pull.connectedAt === connectedAt ? pull : null;
}

export const listPulls = (kv: SyncKvStorage): Pull[] =>
  [...kv.list<Pull>({ prefix: PREFIX })].map(([, pull]) => pull).sort((a, b) => a.startedAt - b.startedAt);

const isOpen = (pull: Pull): boolean => pull.secretSealed !== null;

/** Starts a pull. One of the same user of the same server continues where it was, with the new secret. */
export function startPull(kv: SyncKvStorage, pull: NewPull, now: number): Result<Pull, TooManyPulls> {
  const pulls = listPulls(kv);
  const before = pulls.find(({ host, userName }) => host === pull.host && userName === pull.userName);
  if (!before && pulls.length >= PULLS_MAX) return err({ kind: 'too_many', what: 'pulls', max: PULLS_MAX });
  if (before) kv.delete(keyOf(before.pullId));
  const dates = { startedAt: now, endsAt: now + PULL_AGE_MAX_MS, nextAt: now };
  const started: Pull = { ...NO_PROGRESS, ...before, ...pull, ...dates, connectedAt: null, fault: null, failures: 0 };
  save(kv, started);
  return ok(started);
}

/** @returns whether there was such a pull. Its secret is gone, and a connection that works for it ends when it saves progress. */
export const deletePull = (kv: SyncKvStorage, pullId: string): boolean => kv.delete(keyOf(pullId));

/** Time at which the next pull must connect or end; null for never. */
export function nextPullAt(kv: SyncKvStorage): number | null {
  const open = listPulls(kv).filter(isOpen);
  if (open.length === 0) return null;
  const login = (kv.get<number>(LOGIN_KEY) ?? 0) + LOGIN_PAUSE_MS;
  return Math.min(...open.map(({ nextAt, endsAt }) => Math.min(Math.max(nextAt, login), endsAt)));
}

/**
 * Ends the pulls whose time is over, and takes a due one for a connection.
 * @returns the pull; null if none is due.
 */
export function claimPull(kv: SyncKvStorage, now: number): Pull | null {
  for (const pull of listPulls(kv)) if (isOpen(pull) && pull.endsAt <= now) save(kv, toEnded(pull));
  if ((kv.get<number>(LOGIN_KEY) ?? 0) + LOGIN_PAUSE_MS > now) return null;
  const due = listPulls(kv).filter((pull) => isOpen(pull) && pull.nextAt <= now);
  const [pull] = due.sort((a, b) => a.nextAt - b.nextAt);
  if (!pull) return null;
  kv.put(LOGIN_KEY, now);
  const claimed: Pull = { ...pull, nextAt: now + LEASE_MS, connectedAt: now };
  save(kv, claimed);
  return claimed;
}

const toEnded = (pull: Pull): Pull => ({ ...pull, secretSealed: null, connectedAt: null });

/** Saves progress while a connection works. @returns false if the pull ended meanwhile: the connection must end too. */
export function savePullProgress(
  kv: SyncKvStorage,
  connection: PullConnection,
  progress: PullProgress,
  now: number,
): boolean {
  const pull = findConnected(kv, connection);
  if (!pull) return false;
  save(kv, { ...pull, ...progress, nextAt: now + LEASE_MS });
  return true;
}

export function endConnection(
  kv: SyncKvStorage,
  connection: PullConnection,
  { progress, isDone, fault }: PullEnd,
  now: number,
): void {
  const pull = findConnected(kv, connection);
  if (!pull) return;
  const failures = fault === null ? 0 : pull.failures + 1;
  const retryMs = Math.min(LOGIN_PAUSE_MS * 2 ** Math.min(failures - 1, 10), RETRY_MS_MAX);
  const pauseMs = fault !== null ? retryMs : isDone ? PASS_PAUSE_MS : 0;
  const saved: Pull = { ...pull, ...progress, connectedAt: null, fault, failures, nextAt: now + pauseMs };
  save(kv, fault !== null && ENDING_FAULTS.has(fault) ? toEnded(saved) : saved);
}
