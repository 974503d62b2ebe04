/**
 * Blobs that a rebuild finds in the locations and that snapshot and journal do not mention, and the recovery of versions from them.
 */
import { readAll } from '../../../shared/stores/statement.ts';
import { slotOf } from '../../domain/slots.ts';
import { toVersionOrder } from '../../domain/version-order.ts';
import type { VolumeEntry } from '../../domain/volume.ts';
import { allLocations, databaseOf, type EngineContext } from '../model/context.ts';
import type { ObjectLock } from '../model/contract.ts';
import { type BucketRecord, findByIds, toBucketRecord } from './bucket-store.ts';
import { nameHex, toHex } from './database.ts';
import { toParameters } from './table-rows.ts';
import { NEXT_ID } from './version-ids.ts';
import { toLegalHold } from './version-sql.ts';

/**
 * A blob that may describe versions of the shard. `order` is the object id and the number of the piece, or for a volume the time at
 * which it was written.
 */
export interface FoundBlob {
  readonly kind: 'object' | 'volume';
  readonly order: string;
  readonly blobId: string;
  readonly location: number;
}

const foundName = ({ kind, order }: Pick<FoundBlob, 'kind' | 'order'>) => `found ${kind} ${order}`;

export async function recordFound(context: EngineContext, shard: number, found: readonly FoundBlob[]): Promise<void> {
  const database = databaseOf(context, shard);
  const rows = found.map((blob) => [foundName(blob), JSON.stringify(blob)]);
  const statements = toParameters(rows).map((parameter) =>
    database
      .prepare(
        `INSERT INTO task(name, state, updated_at) SELECT a.value->>0, a.value->>1, ?2 FROM json_each(?1) a
         WHERE true ON CONFLICT DO NOTHING`,
      )
      .bind(parameter, context.now()),
  );
  if (statements.length > 0) await database.batch(statements);
}

/** Maximum number of pieces of an object. S3's largest object of 5 TiB has fewer, in pieces of 1 GiB. */
const PIECES_MAX = 6_000;

async function selectFound(context: EngineContext, shard: number, prefix: string, limit: number): Promise<FoundBlob[]> {
  const { results } = await databaseOf(context, shard)
    .prepare('SELECT state FROM task WHERE name >= ?1 AND name < ?2 ORDER BY name LIMIT ?3')
    .bind(prefix, `${prefix}\u007f`, limit)
    .all<{ state: string }>();
  return results.map((row) => JSON.parse(row.state) as FoundBlob);
}

/** Returns the pieces of the first recorded object, in order. */
export async function selectFoundObject(context: EngineContext, shard: number): Promise<FoundBlob[]> {
  const [first] = await selectFound(context, shard, 'found object ', 1);
  if (!first) return [];
  return await selectFound(context, shard, `found object ${first.order.split(' ')[0]} `, PIECES_MAX);
}

/** Returns the oldest recorded volume. */
export async function selectFoundVolume(context: EngineContext, shard: number): Promise<FoundBlob | undefined> {
  return (await selectFound(context, shard, 'found volume ', 1))[0];
}

export async function forgetFound(context: EngineContext, shard: number, found: readonly FoundBlob[]): Promise<void> {
  await databaseOf(context, shard)
    .prepare('DELETE FROM task WHERE name IN (SELECT value FROM json_each(?1))')
    .bind(JSON.stringify(found.map(foundName)))
    .run();
}

/** Finds buckets by their ids. @returns the buckets by id. */
export async function findBuckets(
  context: EngineContext,
  bucketIds: readonly string[],
): Promise<ReadonlyMap<string, BucketRecord>> {
  const rows = await readAll(context.directory, findByIds, { bucketIds: JSON.stringify([...new Set(bucketIds)]) });
  return new Map(rows.map(toBucketRecord).map((bucket) => [bucket.bucketId, bucket]));
}

/**
 * Makes existing objects, and extents of parts, refer to their place in a volume that was written later than their row.
 * @returns the number of updated rows.
 */
export async function moveIntoVolume(
  context: EngineContext,
  shard: number,
  blobId: string,
  entries: readonly VolumeEntry[],
): Promise<number> {
  const database = databaseOf(context, shard);
  const rows = entries.map(({ objectId, at = 0, start, length, crc32, version }) => [
    ...[toHex(objectId), at, start, length, crc32],
    ...(version && at === 0 ? [version.bucket_id, version.name, version.ord] : []),
  ]);
  const statements = toParameters(rows).flatMap((parameter) =>
    [
      `UPDATE version AS v SET data = NULL, blob_id = unhex(?2), blob_start = a.value->>2, crc32 = a.value->>4 FROM json_each(?1) a
       WHERE v.bucket = (SELECT n FROM bucket WHERE bucket_id = a.value->>5) AND v.name = unhex(a.value->>6)
         AND v.ord = unhex(a.value->>7) AND v.object_id = unhex(a.value->>0) AND v.size = a.value->>3
         AND (v.data IS NOT NULL OR v.blob_id IS NOT NULL)`,
      `INSERT INTO extent(object_id, start, length, blob_id, blob_start, crc32)
       SELECT e.object_id, e.start, e.length, unhex(?2), a.value->>2, a.value->>4
       FROM json_each(?1) a CROSS JOIN extent e WHERE e.object_id = unhex(a.value->>0) AND e.start = a.value->>1
         AND e.length = a.value->>3
       ON CONFLICT(object_id, start) DO UPDATE SET blob_id = excluded.blob_id, blob_start = excluded.blob_start`,
    ].map((sql) => database.prepare(sql).bind(parameter, toHex(blobId))),
  );
  if (statements.length === 0) return 0;
  const outcomes = await database.batch(statements);
  return outcomes.reduce((sum, outcome) => sum + (outcome.meta.changes ?? 0), 0);
}

/** A version recovered from the metadata of blobs or the index of a volume in R2. */
export interface RecoveredVersion {
  readonly bucketId: string;
  readonly name: string;
  readonly versionId: string;
  readonly isNull: boolean;
  readonly objectId: string;
  readonly size: number;
  readonly etag: string;
  readonly sha256: string | null;
  readonly checksums: string | null;
  readonly checksumType: string | null;
  readonly partCount: number | null;
  readonly metadata: string;
  readonly tags: string | null;
  readonly acl: string | null;
  readonly lock: ObjectLock;
  /** Upload time of the blob whose metadata describes the version, in milliseconds. */
  readonly describedAt: number;
  readonly extents: readonly {
    readonly start: number;
    readonly length: number;
    readonly blobId: string;
    readonly blobStart: number;
    readonly crc32: number | null;
  }[];
  /** The bytes of a small version in Base64, which has no extents then. */
  readonly inline?: { readonly data: string; readonly crc32: number };
}

/** Finds which versions have their data. @param keys bucket id, name in hex and order of each. @returns their orders, in lower case. */
export async function findPresent(
  context: EngineContext,
  shard: number,
  keys: readonly (readonly [bucketId: string, nameHex: string, order: string])[],
): Promise<Set<string>> {
  const present = new Set<string>();
  for (const parameter of toParameters(keys)) {
    const { results } = await databaseOf(context, shard)
      .prepare(
        `SELECT lower(hex(v.ord)) AS ord FROM json_each(?1) a CROSS JOIN version v
         WHERE v.bucket = (SELECT n FROM bucket WHERE bucket_id = a.value->>0) AND v.name = unhex(a.value->>1)
           AND v.ord = unhex(a.value->>2) AND ${HAS_DATA}`,
      )
      .bind(parameter)
      .all<{ ord: string }>();
    for (const { ord } of results) present.add(ord);
  }
  return present;
}

/** Versions per batch. Each takes up to five statements. */
const VERSIONS_PER_BATCH = 50;

/**
 * Adds versions that do not exist and were not removed. Of the `null` versions of a name only the newest stays, and none is added
 * that is older than a removed one.
 * @returns the number of added versions.
 */
export async function insertRecovered(
  context: EngineContext,
  shard: number,
  versions: readonly RecoveredVersion[],
): Promise<number> {
  const database = databaseOf(context, shard);
  const settled = await findSettled(database, versions);
  const left = versions.filter((version) => !settled.has(toHex(version.objectId)));
  let added = 0;
  for (let at = 0; at < left.length; at += VERSIONS_PER_BATCH) {
    const each = left.slice(at, at + VERSIONS_PER_BATCH).map((version) => recoverStatements(database, version));
    const answers = await database.batch(each.flat());
    let first = 0;
    for (const statements of each) {
      added += answers[first]?.meta.changes ?? 0;
      first += statements.length;
    }
  }
  return added;
}

const HAS_DATA = `(v.data IS NOT NULL OR v.blob_id IS NOT NULL
  OR EXISTS (SELECT 1 FROM extent e WHERE e.object_id = v.object_id))`;

/**
 * Finds the versions that need no recovery: they exist with their data, and no older `null` version is beside them.
 * @returns their object ids (hex).
 */
async function findSettled(database: D1Database, versions: readonly RecoveredVersion[]): Promise<Set<string>> {
  const rows = versions.map((version) => [
    version.bucketId,
    nameHex(version.name),
    toVersionOrder(version.versionId),
    toHex(version.objectId),
  ]);
  const settled = new Set<string>();
  for (const parameter of toParameters(rows)) {
    const { results } = await database
      .prepare(
        `SELECT a.value->>3 AS object_id FROM json_each(?1) a CROSS JOIN version v
         WHERE v.bucket = (SELECT n FROM bucket WHERE bucket_id = a.value->>0) AND v.name = unhex(a.value->>1)
           AND v.ord = unhex(a.value->>2) AND v.object_id = unhex(a.value->>3)
           AND ${HAS_DATA}
           AND NOT (v.is_null = 1 AND EXISTS (SELECT 1 FROM version x WHERE x.bucket = v.bucket AND x.name = v.name AND x.is_null = 1 AND x.ord > v.ord))`,
      )
      .bind(parameter)
      .all<{ object_id: string }>();
    for (const row of results) settled.add(row.object_id);
  }
  return settled;
}

/** Statements that recover one version. The first one changes a row if it added the version. */
function recoverStatements(database: D1Database, version: RecoveredVersion): D1PreparedStatement[] {
  const bucket = '(SELECT n FROM bucket WHERE bucket_id = ?1)';
  const head = [version.bucketId, nameHex(version.name), toVersionOrder(version.versionId), toHex(version.objectId)];
  const isOlder = `bucket = ${bucket} AND name = unhex(?2) AND is_null = 1 AND ord > unhex(?3)
    AND EXISTS (SELECT 1 FROM version x WHERE x.bucket = ${bucket} AND x.name = unhex(?2) AND x.is_null = 1 AND x.ord <= unhex(?3))`;
  const older = `SELECT object_id FROM version WHERE ${isOlder}`;
  const isAdded = `v.bucket = ${bucket} AND v.name = unhex(?2) AND v.ord = unhex(?3) AND v.object_id = unhex(?4)`;
  const extents = version.extents.map((extent) => ({ ...extent, blobId: toHex(extent.blobId) }));
  const statements = [
    database
      .prepare(
        `INSERT INTO version(id, bucket, name, ord, slot, is_null, is_marker, object_id, size, etag, sha256, checksums,
           checksum_type, part_count, metadata, tags, acl, lock_mode, retain_until, legal_hold)
         SELECT ${NEXT_ID}, ${bucket}, unhex(?2), unhex(?3), ?5, ?6, 0, unhex(?4), ?7, ?8, unhex(?9), ?10, ?11, ?12, ?13, ?14,
           ?15, ?17, ?18, ?19
         WHERE NOT EXISTS (SELECT 1 FROM version WHERE bucket = ${bucket} AND name = unhex(?2) AND (ord = unhex(?3) OR object_id = unhex(?4)))
           AND NOT (?6 = 1 AND EXISTS (SELECT 1 FROM version WHERE bucket = ${bucket} AND name = unhex(?2) AND is_null = 1 AND ord < unhex(?3)))
           AND NOT EXISTS (SELECT 1 FROM change c WHERE c.epoch = 0 AND c.bucket = ${bucket} AND c.name = unhex(?2)
             AND (substr(c.key, 2, 32) = hex(unhex(?3)) OR substr(c.key, 35) = hex(unhex(?4))
               OR (?6 = 1 AND substr(c.key, 1, 1) = 'n' AND substr(c.key, 2) < hex(unhex(?3)))))
           AND NOT EXISTS (SELECT 1 FROM change c WHERE c.epoch = 0 AND c.bucket = ${bucket} AND c.name = zeroblob(0)
             AND substr(c.key, 1, instr(c.key, ' ')) = 's' || ?5 || ' ' AND CAST(substr(c.key, instr(c.key, ' ')) AS INTEGER) >= ?16)`,
      )
      .bind(
        ...head,
        slotOf(version.name),
        version.isNull ? 1 : 0,
        version.size,
        version.etag,
        version.sha256,
        version.checksums,
        version.checksumType,
        version.partCount,
        version.metadata,
        version.tags,
        version.acl,
        version.describedAt,
        version.lock.mode,
        version.lock.retainUntilMs,
        toLegalHold(version.lock.isHeld),
      ),
    // This statement also applies to a version that the snapshot restored without its data.
    version.inline
      ? database
          .prepare(`UPDATE version AS v SET data = ?5, crc32 = ?6 WHERE ${isAdded} AND NOT ${HAS_DATA}`)
          .bind(...head, version.inline.data, version.inline.crc32)
      : extents.length === 1
        ? database
            .prepare(
              `UPDATE version AS v SET blob_id = unhex(?5->>'blobId'), blob_start = ?5->>'blobStart', crc32 = ?5->>'crc32'
             WHERE ${isAdded} AND NOT ${HAS_DATA}`,
            )
            .bind(...head, JSON.stringify(extents[0]))
        : database
            .prepare(
              `INSERT INTO extent(object_id, start, length, blob_id, blob_start, crc32)
             SELECT v.object_id, a.value->>'start', a.value->>'length', unhex(a.value->>'blobId'), a.value->>'blobStart', a.value->>'crc32'
             FROM json_each(?5) a CROSS JOIN version v WHERE ${isAdded} AND v.data IS NULL AND v.blob_id IS NULL
             ON CONFLICT DO NOTHING`,
            )
            .bind(...head, JSON.stringify(extents)),
  ];
  if (version.isNull) {
    const bound = head.slice(0, 3);
    statements.push(
      database.prepare(`DELETE FROM extent WHERE object_id IN (${older})`).bind(...bound),
      database.prepare(`DELETE FROM version WHERE ${isOlder}`).bind(...bound),
    );
  }
  return statements;
}

export async function insertBlobRecord(
  context: EngineContext,
  shard: number,
  blob: {
    readonly blobId: string;
    readonly kind: string;
    readonly size: number;
    readonly sha256: string;
    readonly segments: string;
    readonly locations: number;
  },
): Promise<void> {
  const missing = allLocations(context) & ~blob.locations;
  await databaseOf(context, shard)
    .prepare(
      `INSERT INTO blob(blob_id, kind, size, sha256, segments, locations, missing, created_at)
       VALUES (unhex(?1), ?2, ?3, unhex(?4), unhex(?5), ?6, ?7, ?8) ON CONFLICT DO NOTHING`,
    )
    .bind(toHex(blob.blobId), blob.kind, blob.size, blob.sha256, blob.segments, blob.locations, missing, context.now())
    .run();
}
