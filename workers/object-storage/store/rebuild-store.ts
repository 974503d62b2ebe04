/** Puts rows back into an empty shard. */
import { initialSlotStates, slotOf } from '../domain/slots.ts';
import { toVersionOrder } from '../domain/version-order.ts';
import type { VolumeEntry } from '../domain/volume.ts';
import type { EngineContext } from '../engine/context.ts';
import { type BucketRecord, toBucketRecord } from './bucket-store.ts';
import { ask, type Page } from './check-store.ts';
import { IS_BEING_REBUILT, nameHex, REBUILD_SEAL, type Row, toHex } from './database.ts';
import { epochStatement, IS_CLAIMED } from './journal-store.ts';
import { insertRows, TABLE_NAMES, type Table, toParameters } from './table-rows.ts';

const databaseOf = (context: EngineContext, shard: number) => context.shards[shard] as D1Database;

/** Whether there is something in the database that a rebuild would destroy. One that died may be begun again. */
export async function isInUse(context: EngineContext, shard: number): Promise<boolean> {
  const found = await databaseOf(context, shard)
    .prepare(`SELECT ${IS_CLAIMED} AND EXISTS (SELECT 1 FROM version) AS is_used`)
    .first<number>('is_used');
  return found === 1;
}

/** All but the lease of who does it. */
export async function emptyShard(context: EngineContext, shard: number): Promise<void> {
  const database = databaseOf(context, shard);
  await database.batch([
    ...[...TABLE_NAMES, 'change'].map((table) => database.prepare(`DELETE FROM ${table}`)),
    database.prepare("DELETE FROM task WHERE name <> 'lease rebuild'"),
  ]);
}

/** Forgets what was taken away: it served to keep it from coming back. */
export async function forgetGone(context: EngineContext, shard: number): Promise<void> {
  await databaseOf(context, shard).prepare('DELETE FROM change').run();
}

/** Of a page of inline rows those that are packed too: bytes are in one of both places. */
export async function dropPacked(context: EngineContext, shard: number, page: Page): Promise<void> {
  await ask(
    context,
    shard,
    page,
    (within) =>
      `DELETE FROM inline AS t WHERE ${within} AND EXISTS (SELECT 1 FROM extent e WHERE e.object_id = t.object_id)`,
  ).run();
}

/**
 * Of a page of blob records those that nothing names: the snapshot had them, and the blobs themselves may be gone since. Of
 * a page of notes for reclamation those without a record.
 */
export async function dropUnreferenced(context: EngineContext, shard: number, page: Page): Promise<void> {
  const needed = page.table === 'blob' ? 'extent' : 'blob';
  await ask(
    context,
    shard,
    page,
    (within) =>
      `DELETE FROM ${page.table} AS t WHERE ${within} AND NOT EXISTS (SELECT 1 FROM ${needed} x WHERE x.blob_id = t.blob_id)`,
  ).run();
}

/** From here on the shard is in use. Where the rebuild stood goes with it. @param above epochs that were before. */
export async function claimRebuilt(context: EngineContext, shard: number, above: number): Promise<void> {
  const database = databaseOf(context, shard);
  await database.batch([
    epochStatement(database, context.now(), above),
    database.prepare(
      `UPDATE bucket AS b SET seal = NULLIF(substr(b.seal, ${REBUILD_SEAL.length + 1}), '') WHERE ${IS_BEING_REBUILT}`,
    ),
    database.prepare("DELETE FROM task WHERE name = 'rebuild' OR name LIKE 'found %'"),
  ]);
}

/** A blob that may tell of what the shard had. `order`: object id and number of the piece, or when a volume was written. */
export interface FoundBlob {
  readonly kind: 'object' | 'volume';
  readonly order: string;
  readonly blobId: string;
  readonly location: number;
}

const foundName = ({ kind, order }: Pick<FoundBlob, 'kind' | 'order'>) => `found ${kind} ${order}`;

export async function noteFound(context: EngineContext, shard: number, found: readonly FoundBlob[]): Promise<void> {
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

/** An object may have as many pieces as S3's largest has gibibytes. */
const PIECES_MAX = 6_000;

async function selectFound(context: EngineContext, shard: number, prefix: string, limit: number): Promise<FoundBlob[]> {
  const { results } = await databaseOf(context, shard)
    .prepare('SELECT state FROM task WHERE name >= ?1 AND name < ?2 ORDER BY name LIMIT ?3')
    .bind(prefix, `${prefix}\u007f`, limit)
    .all<{ state: string }>();
  return results.map((row) => JSON.parse(row.state) as FoundBlob);
}

/** The pieces of one object, in order. */
export async function selectFoundObject(context: EngineContext, shard: number): Promise<FoundBlob[]> {
  const [first] = await selectFound(context, shard, 'found object ', 1);
  if (!first) return [];
  return await selectFound(context, shard, `found object ${first.order.split(' ')[0]} `, PIECES_MAX);
}

/** The oldest volume. */
export async function selectFoundVolume(context: EngineContext, shard: number): Promise<FoundBlob | undefined> {
  return (await selectFound(context, shard, 'found volume ', 1))[0];
}

export async function forgetFound(context: EngineContext, shard: number, found: readonly FoundBlob[]): Promise<void> {
  await databaseOf(context, shard)
    .prepare('DELETE FROM task WHERE name IN (SELECT value FROM json_each(?1))')
    .bind(JSON.stringify(found.map(foundName)))
    .run();
}

/**
 * A name may have changed between two pages of a snapshot, so that both have a version that was current. Which one is, is
 * decided when all is there.
 */
const CHANGED: Partial<Record<Table, Readonly<Record<string, string>>>> = {
  bucket: { seal: `'${REBUILD_SEAL}' || COALESCE(a.value->>'seal', '')` },
  inline: { epoch: '0' },
  version: {
    live: `(a.value->>'live' = 1 AND NOT EXISTS (SELECT 1 FROM version x WHERE x.live = 1 AND x.bucket = a.value->>'bucket'
      AND x.name = unhex(a.value->>'name')))`,
  },
};

/** Rows of a snapshot's page, but for slots that are not here any more. @returns how many. */
export async function restoreRows(
  context: EngineContext,
  shard: number,
  table: Table,
  rows: readonly Row[],
): Promise<number> {
  const database = databaseOf(context, shard);
  const where =
    table === 'version' || table === 'upload'
      ? "(SELECT substr(b.slots, a.value->>'slot' + 1, 1) FROM bucket b WHERE b.n = a.value->>'bucket') = 'o'"
      : 'true';
  const statements = insertRows(database, table, rows, { changed: CHANGED[table] ?? {}, where });
  const outcomes = statements.length > 0 ? await database.batch(statements) : [];
  return outcomes.reduce((sum, outcome) => sum + (outcome.meta.changes ?? 0), 0);
}

/** A page of DIRECTORY's buckets. */
export async function listBucketsAfter(context: EngineContext, after: string, limit: number): Promise<BucketRecord[]> {
  const { results } = await context.directory
    .prepare('SELECT * FROM bucket WHERE bucket_id > ?1 ORDER BY bucket_id LIMIT ?2')
    .bind(after, limit)
    .all<Row>();
  return results.map(toBucketRecord);
}

/** Buckets by their id. */
export async function findBuckets(
  context: EngineContext,
  bucketIds: readonly string[],
): Promise<ReadonlyMap<string, BucketRecord>> {
  if (bucketIds.length === 0) return new Map();
  const { results } = await context.directory
    .prepare('SELECT * FROM bucket WHERE bucket_id IN (SELECT value FROM json_each(?1))')
    .bind(JSON.stringify([...new Set(bucketIds)]))
    .all<Row>();
  return new Map(results.map(toBucketRecord).map((bucket) => [bucket.bucketId, bucket]));
}

/** DIRECTORY is the truth of which slots are here and of the versioning state. Buckets that it does not know stay as they are. */
export async function alignBuckets(
  context: EngineContext,
  shard: number,
  buckets: readonly BucketRecord[],
): Promise<void> {
  const database = databaseOf(context, shard);
  const statements: D1PreparedStatement[] = [];
  for (const bucket of buckets) {
    const slots = initialSlotStates(bucket.placement.shards, shard);
    const { bucketId, name, versioning, versioningSeq, ownerId } = bucket;
    // Of a bucket with nothing here the shard need not know, but that what it had is not here any more.
    const sql = slots.includes('o')
      ? `INSERT INTO bucket(bucket_id, name, versioning, versioning_seq, slots, owner_id, seal)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, '${REBUILD_SEAL}') ON CONFLICT(bucket_id) DO UPDATE
         SET versioning = excluded.versioning, versioning_seq = excluded.versioning_seq, slots = excluded.slots, seal = excluded.seal`
      : `UPDATE bucket SET name = ?2, versioning = ?3, versioning_seq = ?4, slots = ?5, owner_id = ?6, seal = '${REBUILD_SEAL}'
         WHERE bucket_id = ?1`;
    statements.push(database.prepare(sql).bind(bucketId, name, versioning, versioningSeq, slots, ownerId));
  }
  if (statements.length > 0) await database.batch(statements);
}

/** Points objects that are there at their place in a volume that was written since. @returns how many. */
export async function moveIntoVolume(
  context: EngineContext,
  shard: number,
  blobId: string,
  entries: readonly VolumeEntry[],
): Promise<number> {
  const database = databaseOf(context, shard);
  const rows = entries.map((entry) => [toHex(entry.objectId), entry.at ?? 0, entry.start, entry.length, entry.crc32]);
  const statements = toParameters(rows).map((parameter) =>
    database
      .prepare(
        `INSERT INTO extent(object_id, start, length, blob_id, blob_start, crc32)
         SELECT unhex(a.value->>0), a.value->>1, a.value->>3, unhex(?2), a.value->>2, a.value->>4 FROM json_each(?1) a
         WHERE EXISTS (SELECT 1 FROM inline i WHERE i.object_id = unhex(a.value->>0))
           OR EXISTS (SELECT 1 FROM extent e WHERE e.object_id = unhex(a.value->>0) AND e.start = a.value->>1)
         ON CONFLICT(object_id, start) DO UPDATE SET blob_id = excluded.blob_id, blob_start = excluded.blob_start
           WHERE length = excluded.length`,
      )
      .bind(parameter, toHex(blobId)),
  );
  if (statements.length === 0) return 0;
  const outcomes = await database.batch(statements);
  return outcomes.reduce((sum, outcome) => sum + (outcome.meta.changes ?? 0), 0);
}

/** A version that something in R2 told of. */
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
  /** When what tells of it was put into R2. */
  readonly toldAt: number;
  readonly extents: readonly {
    readonly start: number;
    readonly length: number;
    readonly blobId: string;
    readonly blobStart: number;
    readonly crc32: number | null;
  }[];
}

/**
 * Adds the version unless it is there or was taken away. Of `null` versions only the newest stays, and none comes back from
 * before one that was taken away @returns whether it was added.
 */
export async function insertRecovered(
  context: EngineContext,
  shard: number,
  version: RecoveredVersion,
): Promise<boolean> {
  const database = databaseOf(context, shard);
  const bucket = '(SELECT n FROM bucket WHERE bucket_id = ?1)';
  const head = [version.bucketId, nameHex(version.name), toVersionOrder(version.versionId), toHex(version.objectId)];
  const isOlder = `bucket = ${bucket} AND name = unhex(?2) AND is_null = 1 AND ord > unhex(?3)
    AND EXISTS (SELECT 1 FROM version x WHERE x.bucket = ${bucket} AND x.name = unhex(?2) AND x.is_null = 1 AND x.ord <= unhex(?3))`;
  const older = `SELECT object_id FROM version WHERE ${isOlder}`;
  const isAdded = `EXISTS (SELECT 1 FROM version WHERE bucket = ${bucket} AND name = unhex(?2) AND ord = unhex(?3) AND object_id = unhex(?4))`;
  const statements = [
    database
      .prepare(
        `INSERT INTO version(bucket, name, ord, slot, live, is_null, is_marker, object_id, size, etag, sha256, checksums,
           checksum_type, part_count, metadata, tags, acl)
         SELECT ${bucket}, unhex(?2), unhex(?3), ?5, 0, ?6, 0, unhex(?4), ?7, ?8, unhex(?9), ?10, ?11, ?12, ?13, ?14, ?15
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
        version.toldAt,
      ),
    database
      .prepare(
        `INSERT INTO extent(object_id, start, length, blob_id, blob_start, crc32)
         SELECT unhex(?4), a.value->>'start', a.value->>'length', unhex(a.value->>'blobId'), a.value->>'blobStart', a.value->>'crc32'
         FROM json_each(?5) a WHERE ${isAdded} AND NOT EXISTS (SELECT 1 FROM inline WHERE object_id = unhex(?4))
         ON CONFLICT DO NOTHING`,
      )
      .bind(...head, JSON.stringify(version.extents.map((extent) => ({ ...extent, blobId: toHex(extent.blobId) })))),
  ];
  if (version.isNull) {
    const bound = head.slice(0, 3);
    statements.push(
      database.prepare(`DELETE FROM extent WHERE object_id IN (${older})`).bind(...bound),
      database.prepare(`DELETE FROM inline WHERE object_id IN (${older})`).bind(...bound),
      database.prepare(`DELETE FROM version WHERE ${isOlder}`).bind(...bound),
    );
  }
  const [inserted] = await database.batch(statements);
  return (inserted?.meta.changes ?? 0) > 0;
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
  await databaseOf(context, shard)
    .prepare(
      `INSERT INTO blob(blob_id, kind, size, sha256, segments, locations, created_at)
       VALUES (unhex(?1), ?2, ?3, unhex(?4), unhex(?5), ?6, ?7) ON CONFLICT DO NOTHING`,
    )
    .bind(toHex(blob.blobId), blob.kind, blob.size, blob.sha256, blob.segments, blob.locations, context.now())
    .run();
}
