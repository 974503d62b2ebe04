/**
 * Moves a slot of a bucket from one database to another while the bucket is in use, so that a bucket outgrows one.
 *
 *   1. DIRECTORY notes the move. The target learns the bucket, the slot as "coming in".
 *   2. The source seals the slot: writers wait (they find `slot_sealed` and come again), readers go on.
 *   3. Rows are copied in pages, each page read in one transaction, then counted and compared.
 *   4. The target opens the slot; DIRECTORY's map is switched: from here on readers and writers go there.
 *   5. The source forgets the slot. Readers with an old map are told so by the source and ask DIRECTORY again.
 *
 * Every step can be repeated; a move that died goes on from DIRECTORY's note. Blobs are not copied: both databases then
 * have a record of them, marked as shared, and the one that drops it last removes the R2 object.
 */
import { logInfo } from '../../shared/log.ts';
import { formatSlotMap } from '../domain/slots.ts';
import type { EngineContext } from '../engine/context.ts';
import { type BucketRecord, toBucketRecord } from '../store/bucket-store.ts';
import type { Row } from '../store/database.ts';
import {
  type CopiedCounts,
  copyNames,
  countSlot,
  noteEmptied,
  removeSlotNames,
  setSlotState,
  unsealed,
} from '../store/slot-store.ts';

const NAMES_PAGE = 50;

export type MoveError =
  | { readonly kind: 'no_such_bucket' }
  | { readonly kind: 'no_such_shard' }
  | { readonly kind: 'bucket_sealed' }
  | { readonly kind: 'copy_differs'; readonly source: CopiedCounts; readonly target: CopiedCounts };

export type MoveOutcome =
  | { readonly ok: true; readonly moved: CopiedCounts }
  | { readonly ok: false; readonly error: MoveError };

async function findBucketById(context: EngineContext, bucketId: string): Promise<BucketRecord | null> {
  const row = await context.directory.prepare('SELECT * FROM bucket WHERE bucket_id = ?1').bind(bucketId).first<Row>();
  return row ? toBucketRecord(row) : null;
}

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
  const noted = await noteMove(context, bucket, slot, toShard);
  const none: CopiedCounts = { versions: 0, uploads: 0, bytes: 0, digest: '' };
  if (noted.from === noted.to) return { ok: true, moved: none };
  const { from, to } = noted;
  let moved = none;
  if (noted.phase === 'copying') {
    const isOpen = await prepareTarget(context, bucket, slot, to);
    if (!isOpen || !(await setSlotState(context, from, bucketId, slot, ['o', 's'], 's'))) {
      return { ok: false, error: { kind: 'bucket_sealed' } };
    }
    // What a copy that died left in the target is not trusted.
    await noteEmptied(context, to, bucketId, slot);
    await clearSlot(context, to, bucketId, slot);
    await copySlot(context, bucketId, slot, from, to);
    const [source, target] = [
      await countSlot(context, from, bucketId, slot),
      await countSlot(context, to, bucketId, slot),
    ];
    if (source.digest !== target.digest || source.versions !== target.versions || source.uploads !== target.uploads) {
      await clearSlot(context, to, bucketId, slot);
      await setSlotState(context, to, bucketId, slot, ['i'], '-');
      await setSlotState(context, from, bucketId, slot, ['s'], 'o');
      await endMove(context, bucketId, slot);
      return { ok: false, error: { kind: 'copy_differs', source, target } };
    }
    moved = source;
    await setSlotState(context, to, bucketId, slot, ['i', 'o'], 'o');
    await switchMap(context, bucketId, slot, to);
  }
  await setSlotState(context, from, bucketId, slot, ['s', '-'], '-');
  await clearSlot(context, from, bucketId, slot);
  await endMove(context, bucketId, slot);
  logInfo('slot_moved', { slot, from, to, versions: moved.versions });
  return { ok: true, moved };
}

interface NotedMove {
  readonly from: number;
  readonly to: number;
  readonly phase: 'copying' | 'switched';
}

/** A move of this slot that is already under way is finished first, whatever was asked for now. */
async function noteMove(
  context: EngineContext,
  bucket: BucketRecord,
  slot: number,
  toShard: number,
): Promise<NotedMove> {
  const from = bucket.placement.shards[slot] ?? 0;
  if (from !== toShard) {
    await context.directory
      .prepare(
        `INSERT INTO slot_move(bucket_id, slot, from_shard, to_shard, phase, started_at) VALUES (?1, ?2, ?3, ?4, 'copying', ?5)
         ON CONFLICT DO NOTHING`,
      )
      .bind(bucket.bucketId, slot, from, toShard, context.now())
      .run();
  }
  const row = await context.directory
    .prepare('SELECT from_shard, to_shard, phase FROM slot_move WHERE bucket_id = ?1 AND slot = ?2')
    .bind(bucket.bucketId, slot)
    .first<{ from_shard: number; to_shard: number; phase: NotedMove['phase'] }>();
  return row
    ? { from: row.from_shard, to: row.to_shard, phase: row.phase }
    : { from: toShard, to: toShard, phase: 'switched' };
}

/** @returns false when the bucket is being deleted. */
async function prepareTarget(context: EngineContext, bucket: BucketRecord, slot: number, to: number): Promise<boolean> {
  const database = context.shards[to] as D1Database;
  await database
    .prepare(
      `INSERT INTO bucket(bucket_id, name, versioning, versioning_seq, slots, owner_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
       ON CONFLICT(bucket_id) DO UPDATE SET versioning = excluded.versioning, versioning_seq = excluded.versioning_seq
         WHERE versioning_seq < excluded.versioning_seq`,
    )
    .bind(bucket.bucketId, bucket.name, bucket.versioning, bucket.versioningSeq, '-'.repeat(256), bucket.ownerId)
    .run();
  return (
    (await unsealed(context, to, bucket.bucketId)) &&
    (await setSlotState(context, to, bucket.bucketId, slot, ['-', 'i'], 'i'))
  );
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

async function clearSlot(context: EngineContext, shard: number, bucketId: string, slot: number): Promise<void> {
  while (await removeSlotNames(context, shard, bucketId, slot, NAMES_PAGE));
}

/** The one step that counts: the map and the note change together. */
async function switchMap(context: EngineContext, bucketId: string, slot: number, to: number): Promise<void> {
  for (;;) {
    const bucket = await findBucketById(context, bucketId);
    if (!bucket) return;
    const shards = bucket.placement.shards.slice();
    shards[slot] = to;
    const [changed] = await context.directory.batch([
      context.directory
        .prepare(
          'UPDATE bucket SET slots = ?3, slots_version = slots_version + 1 WHERE bucket_id = ?1 AND slots_version = ?2',
        )
        .bind(bucketId, bucket.placement.version, formatSlotMap(shards)),
      context.directory
        .prepare(
          `UPDATE slot_move SET phase = 'switched' WHERE bucket_id = ?1 AND slot = ?2
           AND EXISTS (SELECT 1 FROM bucket WHERE bucket_id = ?1 AND slots_version = ?3 AND slots = ?4)`,
        )
        .bind(bucketId, slot, bucket.placement.version + 1, formatSlotMap(shards)),
    ]);
    if ((changed?.meta.changes ?? 0) > 0) return;
  }
}

async function endMove(context: EngineContext, bucketId: string, slot: number): Promise<void> {
  await context.directory
    .prepare('DELETE FROM slot_move WHERE bucket_id = ?1 AND slot = ?2')
    .bind(bucketId, slot)
    .run();
}

/** Moves that died are finished, by cron. */
export async function finishMoves(context: EngineContext, olderThanMs: number): Promise<number> {
  const { results } = await context.directory
    .prepare('SELECT bucket_id, slot, to_shard FROM slot_move WHERE started_at < ?1')
    .bind(context.now() - olderThanMs)
    .all<{ bucket_id: string; slot: number; to_shard: number }>();
  for (const row of results) await moveSlot(context, row.bucket_id, row.slot, row.to_shard);
  return results.length;
}
