/** Finds versions and their extents. */
import { ok, type Result } from '../../../shared/pure/result.ts';
import { toVersionOrder } from '../../domain/version-order.ts';
import { databaseOf, type EngineContext } from '../model/context.ts';
import type { Extent, ReadHandle, StoredVersion, Unavailable, VersionChoice } from '../model/contract.ts';
import type { ShardGenerations } from '../model/proof.ts';
import { fromHex, GENERATION_COLUMNS, IS_BEING_REBUILT, type Row, readRows, toGenerations, toHex } from './database.ts';
import { type ExtentRow, extentsJson, toExtent, toVersionFacts, VERSION_COLUMNS } from './version-sql.ts';

/** Number of extents loaded with the version. The other extents of a longer object are loaded when a read begins. */
export const FIRST_EXTENTS = 32;

export interface FoundVersion extends ShardGenerations {
  /** Id of the bucket; null if the shard does not know it. */
  readonly bucketId: string | null;
  /** The shard's state of the name's slot; null if the shard does not know the bucket. */
  readonly slotState: string | null;
  readonly version: StoredVersion | null;
}

const UNKNOWN_BUCKET: FoundVersion = {
  bucketId: null,
  slotState: null,
  version: null,
  generation: null,
  identities: new Map(),
  isSealed: false,
};

/** Loads a version with its inline data or first extents in one query. The bucket is found by its name until its id is known. */
export async function findVersion(
  context: EngineContext,
  shard: number,
  bucket: { readonly bucketId: string } | { readonly bucketName: string },
  slot: number,
  name: string,
  choice: VersionChoice,
): Promise<Result<FoundVersion, Unavailable>> {
  const newest = 'SELECT ord FROM version WHERE bucket = b.n AND name = CAST(?3 AS BLOB) ORDER BY ord LIMIT 1';
  const which =
    choice.versionId === undefined
      ? `v.ord = (${newest})`
      : choice.versionId === 'null'
        ? 'v.is_null = 1'
        : 'v.ord = unhex(?4)';
  const [isBucket, key] =
    'bucketId' in bucket
      ? ['b.bucket_id = ?1', bucket.bucketId]
      : ['b.name = ?1 AND b.seal IS NULL', bucket.bucketName];
  const parameters: unknown[] = [key, slot, name];
  if (choice.versionId !== undefined && choice.versionId !== 'null') parameters.push(toVersionOrder(choice.versionId));
  const isLatest = choice.versionId === undefined ? '1' : `v.ord = (${newest})`;
  const database = databaseOf(context, shard);
  const rows = await readRows(
    context,
    database
      .prepare(
        `SELECT b.bucket_id, substr(b.slots, ?2 + 1, 1) AS slot_state, ${GENERATION_COLUMNS}, ${isLatest} AS is_latest, ${VERSION_COLUMNS},
           v.data, v.crc32, ${extentsJson(FIRST_EXTENTS)} AS extents
         FROM bucket b LEFT JOIN version v ON v.bucket = b.n AND v.name = CAST(?3 AS BLOB) AND ${which}
         WHERE ${isBucket} AND NOT ${IS_BEING_REBUILT}`,
      )
      .bind(...parameters),
  );
  if (!rows.ok) return rows;
  const row = rows.value[0];
  if (!row) return ok(UNKNOWN_BUCKET);
  const bucketId = String(row.bucket_id);
  const state = { bucketId, slotState: String(row.slot_state), ...toGenerations(row) };
  if (row.ord === '' || row.ord === null) return ok({ ...state, version: null });
  const facts = toVersionFacts(row, row.is_latest === 1);
  const isTakenDown = Number(row.taken_down) === 1;
  return ok({ ...state, version: { ...facts, handle: toHandle(row, shard, bucketId), isTakenDown } });
}

function toHandle(row: Row, shard: number, bucketId: string): ReadHandle {
  const extents = (JSON.parse(String(row.extents)) as ExtentRow[]).map(toExtent);
  const inline = row.data === null ? null : { data: String(row.data), crc32: Number(row.crc32) };
  return { shard, bucketId, inline, extents };
}

/** Where a piece of an object is stored. `openPlaces` adds the facts of its blob. */
export type ExtentPlace = Pick<Extent, 'start' | 'length' | 'blobId' | 'blobStart' | 'crc32'>;

/** Lists the rows of `extent` that hold a range of bytes (inclusive) of an object, at most `limit` of them. */
export async function listPlaces(
  context: EngineContext,
  shard: number,
  objectId: string,
  range: { readonly start: number; readonly end: number },
  limit: number,
): Promise<Result<ExtentPlace[], Unavailable>> {
  const database = databaseOf(context, shard);
  const rows = await readRows(
    context,
    database
      .prepare(
        `SELECT start, length, hex(blob_id) AS blob_id, blob_start, crc32 FROM extent
         WHERE object_id = unhex(?1) AND start <= ?3
           AND start >= COALESCE((SELECT start FROM extent WHERE object_id = unhex(?1) AND start <= ?2 ORDER BY start DESC LIMIT 1), 0)
         ORDER BY start LIMIT ?4`,
      )
      .bind(toHex(objectId), range.start, range.end, limit),
  );
  if (!rows.ok) return rows;
  return ok(
    rows.value.map((row) => ({
      start: Number(row.start),
      length: Number(row.length),
      blobId: fromHex(String(row.blob_id)),
      blobStart: Number(row.blob_start),
      crc32: row.crc32 as number | null,
    })),
  );
}

/** Adds the facts of their blobs to places. Keeps the order. */
export async function openPlaces(
  context: EngineContext,
  shard: number,
  places: readonly ExtentPlace[],
): Promise<Result<Extent[], Unavailable>> {
  const database = databaseOf(context, shard);
  const list = places.map((place) => ({ ...place, blobId: toHex(place.blobId) }));
  const rows = await readRows(
    context,
    database
      .prepare(
        `SELECT json_array(a.value->>'start', a.value->>'length', a.value->>'blobId', a.value->>'blobStart', l.size, a.value->>'crc32',
           CASE WHEN a.value->>'crc32' IS NULL THEN hex(l.segments) ELSE '' END, l.locations, l.is_lost) AS extent
         FROM json_each(?1) a LEFT JOIN blob l ON l.blob_id = unhex(a.value->>'blobId') ORDER BY a.key`,
      )
      .bind(JSON.stringify(list)),
  );
  return rows.ok ? ok(rows.value.map((row) => toExtent(JSON.parse(String(row.extent)) as ExtentRow))) : rows;
}

/** Lists the ranges of a multipart object's parts, computed from its extents, from the part that has the byte `from`. */
export async function listPartRanges(
  context: EngineContext,
  shard: number,
  objectId: string,
  { after, limit, from }: { readonly after: number; readonly limit: number; readonly from: number },
): Promise<Result<Row[], Unavailable>> {
  const database = databaseOf(context, shard);
  return await readRows(
    context,
    database
      .prepare(
        `SELECT part, min(start) AS start, sum(length) AS size, max(part_facts) AS facts FROM extent
         WHERE object_id = unhex(?1) AND part > ?2 AND part >= COALESCE((SELECT part FROM extent
           WHERE object_id = unhex(?1) AND start <= ?4 ORDER BY start DESC LIMIT 1), 0) GROUP BY part ORDER BY part LIMIT ?3`,
      )
      .bind(toHex(objectId), after, limit, from),
  );
}
