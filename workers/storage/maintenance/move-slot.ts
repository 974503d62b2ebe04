/**
 * Moves a slot of a bucket from one shard to another while the bucket is in use, so that a bucket can outgrow a
 * database.
 *
 *   1. DIRECTORY records the move. The bucket is registered in the target, with the slot as "coming in".
 *   2. The source seals the slot. Writers get `slot_sealed` and retry; readers continue.
 *   3. Rows are copied in pages, each read in one transaction, then counted and compared. Inline bytes are compared with their
 *      CRC-32 before the copy, and with the target's bytes after it.
 *   4. The target opens the slot and DIRECTORY's map is switched. New readers and writers go to the target.
 *   5. The source removes its rows. It rejects readers with an old map, and they reload the map from DIRECTORY.
 *
 * Every step can be repeated, and an interrupted move continues from DIRECTORY's move record. A mover that continues it
 * claims the record, so the earlier mover, if it is still alive, cannot switch the map any more. Rows are copied only
 * into a slot that is coming in, and removed only from one that is coming in or gone. Blobs are not copied. Both
 * databases then have a record of them, marked as shared, and the one that drops its record last removes the R2 object.
 *
 * While both shards have rows, DIRECTORY's map decides which count. No request waits for step 5, or for a mover that
 * died in it.
 *
 * Gaps: rows that an interrupted step 5 left in the source block the deletion of the bucket (`BucketNotEmpty`) until
 * cron removes them, within two minutes.
 */
import { logInfo } from '../../shared/telemetry/log.ts';
import type { SlotState } from '../domain/slots.ts';
import { mendRows } from '../engine/actions/small-objects.ts';
import type { EngineContext } from '../engine/model/context.ts';
import type { Unavailable } from '../engine/model/contract.ts';
import { claimShard } from '../engine/store/claims.ts';
import { isClaimed } from '../engine/store/journal-store.ts';
import { claimMove, endMove, findBucketById, isOwnMove, listMoves, switchMap } from '../engine/store/move-store.ts';
import {
  type CopiedCounts,
  copyNames,
  countSlot,
  prepareTarget,
  recordEmptied,
  removeSlotNames,
  type SlotCopy,
  setSlotState,
} from '../engine/store/slot-store.ts';

const NAMES_PAGE = 50;
/** Age after which cron resumes a move whose map is switched. Two movers may run at once then, because they only remove rows. */
const SWITCHED_AGE_MS = 60_000;

export type MoveError =
  | { readonly kind: 'no_such_bucket' }
  | { readonly kind: 'no_such_shard' }
  | { readonly kind: 'bucket_sealed' }
  /** Error: the database of the target is not known to be the right one, or a store does not answer. */
  | Unavailable
  /** Error: another mover has claimed the slot move. */
  | { readonly kind: 'taken_over' }
  | { readonly kind: 'copy_differs'; readonly source: CopiedCounts; readonly target: CopiedCounts };

export type MoveOutcome =
  | { readonly ok: true; readonly moved: CopiedCounts }
  | { readonly ok: false; readonly error: MoveError };

export async function moveSlot(
  context: EngineContext,
  bucketId: string,
  slot: number,
  toShard: number,
): Promise<MoveOutcome> {
  const bucket = await findBucketById(context, bucketId);
  if (!bucket) {
    await endMove(context, bucketId, slot);
    return { ok: false, error: { kind: 'no_such_bucket' } };
  }
  if (!context.shards[toShard]) return { ok: false, error: { kind: 'no_such_shard' } };
  // A new database is claimed first: until then, it has no journal and no number that shows an earlier state.
  if (!(await isClaimed(context, toShard))) {
    const claimed = await claimShard(context, toShard);
    if (!claimed.ok) return claimed;
  }
  const move = await claimMove(context, bucket, slot, toShard);
  const none: CopiedCounts = { versions: 0, uploads: 0, bytes: 0, digest: '' };
  if (move.from === move.to) return { ok: true, moved: none };
  const { from, to, token } = move;
  let moved = none;
  if (move.phase === 'copying') {
    const isOpen = await prepareTarget(context, bucket, slot, to);
    if (!isOpen || !(await setSlotState(context, from, bucketId, slot, ['o', 's'], 's'))) {
      return { ok: false, error: { kind: 'bucket_sealed' } };
    }
    // Rows that an interrupted copy left in the target may be stale, so they are removed first.
    await recordEmptied(context, to, bucketId, slot);
    await clearSlot(context, to, bucketId, slot, 'i');
    await copySlot(context, bucketId, slot, from, to);
    const [source, target] = [
      await countSlot(context, from, bucketId, slot),
      await countSlot(context, to, bucketId, slot),
    ];
    if (source.digest !== target.digest || source.versions !== target.versions || source.uploads !== target.uploads) {
      if (!(await isOwnMove(context, bucketId, slot, token))) return { ok: false, error: { kind: 'taken_over' } };
      await clearSlot(context, to, bucketId, slot, 'i');
      await setSlotState(context, to, bucketId, slot, ['i'], '-');
      await setSlotState(context, from, bucketId, slot, ['s'], 'o');
      await endMove(context, bucketId, slot);
      return { ok: false, error: { kind: 'copy_differs', source, target } };
    }
    moved = source;
    await setSlotState(context, to, bucketId, slot, ['i', 'o'], 'o');
    if (!(await switchMap(context, bucketId, slot, to, token))) return { ok: false, error: { kind: 'taken_over' } };
  }
  await setSlotState(context, from, bucketId, slot, ['s', '-'], '-');
  await clearSlot(context, from, bucketId, slot, '-');
  await endMove(context, bucketId, slot);
  logInfo('slot_moved', { slot, from, to, versions: moved.versions });
  return { ok: true, moved };
}

async function copySlot(
  context: EngineContext,
  bucketId: string,
  slot: number,
  from: number,
  to: number,
): Promise<void> {
  const mend: SlotCopy['mend'] = (rows) => mendRows(context, from, rows);
  let after: string | null = '';
  while (after !== null) after = await copyNames(context, { from, to, bucketId, slot, limit: NAMES_PAGE, mend }, after);
}

async function clearSlot(
  context: EngineContext,
  shard: number,
  bucketId: string,
  slot: number,
  state: SlotState,
): Promise<void> {
  while (await removeSlotNames(context, shard, bucketId, slot, state, NAMES_PAGE));
}

/** Finishes interrupted slot moves. Cron calls it. */
export async function finishMoves(context: EngineContext, olderThanMs: number): Promise<number> {
  const moves = await listMoves(context, context.now() - olderThanMs, context.now() - SWITCHED_AGE_MS);
  for (const move of moves) await moveSlot(context, move.bucketId, move.slot, move.to);
  return moves.length;
}
