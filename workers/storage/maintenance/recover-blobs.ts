/**
 * Recovers versions from blobs in R2 that describe themselves: whole objects by their custom metadata, packed ones by the index at
 * the end of their volume. First, a walk over the locations records blobs written since the snapshot. Then objects are recovered
 * one by one. Volumes follow in the order in which they were written, because the latest volume of an object has its present place.
 */

import { createHash, type Hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { logError } from '../../shared/telemetry/log.ts';
import { count } from '../domain/counting.ts';
import { slotOf } from '../domain/slots.ts';
import { fromVersionOrder, isTimeuuid } from '../domain/version-order.ts';
import { readVolumeIndex } from '../domain/volume.ts';
import { BlobHasher } from '../engine/blobs/digests.ts';
import { BLOB_PREFIX, isBlobKey, toBlobKey } from '../engine/blobs/locations.ts';
import { type EngineContext, locationOf } from '../engine/model/context.ts';
import { NO_LOCK } from '../engine/model/versions.ts';
import { selectBlobs } from '../engine/store/blob-store.ts';
import type { BucketRecord } from '../engine/store/bucket-store.ts';
import type { Row } from '../engine/store/database.ts';
import {
  type FoundBlob,
  findBuckets,
  forgetFound,
  insertBlobRecord,
  insertRecovered,
  moveIntoVolume,
  type RecoveredVersion,
  recordFound,
  selectFoundObject,
  selectFoundVolume,
} from '../engine/store/recover-store.ts';
import { toLock } from '../engine/store/version-sql.ts';

export interface RecoveryReport {
  blobs_scanned: number;
  versions_recovered: number;
  volumes_recovered: number;
}

const LIST_PAGE = 500;

/** Reads bucket and name of an object from a blob's custom metadata. */
export function toDescribed(description: Readonly<Record<string, string>> | undefined) {
  const name = Buffer.from(description?.name ?? '', 'base64url').toString();
  return { ...description, name, bucketId: description?.bucket_id ?? '' };
}

const isOf = (bucket: BucketRecord | undefined, name: string, shard: number): boolean =>
  bucket?.placement.shards[slotOf(name)] === shard;

/** Records the recent blobs of this shard that one page of a location's listing has. @returns the last key; null at the end. */
export async function findYoungBlobs(
  context: EngineContext,
  shard: number,
  at: { readonly location: number; readonly after: string },
  since: number,
  report: RecoveryReport,
): Promise<string | null> {
  const page = await locationOf(context, at.location).list({
    prefix: BLOB_PREFIX,
    limit: LIST_PAGE,
    include: ['customMetadata'],
    ...(at.after === '' ? {} : { startAfter: at.after }),
  });
  const young = page.objects.filter((object) => isBlobKey(object.key) && object.uploaded.getTime() >= since);
  count(report, { blobs_scanned: young.length });
  const known = new Set((await selectBlobs(context, shard, young.map(idOf))).map((blob) => blob.blobId));
  const objects = young.filter((object) => object.customMetadata?.kind === 'object' && !known.has(idOf(object)));
  const described = objects.map((object) => ({ object, ...toDescribed(object.customMetadata) }));
  const buckets = await findBuckets(
    context,
    described.map(({ bucketId }) => bucketId),
  );
  const found: FoundBlob[] = [];
  for (const { object, bucketId, name } of described) {
    const { object_id: objectId = '', index = '0' } = object.customMetadata ?? {};
    if (!isOf(buckets.get(bucketId), name, shard)) continue;
    found.push({ kind: 'object', order: `${objectId} ${index.padStart(6, '0')}`, blobId: idOf(object), ...at });
  }
  for (const object of young) {
    const { kind, shard: writtenBy } = object.customMetadata ?? {};
    // Volumes of other shards are skipped. If a slot move brought objects of them to this shard, the journal has those objects.
    if (kind !== 'volume' || (writtenBy !== undefined && writtenBy !== String(shard))) continue;
    const order = String(object.uploaded.getTime()).padStart(15, '0');
    found.push({ kind: 'volume', order: `${order} ${idOf(object)}`, blobId: idOf(object), ...at });
  }
  await recordFound(context, shard, found);
  return page.truncated ? (page.objects.at(-1)?.key ?? null) : null;
}

const idOf = (object: R2Object): string => object.key.slice(BLOB_PREFIX.length);

/**
 * Finds the locations that hold the same bytes as an object, as a bit mask. A location that does not answer is left out and gets a
 * copy later.
 */
async function findLocations(context: EngineContext, object: R2Object): Promise<number> {
  const heads = await Promise.all(context.locations.map((bucket) => bucket.head(object.key).catch(() => null)));
  return heads.reduce((bits, head, location) => (head?.etag === object.etag ? bits | (1 << location) : bits), 0);
}

/** The locations in the order in which a recorded blob is read: first the one in which it was found. */
const locationsFor = (context: EngineContext, { location }: FoundBlob): number[] => [
  location,
  ...[...context.locations.keys()].filter((other) => other !== location),
];

interface ObjectHashes {
  readonly md5: Hash;
  readonly sha256: Hash;
}

interface ReadPiece {
  readonly object: R2ObjectBody;
  readonly facts: Omit<ReturnType<BlobHasher['digest']>, 'md5'>;
  /** Hashes of the object up to the end of this piece. */
  readonly hashes: ObjectHashes;
}

/**
 * Reads a piece of an object from the first location whose bytes match the MD5 that R2 recorded when it stored them.
 * @param before hashes of the object up to the piece.
 * @returns null if no location has the piece intact.
 */
async function readFoundPiece(
  context: EngineContext,
  found: FoundBlob,
  before: ObjectHashes,
): Promise<ReadPiece | null> {
  for (const location of locationsFor(context, found)) {
    const object = await locationOf(context, location).get(toBlobKey(found.blobId));
    if (object === null) continue;
    const hasher = new BlobHasher();
    const hashes = { md5: before.md5.copy(), sha256: before.sha256.copy() };
    for await (const chunk of object.body) {
      hasher.update(chunk);
      hashes.md5.update(chunk);
      hashes.sha256.update(chunk);
    }
    const { md5, ...facts } = hasher.digest();
    if (md5 === object.etag) return { object, facts, hashes };
    reportDamagedCopy(found, location);
  }
  return null;
}

/** Reads a volume from the first location that has it intact. */
async function readFoundVolume(context: EngineContext, found: FoundBlob) {
  for (const location of locationsFor(context, found)) {
    const object = await locationOf(context, location).get(toBlobKey(found.blobId));
    if (object === null) continue;
    const bytes = new Uint8Array(await object.arrayBuffer());
    const index = readVolumeIndex(bytes);
    if (index.ok) return { object, bytes, entries: index.value };
    reportDamagedCopy(found, location);
  }
  return null;
}

const reportDamagedCopy = ({ blobId }: FoundBlob, location: number): void =>
  logError('copy_unreadable', 'a location has no good copy of a blob', { blob_id: blobId, location });

/** Recovers one of the recorded objects. @returns false when none is left. */
export async function recoverNextObject(
  context: EngineContext,
  shard: number,
  report: RecoveryReport,
): Promise<boolean> {
  const pieces = await selectFoundObject(context, shard);
  if (pieces.length === 0) return false;
  await recoverObject(context, shard, pieces, report);
  await forgetFound(context, shard, pieces);
  return true;
}

export async function recoverNextVolume(
  context: EngineContext,
  shard: number,
  report: RecoveryReport,
): Promise<boolean> {
  const found = await selectFoundVolume(context, shard);
  if (!found) return false;
  await recoverVolume(context, shard, found, report);
  await forgetFound(context, shard, [found]);
  return true;
}

async function recoverObject(
  context: EngineContext,
  shard: number,
  pieces: readonly FoundBlob[],
  report: RecoveryReport,
): Promise<void> {
  const isWhole = pieces.every(({ order }, i) => Number(order.split(' ')[1]) === i);
  if (!isWhole) return;
  let hashes: ObjectHashes = { md5: createHash('md5'), sha256: createHash('sha256') };
  const extents: RecoveredVersion['extents'][number][] = [];
  let first: R2ObjectBody | null = null;
  let size = 0;
  for (const piece of pieces) {
    const read = await readFoundPiece(context, piece, hashes);
    // A blob of the object is gone: another shard may have reclaimed it. The object then belongs to no version.
    if (!read) return;
    const { object, facts } = read;
    hashes = read.hashes;
    first ??= object;
    const { blobId } = piece;
    const locations = await findLocations(context, object);
    await insertBlobRecord(context, shard, { blobId, kind: 'object', ...facts, locations });
    extents.push({ start: size, length: facts.size, blobId, blobStart: 0, crc32: null });
    size += facts.size;
  }
  const described = first?.customMetadata ?? {};
  const { name, bucketId } = toDescribed(described);
  const bucket = (await findBuckets(context, [bucketId])).get(bucketId);
  if (!first || !bucket || !isTimeuuid(described.version_id ?? '')) return;
  const noMetadata = JSON.stringify({ headers: {}, user: {}, ownerId: bucket.ownerId });
  const version: RecoveredVersion = {
    bucketId: bucket.bucketId,
    name,
    versionId: described.version_id ?? '',
    isNull: described.is_null === '1',
    objectId: described.object_id ?? '',
    size,
    etag: hashes.md5.digest('hex'),
    sha256: hashes.sha256.digest('hex'),
    checksums: null,
    checksumType: null,
    partCount: null,
    metadata: described.metadata ? Buffer.from(described.metadata, 'base64url').toString() : noMetadata,
    tags: null,
    acl: null,
    lock: described.lock ? toLock(JSON.parse(described.lock)) : NO_LOCK,
    describedAt: first.uploaded.getTime(),
    extents,
  };
  const versions_recovered = await insertRecovered(context, shard, [version]);
  count(report, { versions_recovered });
}

/** Facts of a version in the index of a volume (`VERSION_JSON`). */
type IndexedVersion = Readonly<Record<string, unknown>>;
const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
const jsonOf = (value: unknown): string | null =>
  value === null || value === undefined ? null : JSON.stringify(value);

/**
 * Recovers the objects of a volume. Adds versions that do not exist, and makes existing ones refer to their place in the volume.
 */
async function recoverVolume(
  context: EngineContext,
  shard: number,
  found: FoundBlob,
  report: RecoveryReport,
): Promise<void> {
  const { blobId } = found;
  const read = await readFoundVolume(context, found);
  if (!read) return;
  const { object, bytes, entries } = read;
  const buckets = await findBuckets(
    context,
    entries.map((entry) => String(entry.version?.bucket_id)),
  );
  const versions: RecoveredVersion[] = [];
  for (const entry of entries) {
    const version = entry.version as IndexedVersion | null;
    const name = Buffer.from(String(version?.name ?? ''), 'hex').toString();
    const bucket = buckets.get(String(version?.bucket_id));
    if (!version || !isOf(bucket, name, shard) || entry.at !== undefined) continue;
    versions.push({
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
      lock: toLock(version as Row),
      describedAt: object.uploaded.getTime(),
      extents: [{ start: 0, length: entry.length, blobId, blobStart: entry.start, crc32: entry.crc32 }],
    });
  }
  const added = await insertRecovered(context, shard, versions);
  // An object may have been damaged before it was packed. Then it keeps the place that its row has.
  const intact = entries.filter(
    ({ start, length, crc32: expected }) => crc32(bytes.subarray(start, start + length)) === expected,
  );
  const moved = await moveIntoVolume(context, shard, blobId, intact);
  if (added + moved === 0) return;
  const hasher = new BlobHasher();
  hasher.update(bytes);
  const { md5: _, ...facts } = hasher.digest();
  const locations = await findLocations(context, object);
  await insertBlobRecord(context, shard, { blobId, kind: 'volume', ...facts, locations });
  count(report, { volumes_recovered: 1 });
  count(report, { versions_recovered: added });
}
