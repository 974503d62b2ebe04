/**
 * Small objects whose bytes do not match their CRC-32: inline in their row, or packed into a volume.
 *
 * A version without any intact copy is set aside: its row id becomes negative. It then no longer waits to be packed, and the
 * negative ids list the damaged versions until each is deleted or repaired.
 */
import { databaseOf, type EngineContext } from '../model/context.ts';
import { fromHex, type Row, runRepeatable, toHex } from './database.ts';
import { IS_CLAIMED, versionKeySql } from './journal-store.ts';
import { EPOCH, FLUSHED, firstIdOf, NEXT_ID, PACKED } from './version-ids.ts';

/** A version whose bytes one CRC-32 covers, with the present place of its bytes. */
export interface SmallRow {
  /** Row id; negative if the version is set aside. 0 if it is unknown. */
  readonly id: number;
  /** Number of the bucket in its shard. */
  readonly bucket: number;
  /** Name of the bucket; null for a deleted one. */
  readonly bucketName: string | null;
  /** Name of the object, in upper-case hex. */
  readonly nameHex: string;
  readonly order: string;
  readonly objectId: string;
  readonly size: number;
  readonly crc32: number;
  /** Inline bytes in Base64; null if the object is packed. */
  readonly data: string | null;
  /** Volume with the bytes, in hex; '' if the bytes are inline. */
  readonly blobHex: string;
  readonly blobStart: number | null;
}

const COLUMNS = `v.id, v.bucket, b.name AS bucket_name, hex(v.name) AS name, hex(v.ord) AS ord, hex(v.object_id) AS object_id, v.size,
  v.crc32, v.data, COALESCE(hex(v.blob_id), '') AS blob_id, v.blob_start`;

const toSmallRow = (row: Row): SmallRow => ({
  id: Number(row.id ?? 0),
  bucket: Number(row.bucket ?? 0),
  bucketName: row.bucket_name as string | null,
  nameHex: String(row.name),
  order: String(row.ord),
  objectId: fromHex(String(row.object_id)),
  size: Number(row.size),
  crc32: Number(row.crc32),
  data: (row.data ?? null) as string | null,
  blobHex: String(row.blob_id ?? ''),
  blobStart: row.blob_start as number | null,
});

/** Reads a small object's row from a row of a journal or snapshot. */
export const fromCopiedRow = (row: Row): SmallRow => toSmallRow({ ...row, id: 0, bucket_name: null });

async function select(context: EngineContext, shard: number, where: string, bound: unknown[]): Promise<SmallRow[]> {
  const { results } = await databaseOf(context, shard)
    .prepare(
      `SELECT ${COLUMNS} FROM version v LEFT JOIN bucket b ON b.n = v.bucket WHERE v.crc32 IS NOT NULL AND ${where}`,
    )
    .bind(...bound)
    .all<Row>();
  return results.map(toSmallRow);
}

/** Finds a version by its bucket's id (or its number in the shard), name and order, all as in a copied row. */
export async function findSmall(
  context: EngineContext,
  shard: number,
  key: { readonly bucket: string | number; readonly nameHex: string; readonly order: string },
): Promise<SmallRow | null> {
  const bucket = typeof key.bucket === 'number' ? '?1' : '(SELECT n FROM bucket WHERE bucket_id = ?1)';
  const where = `v.bucket = ${bucket} AND v.name = unhex(?2) AND v.ord = unhex(?3)`;
  return (await select(context, shard, where, [key.bucket, key.nameHex, key.order]))[0] ?? null;
}

/** The number that a shard gave to a bucket; 0 if the shard does not know the bucket. */
export async function findBucketNumber(context: EngineContext, shard: number, bucketId: string): Promise<number> {
  const statement = databaseOf(context, shard).prepare('SELECT n FROM bucket WHERE bucket_id = ?1');
  return (await statement.bind(bucketId).first<number>('n')) ?? 0;
}

export const findSmallById = async (context: EngineContext, shard: number, id: number): Promise<SmallRow | null> =>
  (await select(context, shard, 'v.id = ?1', [id]))[0] ?? null;

/** Lists the versions at a place in a volume. Several versions have one place, because copies are made by reference. */
export const listSmallAt = (
  context: EngineContext,
  shard: number,
  blobId: string,
  start: number,
): Promise<SmallRow[]> =>
  select(context, shard, 'v.blob_id = unhex(?1) AND v.blob_start = ?2 LIMIT 1000', [toHex(blobId), start]);

/** Lists versions that are set aside, without their data. @param after row id of the last one of the previous page; 0 at first. */
export const listSetAside = (
  context: EngineContext,
  shard: number,
  after: number,
  limit: number,
): Promise<SmallRow[]> => select(context, shard, 'v.id < ?1 ORDER BY v.id DESC LIMIT ?2', [Math.min(after, 0), limit]);

/** Counts the versions that are set aside, up to a limit. */
export async function countSetAside(context: EngineContext, shard: number, limit: number): Promise<number> {
  const statement = databaseOf(context, shard).prepare(
    'SELECT count(*) AS n FROM (SELECT 1 FROM version WHERE id < 0 LIMIT ?1)',
  );
  return (await statement.bind(limit).first<number>('n')) ?? 0;
}

/** Whether the journal in the locations has a version. False if the shard does not answer. */
export async function isJournaled(
  context: EngineContext,
  shard: number,
  name: string,
  order: string,
): Promise<boolean> {
  const found = await databaseOf(context, shard)
    .prepare(
      `SELECT max(v.id < ${firstIdOf(FLUSHED)}) AS is_there FROM version v
       WHERE v.bucket IN (SELECT n FROM bucket) AND v.name = CAST(?1 AS BLOB) AND v.ord = unhex(?2)`,
    )
    .bind(name, order)
    .first<number>('is_there')
    .catch(() => 0);
  return found === 1;
}

/** Finds which orders are those of versions whose early copies may be needed. @throws if a shard does not answer, or is not claimed. */
export async function findNeedingCopies(context: EngineContext, orders: readonly string[]): Promise<Set<string>> {
  const pages = await Promise.all(
    context.shards.map((database) =>
      database
        .prepare(
          `SELECT hex(v.ord) AS ord FROM version v WHERE (v.id < 0 OR (v.id >= ${PACKED} AND v.data IS NOT NULL))
             AND v.ord IN (SELECT unhex(value) FROM json_each(?1))
           UNION ALL SELECT '' WHERE ${IS_CLAIMED}`,
        )
        .bind(JSON.stringify(orders))
        .all<{ ord: string }>(),
    ),
  );
  if (pages.some(({ results }) => results.at(-1)?.ord !== '')) throw new Error('a shard is not claimed');
  return new Set(pages.flatMap(({ results }) => results.map(({ ord }) => ord.toLowerCase())));
}

/** SQL condition that a version `v` is still as it was read. */
const IS_SAME =
  "v.id = ?1 AND v.object_id = unhex(?2) AND v.data IS ?3 AND v.blob_id IS unhex(NULLIF(?4, '')) AND v.blob_start IS ?5";
const boundOf = ({ id, objectId, data, blobHex, blobStart }: SmallRow) => [
  id,
  toHex(objectId),
  data,
  blobHex,
  blobStart,
];

/**
 * Adds a change record, so that the next journal page has the new state of the row. It belongs to the epoch before the present one:
 * a journal that is being written then still reads it, even if the row gets a new id and with that a later epoch.
 */
const RECORD = `INSERT OR IGNORE INTO change(epoch, bucket, name, key)
  SELECT ${EPOCH} - 1, v.bucket, v.name, ${versionKeySql('v.is_null', 'v.ord')} FROM version v WHERE ${IS_SAME}`;

async function changeRow(context: EngineContext, shard: number, statements: D1PreparedStatement[]): Promise<boolean> {
  const done = await runRepeatable(context, databaseOf(context, shard), statements);
  if (!done.ok) throw new Error(done.error.reason);
  return (done.value.at(-1)?.meta.changes ?? 0) > 0;
}

/**
 * Puts intact bytes into the row of a damaged version, if the row is unchanged. A packed object becomes inline again and waits to be
 * packed; its place in the volume becomes dead space.
 * @param bytes intact bytes in Base64.
 */
export function restoreData(context: EngineContext, shard: number, row: SmallRow, bytes: string): Promise<boolean> {
  const database = databaseOf(context, shard);
  const bound = boundOf(row);
  const reclaim = `INSERT INTO reclaim(blob_id, since) SELECT v.blob_id, ?6 FROM version v WHERE ${IS_SAME} AND v.blob_id IS NOT NULL
    ON CONFLICT(blob_id) DO UPDATE SET since = excluded.since`;
  return changeRow(context, shard, [
    database.prepare(RECORD).bind(...bound),
    database.prepare(reclaim).bind(...bound, Math.trunc(context.now())),
    database
      .prepare(
        `UPDATE version AS v SET data = ?6, blob_id = NULL, blob_start = NULL,
           id = CASE WHEN v.data IS NOT NULL AND v.id >= ${PACKED} THEN v.id ELSE ${NEXT_ID} END WHERE ${IS_SAME}`,
      )
      .bind(...bound, bytes),
  ]);
}

/** Sets a version aside, if its row is unchanged. A row without any place of bytes stays: fsck names it as incomplete. */
export async function setAside(context: EngineContext, shard: number, row: SmallRow): Promise<void> {
  if (row.id < 0 || (row.data === null && row.blobHex === '')) return;
  const database = databaseOf(context, shard);
  const bound = boundOf(row);
  await changeRow(context, shard, [
    database.prepare(RECORD).bind(...bound),
    database
      .prepare(`UPDATE version AS v SET id = MIN(0, (SELECT MIN(id) FROM version)) - 1 WHERE ${IS_SAME}`)
      .bind(...bound),
  ]);
}

/** A range of a volume with its CRC-32. */
export interface VolumePlace {
  readonly start: number;
  readonly length: number;
  readonly crc32: number;
}

/** Lists the ranges of a volume that versions or extents use. */
export async function listPlacesInVolume(
  context: EngineContext,
  shard: number,
  blobId: string,
): Promise<VolumePlace[]> {
  const { results } = await databaseOf(context, shard)
    .prepare(
      `SELECT blob_start AS start, size AS length, crc32 FROM version WHERE blob_id = unhex(?1) AND crc32 IS NOT NULL
       UNION SELECT blob_start, length, crc32 FROM extent WHERE blob_id = unhex(?1) AND crc32 IS NOT NULL ORDER BY 1`,
    )
    .bind(toHex(blobId))
    .all<VolumePlace & Record<string, number>>();
  return results;
}

/** Lists the versions of several extents that use a place. The query scans the extents of the blob. */
export async function listVersionsOfPlace(
  context: EngineContext,
  shard: number,
  blobId: string,
  place: VolumePlace,
): Promise<{ bucket: string; name: string; object_id: string }[]> {
  const { results } = await databaseOf(context, shard)
    .prepare(
      `SELECT b.name AS bucket, CAST(v.name AS TEXT) AS name, hex(v.object_id) AS object_id
       FROM version v JOIN bucket b ON b.n = v.bucket
       WHERE v.object_id IN (SELECT object_id FROM extent WHERE blob_id = unhex(?1) AND blob_start = ?2 AND length = ?3) LIMIT 1000`,
    )
    .bind(toHex(blobId), place.start, place.length)
    .all<Row>();
  return results.map((row) => ({
    bucket: String(row.bucket),
    name: String(row.name),
    object_id: fromHex(String(row.object_id)),
  }));
}
