/**
 * Finds mail bytes that no row names. They are left by a crash between R2 and the row, or by a write that a slow location carried
 * out after the delete. `collectors/orphan-rounds.ts` deletes them. A round walks the keys of every location, one location after
 * the other.
 *
 * If a mailbox is missing, its bytes are deleted only if DIRECTORY has a tombstone of the account. A mailbox's answer counts only
 * for objects stored after the mailbox was created. Objects younger than a day are skipped, because their row may not be written
 * yet. `errors/` is skipped, because it belongs to the error queue in DIRECTORY.
 */
import {
  listBetween,
  type OrphanReport,
  type OrphanSource,
  collectOrphans as runRound,
} from '../../shared/collectors/orphan-rounds.ts';
import { type Candidate, createCollectorStore, type FoundOrphan } from '../../shared/collectors/store.ts';
import { byDirectory } from '../../shared/stores/directories.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { listLocations } from '../bindings/blobs.ts';
import { openMailbox } from '../bindings/mailbox.ts';
import { findNamespaceDoubt, takeOverNamespace } from '../bindings/namespace-owner.ts';
import { createAccountStore } from '../store/account-store.ts';

const PREFIX = 'mail/';
const GRACE_MS = 24 * 3_600_000;
/**
 * Maximum of pages per run. R2's largest page is 1,000 keys, so a run scans 20,000 keys. With one run per minute, these are 28.8
 * million keys a day.
 */
const PAGES_PER_RUN = 20;
const PAGE_KEYS = 1_000;
/** Maximum of mailboxes per run. Each costs one call, and an invocation may make 10,000 subrequests. */
const MAILBOXES_PER_RUN = 2_000;
const MAILBOXES_IN_PARALLEL_MAX = 4;

/** Runs one step of a round. If it is in doubt who owns the bytes, it only raises an alarm. */
export async function collectOrphans(env: Env, now: number): Promise<OrphanReport> {
  const store = createCollectorStore(env.DIRECTORY, 'mail');
  if ((await store.read()).takeOver === 1) {
    await takeOverNamespace(env);
    await store.endTakeOver();
  }
  return runRound(store, createSource(env, now), now);
}

function createSource(env: Env, now: number): OrphanSource {
  return {
    findDoubt: () => findNamespaceDoubt(env),
    scan: (cursor) => scanKeys(env, cursor, now),
    findOrphans: (keys) => findOrphans(env, keys),
    async remove(keys, where) {
      const [first, ...others] = listLocations(env);
      if (keys.length === 0 || !first) return;
      await Promise.all((where === 'first' ? [first] : others).map((bucket) => bucket.delete([...keys])));
    },
  };
}

/** Scans the next keys. @param cursor `<location> <last key>`; '' at the start of a round. */
async function scanKeys(env: Env, cursor: string, now: number) {
  const locations = listLocations(env);
  const [first] = locations;
  if (!first) throw new Error('no location is bound');
  const [, number = '0', after = ''] = /^(\d+) (.*)$/s.exec(cursor) ?? [];
  let location = Number(number);
  const keys: Candidate[] = [];
  const users = new Set<string>();
  let scanned = 0;
  let last = after;
  for (let page = 0; page < PAGES_PER_RUN && users.size < MAILBOXES_PER_RUN; page++) {
    const bucket = locations[location];
    if (!bucket) return { keys, scanned, next: null };
    const listed: R2Objects = await bucket.list({ prefix: PREFIX, ...(last === '' ? {} : { startAfter: last }) });
    const end = listed.objects.at(-1)?.key;
    // Keys that the first location has too are skipped in other locations, because they were checked there.
    const isFirst = bucket === first || end === undefined;
    const known = isFirst ? new Set() : await listBetween(first, last === '' ? PREFIX : last, end, PAGE_KEYS);
    if (bucket === first) scanned += listed.objects.length;
    for (const { key, uploaded } of listed.objects) {
      if (known.has(key) || now - uploaded.getTime() <= GRACE_MS || /^mail\/[^/]+\/errors\//.test(key)) continue;
      keys.push({ key, storedAt: uploaded.getTime() });
      users.add(userOf(key));
    }
    last = (listed.truncated && end) || '';
    if (last === '') location++;
  }
  return { keys, scanned, next: location < locations.length ? `${location} ${last}` : null };
}

const userOf = (key: string): string => key.split('/')[1] ?? '';

async function findOrphans(env: Env, keys: readonly Candidate[]) {
  const orphans: FoundOrphan[] = [];
  const unknown: string[] = [];
  const withoutMailbox = new Map<string, readonly Candidate[]>();
  const groups = [...Map.groupBy(keys, ({ key }) => userOf(key))];
  const askNext = async (): Promise<void> => {
    for (let group = groups.pop(); group !== undefined; group = groups.pop()) {
      const [userId, own] = group;
      try {
        const answer = await openMailbox(env, userId).listUnheld(own.map(({ key }) => key));
        if (!answer.ok) {
          withoutMailbox.set(userId, own);
          continue;
        }
        const unheld = new Set(answer.value.keys);
        const { createdAt } = answer.value;
        for (const each of own)
          if (unheld.has(each.key) && each.storedAt > createdAt) orphans.push({ ...each, isGivenUp: false });
      } catch (error) {
        logError('mailbox_query_failed', error);
        unknown.push(...own.map(({ key }) => key));
      }
    }
  };
  await Promise.all(Array.from({ length: MAILBOXES_IN_PARALLEL_MAX }, askNext));
  const homes = [...byDirectory(env, [...withoutMailbox.keys()])];
  const erased = await Promise.all(homes.map(([database, ids]) => createAccountStore(database).listErased(ids)));
  for (const userId of erased.flat())
    orphans.push(...(withoutMailbox.get(userId) ?? []).map((each) => ({ ...each, isGivenUp: true })));
  return { orphans, unknown };
}
