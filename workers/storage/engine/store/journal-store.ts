/** Change records, the rows to which they refer, and the replay of such rows from the journal. */
import { databaseOf, type EngineContext } from '../model/context.ts';
import { type Row, runRepeatable } from './database.ts';
import { columnsOf, insertRows, type Table, toParameters } from './table-rows.ts';
import { EPOCH, FLUSHED, firstIdOf } from './version-ids.ts';

/**
 * SQL that inserts change records. A repeat adds no second record.
 * @param source SQL that selects bucket number, name and key of each record.
 */
export const changeSql = (source: string): string =>
  `INSERT OR IGNORE INTO change(epoch, bucket, name, key) SELECT ${EPOCH}, s.* FROM (${source}) s`;

/**
 * SQL of a version's key in a change record. A `null` version replaces all earlier `null` versions, so its record (`n`) concerns
 * the name: a replay removes this and all older `null` versions, then inserts the present one, if any.
 */
export const versionKeySql = (isNull: string, order: string): string =>
  `CASE ${isNull} WHEN 1 THEN 'n' ELSE 'v' END || hex(${order})`;

/**
 * A new version is its own change record. If a `null` version is removed while the journal of its epoch is being written, this SQL
 * adds a separate record. Otherwise a replay would return the name to its state before that version. At any other time it adds no
 * row.
 * @param removed the `null` versions `v` to remove.
 */
export const removedSql = (removed: string): string =>
  `INSERT OR IGNORE INTO change(epoch, bucket, name, key) SELECT ${EPOCH} - 1, v.bucket, v.name, 'n' || hex(v.ord) FROM ${removed}
   AND v.id < ${firstIdOf(EPOCH)} AND v.id >= ${firstIdOf(FLUSHED)}`;

/** SQL condition that the shard's database is claimed (`claims.ts`). */
export const IS_CLAIMED = "EXISTS (SELECT 1 FROM task WHERE name = 'journal')";

export async function isClaimed(context: EngineContext, shard: number): Promise<boolean> {
  return (await databaseOf(context, shard).prepare(`SELECT ${IS_CLAIMED} AS n`).first<number>('n')) === 1;
}

/** Claims a shard's database. @param further statements that run in the same batch. */
export function insertClaim(context: EngineContext, shard: number, further: D1PreparedStatement[]) {
  const database = databaseOf(context, shard);
  return runRepeatable(context, database, [
    database
      .prepare(
        `INSERT OR IGNORE INTO task(name, state, updated_at) SELECT 'journal', '0', ?1
         WHERE NOT EXISTS (SELECT 1 FROM task WHERE name IN ('rebuild', 'lease rebuild'))`,
      )
      .bind(context.now()),
    database.prepare(`SELECT ${IS_CLAIMED} AS is_claimed`),
    ...further,
  ]);
}

export interface ChangeRecord {
  readonly epoch: number;
  readonly bucket: number;
  /** Id of the bucket; null if the bucket no longer exists. */
  readonly bucketId: string | null;
  readonly name: string;
  readonly key: string;
}

/** Starts a new epoch of the journal. @returns its number, which is greater than all before even if the clock goes back. */
export async function advanceEpoch(context: EngineContext, shard: number, above = 0): Promise<number> {
  const statement = epochStatement(databaseOf(context, shard), context.now(), above);
  return (await statement.first<number>('epoch')) ?? 0;
}

/**
 * Starts a new epoch, unless the database has an earlier one than the locations: it was put back to an earlier state, which a new
 * epoch would hide.
 * @param outside the latest epoch of the locations. @returns null if the database is older.
 */
export async function advanceEpochFrom(context: EngineContext, shard: number, outside: number): Promise<number | null> {
  const statement = epochStatement(databaseOf(context, shard), context.now(), 0, outside);
  return await statement.first<number>('epoch');
}

export function epochStatement(database: D1Database, nowMs: number, above: number, atLeast = 0): D1PreparedStatement {
  const now = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
  return database
    .prepare(
      `INSERT INTO task(name, state, updated_at) VALUES ('journal', MAX(${now}, ?2 + 1), ?1) ON CONFLICT(name) DO UPDATE
       SET state = MAX(CAST(state AS INTEGER) + 1, ${now}, ?2 + 1), updated_at = ?1 WHERE CAST(state AS INTEGER) >= ?3
       RETURNING CAST(state AS INTEGER) AS epoch`,
    )
    .bind(nowMs, above, atLeast);
}

/** Whether the shard has changes since the epoch `flushed` that the journal does not contain. */
export async function hasChanges(context: EngineContext, shard: number, flushed: number): Promise<boolean> {
  const found = await databaseOf(context, shard)
    .prepare(
      `SELECT EXISTS (SELECT 1 FROM change) OR EXISTS (SELECT 1 FROM version WHERE id >= ${firstIdOf('?1')}) AS found`,
    )
    .bind(flushed)
    .first<number>('found');
  return found === 1;
}

/**
 * Reads a page of change records of earlier epochs. The page has at most `limit` records, or fewer if they refer to more than
 * `rowsMax` rows.
 */
export async function selectChanges(
  context: EngineContext,
  shard: number,
  epoch: number,
  limit: number,
  rowsMax: number,
  kinds: 'all' | 'emptied slots' = 'all',
): Promise<ChangeRecord[]> {
  const { results } = await databaseOf(context, shard)
    .prepare(
      `SELECT c.epoch, c.bucket, b.bucket_id, hex(c.name) AS name, c.key,
         CASE substr(c.key, 1, 1) WHEN 'u' THEN (SELECT count(*) FROM part p WHERE p.upload_id = substr(c.key, 2))
         WHEN 'n' THEN (SELECT count(*) FROM extent e WHERE e.object_id =
           (SELECT v.object_id FROM version v WHERE v.bucket = c.bucket AND v.name = c.name AND v.is_null = 1))
         ELSE (SELECT count(*) FROM extent e WHERE e.object_id =
           (SELECT v.object_id FROM version v WHERE v.bucket = c.bucket AND v.name = c.name AND v.ord = unhex(substr(c.key, 2, 32)))) END AS rows
       FROM change c LEFT JOIN bucket b ON b.n = c.bucket WHERE c.epoch < ?1
         ${kinds === 'all' ? '' : 'AND c.name = zeroblob(0)'} ORDER BY c.epoch, c.bucket, c.name, c.key LIMIT ?2`,
    )
    .bind(epoch, limit)
    .all<Row>();
  const changes: ChangeRecord[] = [];
  let rows = 0;
  for (const row of results) {
    rows += 1 + Number(row.rows ?? 0);
    if (rows > rowsMax && changes.length > 0) break;
    changes.push(toChange(row));
  }
  return changes;
}

const toChange = (row: Row): ChangeRecord => ({
  epoch: Number(row.epoch),
  bucket: Number(row.bucket),
  bucketId: row.bucket_id === null ? null : String(row.bucket_id),
  name: String(row.name),
  key: String(row.key),
});

/**
 * Reads a page of the versions that were added in epochs from `from` to before `until`, as change records. A page has at most a few
 * MiB of inline bytes and about `rowsMax` extents.
 * @param after row id of the last version of the previous page.
 * @returns the records, and the row id of the page's last version; null at the end.
 */
export async function selectNewVersions(
  context: EngineContext,
  shard: number,
  { from, until, after }: { readonly from: number; readonly until: number; readonly after: number },
  bytesMax: number,
  rowsMax: number,
): Promise<{ readonly changes: ChangeRecord[]; readonly last: number | null }> {
  const { results } = await databaseOf(context, shard)
    .prepare(
      `SELECT v.id, 0 AS epoch, v.bucket, b.bucket_id, hex(v.name) AS name, ${versionKeySql('v.is_null', 'v.ord')} AS key,
         CASE WHEN v.data IS NULL THEN 0 ELSE v.size END AS bytes,
         CASE WHEN v.part_count IS NULL THEN 0 ELSE (SELECT count(*) FROM extent e WHERE e.object_id = v.object_id) END AS rows
       FROM version v LEFT JOIN bucket b ON b.n = v.bucket
       WHERE v.id > ?1 AND v.id >= ${firstIdOf('?2')} AND v.id < ${firstIdOf('?3')} ORDER BY v.id LIMIT 4000`,
    )
    .bind(after, from, until)
    .all<Row>();
  const changes: ChangeRecord[] = [];
  let last: number | null = null;
  let [bytes, rows] = [0, 0];
  for (const row of results) {
    rows += 1 + Number(row.rows);
    if (rows > rowsMax && changes.length > 0) break;
    changes.push(toChange(row));
    last = Number(row.id);
    bytes += Number(row.bytes);
    if (bytes > bytesMax) break;
  }
  return { changes, last };
}

export type JournalRows = Readonly<Record<Exclude<Table, 'bucket' | 'reclaim'>, readonly Row[]>>;

/** Reads all rows to which the change records refer, in their present state and in one transaction. */
export async function readChanged(
  context: EngineContext,
  shard: number,
  changes: readonly ChangeRecord[],
): Promise<JournalRows> {
  const database = databaseOf(context, shard);
  const keyed = new Map<string, readonly unknown[]>();
  const uploadIds: unknown[] = [];
  for (const { bucket, name, key } of changes) {
    const order = key.slice(1, 33);
    if (key.startsWith('v')) keyed.set(`${bucket} ${name} ${order}`, [bucket, name, order, order, 0]);
    if (key.startsWith('n')) keyed.set(`${bucket} ${name}`, [bucket, name, '00', 'FF'.repeat(16), 1]);
    if (key.startsWith('u')) uploadIds.push([bucket, name, key.slice(1)]);
  }
  // The bounds let SQLite seek each version, even of a name with thousands of versions.
  const versions = `json_each(?1) a CROSS JOIN version v WHERE v.bucket = a.value->>0 AND v.name = unhex(a.value->>1)
    AND v.ord >= unhex(a.value->>2) AND v.ord <= unhex(a.value->>3) AND v.is_null >= a.value->>4`;
  const uploads = `json_each(?2) a CROSS JOIN upload u WHERE u.bucket = a.value->>0 AND u.name = unhex(a.value->>1)
    AND u.upload_id = a.value->>2`;
  const parts = `part p WHERE p.upload_id IN (SELECT u.upload_id FROM ${uploads} AND u.state = 'open')`;
  const objects = `SELECT v.object_id FROM ${versions} UNION ALL SELECT p.object_id FROM ${parts}`;
  const bound = [JSON.stringify([...keyed.values()]), JSON.stringify(uploadIds)];
  // The second parameter is bound only where it occurs, because D1 rejects parameters that the statement does not use.
  const of = (sql: string) => database.prepare(sql).bind(...(sql.includes('?2') ? bound : bound.slice(0, 1)));
  const [version, extent, blob, upload, part] = await database.batch<Row>([
    of(`SELECT ${columnsOf('version', 'v', true)} FROM ${versions}`),
    of(`SELECT ${columnsOf('extent', 'e', true)} FROM extent e WHERE e.object_id IN (${objects})`),
    of(`SELECT ${columnsOf('blob', 'l', true)} FROM blob l WHERE l.blob_id IN
      (SELECT e.blob_id FROM extent e WHERE e.object_id IN (${objects}) UNION SELECT v.blob_id FROM ${versions})`),
    of(`SELECT ${columnsOf('upload', 'u', true)} FROM ${uploads} AND ?1 IS NOT NULL`),
    of(`SELECT ${columnsOf('part', 'p', true)} FROM ${parts} AND ?1 IS NOT NULL`),
  ]);
  const rows = (answer: D1Result<Row> | undefined) => answer?.results ?? [];
  return {
    version: rows(version),
    extent: rows(extent),
    blob: rows(blob),
    upload: rows(upload),
    part: rows(part),
  };
}

export async function removeChanges(
  context: EngineContext,
  shard: number,
  changes: readonly ChangeRecord[],
): Promise<void> {
  const database = databaseOf(context, shard);
  const list = changes.map(({ epoch, bucket, name, key }) => [epoch, bucket, name, key]);
  const statements = toParameters(list).map((parameter) =>
    database
      .prepare(
        `DELETE FROM change WHERE (epoch, bucket, name, key) IN
         (SELECT a.value->>0, a.value->>1, unhex(a.value->>2), a.value->>3 FROM json_each(?1) a)`,
      )
      .bind(parameter),
  );
  if (statements.length > 0) await database.batch(statements);
}

/** A change record as the journal stores it: bucket id, name (hex), key. */
export type JournalChange = readonly [string, string, string];

const N = '(SELECT o.n FROM bucket o WHERE o.bucket_id = a.value->>0)';

/** SQL of the versions `v` that a change record removes: its version, and for a `null` version also all earlier `null` versions. */
const REMOVED = `json_each(?1) a CROSS JOIN version v WHERE v.bucket = ${N} AND v.name = unhex(a.value->>1)
  AND v.ord >= unhex(substr(a.value->>2, 2, 32))
  AND v.ord <= CASE substr(a.value->>2, 1, 1) WHEN 'n' THEN x'ffffffffffffffffffffffffffffffff' ELSE unhex(substr(a.value->>2, 2, 32)) END
  AND (v.is_null = 1 OR substr(a.value->>2, 1, 1) = 'v')`;

/**
 * Records until the end of a rebuild which versions were removed, so that nothing restores them, and which slots were refilled.
 * Blobs from before a refill prove nothing about that slot, because the slot was in another shard in between.
 */
export function recordRemoved(database: D1Database, changes: readonly JournalChange[]): D1PreparedStatement[] {
  return toParameters(changes).map((parameter) =>
    database
      .prepare(
        `INSERT OR IGNORE INTO change(epoch, bucket, name, key)
         SELECT 0, ${N}, unhex(a.value->>1), a.value->>2 FROM json_each(?1) a WHERE ${N} IS NOT NULL`,
      )
      .bind(parameter),
  );
}

/**
 * Filters a page of the journal to the rows that still belong to this shard. A bucket may have been deleted since, or a slot moved
 * away.
 */
async function keepKnown(
  database: D1Database,
  changes: readonly JournalChange[],
  rows: JournalRows,
): Promise<{ readonly changes: readonly JournalChange[]; readonly rows: JournalRows }> {
  const named = JSON.stringify([...new Set(changes.map(([bucketId]) => bucketId))]);
  const { results } = await database
    .prepare('SELECT bucket_id, slots FROM bucket WHERE bucket_id IN (SELECT value FROM json_each(?1))')
    .bind(named)
    .all<{ bucket_id: string; slots: string }>();
  const slots = new Map(results.map((row) => [row.bucket_id, row.slots]));
  const isHere = (row: Row) => slots.get(String(row.bucket_id))?.[Number(row.slot)] === 'o';
  const [version, upload] = [rows.version.filter(isHere), rows.upload.filter(isHere)];
  const uploadIds = new Set(upload.map((row) => row.upload_id));
  const part = rows.part.filter((row) => uploadIds.has(row.upload_id ?? ''));
  const objectIds = new Set([...version, ...part].map((row) => row.object_id));
  return {
    changes: changes.filter(([bucketId]) => slots.has(bucketId)),
    rows: {
      version,
      upload,
      part,
      extent: rows.extent.filter((row) => objectIds.has(row.object_id ?? '')),
      blob: rows.blob,
    },
  };
}

/**
 * Applies a page of the journal in one transaction: removes the rows to which its change records refer, then inserts the page's
 * rows.
 */
export async function replayRows(
  context: EngineContext,
  shard: number,
  pageChanges: readonly JournalChange[],
  pageRows: JournalRows,
): Promise<void> {
  const database = databaseOf(context, shard);
  const { changes, rows } = await keepKnown(database, pageChanges, pageRows);
  const list = (kinds: string) => toParameters(changes.filter(([, , key]) => kinds.includes(key[0] ?? '')));
  const run = (parameters: readonly string[], sqls: readonly string[]) =>
    parameters.flatMap((parameter) => sqls.map((sql) => database.prepare(sql).bind(parameter)));
  const slot = `json_each(?1) a CROSS JOIN version v WHERE v.bucket = ${N} AND v.slot = CAST(substr(a.value->>2, 2) AS INTEGER)`;
  const slotUpload = slot.replace('version v', 'upload v');
  const upload = `json_each(?1) a CROSS JOIN upload v WHERE v.bucket = ${N} AND v.name = unhex(a.value->>1)
    AND v.upload_id = substr(a.value->>2, 2)`;
  const removeVersions = (which: string) => [
    `DELETE FROM extent WHERE object_id IN (SELECT v.object_id FROM ${which})`,
    `DELETE FROM version WHERE (bucket, name, ord) IN (SELECT v.bucket, v.name, v.ord FROM ${which})`,
  ];
  const removeUploads = (which: string) => [
    `DELETE FROM extent WHERE object_id IN (SELECT p.object_id FROM part p WHERE p.upload_id IN (SELECT v.upload_id FROM ${which}))`,
    `DELETE FROM part WHERE upload_id IN (SELECT v.upload_id FROM ${which})`,
    `DELETE FROM upload WHERE (bucket, name, upload_id) IN (SELECT v.bucket, v.name, v.upload_id FROM ${which})`,
  ];
  // A name has only one `null` version, the latest. The restored snapshot may have a later one than this page of the journal.
  const replaced = `json_each(?1) a CROSS JOIN version v WHERE v.bucket = ${N} AND v.name = unhex(a.value->>1) AND v.is_null = 1
    AND substr(a.value->>2, 1, 1) = 'n'
    AND EXISTS (SELECT 1 FROM version x WHERE x.bucket = v.bucket AND x.name = v.name AND x.is_null = 1 AND x.ord < v.ord)`;
  const objectIds = toParameters([...rows.version, ...rows.part].map((row) => row.object_id));
  await database.batch([
    ...run(list('s'), [...removeVersions(slot), ...removeUploads(slotUpload)]),
    ...run(list('vn'), removeVersions(REMOVED)),
    ...run(list('u'), removeUploads(upload)),
    ...run(objectIds, ['DELETE FROM extent WHERE object_id IN (SELECT unhex(value) FROM json_each(?1))']),
    ...insertRows(database, 'blob', rows.blob),
    ...insertRows(database, 'version', rows.version),
    ...insertRows(database, 'extent', rows.extent),
    ...insertRows(database, 'upload', rows.upload),
    ...insertRows(database, 'part', rows.part),
    ...run(list('vn'), removeVersions(replaced)),
  ]);
}
