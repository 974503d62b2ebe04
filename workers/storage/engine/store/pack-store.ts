/** Reads small objects that are waiting to be packed and volumes to compact, and records the new volumes. */
import { databaseOf, type EngineContext } from '../model/context.ts';
import { insertBlobsSql } from './commit-store.ts';
import { fromHex, type Row, toHex } from './database.ts';
import { NEXT_PACKED, WAITING } from './version-ids.ts';

/** Entries per statement. Long lists are split, because D1 accepts at most 2 MB per parameter. */
const ENTRIES_PER_STATEMENT = 8_000;

export interface InlineRow {
  /** Row id of the version to pack. */
  readonly id: number;
  readonly objectId: string;
  readonly size: number;
  readonly crc32: number;
  readonly data: string;
  readonly version: Readonly<Record<string, unknown>>;
}

/**
 * Counts the objects that are waiting to be packed and their bytes, up to a limit of rows. Also returns the order of the oldest
 * one.
 */
export async function measureInline(context: EngineContext, shard: number, rowsMax: number) {
  const database = databaseOf(context, shard);
  const [, measured] = await database.batch<{ count: number; bytes: number; oldest: string }>([
    database
      .prepare(
        `INSERT INTO task(name, state, updated_at)
         SELECT 'packed', ${NEXT_PACKED}, ?1
         WHERE true ON CONFLICT(name) DO UPDATE SET state = excluded.state, updated_at = excluded.updated_at
         WHERE CAST(state AS INTEGER) < CAST(excluded.state AS INTEGER)`,
      )
      .bind(context.now()),
    database
      .prepare(
        `SELECT count(*) AS count, COALESCE(sum(size), 0) AS bytes, hex(max(ord)) AS oldest
         FROM (SELECT v.size, v.ord FROM ${WAITING} ORDER BY v.id LIMIT ?1)`,
      )
      .bind(rowsMax),
  ]);
  const row = measured?.results[0];
  return { count: row?.count ?? 0, bytes: row?.bytes ?? 0, oldest: row?.oldest ?? '' };
}

/** SQL of all facts of a version as JSON, in the form that the index of a volume stores. */
export const VERSION_JSON = `json_object('bucket_id', b.bucket_id, 'bucket', b.name, 'name', hex(v.name), 'ord', hex(v.ord),
  'is_null', v.is_null, 'size', v.size, 'etag', v.etag, 'sha256', hex(v.sha256), 'checksums', json(v.checksums),
  'checksum_type', v.checksum_type, 'part_count', v.part_count, 'metadata', json(v.metadata), 'tags', json(v.tags), 'acl', v.acl,
  'lock_mode', v.lock_mode, 'retain_until', v.retain_until, 'legal_hold', v.legal_hold)`;

/** Reads a page of objects that are waiting to be packed. @param after row id of the last version of the previous page. */
export async function selectInline(
  context: EngineContext,
  shard: number,
  after: number,
  limit: number,
): Promise<InlineRow[]> {
  const { results } = await databaseOf(context, shard)
    .prepare(
      `SELECT v.id, hex(v.object_id) AS object_id, v.size, v.crc32, v.data, ${VERSION_JSON} AS version
       FROM (SELECT * FROM ${WAITING} AND v.id > ?1 ORDER BY v.id LIMIT ?2) v LEFT JOIN bucket b ON b.n = v.bucket
       ORDER BY v.id`,
    )
    .bind(after, limit)
    .all<Row>();
  return results.map((row) => ({
    id: Number(row.id),
    objectId: fromHex(String(row.object_id)),
    size: Number(row.size),
    crc32: Number(row.crc32),
    data: String(row.data),
    version: JSON.parse(String(row.version)),
  }));
}

export interface VolumeRecord {
  readonly blobId: string;
  readonly size: number;
  readonly sha256: string;
  readonly segments: string;
  readonly locations: number;
  readonly missing: number;
}

/** Inserts the record of a volume and makes the packed objects refer to it in place of their inline data. Idempotent. */
export function packStatements(
  database: D1Database,
  volume: VolumeRecord,
  entries: readonly { readonly id: number; readonly objectId: string; readonly start: number }[],
  nowMs: number,
): D1PreparedStatement[] {
  const id = toHex(volume.blobId);
  const statements = [insertVolume(database, volume, nowMs)];
  for (let at = 0; at < entries.length; at += ENTRIES_PER_STATEMENT) {
    const rows = JSON.stringify(
      entries.slice(at, at + ENTRIES_PER_STATEMENT).map((e) => [e.id, toHex(e.objectId), e.start]),
    );
    statements.push(
      // The update finds no row for an object that was deleted in the meantime.
      database
        .prepare(
          `UPDATE version AS v SET data = NULL, blob_id = unhex(?2), blob_start = a.value->>2 FROM json_each(?1) a
           WHERE v.id = a.value->>0 AND v.object_id = unhex(a.value->>1) AND v.data IS NOT NULL`,
        )
        .bind(rows, id),
    );
  }
  statements.push(
    database
      .prepare(
        `INSERT INTO reclaim(blob_id, since) SELECT unhex(?1), ?2
         WHERE (SELECT count(*) FROM version WHERE blob_id = unhex(?1)) < ?3
         ON CONFLICT(blob_id) DO UPDATE SET since = excluded.since`,
      )
      .bind(id, nowMs, entries.length),
  );
  return statements;
}

function insertVolume(database: D1Database, volume: VolumeRecord, nowMs: number) {
  const { blobId, ...facts } = volume;
  return database
    .prepare(`${insertBlobsSql('?1', '?2', 'volume')} WHERE true ON CONFLICT(blob_id) DO NOTHING`)
    .bind(JSON.stringify([{ id: toHex(blobId), ...facts }]), nowMs);
}

/** A live range of a volume: a whole object, or an extent of a part that was copied from a packed object. */
export interface VolumeExtent {
  /** Row id of the version; null for an extent of a part. */
  readonly id: number | null;
  readonly version: Readonly<Record<string, unknown>> | null;
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
      `SELECT v.id, hex(v.object_id) AS object_id, 0 AS start, v.size AS length, v.blob_start, v.crc32, ${VERSION_JSON} AS version
       FROM version v LEFT JOIN bucket b ON b.n = v.bucket WHERE v.blob_id = unhex(?1)
       UNION ALL
       SELECT NULL, hex(object_id), start, length, blob_start, crc32, NULL FROM extent WHERE blob_id = unhex(?1)
       ORDER BY blob_start`,
    )
    .bind(toHex(blobId))
    .all<Row>();
  return results.map((row) => ({
    id: row.id as number | null,
    version: row.version === null ? null : JSON.parse(String(row.version)),
    objectId: fromHex(String(row.object_id)),
    start: Number(row.start),
    length: Number(row.length),
    blobId,
    blobStart: Number(row.blob_start),
    crc32: Number(row.crc32),
  }));
}

/** Makes objects and extents refer to the new volume, each only if it is unchanged, and marks the old volumes for reclamation. */
export function compactStatements(
  database: D1Database,
  volume: VolumeRecord,
  moves: readonly { readonly from: VolumeExtent; readonly to: number }[],
  nowMs: number,
): D1PreparedStatement[] {
  const id = toHex(volume.blobId);
  const statements = [insertVolume(database, volume, nowMs)];
  for (let at = 0; at < moves.length; at += ENTRIES_PER_STATEMENT) {
    const rows = JSON.stringify(
      moves
        .slice(at, at + ENTRIES_PER_STATEMENT)
        .map(({ from, to }) => [toHex(from.objectId), from.start, toHex(from.blobId), from.blobStart, to, from.id]),
    );
    statements.push(
      database
        .prepare(
          `UPDATE version AS v SET blob_id = unhex(?2), blob_start = m.value->>4 FROM json_each(?1) m
           WHERE v.id = m.value->>5 AND v.object_id = unhex(m.value->>0) AND v.blob_id = unhex(m.value->>2)
             AND v.blob_start = m.value->>3`,
        )
        .bind(rows, id),
      database
        .prepare(
          // This is an upsert and not UPDATE … FROM, because only a SELECT can fix the order of the join.
          `INSERT INTO extent(object_id, start, length, blob_id, blob_start, crc32, part, part_facts)
           SELECT e.object_id, e.start, e.length, unhex(?2), m.value->>4, e.crc32, e.part, e.part_facts
           FROM json_each(?1) m CROSS JOIN extent e WHERE e.object_id = unhex(m.value->>0) AND e.start = m.value->>1
             AND e.blob_id = unhex(m.value->>2) AND e.blob_start = m.value->>3 AND m.value->>5 IS NULL
           ON CONFLICT(object_id, start) DO UPDATE SET blob_id = excluded.blob_id, blob_start = excluded.blob_start`,
        )
        .bind(rows, id),
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
