/** What is stored, counted shard by shard. Full counts: for the operator, not for every request. */
import type { EngineContext } from '../engine/context.ts';
import { readScrubState } from './scrub.ts';

export interface ShardStats {
  shard: number;
  objects: number;
  versions: number;
  deletion_markers: number;
  bytes_live: number;
  bytes_inline: number;
  inline_objects: number;
  bytes_packed: number;
  packed_objects: number;
  volumes: number;
  blobs: number;
  bytes_blobs: number;
  bytes_garbage: number;
  blobs_garbage: number;
  blobs_lost: number;
  uploads_open: number;
  parts: number;
  database_bytes: number;
  scrub: { started_at: string | null; finished_at: string | null };
}

const iso = (ms: number | null | undefined): string | null => (ms ? new Date(ms).toISOString() : null);

export async function measureShard(context: EngineContext, shard: number): Promise<ShardStats> {
  const database = context.shards[shard] as D1Database;
  const one = (sql: string) => database.prepare(sql);
  const [versions, inline, blobs, packed, garbage, uploads] = await database.batch<Record<string, number>>([
    one(`SELECT COALESCE(sum(live), 0) AS objects, count(*) AS versions, COALESCE(sum(is_marker), 0) AS markers,
           COALESCE(sum(size), 0) AS bytes FROM version`),
    one('SELECT count(*) AS count, COALESCE(sum(size), 0) AS bytes FROM inline'),
    one(`SELECT count(*) AS count, COALESCE(sum(size), 0) AS bytes, COALESCE(sum(kind = 'volume'), 0) AS volumes,
           COALESCE(sum(is_lost), 0) AS lost FROM blob`),
    one(`SELECT count(*) AS count, COALESCE(sum(e.length), 0) AS bytes FROM blob l CROSS JOIN extent e
         WHERE l.kind = 'volume' AND e.blob_id = l.blob_id`),
    one(`SELECT count(*) AS count, COALESCE(sum(l.size), 0) AS bytes FROM reclaim r CROSS JOIN blob l
         WHERE l.blob_id = r.blob_id AND NOT EXISTS (SELECT 1 FROM extent e WHERE e.blob_id = r.blob_id)`),
    one(`SELECT (SELECT count(*) FROM upload WHERE state = 'open') AS open, (SELECT count(*) FROM part) AS parts`),
  ]);
  const of = (answer: D1Result<Record<string, number>> | undefined, name: string) => answer?.results[0]?.[name] ?? 0;
  const scrub = await readScrubState(context, shard);
  return {
    shard,
    objects: of(versions, 'objects'),
    versions: of(versions, 'versions') - of(versions, 'markers'),
    deletion_markers: of(versions, 'markers'),
    bytes_live: of(versions, 'bytes'),
    bytes_inline: of(inline, 'bytes'),
    inline_objects: of(inline, 'count'),
    bytes_packed: of(packed, 'bytes'),
    packed_objects: of(packed, 'count'),
    volumes: of(blobs, 'volumes'),
    blobs: of(blobs, 'count'),
    bytes_blobs: of(blobs, 'bytes'),
    bytes_garbage: of(garbage, 'bytes'),
    blobs_garbage: of(garbage, 'count'),
    blobs_lost: of(blobs, 'lost'),
    uploads_open: of(uploads, 'open'),
    parts: of(uploads, 'parts'),
    database_bytes: versions?.meta.size_after ?? 0,
    scrub: { started_at: iso(scrub?.startedAt), finished_at: iso(scrub?.finishedAt) },
  };
}

export interface LocationStats {
  location: string;
  blobs: number;
  bytes: number;
}

/** What the records say that each location holds. */
export async function measureLocations(context: EngineContext): Promise<LocationStats[]> {
  return await Promise.all(
    context.locations.map(async (_, location) => {
      const counts = await Promise.all(
        context.shards.map((database) =>
          database
            .prepare(
              'SELECT count(*) AS blobs, COALESCE(sum(size), 0) AS bytes FROM blob WHERE (locations >> ?1) & 1 = 1',
            )
            .bind(location)
            .first<{ blobs: number; bytes: number }>(),
        ),
      );
      return {
        location: location === 0 ? 'BLOBS' : `BLOBS_${location + 1}`,
        blobs: counts.reduce((sum, count) => sum + (count?.blobs ?? 0), 0),
        bytes: counts.reduce((sum, count) => sum + (count?.bytes ?? 0), 0),
      };
    }),
  );
}
