/** DIRECTORY's records of slots that are being moved, and the change of the slot map. */
import { and, eq, exists, lt, or, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { readFirst } from '../../../shared/stores/statement.ts';
import { formatSlotMap } from '../../domain/slots.ts';
import type { EngineContext } from '../model/context.ts';
import { type BucketRecord, findById, toBucketRecord } from './bucket-store.ts';
import { bucket, slotMove } from './directory-schema.ts';

export async function findBucketById(context: EngineContext, bucketId: string): Promise<BucketRecord | null> {
  const row = await readFirst(context.directory, findById, { bucketId });
  return row && toBucketRecord(row);
}

export interface SlotMove {
  readonly from: number;
  readonly to: number;
  readonly phase: 'copying' | 'switched';
  /** Token of the latest claim of this move record: the time of the claim, made unique. */
  readonly token: number;
}

const isOfSlot = (bucketId: string, slot: number) => and(eq(slotMove.bucketId, bucketId), eq(slotMove.slot, slot));
const isOwn = (bucketId: string, slot: number, token: number) =>
  and(isOfSlot(bucketId, slot), eq(slotMove.startedAt, token));

/** Claims the move of a slot. If the slot has an unfinished move, that move is continued, even if another target was requested. */
export async function claimMove(
  context: EngineContext,
  { bucketId, placement }: BucketRecord,
  slot: number,
  toShard: number,
): Promise<SlotMove> {
  const fromShard = placement.shards[slot] ?? 0;
  const db = drizzle(context.directory);
  if (fromShard !== toShard) {
    const move = { bucketId, slot, fromShard, toShard, phase: 'copying' as const, startedAt: 0 };
    await db.insert(slotMove).values(move).onConflictDoNothing();
  }
  const { fromShard: from, toShard: to, phase, startedAt: token } = slotMove;
  const claimed = await db
    .update(slotMove)
    .set({ startedAt: sql`MAX(${token} + 1, ${Math.trunc(context.now())})` })
    .where(isOfSlot(bucketId, slot))
    .returning({ from, to, phase, token })
    .get();
  return claimed ?? { from: toShard, to: toShard, phase: 'switched', token: 0 };
}

export async function isOwnMove(
  context: EngineContext,
  bucketId: string,
  slot: number,
  token: number,
): Promise<boolean> {
  const own = isOwn(bucketId, slot, token);
  return (await drizzle(context.directory).$count(slotMove, own)) > 0;
}

/**
 * The decisive step of a slot move: changes the slot map and the move record together.
 * @returns false if another mover has claimed the record.
 */
export async function switchMap(
  context: EngineContext,
  bucketId: string,
  slot: number,
  to: number,
  token: number,
): Promise<boolean> {
  const db = drizzle(context.directory);
  const own = isOwn(bucketId, slot, token);
  for (;;) {
    const found = await findBucketById(context, bucketId);
    if (!found) return false;
    const shards = found.placement.shards.slice();
    shards[slot] = to;
    const [slots, version] = [formatSlotMap(shards), found.placement.version];
    const isCopying = db
      .select({ n: sql`1` })
      .from(slotMove)
      .where(and(own, eq(slotMove.phase, 'copying')));
    const isBefore = and(eq(bucket.bucketId, bucketId), eq(bucket.slotsVersion, version));
    const isAfter = and(eq(bucket.bucketId, bucketId), eq(bucket.slotsVersion, version + 1), eq(bucket.slots, slots));
    const isSwitched = db.select({ n: sql`1` }).from(bucket).where(isAfter);
    const [changed] = await db.batch([
      db
        .update(bucket)
        .set({ slots, slotsVersion: version + 1, generation: sql`${bucket.generation} + 1` })
        .where(and(isBefore, exists(isCopying))),
      db
        .update(slotMove)
        .set({ phase: 'switched' })
        .where(and(own, exists(isSwitched))),
    ]);
    if (changed.meta.changes > 0) return true;
    if (!(await isOwnMove(context, bucketId, slot, token))) return false;
  }
}

export async function endMove(context: EngineContext, bucketId: string, slot: number): Promise<void> {
  await drizzle(context.directory).delete(slotMove).where(isOfSlot(bucketId, slot));
}

/**
 * Lists moves in the phase `copying` that were last claimed before `beforeMs`, and switched moves last claimed before
 * `switchedBeforeMs`.
 */
export async function listMoves(
  context: EngineContext,
  beforeMs: number,
  switchedBeforeMs: number,
): Promise<{ readonly bucketId: string; readonly slot: number; readonly to: number }[]> {
  const { bucketId, slot, toShard: to, startedAt, phase } = slotMove;
  return await drizzle(context.directory)
    .select({ bucketId, slot, to })
    .from(slotMove)
    .where(or(lt(startedAt, beforeMs), and(eq(phase, 'switched'), lt(startedAt, switchedBeforeMs))));
}
