/**
 * Moves a slot of a bucket from one database to another while the bucket is in use, so that a bucket outgrows one.
 *
 *   1. DIRECTORY notes the move. The target learns the bucket, the slot as "coming in".
 *   2. The source seals the slot: writers wait (they find `slot_sealed` and come again), readers go on.
 *   3. Rows are copied in pages, each page read in one transaction, then counted and compared.
 *   4. The target opens the slot; DIRECTORY's map is switched: from here on readers and writers go there.
 *   5. The source forgets the slot. Readers with an old map are told so by the source and ask DIRECTORY again.
 *
 * Every step can be repeated; a move that died goes on from DIRECTORY's note. Who goes on takes the note over, and then
 * one that only seemed dead cannot switch the map any more; rows are copied only into a slot that is coming in, and
 * removed only from one that is coming in or gone. Blobs are not copied: both databases then have a record of them, marked
 * as shared, and the one that drops it last removes the R2 object.
 *
 * Of rows that both have, those count that DIRECTORY's map says: nobody waits for step 5, nor for a mover that died in it.
 *
 * Gaps: what a move that died in 5 left in the source keeps its bucket from being deleted (`BucketNotEmpty`) until cron
 * clears it, within two minutes.
 */
import { logInfo } from '../../shared/log.ts';
import type { SlotState } from '../domain/slots.ts';
import type { EngineContext } from '../engine/model/context.ts';
import { endMove, findBucketById, isOwnMove, listMoves, switchMap, claimMove } from '../engine/store/move-store.ts';
import {
  type CopiedCounts,
  copyNames,
  countSlot,
  recordEmptied,
  prepareTarget,
  removeSlotNames,
  setSlotState,
} from '../engine/store/slot-store.ts';

const NAMES_PAGE = 50;
/** What is switched but not cleared is gone on with so soon: whoever does it, it is only taken away. */
const SWITCHED_AGE_MS = 60_000;

export type MoveError =
  | { readonly kind: 'no_such_bucket' }
  | { readonly kind: 'no_such_shard' }
  | { readonly kind: 'bucket_sealed' }
  /** Another mover went on with it. */
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
  const noted = await claimMove(context, bucket, slot, toShard);
  const none: CopiedCounts = { versions: 0, uploads: 0, bytes: 0, digest: '' };
  if (noted.from === noted.to) return { ok: true, moved: none };
  const { from, to, token } = noted;
  let moved = none;
  if (noted.phase === 'copying') {
    const isOpen = await prepareTarget(context, bucket, slot, to);
    if (!isOpen || !(await setSlotState(context, from, bucketId, slot, ['o', 's'], 's'))) {
      return { ok: false, error: { kind: 'bucket_sealed' } };
    }
    // What a copy that died left in the target is not trusted.
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
  let after: string | null = '';
  while (after !== null) after = await copyNames(context, from, to, bucketId, slot, after, NAMES_PAGE);
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

/** Moves that died are finished, by cron. */
export async function finishMoves(context: EngineContext, olderThanMs: number): Promise<number> {
  const moves = await listMoves(context, context.now() - olderThanMs, context.now() - SWITCHED_AGE_MS);
  for (const move of moves) await moveSlot(context, move.bucketId, move.slot, move.to);
  return moves.length;
}
