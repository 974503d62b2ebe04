/** DIRECTORY's records of moving slots, and the switch of the map. */
import { formatSlotMap } from '../../domain/slots.ts';
import type { EngineContext } from '../model/context.ts';
import { type BucketRecord, toBucketRecord } from './bucket-store.ts';
import type { Row } from './database.ts';

export async function findBucketById(context: EngineContext, bucketId: string): Promise<BucketRecord | null> {
  const row = await context.directory.prepare('SELECT * FROM bucket WHERE bucket_id = ?1').bind(bucketId).first<Row>();
  return row ? toBucketRecord(row) : null;
}

export interface SlotMove {
  readonly from: number;
  readonly to: number;
  readonly phase: 'copying' | 'switched';
  /** Identifies the mover that claimed the record last: its time, made unique. */
  readonly token: number;
}

/** Claims the move of a slot. An unfinished move of the slot is continued, whatever target was requested now. */
export async function claimMove(
  context: EngineContext,
  bucket: BucketRecord,
  slot: number,
  toShard: number,
): Promise<SlotMove> {
  const from = bucket.placement.shards[slot] ?? 0;
  const { directory } = context;
  if (from !== toShard) {
    await directory
      .prepare(
        `INSERT INTO slot_move(bucket_id, slot, from_shard, to_shard, phase, started_at) VALUES (?1, ?2, ?3, ?4, 'copying', 0)
         ON CONFLICT DO NOTHING`,
      )
      .bind(bucket.bucketId, slot, from, toShard)
      .run();
  }
  const row = await directory
    .prepare(
      `UPDATE slot_move SET started_at = MAX(started_at + 1, ?3) WHERE bucket_id = ?1 AND slot = ?2
       RETURNING from_shard, to_shard, phase, started_at`,
    )
    .bind(bucket.bucketId, slot, Math.trunc(context.now()))
    .first<{ from_shard: number; to_shard: number; phase: SlotMove['phase']; started_at: number }>();
  return row
    ? { from: row.from_shard, to: row.to_shard, phase: row.phase, token: row.started_at }
    : { from: toShard, to: toShard, phase: 'switched', token: 0 };
}

const OWN = 'bucket_id = ?1 AND slot = ?2 AND started_at = ?3';

export async function isOwnMove(
  context: EngineContext,
  bucketId: string,
  slot: number,
  token: number,
): Promise<boolean> {
  const found = await context.directory
    .prepare(`SELECT EXISTS (SELECT 1 FROM slot_move WHERE ${OWN}) AS n`)
    .bind(bucketId, slot, token)
    .first<number>('n');
  return found === 1;
}

/** The decisive step: changes map and move record together. @returns false if another mover has claimed the record. */
export async function switchMap(
  context: EngineContext,
  bucketId: string,
  slot: number,
  to: number,
  token: number,
): Promise<boolean> {
  for (;;) {
    const bucket = await findBucketById(context, bucketId);
    if (!bucket) return false;
    const shards = bucket.placement.shards.slice();
    shards[slot] = to;
    const [changed] = await context.directory.batch([
      context.directory
        .prepare(
          `UPDATE bucket SET slots = ?5, slots_version = slots_version + 1 WHERE bucket_id = ?1 AND slots_version = ?4
           AND EXISTS (SELECT 1 FROM slot_move WHERE ${OWN} AND phase = 'copying')`,
        )
        .bind(bucketId, slot, token, bucket.placement.version, formatSlotMap(shards)),
      context.directory
        .prepare(
          `UPDATE slot_move SET phase = 'switched' WHERE ${OWN}
           AND EXISTS (SELECT 1 FROM bucket WHERE bucket_id = ?1 AND slots_version = ?4 AND slots = ?5)`,
        )
        .bind(bucketId, slot, token, bucket.placement.version + 1, formatSlotMap(shards)),
    ]);
    if ((changed?.meta.changes ?? 0) > 0) return true;
    if (!(await isOwnMove(context, bucketId, slot, token))) return false;
  }
}

export async function endMove(context: EngineContext, bucketId: string, slot: number): Promise<void> {
  await context.directory
    .prepare('DELETE FROM slot_move WHERE bucket_id = ?1 AND slot = ?2')
    .bind(bucketId, slot)
    .run();
}

/** Moves last claimed before `beforeMs`; switched moves last claimed before `switchedBeforeMs`. */
export async function listMoves(
  context: EngineContext,
  beforeMs: number,
  switchedBeforeMs: number,
): Promise<{ readonly bucketId: string; readonly slot: number; readonly to: number }[]> {
  const { results } = await context.directory
    .prepare(
      `SELECT bucket_id, slot, to_shard FROM slot_move WHERE started_at < ?1 OR (phase = 'switched' AND started_at < ?2)`,
    )
    .bind(beforeMs, switchedBeforeMs)
    .all<{ bucket_id: string; slot: number; to_shard: number }>();
  return results.map((row) => ({ bucketId: row.bucket_id, slot: row.slot, to: row.to_shard }));
}
