/** Small objects that are waiting to be packed, and volumes to compact. */
import { databaseOf, type EngineContext } from '../model/context.ts';
import { insertBlobsSql } from './commit-store.ts';
import { fromHex, type Row, toHex } from './database.ts';

/** D1 accepts at most 2 MB per parameter, so long lists are split. */
const ENTRIES_PER_STATEMENT = 8_000;

export interface InlineRow {
  readonly objectId: string;
  readonly size: number;
  readonly crc32: number;
  readonly data: string;
  readonly version: Readonly<Record<string, unknown>> | null;
}

/** Number and bytes of waiting objects, up to a limit, and the order of the oldest of them. */
export async function measureInline(context: EngineContext, shard: number, rowsMax: number) {
  const row = await databaseOf(context, shard)
    .prepare(
      `SELECT count(*) AS count, COALESCE(sum(size), 0) AS bytes, hex(max(ord)) AS oldest
       FROM (SELECT size, ord FROM inline LIMIT ?1)`,
    )
    .bind(rowsMax)
    .first<{ count: number; bytes: number; oldest: string }>();
  return { count: row?.count ?? 0, bytes: row?.bytes ?? 0, oldest: row?.oldest ?? '' };
}

/** All facts of a version, as the index of a volume stores them. */
export const VERSION_JSON = `json_object('bucket_id', b.bucket_id, 'bucket', b.name, 'name', hex(v.name), 'ord', hex(v.ord),
  'is_null', v.is_null, 'size', v.size, 'etag', v.etag, 'sha256', hex(v.sha256), 'checksums', json(v.checksums),
  'checksum_type', v.checksum_type, 'part_count', v.part_count, 'metadata', json(v.metadata), 'tags', json(v.tags), 'acl', v.acl)`;

/** @param after the last id read (hex). */
export async function selectInline(
  context: EngineContext,
  shard: number,
  after: string,
  limit: number,
): Promise<InlineRow[]> {
  const { results } = await databaseOf(context, shard)
    .prepare(
      `SELECT hex(i.object_id) AS object_id, i.size, i.crc32, i.data, CASE WHEN v.ord IS NULL THEN NULL ELSE ${VERSION_JSON} END AS version
       FROM inline i LEFT JOIN version v ON v.bucket = i.bucket AND v.name = i.name AND v.ord = i.ord
       LEFT JOIN bucket b ON b.n = i.bucket
       WHERE i.object_id > unhex(?1) ORDER BY i.object_id LIMIT ?2`,
    )
    .bind(after, limit)
    .all<Row>();
  return results.map((row) => ({
    objectId: fromHex(String(row.object_id)),
    size: Number(row.size),
    crc32: Number(row.crc32),
    data: String(row.data),
    version: row.version === null ? null : JSON.parse(String(row.version)),
  }));
}

export interface VolumeRecord {
  readonly blobId: string;
  readonly size: number;
  readonly sha256: string;
  readonly segments: string;
}

/** Inserts the record of the volume and its extents, and removes the inline rows. Idempotent. */
export function packStatements(
  database: D1Database,
  volume: VolumeRecord,
  entries: readonly {
    readonly objectId: string;
    readonly start: number;
    readonly length: number;
    readonly crc32: number;
  }[],
  allLocations: number,
  nowMs: number,
): D1PreparedStatement[] {
  const id = toHex(volume.blobId);
  const statements = [insertVolume(database, volume, allLocations, nowMs)];
  for (let at = 0; at < entries.length; at += ENTRIES_PER_STATEMENT) {
    const rows = JSON.stringify(
      entries.slice(at, at + ENTRIES_PER_STATEMENT).map((e) => [toHex(e.objectId), e.start, e.length, e.crc32]),
    );
    statements.push(
      // An object that was deleted in the meantime has no inline row and gets no extent.
      database
        .prepare(
          `INSERT INTO extent(object_id, start, length, blob_id, blob_start, crc32)
           SELECT i.object_id, 0, a.value->>2, unhex(?2), a.value->>1, a.value->>3
           FROM json_each(?1) a CROSS JOIN inline i WHERE i.object_id = unhex(a.value->>0)`,
        )
        .bind(rows, id),
      database.prepare('DELETE FROM inline WHERE object_id IN (SELECT unhex(value->>0) FROM json_each(?1))').bind(rows),
    );
  }
  statements.push(
    database
      .prepare(
        `INSERT INTO reclaim(blob_id, since) SELECT unhex(?1), ?2
         WHERE (SELECT count(*) FROM extent WHERE blob_id = unhex(?1)) < ?3
         ON CONFLICT(blob_id) DO UPDATE SET since = excluded.since`,
      )
      .bind(id, nowMs, entries.length),
  );
  return statements;
}

function insertVolume(database: D1Database, volume: VolumeRecord, allLocations: number, nowMs: number) {
  const { size, sha256, segments } = volume;
  return database
    .prepare(`${insertBlobsSql('?1', '?2', '?3', 'volume')} WHERE true ON CONFLICT(blob_id) DO NOTHING`)
    .bind(JSON.stringify([{ id: toHex(volume.blobId), size, sha256, segments }]), allLocations, nowMs);
}

export interface VolumeExtent {
  readonly objectId: string;
  readonly start: number;
  readonly length: number;
  readonly blobId: string;
  readonly blobStart: number;
  readonly crc32: number;
}

export async function selectVolumeExtents(
  context: EngineContext,
  shard: number,
  blobId: string,
): Promise<VolumeExtent[]> {
  const { results } = await databaseOf(context, shard)
    .prepare(
      `SELECT hex(object_id) AS object_id, start, length, blob_start, crc32 FROM extent WHERE blob_id = unhex(?1)
       ORDER BY blob_start`,
    )
    .bind(toHex(blobId))
    .all<Row>();
  return results.map((row) => ({
    objectId: fromHex(String(row.object_id)),
    start: Number(row.start),
    length: Number(row.length),
    blobId,
    blobStart: Number(row.blob_start),
    crc32: Number(row.crc32),
  }));
}

/** Points extents at the new volume, each only if it is unchanged, and marks the old volumes for reclamation. */
export function compactStatements(
  database: D1Database,
  volume: VolumeRecord,
  moves: readonly { readonly from: VolumeExtent; readonly to: number }[],
  allLocations: number,
  nowMs: number,
): D1PreparedStatement[] {
  const id = toHex(volume.blobId);
  const statements = [insertVolume(database, volume, allLocations, nowMs)];
  for (let at = 0; at < moves.length; at += ENTRIES_PER_STATEMENT) {
    const rows = moves
      .slice(at, at + ENTRIES_PER_STATEMENT)
      .map(({ from, to }) => [toHex(from.objectId), from.start, toHex(from.blobId), from.blobStart, to]);
    statements.push(
      database
        .prepare(
          // An upsert instead of UPDATE … FROM, because only a SELECT can fix the order of the join.
          `INSERT INTO extent(object_id, start, length, blob_id, blob_start, crc32, part, part_facts)
           SELECT e.object_id, e.start, e.length, unhex(?2), m.value->>4, e.crc32, e.part, e.part_facts
           FROM json_each(?1) m CROSS JOIN extent e WHERE e.object_id = unhex(m.value->>0) AND e.start = m.value->>1
             AND e.blob_id = unhex(m.value->>2) AND e.blob_start = m.value->>3
           ON CONFLICT(object_id, start) DO UPDATE SET blob_id = excluded.blob_id, blob_start = excluded.blob_start`,
        )
        .bind(JSON.stringify(rows), id),
    );
  }
  const old = JSON.stringify([...new Set(moves.map(({ from }) => toHex(from.blobId)))]);
  statements.push(
    database
      .prepare(
        `INSERT INTO reclaim(blob_id, since) SELECT unhex(value), ?2 FROM json_each(?1) WHERE true
         ON CONFLICT(blob_id) DO UPDATE SET since = excluded.since`,
      )
      .bind(old, nowMs),
  );
  return statements;
}
