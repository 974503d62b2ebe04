/**
 * Deletes by S3's rules. A delete by name writes a marker in a versioned bucket. With versioning suspended it replaces
 * the `null` version by a `null` marker. In a bucket that was never versioned it removes the object. A delete by
 * version removes that version, and the previous one becomes current.
 *
 * After a lost answer the same batch is sent again with the same receipt id (`store/delete-store.ts`). If the first one
 * was committed, the second finds the receipt, which lists what was removed. If the second is refused, the first may
 * still arrive and not be refused, so the outcome is unknown.
 */
import { at } from '../../../shared/pure/at.ts';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { slotOf } from '../../domain/slots.ts';
import { fromVersionOrder, isTimeuuid } from '../../domain/version-order.ts';
import { databaseOf, type EngineContext } from '../model/context.ts';
import type { Bucket, DeleteError, DeleteItem, DeleteOutcome, Proven, Unavailable } from '../model/contract.ts';
import { held, proofGuardOf, REFUSED } from '../model/proof.ts';
import {
  type DeleteBatch,
  type Deletion,
  deleteStatements,
  findReceipt,
  findRefused,
  makeReceiptId,
  type RemovedVersion,
  toRemoved,
} from '../store/delete-store.ts';
import type { GuardReason } from '../store/schema.ts';
import { findNewest } from '../store/version-store.ts';
import { hintEvents, toNewEvent } from './events.ts';
import { type Attempt, guardedWrite, OUTCOME_UNKNOWN } from './guarded-write.ts';

const NOTHING: DeleteOutcome = { isMarker: false, versionId: null, isNull: false, existed: false };
/** Maximum number of items per batch, as in S3's DeleteObjects. */
const BATCH_MAX = 1000;

type Outcome = Proven<DeleteOutcome, DeleteError>;
const NO_DELETE: Outcome = { ok: true, value: NOTHING, proof: 'open' };

export async function deleteObjects(
  context: EngineContext,
  bucket: Bucket,
  items: readonly DeleteItem[],
): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = items.map(() => NO_DELETE);
  let isRefused = false;
  // The batches run one after the other, because a name that is listed twice without a version must be deleted twice, in the order
  // of the list.
  for (const indexes of groupItems(bucket, items)) {
    // The items that follow a refused batch are not decided. The caller may authorise them again.
    const group = indexes.map((index) => at(items, index));
    const answers: readonly Outcome[] = isRefused
      ? group.map(() => REFUSED)
      : await deleteTogether(context, bucket, group);
    for (const [i, index] of indexes.entries()) outcomes[index] = at(answers, i);
    isRefused = answers.some(({ proof }) => proof === 'refused');
  }
  return outcomes;
}

/** Groups items into batches: items of one shard without conditions of their own. Items of one name are different versions of it. */
function groupItems(bucket: Bucket, items: readonly DeleteItem[]): Iterable<readonly number[]> {
  const groups = new Map<string, number[]>();
  const seen = new Map<string, { readonly number: number; readonly versionIds: Set<string> | null }>();
  for (const [index, item] of items.entries()) {
    if (item.versionId !== undefined && item.versionId !== 'null' && !isTimeuuid(item.versionId)) continue;
    const shard = bucket.placement.shards[slotOf(item.name)] ?? 0;
    const last = seen.get(item.name);
    const versionId = item.versionId === 'null' ? undefined : item.versionId;
    const joins = versionId !== undefined && last?.versionIds?.has(versionId) === false;
    const round = joins ? last : { number: (last?.number ?? -1) + 1, versionIds: versionId ? new Set<string>() : null };
    if (versionId !== undefined) round.versionIds?.add(versionId);
    seen.set(item.name, round);
    const chunk = Math.floor(index / BATCH_MAX);
    const key = item.condition ? `alone ${index}` : `${round.number}/${shard}/${chunk}`;
    groups.set(key, [...(groups.get(key) ?? []), index]);
  }
  return groups.values();
}

/** Error: the items of a batch are in several shards, because slots were moved since. */
interface Scattered {
  readonly kind: 'scattered';
  readonly bucket: Bucket;
}

/** Deletes items of one shard in one batch. */
async function deleteTogether(
  context: EngineContext,
  bucket: Bucket,
  items: readonly DeleteItem[],
): Promise<readonly Outcome[]> {
  const receiptId = makeReceiptId(context.now());
  const deleted = await guardedWrite<string | null, readonly Outcome[], DeleteError | Scattered>(context, bucket, {
    start: null,
    build: (current, above) => buildDelete(context, current, items, { receiptId, above }),
  });
  if (deleted.ok) return deleted.value;
  const { error, proof } = deleted;
  if (error.kind === 'scattered') return await deleteObjects(context, error.bucket, items);
  const outcome: Outcome = { ok: false, error: error.kind === 'refused' ? error.error : error, proof };
  return items.map(() => outcome);
}

/** @param above the newest version that markers of earlier attempts were not above; null if there is none. */
function buildDelete(
  context: EngineContext,
  bucket: Bucket,
  items: readonly DeleteItem[],
  { receiptId, above }: { readonly receiptId: string; readonly above: string | null },
): Result<Attempt<string | null, readonly Outcome[], DeleteError | Scattered>, Scattered> {
  const shards = new Set(items.map((item) => bucket.placement.shards[slotOf(item.name)] ?? 0));
  if (shards.size > 1) return err({ kind: 'scattered', bucket });
  const shard = [...shards][0] ?? 0;
  const database = databaseOf(context, shard);
  const deletions = items.map((item) => toDeletion(context, bucket, item, above));
  const batch: DeleteBatch = {
    bucketId: bucket.bucketId,
    receiptId,
    versioning: items.some((item) => item.versionId === undefined) ? bucket.versioning : null,
    deletions,
    proof: proofGuardOf(bucket),
    condition: items.length === 1 ? items[0]?.condition : undefined,
    nowMs: context.now(),
  };
  const findOutcomes = async (reason: string): Promise<Result<readonly Outcome[], DeleteError>> => {
    const removed = await findReceipt(context, database, receiptId);
    if (!removed.ok) return removed;
    if (removed.value === null) return err({ kind: 'unavailable', reason });
    return ok(toOutcomes(items, deletions, removed.value));
  };
  return ok({
    shard,
    statements: deleteStatements(database, batch),
    toValue(results) {
      if (deletions.some(({ event }) => event)) hintEvents(context, shard);
      return toOutcomes(items, deletions, toRemoved(results));
    },
    toRepeated: () => findOutcomes('already_committed'),
    toLost: findOutcomes,
    async decide(reason, wasLost) {
      if (reason === 'order_lost') {
        const newest = await findNewestOf(context, database, bucket, items);
        return newest.ok ? { kind: 'again', state: newest.value ?? above } : { kind: 'end', outcome: newest };
      }
      const isOfItem = reason === 'precondition_failed' && items.some(({ due }) => due);
      if (!wasLost && (reason === 'object_locked' || isOfItem)) {
        const refused = await findRefused(context, database, batch, reason);
        if (!refused.ok) return { kind: 'end', outcome: refused };
        const outcomes = await deleteOthers(context, bucket, items, { indexes: new Set(refused.value), kind: reason });
        return { kind: 'end', outcome: ok(outcomes) };
      }
      return { kind: 'end', outcome: err(wasLost ? OUTCOME_UNKNOWN : toDeleteError(reason)) };
    },
  });
}

const toDeleteError = (reason: GuardReason): DeleteError =>
  reason === 'precondition_failed' || reason === 'no_such_key' ? { kind: reason } : { kind: 'unavailable', reason };

/** Finds the newest version of the items' names; null if no name has a version. */
async function findNewestOf(
  context: EngineContext,
  database: D1Database,
  { bucketId }: Bucket,
  items: readonly DeleteItem[],
): Promise<Result<string | null, Unavailable>> {
  let newest: string | null = null;
  for (const { name } of items) {
    const found = await findNewest(context, database, bucketId, name);
    if (!found.ok) return found;
    if (found.value !== null && (newest === null || isAbove(found.value, newest))) newest = found.value;
  }
  return ok(newest);
}

/**
 * Deletes the items of a refused batch that were not refused themselves. Further items may have become refusable since, so this
 * calls `deleteTogether` again.
 */
async function deleteOthers(
  context: EngineContext,
  bucket: Bucket,
  items: readonly DeleteItem[],
  refused: { readonly indexes: ReadonlySet<number>; readonly kind: 'object_locked' | 'precondition_failed' },
): Promise<readonly Outcome[]> {
  const others = items.filter((_, index) => !refused.indexes.has(index));
  const outcomes = others.length === 0 ? [] : [...(await deleteTogether(context, bucket, others))];
  return items.map((_, index) =>
    refused.indexes.has(index)
      ? { ok: false, error: { kind: refused.kind }, proof: 'held' }
      : (outcomes.shift() ?? NO_DELETE),
  );
}

const isAbove = (a: string, b: string): boolean => epochOf(a) > epochOf(b);
const epochOf = (versionId: string): string => versionId.slice(15, 18) + versionId.slice(9, 13) + versionId.slice(0, 8);

function toDeletion(context: EngineContext, bucket: Bucket, item: DeleteItem, above: string | null): Deletion {
  const isByName = item.versionId === undefined;
  const writesMarker = isByName && bucket.versioning !== 'never';
  const markerId = writesMarker ? context.memory.mint.mint(context.now(), above) : null;
  const cause = item.isLifecycle ? 'LifecycleExpiration' : 'ObjectRemoved';
  const kind = `${cause}:${writesMarker ? 'DeleteMarkerCreated' : 'Delete'}` as const;
  const versionId = markerId ?? item.versionId;
  return {
    name: item.name,
    slot: slotOf(item.name),
    versionId: isByName || item.versionId === 'null' ? null : (item.versionId as string),
    removesNull: item.versionId === 'null' || (isByName && bucket.versioning !== 'enabled'),
    markerId,
    isNullMarker: bucket.versioning === 'suspended',
    bypassesGovernance: item.bypassesGovernance ?? false,
    due: item.due,
    markerExtra: item.markerExtra,
    event: toNewEvent(context, bucket, { kind, name: item.name, ...(versionId === undefined ? {} : { versionId }) }),
  };
}

function toOutcomes(
  items: readonly DeleteItem[],
  deletions: readonly Deletion[],
  removed: readonly RemovedVersion[],
): Outcome[] {
  const byItem = new Map(removed.map((version) => [version.item, version]));
  return items.map((item, index) => {
    const deletion = at(deletions, index);
    const version = byItem.get(index);
    if (deletion.markerId !== null) {
      return held({
        isMarker: true,
        versionId: deletion.markerId,
        isNull: deletion.isNullMarker,
        existed: version !== undefined,
      });
    }
    if (!version) return held(NOTHING);
    const isShown = item.versionId !== undefined;
    return held({
      isMarker: version.isMarker,
      versionId: isShown ? fromVersionOrder(version.order) : null,
      isNull: version.isNull,
      existed: true,
    });
  });
}
