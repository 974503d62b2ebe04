/** Reads and restores all tables of DIRECTORY for its snapshot, and corrects its buckets from the shards. */
import { eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { readAll, readFirst, statement } from '../../../shared/stores/statement.ts';
import { formatSlotMap, SLOT_COUNT } from '../../domain/slots.ts';
import type { EngineContext } from '../model/context.ts';
import type { Versioning } from '../model/contract.ts';
import { type Column, hasBlob, toHexRows, toReadSql, toValueSql } from './blob-columns.ts';
import type { Row } from './database.ts';
import { bucket as directoryBucket } from './directory-schema.ts';
import { bucket as shardBucket } from './schema.ts';
import { toParameters } from './table-rows.ts';

const quote = (identifier: string): string => `"${identifier.replaceAll('"', '""')}"`;

const listTables = statement<Record<never, never>, { name: string }>(
  `SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_' AND substr(name, 1, 4) <> '_cf_'
   AND name NOT IN ('d1_migrations', 'age', 'directory_change', 'directory_task', 'health_verdict') ORDER BY name`,
);
const listColumns = statement<{ table: string }, Column>('SELECT name, type FROM pragma_table_info(:table)');

const listParents = statement<{ table: string }, { parent: string }>(
  'SELECT "table" AS parent FROM pragma_foreign_key_list(:table)',
);

/**
 * Lists the names of the tables of DIRECTORY, without those of its age, its change records, its tasks and verdicts on its health. Each table comes after those to which
 * its foreign keys refer.
 */
export async function listDirectoryTables({ directory }: EngineContext): Promise<string[]> {
  const ordered = new Set<string>();
  const add = async (table: string): Promise<void> => {
    if (ordered.has(table)) return;
    for (const { parent } of await readAll(directory, listParents, { table })) if (parent !== table) await add(parent);
    ordered.add(table);
  };
  for (const { name } of await readAll(directory, listTables, {})) await add(name);
  return [...ordered];
}

const listWithJournal = statement<Record<never, never>, { name: string }>(
  "SELECT tbl_name AS name FROM sqlite_master WHERE type = 'trigger' AND name = 'journal_' || tbl_name || '_insert'",
);

/** Lists the names of the tables whose changes are in the journal. */
export const listJournaledTables = async ({ directory }: EngineContext): Promise<string[]> =>
  (await readAll(directory, listWithJournal, {})).map(({ name }) => name);

const ROWS_PAGE = 1000;
/** Rows of a table with BLOBs, which have up to 64 KB each. */
const LARGE_ROWS_PAGE = 50;

export const listDirectoryColumns = ({ directory }: EngineContext, table: string): Promise<Column[]> =>
  readAll(directory, listColumns, { table });

/**
 * Reads a page of a table of DIRECTORY. One query.
 * @param after `rowid` of the last row of the previous page. @returns the rows, and the value of `after` for the next page; null at
 * the end.
 */
export async function readDirectoryPage(
  context: EngineContext,
  { table, columns }: { readonly table: string; readonly columns: readonly Column[] },
  after: number,
): Promise<{ readonly rows: Row[]; readonly next: number | null }> {
  const limit = hasBlob(columns) ? LARGE_ROWS_PAGE : ROWS_PAGE;
  const page = statement<{ after: number; limit: number }, Row>(
    `SELECT t.rowid AS row_id_, ${columns.map(toReadSql).join(', ')} FROM ${quote(table)} t WHERE t.rowid > :after
     ORDER BY t.rowid LIMIT :limit`,
  );
  const results = await readAll(context.directory, page, { after, limit });
  const rows = results.map(({ row_id_: _, ...row }) => row);
  const last = results.at(-1);
  return { rows, next: results.length < limit || !last ? null : Number(last.row_id_) };
}

const listReferences = statement<{ table: string }, { column: string; parent: string; parent_column: string }>(
  `SELECT "from" AS "column", "table" AS parent, "to" AS parent_column FROM pragma_foreign_key_list(:table)`,
);

/**
 * Restores rows, replacing existing ones with the same keys. Ignores columns that the table no longer has. Leaves out rows whose parent
 * is missing: a snapshot takes time, and a parent that was made or deleted meanwhile is in the journal with its rows. Three queries.
 */
export async function restoreDirectoryRows(context: EngineContext, table: string, rows: readonly Row[]): Promise<void> {
  const columns = (await listDirectoryColumns(context, table)).filter(({ name }) => rows[0] && name in rows[0]);
  if (columns.length === 0) return;
  const values = columns.map(toValueSql);
  const names = columns.map(({ name }) => quote(name)).join(', ');
  const hasParent = (await readAll(context.directory, listReferences, { table })).flatMap(
    ({ column, parent, parent_column }) => {
      const value = values[columns.findIndex(({ name }) => name === column)];
      const isThere = `EXISTS (SELECT 1 FROM ${quote(parent)} p WHERE p.${quote(parent_column)} = ${value})`;
      return value === undefined ? [] : [`(${value} IS NULL OR ${isThere})`];
    },
  );
  const where = ['true', ...hasParent].join(' AND ');
  const sql = `INSERT OR REPLACE INTO ${quote(table)}(${names}) SELECT ${values.join(', ')} FROM json_each(?1) a WHERE ${where}`;
  await context.directory.batch([
    ...toParameters(toHexRows(columns, rows)).map((parameter) => context.directory.prepare(sql).bind(parameter)),
    // Snapshot and journal have what the restored rows recorded as changes.
    context.directory.prepare('DELETE FROM directory_change'),
  ]);
}

const findAnyRow = statement<Record<never, never>, { found: number }>(
  'SELECT EXISTS (SELECT 1 FROM bucket) OR EXISTS (SELECT 1 FROM user) AS found',
);

/** Whether DIRECTORY has data that a restore would overwrite. */
export async function isDirectoryInUse(context: EngineContext): Promise<boolean> {
  return (await readFirst(context.directory, findAnyRow, {}))?.found === 1;
}

interface KnownBucket {
  readonly name: string;
  readonly ownerId: string;
  versioning: Versioning;
  versioningSeq: number;
  readonly slots: Uint8Array;
  sealed: number;
}

const { bucketId, name, ownerId, versioning, versioningSeq, seal, slots } = shardBucket;
const SHARD_COLUMNS = { bucketId, name, ownerId, versioning, versioningSeq, seal, slots };

/**
 * Corrects DIRECTORY's buckets from the shards, which are more recent than the restored snapshot. The shards know which buckets
 * exist, where their slots are, and how they are versioned.
 * @returns the number of buckets that only the shards knew.
 */
export async function alignDirectoryBuckets(context: EngineContext): Promise<number> {
  const known = new Map<string, KnownBucket>();
  for (const [shard, database] of context.shards.entries()) {
    for (const row of await drizzle(database).select(SHARD_COLUMNS).from(shardBucket)) {
      const bucket = known.get(row.bucketId) ?? {
        name: row.name,
        ownerId: row.ownerId,
        versioning: 'never',
        versioningSeq: -1,
        slots: new Uint8Array(SLOT_COUNT).fill(shard),
        sealed: 0,
      };
      known.set(row.bucketId, bucket);
      if (row.seal !== null) bucket.sealed++;
      if (row.versioningSeq > bucket.versioningSeq) {
        bucket.versioning = row.versioning;
        bucket.versioningSeq = row.versioningSeq;
      }
      for (let slot = 0; slot < SLOT_COUNT; slot++) {
        if ('os'.includes(row.slots[slot] ?? '-')) bucket.slots[slot] = shard;
      }
    }
  }
  let recovered = 0;
  const db = drizzle(context.directory);
  for (const [bucketId, { name, ownerId, versioning, versioningSeq, slots: map, sealed }] of known) {
    const isThis = eq(directoryBucket.bucketId, bucketId);
    // If every shard has the bucket sealed, its delete had finished or was about to finish.
    if (sealed === context.shards.length) {
      await db.delete(directoryBucket).where(isThis);
      continue;
    }
    const facts = { versioning, slots: formatSlotMap(map) };
    const more = { sealEpoch: 1, slotsVersion: 1, configuration: '{}', createdAt: context.now() };
    const [updated, inserted] = await db.batch([
      db
        .update(directoryBucket)
        .set({
          ...facts,
          slotsVersion: sql`${directoryBucket.slotsVersion} + 1`,
          versioningSeq: sql`MAX(${directoryBucket.versioningSeq}, ${versioningSeq})`,
        })
        .where(isThis),
      db
        .insert(directoryBucket)
        .values({ ...facts, ...more, name, bucketId, ownerId, versioningSeq })
        .onConflictDoNothing(),
    ]);
    if (updated.meta.changes === 0 && inserted.meta.changes > 0) recovered++;
  }
  return recovered;
}
