/** All tables of DIRECTORY for its snapshot, and its buckets as the shards know them. */
import { formatSlotMap, SLOT_COUNT } from '../../domain/slots.ts';
import type { EngineContext } from '../model/context.ts';
import type { Row } from './database.ts';
import { toParameters } from './table-rows.ts';

const quote = (identifier: string): string => `"${identifier.replaceAll('"', '""')}"`;

export async function listDirectoryTables(context: EngineContext): Promise<string[]> {
  const { results } = await context.directory
    .prepare(
      `SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_' AND substr(name, 1, 4) <> '_cf_'
       AND name <> 'd1_migrations' ORDER BY name`,
    )
    .all<{ name: string }>();
  return results.map((row) => row.name);
}

const ROWS_PAGE = 1000;

/** @param after the last `rowid` read. @returns the rows, and the next value for `after`; null at the end. */
export async function readDirectoryPage(
  context: EngineContext,
  table: string,
  after: number,
): Promise<{ readonly rows: Row[]; readonly next: number | null }> {
  const { results } = await context.directory
    .prepare(`SELECT rowid AS row_id_, * FROM ${quote(table)} WHERE rowid > ?1 ORDER BY rowid LIMIT ?2`)
    .bind(after, ROWS_PAGE)
    .all<Row>();
  const rows = results.map(({ row_id_: _, ...row }) => row);
  const last = results.at(-1);
  return { rows, next: results.length < ROWS_PAGE || !last ? null : Number(last.row_id_) };
}

/** Restores rows, replacing existing ones with the same keys. Ignores columns that the table no longer has. */
export async function restoreDirectoryRows(context: EngineContext, table: string, rows: readonly Row[]): Promise<void> {
  const { results } = await context.directory
    .prepare('SELECT name FROM pragma_table_info(?1)')
    .bind(table)
    .all<{ name: string }>();
  const columns = results.map((row) => row.name).filter((name) => rows[0] && name in rows[0]);
  if (columns.length === 0) return;
  const values = columns.map((column) => `a.value->>'$."${column}"'`);
  const sql = `INSERT OR REPLACE INTO ${quote(table)}(${columns.map(quote).join(', ')}) SELECT ${values.join(', ')} FROM json_each(?1) a`;
  await context.directory.batch(toParameters(rows).map((parameter) => context.directory.prepare(sql).bind(parameter)));
}

/** Whether a rebuild would overwrite data in use. */
export async function isDirectoryInUse(context: EngineContext): Promise<boolean> {
  const found = await context.directory
    .prepare('SELECT EXISTS (SELECT 1 FROM bucket) OR EXISTS (SELECT 1 FROM user) AS found')
    .first<number>('found');
  return found === 1;
}

interface KnownBucket {
  readonly name: string;
  readonly ownerId: string;
  versioning: string;
  versioningSeq: number;
  readonly slots: Uint8Array;
  sealed: number;
}

/**
 * Corrects DIRECTORY's buckets from the shards, which know better than an old snapshot which buckets exist, where their
 * slots are and how they are versioned.
 * @returns the number of buckets that only the shards knew.
 */
export async function alignDirectoryBuckets(context: EngineContext): Promise<number> {
  const known = new Map<string, KnownBucket>();
  for (const [shard, database] of context.shards.entries()) {
    const { results } = await database
      .prepare('SELECT bucket_id, name, owner_id, versioning, versioning_seq, seal, slots FROM bucket')
      .all<Row>();
    for (const row of results) {
      const bucket = known.get(String(row.bucket_id)) ?? {
        name: String(row.name),
        ownerId: String(row.owner_id),
        versioning: 'never',
        versioningSeq: -1,
        slots: new Uint8Array(SLOT_COUNT).fill(shard),
        sealed: 0,
      };
      known.set(String(row.bucket_id), bucket);
      if (row.seal !== null) bucket.sealed++;
      if (Number(row.versioning_seq) > bucket.versioningSeq) {
        bucket.versioning = String(row.versioning);
        bucket.versioningSeq = Number(row.versioning_seq);
      }
      for (let slot = 0; slot < SLOT_COUNT; slot++) {
        if ('os'.includes(String(row.slots)[slot] ?? '-')) bucket.slots[slot] = shard;
      }
    }
  }
  let recovered = 0;
  for (const [bucketId, bucket] of known) {
    // Sealed in every shard: its delete had finished, or was about to.
    if (bucket.sealed === context.shards.length) {
      await context.directory.prepare('DELETE FROM bucket WHERE bucket_id = ?1').bind(bucketId).run();
      continue;
    }
    const [updated, inserted] = await context.directory.batch([
      context.directory
        .prepare(
          `UPDATE bucket SET slots = ?2, slots_version = slots_version + 1, versioning = ?3, versioning_seq = MAX(versioning_seq, ?4)
           WHERE bucket_id = ?1`,
        )
        .bind(bucketId, formatSlotMap(bucket.slots), bucket.versioning, bucket.versioningSeq),
      context.directory
        .prepare(
          `INSERT INTO bucket(name, bucket_id, owner_id, created_at, versioning, versioning_seq, seal_epoch, slots, slots_version, configuration)
           VALUES (?2, ?1, ?3, ?4, ?5, ?6, 1, ?7, 1, '{}') ON CONFLICT DO NOTHING`,
        )
        .bind(
          bucketId,
          bucket.name,
          bucket.ownerId,
          context.now(),
          bucket.versioning,
          bucket.versioningSeq,
          formatSlotMap(bucket.slots),
        ),
    ]);
    if ((updated?.meta.changes ?? 0) === 0) recovered += inserted?.meta.changes ?? 0;
  }
  return recovered;
}
