/**
 * Quotas of buckets and users. The limit is in DIRECTORY, each shard has a share of it, and the shares never add up to
 * more. A shard refuses what its share has no room for. Then unused shares of the other shards are recalled; the upload
 * is refused only if the shard has all that is left.
 *
 * To distribute shares, a worker takes the next lease. First it lowers each shard's share to what is used there, and stores the
 * number of the lease with it. Then it grants new shares; a shard accepts one only under the lease that lowered its share. The sum
 * of the shares therefore stays within the limit even if a worker dies or a message comes late. The lease is exclusive only so that
 * distributions make progress.
 *
 * Known gaps: while a slot is being switched to another shard, its data counts in both shards, so an upload that would just fit may
 * be refused. If a shard cannot be reached, an upload that needs a recall gets a 503. Setting a quota counts the stored data of a
 * shard in one statement, which D1 ends after 30 s; this is enough for a few million versions per shard.
 */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import type { EngineContext } from '../model/context.ts';
import type { Bucket, QuotaState, Unavailable } from '../model/contract.ts';
import { claimShard } from '../store/claims.ts';
import { toUnavailable } from '../store/database.ts';
import { isClaimed } from '../store/journal-store.ts';
import {
  endLease,
  findLimits,
  forgetLimits,
  type Lease,
  type Limits,
  setLimits,
  takeLease,
} from '../store/quota-limit-store.ts';
import {
  findQuotaRow,
  freezeShare,
  grantShare,
  type QuotaRow,
  type QuotaSubject,
  removeQuotaRow,
} from '../store/quota-store.ts';

/** Bytes and objects that an upload adds in its shard. */
interface Need {
  readonly shard: number;
  readonly bytes: number;
  readonly objects: number;
}

const shardsOf = (context: EngineContext): number[] => context.shards.map((_, shard) => shard);
const FREE: Limits = { bytes: null, objects: null };
const isLimited = ({ bytes, objects }: Limits): boolean => bytes !== null || objects !== null;

/** Sets the limits of a quota and distributes new shares. @param limits the new limits; null removes the quota. */
export async function setQuota(
  context: EngineContext,
  subject: QuotaSubject,
  limits: Limits | null,
): Promise<Result<null, Unavailable>> {
  const lease = await setLimits(context, subject, limits ?? FREE);
  if (!lease.ok) return lease;
  if (lease.value === null) return err({ kind: 'unavailable', reason: 'DIRECTORY did not store the quota' });
  const outcome = await distribute(context, subject, lease.value, null);
  if (!outcome.ok) return outcome;
  return outcome.value ? ok(null) : err({ kind: 'unavailable', reason: 'another request is changing the quota' });
}

/** Removes the quota of a deleted bucket or user. */
export async function forgetQuota(context: EngineContext, subject: QuotaSubject): Promise<void> {
  const limits = await findLimits(context, subject);
  if (!limits.ok || limits.value === null) return;
  const removed = await setQuota(context, subject, null);
  if (removed.ok) await forgetLimits(context, subject);
}

/** Reads limits and use of a quota; null if the bucket or user has none. */
export async function getQuota(
  context: EngineContext,
  subject: QuotaSubject,
): Promise<Result<QuotaState | null, Unavailable>> {
  const [limits, rows] = await Promise.all([findLimits(context, subject), readShares(context, subject)]);
  if (!limits.ok) return limits;
  if (limits.value === null) return ok(null);
  if (!rows.ok) return rows;
  // Every claimed shard has a row for each quota. If a shard has none, its database may be lost, and the use is unknown.
  for (const [shard, row] of rows.value.entries()) {
    if (row !== null || (await isClaimed(context, shard))) continue;
    const claimed = await claimShard(context, shard);
    if (!claimed.ok) return claimed;
  }
  return ok({
    limits: limits.value,
    used: { bytes: sum(rows.value, 'bytes_used'), objects: sum(rows.value, 'objects_used') },
  });
}

type Shares = readonly (QuotaRow | null)[];

const sum = (rows: Shares, column: 'bytes_used' | 'objects_used'): number =>
  rows.reduce((total, row) => total + (row?.[column] ?? 0), 0);

async function readShares(context: EngineContext, subject: QuotaSubject): Promise<Result<Shares, Unavailable>> {
  const answers = await Promise.all(shardsOf(context).map((shard) => findQuotaRow(context, shard, subject)));
  const rows: (QuotaRow | null)[] = [];
  for (const answer of answers) {
    if (!answer.ok) return answer;
    rows.push(answer.value[0] ?? null);
  }
  return ok(rows);
}

export interface Recalled {
  /** `again` if the upload may succeed now, `wait` if another worker distributes shares. */
  readonly next: 'again' | 'wait' | 'exceeded';
  /** The lease numbers of the upload's quotas in its shard, as they were when the shard refused the upload. */
  readonly leases: string;
}

/**
 * Called after a shard refused an upload with `quota_exceeded`.
 * @param last leases at the upload's previous refusal, or an empty text. If the shard had all that is left and refused the repeat
 * with the same leases, the quota is exceeded.
 */
export async function recallShares(
  context: EngineContext,
  bucket: Bucket,
  need: Need,
  last: string,
): Promise<Result<Recalled, Unavailable>> {
  let isShort = false;
  let leases = '';
  const subjects = [
    { kind: 'bucket', subject: bucket.bucketId },
    { kind: 'user', subject: bucket.ownerId },
  ] as const;
  for (const subject of subjects) {
    const [limits, rows] = await Promise.all([findLimits(context, subject), readShares(context, subject)]);
    if (!limits.ok) return limits;
    if (!rows.ok) return rows;
    const own = rows.value[need.shard];
    if (!own) continue;
    leases += `${subject.kind} ${own.lease} `;
    if (hasRoom(own, need)) continue;
    isShort = true;
    if (limits.value !== null && hasAll(own, rows.value, limits.value)) continue;
    const above = Math.max(...rows.value.map((row) => row?.lease ?? 0));
    const lease = await takeLease(context, subject, above);
    if (!lease.ok) return lease;
    if (lease.value === null) return ok({ next: 'wait', leases: last });
    const distributed = await distribute(context, subject, lease.value, need);
    if (!distributed.ok) return distributed;
    return ok({ next: distributed.value ? 'again' : 'wait', leases: last });
  }
  const isRefusedAgain = isShort && leases === last;
  return ok({ next: isRefusedAgain ? 'exceeded' : 'again', leases });
}

/** Whether a share has room for an upload. Assumes that the upload only adds; one that replaces a version needs less. */
const hasRoom = (own: QuotaRow, need: Need): boolean =>
  own.bytes_used + need.bytes <= (own.bytes_share ?? Number.POSITIVE_INFINITY) &&
  own.objects_used + need.objects <= (own.objects_share ?? Number.POSITIVE_INFINITY);

function hasAll(own: QuotaRow, rows: Shares, limits: Limits): boolean {
  const isAll = (share: number | null, limit: number | null, column: 'bytes_used' | 'objects_used') => {
    if (limit === null || share === null) return limit === share;
    const left = limit - sum(rows, column);
    return left < 0 || share >= own[column] + left;
  };
  return isAll(own.bytes_share, limits.bytes, 'bytes_used') && isAll(own.objects_share, limits.objects, 'objects_used');
}

/** Distributes new shares of a quota under a lease. @returns false if another worker has taken a later lease. */
async function distribute(
  context: EngineContext,
  subject: QuotaSubject,
  lease: Lease,
  need: Need | null,
): Promise<Result<boolean, Unavailable>> {
  const outcome = isLimited(lease)
    ? await grantShares(context, subject, lease, need)
    : await removeShares(context, subject, lease.lease);
  await endLease(context, subject, lease.lease);
  return outcome;
}

async function removeShares(
  context: EngineContext,
  subject: QuotaSubject,
  lease: number,
): Promise<Result<boolean, Unavailable>> {
  for (const shard of shardsOf(context)) {
    const removed = await removeQuotaRow(context, shard, subject, lease);
    if (!removed.ok) return err(toUnavailable(removed.error));
  }
  return ok(true);
}

async function grantShares(
  context: EngineContext,
  subject: QuotaSubject,
  { bytes, objects, lease }: Lease,
  need: Need | null,
): Promise<Result<boolean, Unavailable>> {
  const frozen: QuotaRow[] = [];
  for (const row of await Promise.all(shardsOf(context).map((shard) => freeze(context, shard, subject, lease)))) {
    if (!row.ok) return row;
    if (row.value.lease !== lease) return ok(false);
    frozen.push(row.value);
  }
  const bytesOf = divide(frozen, 'bytes_used', bytes, need && { shard: need.shard, amount: need.bytes });
  const objectsOf = divide(frozen, 'objects_used', objects, need && { shard: need.shard, amount: need.objects });
  const granted = await Promise.all(
    frozen.map((row, shard) =>
      grantShare(context, shard, subject, row, { bytes: bytesOf(shard), objects: objectsOf(shard) }),
    ),
  );
  for (const grant of granted) if (!grant.ok) return err(toUnavailable(grant.error));
  return ok(true);
}

async function freeze(
  context: EngineContext,
  shard: number,
  subject: QuotaSubject,
  lease: number,
): Promise<Result<QuotaRow, Unavailable>> {
  for (;;) {
    const row = await freezeShare(context, shard, subject, lease);
    if (!row.ok) return err(toUnavailable(row.error));
    if (row.value) return ok(row.value);
    const claimed = await claimShard(context, shard);
    if (!claimed.ok) return claimed;
  }
}

/** Divides the rest of the quota: first the amount that the upload needs, then equal parts for the shards in use. */
function divide(
  frozen: readonly QuotaRow[],
  column: 'bytes_used' | 'objects_used',
  limit: number | null,
  need: { readonly shard: number; readonly amount: number } | null,
): (shard: number) => number | null {
  if (limit === null) return () => null;
  const left = limit - sum(frozen, column);
  if (left < 0) return () => 0;
  const first = Math.min(left, need?.amount ?? 0);
  const isSharing = (shard: number) => frozen[shard]?.is_in_use === 1 || shard === need?.shard;
  const sharing = frozen.map((_, shard) => shard).filter(isSharing);
  const each = Math.floor((left - first) / Math.max(1, sharing.length));
  const odd = left - first - each * sharing.length;
  return (shard) =>
    (frozen[shard]?.[column] ?? 0) +
    (isSharing(shard) ? each : 0) +
    (shard === need?.shard ? first : 0) +
    (shard === (need?.shard ?? sharing[0]) ? odd : 0);
}
