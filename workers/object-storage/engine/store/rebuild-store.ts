/** Puts rows back into an empty shard. */
import { initialSlotStates } from '../../domain/slots.ts';
import { databaseOf, type EngineContext } from '../model/context.ts';
import { type BucketRecord, toBucketRecord } from './bucket-store.ts';
import { ask, type Page } from './check-store.ts';
import { IS_BEING_REBUILT, REBUILD_SEAL, type Row } from './database.ts';
import { epochStatement, IS_CLAIMED } from './journal-store.ts';
import { insertRows, TABLE_NAMES, type Table } from './table-rows.ts';

/** Whether there is something in the database that a rebuild would destroy. One that died may be begun again. */
export async function isInUse(context: EngineContext, shard: number): Promise<boolean> {
  const found = await databaseOf(context, shard)
    .prepare(`SELECT ${IS_CLAIMED} AND EXISTS (SELECT 1 FROM version) AS is_used`)
    .first<number>('is_used');
  return found === 1;
}

/** All but the lease of who does it. */
export async function clearShard(context: EngineContext, shard: number): Promise<void> {
  const database = databaseOf(context, shard);
  await database.batch([
    ...[...TABLE_NAMES, 'change'].map((table) => database.prepare(`DELETE FROM ${table}`)),
    database.prepare("DELETE FROM task WHERE name <> 'lease rebuild'"),
  ]);
}

/** Forgets what was taken away: it served to keep it from coming back. */
export async function forgetRemoved(context: EngineContext, shard: number): Promise<void> {
  await databaseOf(context, shard).prepare('DELETE FROM change').run();
}

/** Of a page of inline rows those that are packed too: bytes are in one of both places. */
export async function dropPacked(context: EngineContext, shard: number, page: Page): Promise<void> {
  await ask(
    context,
    shard,
    page,
    (within) =>
      `DELETE FROM inline AS t WHERE ${within} AND EXISTS (SELECT 1 FROM extent e WHERE e.object_id = t.object_id)`,
  ).run();
}

/**
 * Of a page of blob records those that nothing names: the snapshot had them, and the blobs themselves may be gone since. Of
 * a page of notes for reclamation those without a record.
 */
export async function dropUnreferenced(context: EngineContext, shard: number, page: Page): Promise<void> {
  const needed = page.table === 'blob' ? 'extent' : 'blob';
  await ask(
    context,
    shard,
    page,
    (within) =>
      `DELETE FROM ${page.table} AS t WHERE ${within} AND NOT EXISTS (SELECT 1 FROM ${needed} x WHERE x.blob_id = t.blob_id)`,
  ).run();
}

/** From here on the shard is in use. Where the rebuild stood goes with it. @param above epochs that were before. */
export async function claimRebuilt(context: EngineContext, shard: number, above: number): Promise<void> {
  const database = databaseOf(context, shard);
  await database.batch([
    epochStatement(database, context.now(), above),
    database.prepare(
      `UPDATE bucket AS b SET seal = NULLIF(substr(b.seal, ${REBUILD_SEAL.length + 1}), '') WHERE ${IS_BEING_REBUILT}`,
    ),
    database.prepare("DELETE FROM task WHERE name = 'rebuild' OR name LIKE 'found %'"),
  ]);
}

/**
 * A name may have changed between two pages of a snapshot, so that both have a version that was current. Which one is, is
 * decided when all is there.
 */
const CHANGED: Partial<Record<Table, Readonly<Record<string, string>>>> = {
  bucket: { seal: `'${REBUILD_SEAL}' || COALESCE(a.value->>'seal', '')` },
  inline: { epoch: '0' },
  version: {
    live: `(a.value->>'live' = 1 AND NOT EXISTS (SELECT 1 FROM version x WHERE x.live = 1 AND x.bucket = a.value->>'bucket'
      AND x.name = unhex(a.value->>'name')))`,
  },
};

/** Rows of a snapshot's page, but for slots that are not here any more. @returns how many. */
export async function restoreRows(
  context: EngineContext,
  shard: number,
  table: Table,
  rows: readonly Row[],
): Promise<number> {
  const database = databaseOf(context, shard);
  const where =
    table === 'version' || table === 'upload'
      ? "(SELECT substr(b.slots, a.value->>'slot' + 1, 1) FROM bucket b WHERE b.n = a.value->>'bucket') = 'o'"
      : 'true';
  const statements = insertRows(database, table, rows, { changed: CHANGED[table] ?? {}, where });
  const outcomes = statements.length > 0 ? await database.batch(statements) : [];
  return outcomes.reduce((sum, outcome) => sum + (outcome.meta.changes ?? 0), 0);
}

/** A page of DIRECTORY's buckets. */
export async function listBucketsAfter(context: EngineContext, after: string, limit: number): Promise<BucketRecord[]> {
  const { results } = await context.directory
    .prepare('SELECT * FROM bucket WHERE bucket_id > ?1 ORDER BY bucket_id LIMIT ?2')
    .bind(after, limit)
    .all<Row>();
  return results.map(toBucketRecord);
}

/** DIRECTORY is the truth of which slots are here and of the versioning state. Buckets that it does not know stay as they are. */
export async function alignBuckets(
  context: EngineContext,
  shard: number,
  buckets: readonly BucketRecord[],
): Promise<void> {
  const database = databaseOf(context, shard);
  const statements: D1PreparedStatement[] = [];
  for (const bucket of buckets) {
    const slots = initialSlotStates(bucket.placement.shards, shard);
    const { bucketId, name, versioning, versioningSeq, ownerId } = bucket;
    // Of a bucket with nothing here the shard need not know, but that what it had is not here any more.
    const sql = slots.includes('o')
      ? `INSERT INTO bucket(bucket_id, name, versioning, versioning_seq, slots, owner_id, seal)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, '${REBUILD_SEAL}') ON CONFLICT(bucket_id) DO UPDATE
         SET versioning = excluded.versioning, versioning_seq = excluded.versioning_seq, slots = excluded.slots, seal = excluded.seal`
      : `UPDATE bucket SET name = ?2, versioning = ?3, versioning_seq = ?4, slots = ?5, owner_id = ?6, seal = '${REBUILD_SEAL}'
         WHERE bucket_id = ?1`;
    statements.push(database.prepare(sql).bind(bucketId, name, versioning, versioningSeq, slots, ownerId));
  }
  if (statements.length > 0) await database.batch(statements);
}
