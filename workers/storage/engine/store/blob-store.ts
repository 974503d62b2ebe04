/** Rows of `blob` (blob records), as background work reads and changes them. */

import { databaseOf, type EngineContext } from '../model/context.ts';
import { claimShard } from './claims.ts';
import { fromHex, type Row, toHex } from './database.ts';
import { IS_CLAIMED } from './journal-store.ts';
import { isReferenced } from './version-sql.ts';

export interface BlobRow {
  readonly blobId: string;
  readonly kind: 'object' | 'part' | 'volume';
  readonly size: number;
  readonly sha256: string;
  readonly segments: string;
  readonly locations: number;
  readonly isShared: boolean;
  readonly isLost: boolean;
  /** Bit mask of the locations that still need a copy of the blob. */
  readonly missing: number;
}

const COLUMNS = `hex(l.blob_id) AS blob_id, l.kind, l.size, hex(l.sha256) AS sha256, hex(l.segments) AS segments, l.locations,
  l.is_shared, l.is_lost, l.missing`;

const toBlobRow = (row: Row): BlobRow => ({
  blobId: fromHex(String(row.blob_id)),
  kind: row.kind as BlobRow['kind'],
  size: Number(row.size),
  sha256: String(row.sha256).toLowerCase(),
  segments: String(row.segments),
  locations: Number(row.locations),
  isShared: row.is_shared === 1,
  isLost: row.is_lost === 1,
  missing: Number(row.missing),
});

const toList = (blobIds: readonly string[]): string => JSON.stringify(blobIds.map(toHex));

export async function selectBlobs(
  context: EngineContext,
  shard: number,
  blobIds: readonly string[],
): Promise<BlobRow[]> {
  const { results } = await databaseOf(context, shard)
    .prepare(`SELECT ${COLUMNS} FROM json_each(?1) a CROSS JOIN blob l WHERE l.blob_id = unhex(a.value)`)
    .bind(toList(blobIds))
    .all<Row>();
  return results.map(toBlobRow);
}

/**
 * Lists blob records in the order of their ids, which is also the order of the R2 keys.
 * @param after id of the last blob of the previous page; '' from the start.
 */
export async function selectBlobsAfter(
  context: EngineContext,
  shard: number,
  after: string,
  limit: number,
): Promise<BlobRow[]> {
  const { results } = await databaseOf(context, shard)
    .prepare(`SELECT ${COLUMNS} FROM blob l WHERE l.blob_id > unhex(?1) ORDER BY l.blob_id LIMIT ?2`)
    .bind(toHex(after), limit)
    .all<Row>();
  return results.map(toBlobRow);
}

/**
 * Finds which of the given blobs have a record in any shard.
 * @throws if a shard does not answer or has the wrong database, because a blob without a record could then be mistaken for an
 * orphan.
 */
export async function findKnownBlobs(context: EngineContext, blobIds: readonly string[]): Promise<Set<string>> {
  const pages = await Promise.all(
    context.shards.map((database) =>
      database
        .prepare(
          `SELECT hex(l.blob_id) AS blob_id FROM json_each(?1) a CROSS JOIN blob l WHERE l.blob_id = unhex(a.value)
           UNION ALL SELECT '' WHERE ${IS_CLAIMED}`,
        )
        .bind(toList(blobIds))
        .all<{ blob_id: string }>(),
    ),
  );
  for (const [shard, { results }] of pages.entries()) {
    if (results.at(-1)?.blob_id === '') continue;
    const claimed = await claimShard(context, shard);
    if (!claimed.ok) throw new Error(claimed.error.reason);
  }
  return new Set(
    pages.flatMap(({ results }) => results.filter((row) => row.blob_id !== '').map((row) => fromHex(row.blob_id))),
  );
}

export interface ReclaimRow {
  readonly blobId: string;
  readonly since: number;
  readonly kind: BlobRow['kind'] | null;
  readonly size: number;
  readonly liveBytes: number;
}

/** Lists blobs that last lost a reference before `before`, with the number of their bytes that are still in use. */
export async function selectReclaimable(
  context: EngineContext,
  shard: number,
  before: number,
  limit: number,
): Promise<ReclaimRow[]> {
  const { results } = await databaseOf(context, shard)
    .prepare(
      `SELECT hex(r.blob_id) AS blob_id, r.since, l.kind, l.size,
         (SELECT COALESCE(sum(length), 0) FROM (SELECT blob_start, size AS length FROM version WHERE blob_id = r.blob_id
            UNION SELECT blob_start, length FROM extent WHERE blob_id = r.blob_id)) AS live,
         ${isReferenced('r.blob_id')} AS is_used
       FROM reclaim r LEFT JOIN blob l ON l.blob_id = r.blob_id WHERE r.since <= ?1 ORDER BY r.since LIMIT ?2`,
    )
    .bind(before, limit)
    .all<Row>();
  return results.map((row) => ({
    blobId: fromHex(String(row.blob_id)),
    since: Number(row.since),
    kind: row.kind as ReclaimRow['kind'],
    size: Number(row.size),
    // An extent has at least one byte, so 0 live bytes means that the blob is unused.
    liveBytes: row.is_used === 1 ? Math.max(1, Number(row.live)) : 0,
  }));
}

/** Removes rows of `reclaim` whose blobs are in use or already deleted. A blob gets a new row when it loses another reference. */
export async function forgetReclaim(context: EngineContext, shard: number, rows: readonly ReclaimRow[]): Promise<void> {
  await databaseOf(context, shard)
    .prepare(`DELETE FROM reclaim WHERE (blob_id, since) IN (SELECT unhex(value->>0), value->>1 FROM json_each(?1))`)
    .bind(JSON.stringify(rows.map((row) => [toHex(row.blobId), row.since])))
    .run();
}

/**
 * Removes records of unreferenced blobs. The transaction checks again that nothing refers to them.
 * @returns the removed records.
 */
export async function removeUnreferenced(
  context: EngineContext,
  shard: number,
  blobIds: readonly string[],
  before: number,
): Promise<{ readonly blobId: string; readonly size: number; readonly isShared: boolean }[]> {
  const database = databaseOf(context, shard);
  const unused = `l.blob_id IN (SELECT unhex(value) FROM json_each(?1))
    AND NOT ${isReferenced('l.blob_id')}
    AND EXISTS (SELECT 1 FROM reclaim r WHERE r.blob_id = l.blob_id AND r.since <= ?2)`;
  const [removed] = await database.batch<Row>([
    database
      .prepare(`DELETE FROM blob AS l WHERE ${unused} RETURNING hex(blob_id) AS blob_id, size, is_shared`)
      .bind(toList(blobIds), before),
    database
      .prepare(
        `DELETE FROM reclaim WHERE blob_id IN (SELECT unhex(value) FROM json_each(?1))
         AND NOT EXISTS (SELECT 1 FROM blob l WHERE l.blob_id = reclaim.blob_id)`,
      )
      .bind(toList(blobIds)),
  ]);
  return (removed?.results ?? []).map((row) => ({
    blobId: fromHex(String(row.blob_id)),
    size: Number(row.size),
    isShared: row.is_shared === 1,
  }));
}

/** Lists blob records after an id that lack a copy in one of these locations. @param locations bit mask of the locations. */
export async function selectMissing(
  context: EngineContext,
  shard: number,
  { after, locations }: { readonly after: string; readonly locations: number },
  limit: number,
): Promise<BlobRow[]> {
  const { results } = await databaseOf(context, shard)
    .prepare(
      `SELECT ${COLUMNS} FROM blob l WHERE l.missing <> 0 AND l.blob_id > unhex(?1) AND l.missing & ?2 <> 0
       ORDER BY l.blob_id LIMIT ?3`,
    )
    .bind(toHex(after), locations, limit)
    .all<Row>();
  return results.map(toBlobRow);
}

/** Whether any blob of the shard lacks a copy. The query reads one row of an index. */
export async function isAnyMissing(context: EngineContext, shard: number): Promise<boolean> {
  const found = await databaseOf(context, shard)
    .prepare('SELECT EXISTS (SELECT 1 FROM blob WHERE missing <> 0) AS is_any')
    .first<number>('is_any');
  return found === 1;
}

/** Counts the blobs of the shard that lack a copy. The query reads one row of an index for each. */
export async function countMissing(context: EngineContext, shard: number, max: number): Promise<number> {
  const found = await databaseOf(context, shard)
    .prepare('SELECT count(*) AS total FROM (SELECT 1 FROM blob WHERE missing <> 0 LIMIT ?1)')
    .bind(max)
    .first<number>('total');
  return found ?? 0;
}

export async function setLocations(
  context: EngineContext,
  shard: number,
  blobId: string,
  { locations, missing, isLost }: Pick<BlobRow, 'locations' | 'missing' | 'isLost'>,
): Promise<void> {
  await databaseOf(context, shard)
    .prepare('UPDATE blob SET locations = ?2, is_lost = ?3, missing = ?4 WHERE blob_id = unhex(?1)')
    .bind(toHex(blobId), locations, isLost ? 1 : 0, missing)
    .run();
}

/** Lists the versions that use a blob. The query scans the extents of all multipart objects, so it runs only for lost blobs. */
export async function findVersionsOfBlob(
  context: EngineContext,
  shard: number,
  blobId: string,
): Promise<{ bucket: string; name: string; ord: string; objectId: string }[]> {
  const { results } = await databaseOf(context, shard)
    .prepare(
      `SELECT b.name AS bucket, CAST(v.name AS TEXT) AS name, hex(v.ord) AS ord, hex(v.object_id) AS object_id
       FROM version v JOIN bucket b ON b.n = v.bucket
       WHERE v.blob_id = unhex(?1) OR v.object_id IN (SELECT object_id FROM extent WHERE blob_id = unhex(?1)) LIMIT 1000`,
    )
    .bind(toHex(blobId))
    .all<Row>();
  return results.map((row) => ({
    bucket: String(row.bucket),
    name: String(row.name),
    ord: String(row.ord),
    objectId: fromHex(String(row.object_id)),
  }));
}
