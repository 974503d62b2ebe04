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
import { databaseOf, type EngineContext, pause } from '../model/context.ts';
import type { Bucket, DeleteError, DeleteItem, DeleteOutcome } from '../model/contract.ts';
import { holdProof, proofGuardOf, refuseStale } from '../model/proof.ts';
import { runBatch } from '../store/database.ts';
import {
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
import { BucketWaiter, OUTCOME_UNKNOWN } from './commit.ts';
import { hintEvents, toNewEvent } from './events.ts';

const NOTHING: DeleteOutcome = { isMarker: false, versionId: null, isNull: false, existed: false };
/** Maximum number of items per batch, as in S3's DeleteObjects. */
const BATCH_MAX = 1000;
const UNKNOWN_MAX = 3;

type Outcome = Result<DeleteOutcome, DeleteError>;

export async function deleteObjects(
  context: EngineContext,
  bucket: Bucket,
  items: readonly DeleteItem[],
): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = items.map(() => ok(NOTHING));
  // A batch has items of one shard without conditions of their own. Items of one name are different versions of it.
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
  // The batches run one after the other, because a name that is listed twice without a version must be deleted twice, in the order
  // of the list.
  for (const indexes of groups.values()) {
    // The items that follow a refused batch are not decided. The caller may authorise them again.
    const refused = bucket.proof?.state === 'refused' ? refuseStale(bucket) : null;
    if (refused) {
      for (const index of indexes) outcomes[index] = refused;
      continue;
    }
    const answers = await deleteTogether(
      context,
      bucket,
      indexes.map((index) => at(items, index)),
    );
    for (const [i, index] of indexes.entries()) outcomes[index] = at(answers, i);
  }
  return outcomes;
}

async function deleteTogether(
  context: EngineContext,
  firstBucket: Bucket,
  items: readonly DeleteItem[],
): Promise<readonly Outcome[]> {
  const waiter = new BucketWaiter(context);
  const receiptId = makeReceiptId(context.now());
  let bucket = firstBucket;
  let above: string | null = null;
  let unknowns = 0;
  let deletions: Deletion[] | null = null;
  const all = (error: DeleteError): Outcome[] => items.map(() => err(error));
  for (let attempt = 0; attempt < 24; attempt++) {
    const shards = new Set(items.map((item) => bucket.placement.shards[slotOf(item.name)] ?? 0));
    if (shards.size > 1) return await deleteObjects(context, bucket, items);
    const shard = [...shards][0] ?? 0;
    const database = databaseOf(context, shard);
    deletions ??= items.map((item) => toDeletion(context, bucket, item, above));
    const isByName = items.some((item) => item.versionId === undefined);
    const batch = {
      bucketId: bucket.bucketId,
      receiptId,
      versioning: isByName ? bucket.versioning : null,
      deletions,
      proof: proofGuardOf(bucket),
      condition: items.length === 1 ? items[0]?.condition : undefined,
      nowMs: context.now(),
    };
    const answer = await runBatch(context, database, deleteStatements(database, batch));
    if (answer.ok) {
      holdProof(bucket);
      if (deletions.some(({ event }) => event)) hintEvents(context, shard);
      return toOutcomes(items, deletions, toRemoved(answer.value));
    }
    const failure = answer.error;
    if (failure.kind === 'unknown' && ++unknowns <= UNKNOWN_MAX) {
      await pause(20 * 3 ** unknowns);
      continue;
    }
    if (failure.kind === 'unknown' || failure.reason === 'already_committed') {
      const removed = await findReceipt(context, database, receiptId);
      if (!removed.ok) return all(removed.error);
      if (removed.value === null) return all({ kind: 'unavailable', reason: failure.reason });
      holdProof(bucket);
      return toOutcomes(items, deletions, removed.value);
    }
    const { reason } = failure;
    if (unknowns > 0 && isFinal(reason)) return all(OUTCOME_UNKNOWN);
    if (isFinal(reason)) holdProof(bucket);
    const isOfItem = reason === 'precondition_failed' && items.some(({ due }) => due);
    if (reason === 'object_locked' || isOfItem) {
      const refused = await findRefused(context, database, batch, reason);
      if (!refused.ok) return all(refused.error);
      return deleteOthers(context, bucket, items, new Set(refused.value), reason);
    }
    if (reason === 'precondition_failed' || reason === 'no_such_key') return all({ kind: reason });
    if (reason === 'order_lost') {
      for (const item of items) {
        const newest = await findNewest(context, database, bucket.bucketId, item.name);
        if (!newest.ok) return all(newest.error);
        if (newest.value !== null && (above === null || isAbove(newest.value, above))) above = newest.value;
      }
    } else {
      const step = await waiter.settle(bucket, shard, reason);
      if (step === null) return all({ kind: 'unavailable', reason });
      if (step.kind === 'end') return all(unknowns > 0 ? OUTCOME_UNKNOWN : step.error);
      bucket = step.bucket;
    }
    deletions = null;
  }
  return all({ kind: 'unavailable', reason: 'too many writers of one name' });
}

const isFinal = (reason: GuardReason): boolean =>
  reason === 'precondition_failed' || reason === 'no_such_key' || reason === 'object_locked';

/**
 * Deletes the items of a refused batch that were not refused themselves. Further items may have become refusable since, so this
 * calls `deleteTogether` again.
 */
async function deleteOthers(
  context: EngineContext,
  bucket: Bucket,
  items: readonly DeleteItem[],
  refused: ReadonlySet<number>,
  kind: 'object_locked' | 'precondition_failed',
): Promise<readonly Outcome[]> {
  const others = items.filter((_, index) => !refused.has(index));
  const outcomes = others.length === 0 ? [] : [...(await deleteTogether(context, bucket, others))];
  return items.map((_, index) => (refused.has(index) ? err({ kind }) : (outcomes.shift() ?? ok(NOTHING))));
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
    event: toNewEvent(context, bucket, kind, item.name, versionId === undefined ? {} : { versionId }),
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
      return ok({
        isMarker: true,
        versionId: deletion.markerId,
        isNull: deletion.isNullMarker,
        existed: version !== undefined,
      });
    }
    if (!version) return ok(NOTHING);
    const isShown = item.versionId !== undefined;
    return ok({
      isMarker: version.isMarker,
      versionId: isShown ? fromVersionOrder(version.order) : null,
      isNull: version.isNull,
      existed: true,
    });
  });
}
