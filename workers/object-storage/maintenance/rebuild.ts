/**
 * Puts a lost shard together again: the newest snapshot first, then what the blobs in R2 tell of themselves and no
 * database knows: whole objects by their description, packed ones by the index at the end of their volume.
 *
 * Gaps: of what happened after the snapshot, R2 cannot tell of deletes, markers, tags, copies, completed multipart uploads
 * and objects that were still inline; D1's own Time Travel (30 days) is the way back for those. What was deleted less than
 * the grace ago may come back. Checksums beside MD5 and SHA-256 are not described by blobs.
 */
import { createHash } from 'node:crypto';
import { logInfo } from '../../shared/log.ts';
import { BlobHasher } from '../blobs/digests.ts';
import { BLOB_PREFIX, isBlobKey, toBlobKey } from '../blobs/locations.ts';
import { initialSlotStates, slotOf } from '../domain/slots.ts';
import { fromVersionOrder, isTimeuuid } from '../domain/version-order.ts';
import { readVolumeIndex } from '../domain/volume.ts';
import type { EngineContext } from '../engine/context.ts';
import { findKnownBlobs } from '../store/blob-store.ts';
import type { BucketRecord } from '../store/bucket-store.ts';
import {
  alignBucket,
  insertBlobRecord,
  insertRecovered,
  insertSnapshotRows,
  listAllBuckets,
  type RecoveredVersion,
} from '../store/rebuild-store.ts';
import { checkShard, emptyFsckReport } from './fsck.ts';
import { findSnapshot, readSnapshotPage, SNAPSHOT_TABLE_NAMES } from './snapshot.ts';

export interface RebuildReport {
  snapshot: string | null;
  rows_restored: number;
  blobs_looked_at: number;
  versions_recovered: number;
  volumes_recovered: number;
  versions_incomplete: number;
}

export type RebuildOutcome =
  | { readonly ok: true; readonly report: RebuildReport }
  | { readonly ok: false; readonly error: { readonly kind: 'not_empty' } };

export async function rebuildShard(context: EngineContext, shard: number): Promise<RebuildOutcome> {
  const database = context.shards[shard] as D1Database;
  if (await database.prepare('SELECT 1 AS is_there FROM version LIMIT 1').first()) {
    return { ok: false, error: { kind: 'not_empty' } };
  }
  const report: RebuildReport = {
    snapshot: null,
    rows_restored: 0,
    blobs_looked_at: 0,
    versions_recovered: 0,
    volumes_recovered: 0,
    versions_incomplete: 0,
  };
  await database.prepare('DELETE FROM bucket').run();
  await restoreSnapshot(context, shard, report);
  const buckets = await listAllBuckets(context);
  for (const bucket of buckets) {
    const states = initialSlotStates(bucket.placement.shards, shard);
    if (states.includes('o')) await alignBucket(context, shard, bucket, states);
  }
  const byId = new Map(buckets.map((bucket) => [bucket.bucketId, bucket]));
  for (let location = 0; location < context.locations.length; location++) {
    await recoverFrom(context, shard, location, byId, report);
  }
  const checked = emptyFsckReport(false);
  await checkShard(context, shard, checked);
  report.versions_incomplete = checked.versions_incomplete;
  logInfo('shard_rebuilt', { shard, rows: report.rows_restored, recovered: report.versions_recovered });
  return { ok: true, report };
}

async function restoreSnapshot(context: EngineContext, shard: number, report: RebuildReport): Promise<void> {
  const found = await findSnapshot(context, shard);
  if (!found) return;
  report.snapshot = found.prefix;
  for (const table of SNAPSHOT_TABLE_NAMES) {
    for (let page = 0; page < (found.manifest.pages[table] ?? 0); page++) {
      const rows = await readSnapshotPage(context, found.prefix, table, page);
      await insertSnapshotRows(context, shard, table, rows);
      report.rows_restored += rows.length;
    }
  }
}

type Pieces = Map<string, { readonly index: number; readonly object: R2Object }[]>;

/** Looks at every blob of a location that no shard knows. */
async function recoverFrom(
  context: EngineContext,
  shard: number,
  location: number,
  buckets: ReadonlyMap<string, BucketRecord>,
  report: RebuildReport,
): Promise<void> {
  const bucket = context.locations[location] as R2Bucket;
  const pieces: Pieces = new Map();
  let after: string | undefined;
  for (;;) {
    const page = await bucket.list({
      prefix: BLOB_PREFIX,
      limit: 500,
      include: ['customMetadata'],
      ...(after === undefined ? {} : { startAfter: after }),
    });
    const ours = page.objects.filter((object) => isBlobKey(object.key));
    const known = await findKnownBlobs(
      context,
      ours.map((object) => idOf(object)),
    );
    report.blobs_looked_at += ours.length;
    for (const object of ours.filter((candidate) => !known.has(idOf(candidate)))) {
      const described = object.customMetadata ?? {};
      if (described.kind === 'volume') await recoverVolume(context, shard, location, object, buckets, report);
      if (described.kind !== 'object' || !described.object_id) continue;
      const held = pieces.get(described.object_id) ?? [];
      pieces.set(described.object_id, [...held, { index: Number(described.index), object }]);
    }
    after = page.objects.at(-1)?.key;
    if (!page.truncated || after === undefined) break;
  }
  for (const found of pieces.values()) await recoverObject(context, shard, location, found, buckets, report);
}

const idOf = (object: R2Object): string => object.key.slice(BLOB_PREFIX.length);

/** Which of the locations have the same bytes. */
async function findLocations(context: EngineContext, object: R2Object): Promise<number> {
  const heads = await Promise.all(context.locations.map((bucket) => bucket.head(object.key)));
  return heads.reduce((bits, head, location) => (head?.etag === object.etag ? bits | (1 << location) : bits), 0);
}

async function readBytes(
  context: EngineContext,
  location: number,
  blobId: string,
): Promise<ReadableStream<Uint8Array>> {
  const object = await context.locations[location]?.get(toBlobKey(blobId));
  if (!object) throw new Error(`blob ${blobId} went while it was looked at`);
  return object.body;
}

async function recoverObject(
  context: EngineContext,
  shard: number,
  location: number,
  found: readonly { readonly index: number; readonly object: R2Object }[],
  buckets: ReadonlyMap<string, BucketRecord>,
  report: RebuildReport,
): Promise<void> {
  const ordered = [...found].sort((a, b) => a.index - b.index);
  const described = ordered[0]?.object.customMetadata ?? {};
  const bucket = buckets.get(described.bucket_id ?? '');
  const name = Buffer.from(described.name ?? '', 'base64url').toString();
  const isWhole = ordered.every((piece, i) => piece.index === i);
  if (!bucket || !isWhole || bucket.placement.shards[slotOf(name)] !== shard || !isTimeuuid(described.version_id ?? ''))
    return;
  const md5 = createHash('md5');
  const sha256 = createHash('sha256');
  const extents: RecoveredVersion['extents'][number][] = [];
  let size = 0;
  for (const { object } of ordered) {
    const hasher = new BlobHasher();
    for await (const chunk of await readBytes(context, location, idOf(object))) {
      hasher.update(chunk);
      md5.update(chunk);
      sha256.update(chunk);
    }
    const { md5: _, ...facts } = hasher.digest();
    const blobId = idOf(object);
    await insertBlobRecord(context, shard, {
      blobId,
      kind: 'object',
      ...facts,
      locations: await findLocations(context, object),
    });
    extents.push({ start: size, length: facts.size, blobId, blobStart: 0, crc32: null });
    size += facts.size;
  }
  const noMetadata = JSON.stringify({ headers: {}, user: {}, ownerId: bucket.ownerId });
  const isAdded = await insertRecovered(context, shard, {
    bucketId: bucket.bucketId,
    name,
    versionId: described.version_id ?? '',
    isNull: bucket.versioning !== 'enabled',
    objectId: described.object_id ?? '',
    size,
    etag: md5.digest('hex'),
    sha256: sha256.digest('hex'),
    checksums: null,
    checksumType: null,
    partCount: null,
    metadata: described.metadata ? Buffer.from(described.metadata, 'base64url').toString() : noMetadata,
    tags: null,
    acl: null,
    extents,
  });
  if (isAdded) report.versions_recovered++;
}

/** What a volume's index keeps of a version (`VERSION_JSON`). */
type IndexedVersion = Readonly<Record<string, unknown>>;
const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
const jsonOf = (value: unknown): string | null =>
  value === null || value === undefined ? null : JSON.stringify(value);

async function recoverVolume(
  context: EngineContext,
  shard: number,
  location: number,
  object: R2Object,
  buckets: ReadonlyMap<string, BucketRecord>,
  report: RebuildReport,
): Promise<void> {
  const blobId = idOf(object);
  const bytes = new Uint8Array(await new Response(await readBytes(context, location, blobId)).arrayBuffer());
  const index = readVolumeIndex(bytes);
  if (!index.ok) return;
  const ours = index.value.flatMap((entry) => {
    const version = entry.version as IndexedVersion | null;
    const name = Buffer.from(String(version?.name ?? ''), 'hex').toString();
    const bucket = buckets.get(String(version?.bucket_id));
    return version && bucket?.placement.shards[slotOf(name)] === shard ? [{ entry, version, name }] : [];
  });
  if (ours.length === 0) return;
  const hasher = new BlobHasher();
  hasher.update(bytes);
  const { md5: _, ...facts } = hasher.digest();
  await insertBlobRecord(context, shard, {
    blobId,
    kind: 'volume',
    ...facts,
    locations: await findLocations(context, object),
  });
  report.volumes_recovered++;
  for (const { entry, version, name } of ours) {
    const isAdded = await insertRecovered(context, shard, {
      bucketId: String(version.bucket_id),
      name,
      versionId: fromVersionOrder(String(version.ord)),
      isNull: version.is_null === 1,
      objectId: entry.objectId,
      size: entry.length,
      etag: String(version.etag),
      sha256: textOf(version.sha256),
      checksums: jsonOf(version.checksums),
      checksumType: textOf(version.checksum_type),
      partCount: (version.part_count as number | null) ?? null,
      metadata: jsonOf(version.metadata) ?? '{}',
      tags: jsonOf(version.tags),
      acl: textOf(version.acl),
      extents: [{ start: 0, length: entry.length, blobId, blobStart: entry.start, crc32: entry.crc32 }],
    });
    if (isAdded) report.versions_recovered++;
  }
}
