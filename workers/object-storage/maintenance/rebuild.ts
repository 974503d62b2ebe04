/**
 * Puts a lost shard together again: the newest snapshot, then the journal since, and then what blobs in R2 tell of
 * themselves and neither knows: whole objects by their description, packed ones by the index at the end of their volume.
 *
 * What may be lost is what the shard took in after its journal was last written, about a minute: of that only objects with
 * blobs of their own come back, without tags, ACLs and checksums beside MD5 and SHA-256. It may be repeated; until it is
 * done the shard is not claimed (`engine/claims.ts`).
 */
import { createHash } from 'node:crypto';
import { logInfo } from '../../shared/log.ts';
import { BlobHasher } from '../blobs/digests.ts';
import { BLOB_PREFIX, isBlobKey, toBlobKey } from '../blobs/locations.ts';
import { slotOf } from '../domain/slots.ts';
import { fromVersionOrder, isTimeuuid } from '../domain/version-order.ts';
import { readVolumeIndex } from '../domain/volume.ts';
import type { EngineContext } from '../engine/context.ts';
import { selectBlobs } from '../store/blob-store.ts';
import type { BucketRecord } from '../store/bucket-store.ts';
import { advanceEpoch } from '../store/journal-store.ts';
import {
  alignBuckets,
  dropUnreferencedBlobs,
  emptyShard,
  endRebuild,
  insertBlobRecord,
  insertRecovered,
  isInUse,
  listAllBuckets,
  moveIntoVolume,
  type RecoveredVersion,
  restoreRows,
} from '../store/rebuild-store.ts';
import { TABLE_NAMES } from '../store/table-rows.ts';
import { checkShard, emptyFsckReport } from './fsck.ts';
import { replayJournal } from './journal.ts';
import { findSnapshot, readSnapshotPage, snapshotShard } from './snapshot.ts';

export interface RebuildReport {
  snapshot: string | null;
  rows_restored: number;
  /** Versions and uploads that the journal told of, counted each time. */
  changes_replayed: number;
  /** How far the journal goes. Null: there is none. */
  journal_until: string | null;
  blobs_looked_at: number;
  versions_recovered: number;
  volumes_recovered: number;
  versions_incomplete: number;
}

export type RebuildOutcome =
  | { readonly ok: true; readonly report: RebuildReport }
  | { readonly ok: false; readonly error: { readonly kind: 'not_empty' } };

/** Bytes reach R2 before their commit: blobs so much older than the snapshot are in it, or were not to be kept. */
const COMMIT_MARGIN_MS = 900_000;

interface Rebuild {
  readonly context: EngineContext;
  readonly shard: number;
  readonly buckets: ReadonlyMap<string, BucketRecord>;
  readonly report: RebuildReport;
}

export async function rebuildShard(context: EngineContext, shard: number): Promise<RebuildOutcome> {
  if (await isInUse(context, shard)) return { ok: false, error: { kind: 'not_empty' } };
  const report: RebuildReport = {
    snapshot: null,
    rows_restored: 0,
    changes_replayed: 0,
    journal_until: null,
    blobs_looked_at: 0,
    versions_recovered: 0,
    volumes_recovered: 0,
    versions_incomplete: 0,
  };
  await emptyShard(context, shard);
  const buckets = await listAllBuckets(context);
  const from = await restoreSnapshot(context, shard, buckets, report);
  const journal = await replayJournal(context, shard, from.epoch);
  report.changes_replayed = journal.notes;
  report.journal_until = journal.epoch > 0 ? new Date(journal.epoch).toISOString() : null;
  const byId = new Map(buckets.map((bucket) => [bucket.bucketId, bucket]));
  await recoverBlobs({ context, shard, buckets: byId, report }, from.startedAt - COMMIT_MARGIN_MS);
  await endRebuild(context, shard);
  const checked = emptyFsckReport(false);
  await checkShard(context, shard, checked);
  report.versions_incomplete = checked.versions_incomplete;
  await dropUnreferencedBlobs(context, shard);
  await advanceEpoch(context, shard, journal.epoch);
  await snapshotShard(context, shard);
  logInfo('shard_rebuilt', { shard, rows: report.rows_restored, recovered: report.versions_recovered });
  return { ok: true, report };
}

/** @returns what the journal has to go on from, and when the snapshot was begun. */
async function restoreSnapshot(
  context: EngineContext,
  shard: number,
  buckets: readonly BucketRecord[],
  report: RebuildReport,
): Promise<{ readonly epoch: number; readonly startedAt: number }> {
  const found = await findSnapshot(context, shard);
  const pages = found?.manifest.pages ?? {};
  let open: ReadonlyMap<number, string> = new Map();
  for (const table of TABLE_NAMES) {
    for (let page = 0; found && page < (pages[table] ?? 0); page++) {
      const rows = await readSnapshotPage(context, found.folder, table, page);
      report.rows_restored += await restoreRows(context, shard, table, rows, open);
    }
    if (table === 'bucket') open = await alignBuckets(context, shard, buckets);
  }
  if (!found) return { epoch: 0, startedAt: 0 };
  report.snapshot = found.folder;
  return { epoch: found.manifest.epoch, startedAt: found.manifest.started_at };
}

interface Found {
  readonly location: number;
  readonly object: R2Object;
}

/** Looks at every blob that came since, in whichever location it is. */
async function recoverBlobs(rebuild: Rebuild, since: number): Promise<void> {
  const { context, shard, report } = rebuild;
  const volumes = new Map<string, Found>();
  const pieces = new Map<string, Map<number, Found>>();
  for (const [location, bucket] of context.locations.entries()) {
    let after: string | undefined;
    for (;;) {
      const page = await bucket.list({
        prefix: BLOB_PREFIX,
        limit: 500,
        include: ['customMetadata'],
        ...(after === undefined ? {} : { startAfter: after }),
      });
      const young = page.objects.filter((object) => isBlobKey(object.key) && object.uploaded.getTime() >= since);
      report.blobs_looked_at += young.length;
      const known = new Set((await selectBlobs(context, shard, young.map(idOf))).map((blob) => blob.blobId));
      for (const object of young) {
        const { kind, object_id: objectId, index } = object.customMetadata ?? {};
        if (kind === 'volume') volumes.set(object.key, volumes.get(object.key) ?? { location, object });
        if (kind !== 'object' || !objectId || known.has(idOf(object))) continue;
        const held = pieces.get(objectId) ?? new Map<number, Found>();
        held.set(Number(index), held.get(Number(index)) ?? { location, object });
        pieces.set(objectId, held);
      }
      after = page.objects.at(-1)?.key;
      if (!page.truncated || after === undefined) break;
    }
  }
  for (const found of pieces.values()) await recoverObject(rebuild, found);
  // What was packed or compacted last is where it is now.
  const inOrder = [...volumes.values()].sort((a, b) => a.object.uploaded.getTime() - b.object.uploaded.getTime());
  for (const volume of inOrder) await recoverVolume(rebuild, volume);
}

const idOf = (object: R2Object): string => object.key.slice(BLOB_PREFIX.length);

/** Which of the locations have the same bytes. */
async function findLocations(context: EngineContext, object: R2Object): Promise<number> {
  const heads = await Promise.all(context.locations.map((bucket) => bucket.head(object.key)));
  return heads.reduce((bits, head, location) => (head?.etag === object.etag ? bits | (1 << location) : bits), 0);
}

async function readBytes(context: EngineContext, { location, object }: Found): Promise<ReadableStream<Uint8Array>> {
  const body = await context.locations[location]?.get(toBlobKey(idOf(object)));
  if (!body) throw new Error(`blob ${idOf(object)} went while it was looked at`);
  return body.body;
}

async function recoverObject({ context, shard, buckets, report }: Rebuild, found: ReadonlyMap<number, Found>) {
  const ordered = [...found.entries()].sort(([a], [b]) => a - b);
  const described = ordered[0]?.[1].object.customMetadata ?? {};
  const bucket = buckets.get(described.bucket_id ?? '');
  const name = Buffer.from(described.name ?? '', 'base64url').toString();
  const isWhole = ordered.every(([index], i) => index === i);
  if (!bucket || !isWhole || bucket.placement.shards[slotOf(name)] !== shard || !isTimeuuid(described.version_id ?? ''))
    return;
  const md5 = createHash('md5');
  const sha256 = createHash('sha256');
  const extents: RecoveredVersion['extents'][number][] = [];
  let size = 0;
  for (const [, piece] of ordered) {
    const hasher = new BlobHasher();
    for await (const chunk of await readBytes(context, piece)) {
      hasher.update(chunk);
      md5.update(chunk);
      sha256.update(chunk);
    }
    const { md5: _, ...facts } = hasher.digest();
    const blobId = idOf(piece.object);
    const locations = await findLocations(context, piece.object);
    await insertBlobRecord(context, shard, { blobId, kind: 'object', ...facts, locations });
    extents.push({ start: size, length: facts.size, blobId, blobStart: 0, crc32: null });
    size += facts.size;
  }
  const noMetadata = JSON.stringify({ headers: {}, user: {}, ownerId: bucket.ownerId });
  const isAdded = await insertRecovered(context, shard, {
    bucketId: bucket.bucketId,
    name,
    versionId: described.version_id ?? '',
    isNull: described.is_null === '1',
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
    toldAt: ordered[0]?.[1].object.uploaded.getTime() ?? 0,
    extents,
  });
  if (isAdded) report.versions_recovered++;
}

/** What a volume's index keeps of a version (`VERSION_JSON`). */
type IndexedVersion = Readonly<Record<string, unknown>>;
const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
const jsonOf = (value: unknown): string | null =>
  value === null || value === undefined ? null : JSON.stringify(value);

/** Adds the versions that only the volume tells of, and points those that are there at their place in it. */
async function recoverVolume({ context, shard, buckets, report }: Rebuild, found: Found): Promise<void> {
  const blobId = idOf(found.object);
  const bytes = new Uint8Array(await new Response(await readBytes(context, found)).arrayBuffer());
  const index = readVolumeIndex(bytes);
  if (!index.ok) return;
  let added = 0;
  for (const entry of index.value) {
    const version = entry.version as IndexedVersion | null;
    const name = Buffer.from(String(version?.name ?? ''), 'hex').toString();
    const bucket = buckets.get(String(version?.bucket_id));
    if (!version || bucket?.placement.shards[slotOf(name)] !== shard || entry.at !== undefined) continue;
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
      toldAt: found.object.uploaded.getTime(),
      extents: [{ start: 0, length: entry.length, blobId, blobStart: entry.start, crc32: entry.crc32 }],
    });
    if (isAdded) added++;
  }
  const moved = await moveIntoVolume(context, shard, blobId, index.value);
  if (added + moved === 0) return;
  const hasher = new BlobHasher();
  hasher.update(bytes);
  const { md5: _, ...facts } = hasher.digest();
  const locations = await findLocations(context, found.object);
  await insertBlobRecord(context, shard, { blobId, kind: 'volume', ...facts, locations });
  report.volumes_recovered++;
  report.versions_recovered += added;
}
