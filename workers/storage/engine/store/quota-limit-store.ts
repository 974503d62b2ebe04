/** Limits of quotas in DIRECTORY, and the lease of the worker that distributes shares of them. */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { prepare, type RowOf, readAll, statement } from '../../../shared/stores/statement.ts';
import type { EngineContext } from '../model/context.ts';
import type { Unavailable } from '../model/contract.ts';
import { readRows, runBatch, toUnavailable } from './database.ts';
import type { storageQuota } from './directory-schema.ts';
import type { QuotaSubject, Share } from './quota-store.ts';

/** Limits of a quota in `bytes` and `objects`; null for unlimited. */
export type Limits = Share;
export type Lease = Pick<RowOf<typeof storageQuota>, 'bytes' | 'objects' | 'lease'>;

type Key = { kind: string; subject: string };
const keyOf = ({ kind, subject }: QuotaSubject): Key => ({ kind, subject });
const IS_THIS = 'kind = :kind AND subject = :subject';
const IS_LIMITED = '(bytes IS NOT NULL OR objects IS NOT NULL)';

const listLimited = statement<Record<never, never>, QuotaSubject>(
  `SELECT kind, subject FROM storage_quota WHERE ${IS_LIMITED}`,
);
export const listQuotas = (context: EngineContext): Promise<QuotaSubject[]> =>
  readAll(context.directory, listLimited, {});

const findLimited = statement<Key, Limits>(
  `SELECT bytes, objects FROM storage_quota WHERE ${IS_THIS} AND ${IS_LIMITED}`,
);

/** Finds the limits of a bucket or user. @returns null if there is no quota. */
export async function findLimits(
  context: EngineContext,
  subject: QuotaSubject,
): Promise<Result<Limits | null, Unavailable>> {
  const rows = await readRows<Limits>(context, prepare(context.directory, findLimited, keyOf(subject)));
  return rows.ok ? ok(rows.value[0] ?? null) : rows;
}

type Until = { now: number; until: number };
const LEASE_MS = 10_000;
const untilOf = (context: EngineContext): Until => {
  const now = Math.trunc(context.now());
  return { now, until: now + LEASE_MS };
};

const setLimitsAndLease = statement<Key & Omit<Until, 'now'> & { bytes: number | null; objects: number | null }, Lease>(
  `INSERT INTO storage_quota(kind, subject, bytes, objects, lease, busy_until) VALUES (:kind, :subject, :bytes, :objects, 1, :until)
   ON CONFLICT(kind, subject) DO UPDATE SET bytes = :bytes, objects = :objects, lease = lease + 1, busy_until = :until
   RETURNING bytes, objects, lease`,
);

/**
 * Replaces the limits and takes the lease, even if another worker holds it. Never repeated after a lost answer, because a late
 * first try would undo a later change.
 */
export async function setLimits(
  context: EngineContext,
  subject: QuotaSubject,
  { bytes, objects }: Limits,
): Promise<Result<Lease | null, Unavailable>> {
  const { until } = untilOf(context);
  const query = prepare(context.directory, setLimitsAndLease, { ...keyOf(subject), bytes, objects, until });
  const answer = await runBatch<Lease>(context, context.directory, [query]);
  return answer.ok ? ok(answer.value[0]?.results[0] ?? null) : err(toUnavailable(answer.error));
}

const takeIfFree = statement<Key & Until & { above: number }, Lease>(
  `INSERT INTO storage_quota(kind, subject, lease, busy_until) VALUES (:kind, :subject, :above + 1, :until)
   ON CONFLICT(kind, subject) DO UPDATE SET lease = MAX(lease, :above) + 1, busy_until = :until WHERE busy_until <= :now
   RETURNING bytes, objects, lease`,
);

/**
 * Takes the next lease for distributing shares. @param above number of the latest lease that a shard has. It is greater than
 * DIRECTORY's if DIRECTORY was restored from a snapshot.
 * @returns null if another worker holds the lease.
 */
export async function takeLease(
  context: EngineContext,
  subject: QuotaSubject,
  above: number,
): Promise<Result<Lease | null, Unavailable>> {
  const query = prepare(context.directory, takeIfFree, { ...keyOf(subject), ...untilOf(context), above });
  const rows = await readRows<Lease>(context, query);
  return rows.ok ? ok(rows.value[0] ?? null) : rows;
}

const free = statement<Key & { lease: number }>(
  `UPDATE storage_quota SET busy_until = 0 WHERE ${IS_THIS} AND lease = :lease`,
);

/** Ends the lease early. If this fails, the lease expires by itself. */
export async function endLease(context: EngineContext, subject: QuotaSubject, lease: number): Promise<void> {
  await readRows(context, prepare(context.directory, free, { ...keyOf(subject), lease }));
}

const forget = statement<Key>(`DELETE FROM storage_quota WHERE ${IS_THIS}`);

/** Removes the limits of a deleted bucket or user. Ids are never reused. */
export async function forgetLimits(context: EngineContext, subject: QuotaSubject): Promise<void> {
  await readRows(context, prepare(context.directory, forget, keyOf(subject)));
}
