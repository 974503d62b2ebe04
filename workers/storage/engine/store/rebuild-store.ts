/** Restores the rows of a shard during a rebuild, from snapshot and DIRECTORY. */
import { readAll } from '../../../shared/stores/statement.ts';
import { initialSlotStates } from '../../domain/slots.ts';
import { databaseOf, type EngineContext } from '../model/context.ts';
import { type BucketRecord, findByIdsAfter, toBucketRecord } from './bucket-store.ts';
import { ask, type Page } from './check-store.ts';
import { IS_BEING_REBUILT, REBUILD_SEAL, type Row } from './database.ts';
import { epochStatement, IS_CLAIMED } from './journal-store.ts';
import { listQuotas } from './quota-limit-store.ts';
import { quotaStatements } from './quota-store.ts';
import { insertRows, TABLE_NAMES, type Table } from './table-rows.ts';
import { EPOCH } from './version-ids.ts';
import { isReferenced } from './version-sql.ts';

/**
 * Whether the shard has data that a rebuild would destroy. False for a shard whose rebuild was interrupted, so that it can start
 * again.
 */
export async function isInUse(context: EngineContext, shard: number): Promise<boolean> {
  const found = await databaseOf(context, shard)
    .prepare(`SELECT ${IS_CLAIMED} AND EXISTS (SELECT 1 FROM version) AS is_used`)
    .first<number>('is_used');
  return found === 1;
}

/** Deletes all rows of a shard except the lease of the rebuild. */
export async function clearShard(context: EngineContext, shard: number): Promise<void> {
  const database = databaseOf(context, shard);
  await database.batch([
    ...[...TABLE_NAMES, 'change', 'quota', 'event', 'lifecycle', 'identity'].map((table) =>
      database.prepare(`DELETE FROM ${table}`),
    ),
    database.prepare("DELETE FROM task WHERE name <> 'lease rebuild'"),
  ]);
}

/**
 * Prepares a database that was put back to an earlier state for the replay of its journal. Its buckets are sealed until the end. What
 * changed without the journal since, is unknown: the generations of the buckets and of identity.
 */
export async function prepareReplay(context: EngineContext, shard: number): Promise<void> {
  const database = databaseOf(context, shard);
  await database.batch([
    database.prepare(
      `UPDATE bucket AS b SET generation = NULL, seal = '${REBUILD_SEAL}' || COALESCE(b.seal, '') WHERE NOT ${IS_BEING_REBUILT}`,
    ),
    database.prepare('DELETE FROM identity'),
    database.prepare('DELETE FROM change WHERE epoch = 0'),
    database.prepare("DELETE FROM task WHERE name IN ('snapshot', 'rebuild') OR name LIKE 'found %'"),
  ]);
}

/** Deletes the records of removed versions at the end of a rebuild. During it they prevent the recovery of those versions. */
export async function forgetRemoved(context: EngineContext, shard: number): Promise<void> {
  await databaseOf(context, shard).prepare('DELETE FROM change WHERE epoch = 0').run();
}

/**
 * Removes unreferenced blob records of a page. The records come from the snapshot, and their blobs may have been deleted since. In
 * a page of `reclaim`, it removes the rows without a blob record.
 */
export async function dropUnreferenced(context: EngineContext, shard: number, page: Page): Promise<void> {
  const isNeeded =
    page.table === 'blob' ? isReferenced('t.blob_id') : 'EXISTS (SELECT 1 FROM blob l WHERE l.blob_id = t.blob_id)';
  await ask(
    context,
    shard,
    page,
    (within) => `DELETE FROM ${page.table} AS t WHERE ${within} AND NOT ${isNeeded}`,
  ).run();
}

/**
 * Puts the rebuilt shard into use, recounts its quotas, and deletes the progress of the rebuild.
 * @param above latest epoch of the journal before the rebuild; the new one must be greater.
 * @param isReplayed whether the database was put back and its journal replayed.
 */
export async function claimRebuilt(
  context: EngineContext,
  shard: number,
  above: number,
  isReplayed: boolean,
): Promise<void> {
  const database = databaseOf(context, shard);
  const quotas = await listQuotas(context);
  // Versions from snapshot and journal need no journal entry. A database that was put back may have others, acknowledged after the
  // restore and before it was found out, so the next journal has everything since the restored state.
  const flushed = database
    .prepare(`INSERT OR REPLACE INTO task(name, state, updated_at) SELECT 'journal flushed', ${EPOCH}, ?1`)
    .bind(context.now());
  await database.batch([
    ...quotaStatements(database, quotas),
    epochStatement(database, context.now(), above),
    ...(isReplayed ? [] : [flushed]),
    database.prepare(
      `UPDATE bucket AS b SET seal = NULLIF(substr(b.seal, ${REBUILD_SEAL.length + 1}), '') WHERE ${IS_BEING_REBUILT}`,
    ),
    database.prepare("DELETE FROM task WHERE name = 'rebuild' OR name LIKE 'found %'"),
  ]);
}

/**
 * Restored buckets are sealed until the rebuild ends. Their generation is unknown, because a change after the snapshot may have
 * raised it.
 */
const CHANGED: Partial<Record<Table, Readonly<Record<string, string>>>> = {
  bucket: { seal: `'${REBUILD_SEAL}' || COALESCE(a.value->>'seal', '')`, generation: 'NULL' },
};

/**
 * Restores the rows of a page of the snapshot, except those of slots that have moved to another shard. @returns the number of rows.
 */
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

/** Reads a page of the buckets in DIRECTORY. */
export async function listBucketsAfter(context: EngineContext, after: string, limit: number): Promise<BucketRecord[]> {
  return (await readAll(context.directory, findByIdsAfter, { after, limit })).map(toBucketRecord);
}

/** Sets slots and versioning of the shard's buckets to those in DIRECTORY. Buckets that DIRECTORY does not know stay unchanged. */
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
    const objectLock = bucket.configuration.objectLock ?? null;
    // If a bucket has no slots in this shard, the shard only needs to record that former ones have moved away.
    const sql = slots.includes('o')
      ? `INSERT INTO bucket(bucket_id, name, versioning, versioning_seq, slots, owner_id, object_lock, seal)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, '${REBUILD_SEAL}') ON CONFLICT(bucket_id) DO UPDATE
         SET versioning = excluded.versioning, versioning_seq = excluded.versioning_seq, object_lock = excluded.object_lock, slots = excluded.slots, seal = excluded.seal`
      : `UPDATE bucket SET name = ?2, versioning = ?3, versioning_seq = ?4, slots = ?5, owner_id = ?6, object_lock = ?7, seal = '${REBUILD_SEAL}'
         WHERE bucket_id = ?1`;
    statements.push(database.prepare(sql).bind(bucketId, name, versioning, versioningSeq, slots, ownerId, objectLock));
  }
  if (statements.length > 0) await database.batch(statements);
}
