/** Finds versions and opens their data. */
import { crc32 } from 'node:zlib';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { logError } from '../../../shared/telemetry/log.ts';
import { slotOf } from '../../domain/slots.ts';
import { isTimeuuid } from '../../domain/version-order.ts';
import { planPieces } from '../blobs/pieces.ts';
import { joinBytes, readAhead, rememberPlace, takeAhead } from '../blobs/read-ahead.ts';
import { ReadFailure, type ReportFault, readPieces } from '../blobs/read-extents.ts';
import { type EngineContext, pause } from '../model/context.ts';
import type {
  Bucket,
  ByteRange,
  Engine,
  Extent,
  PendingRead,
  ReadError,
  StoredVersion,
  Unavailable,
  VersionChoice,
} from '../model/contract.ts';
import { isCurrent } from '../model/proof.ts';
import { introduceBucket } from '../store/claims.ts';
import {
  FIRST_EXTENTS,
  type FoundVersion,
  findVersion,
  listPartRanges,
  listPlaces,
  openPlaces,
} from '../store/read-store.ts';
import { levelGeneration, refreshBucket } from './buckets.ts';
import { cutRange, readDamaged } from './damaged-reads.ts';

/** Bodies of answers up to this size are collected in memory and sent in one piece. */
const GATHER_BYTES_MAX = 256 * 1024;
const EXTENTS_PAGE = 500;
/**
 * Maximum number of extents that a read loads: twice the maximum number of parts of an upload. Only objects that are composed of
 * ranges of other objects can have more extents.
 */
const PLACES_MAX = 20_000;

type Finding = Promise<Result<FoundVersion, Unavailable>>;

export function beginRead(
  context: EngineContext,
  bucketName: string,
  name: string,
  choice: VersionChoice = {},
): PendingRead {
  const known = context.memory.placements.get(bucketName);
  const slot = slotOf(name);
  const isPossible = choice.versionId === undefined || choice.versionId === 'null' || isTimeuuid(choice.versionId);
  const shard = known?.placement.shards[slot] ?? 0;
  const find = (from: number, bucketId: string | null) => {
    const key = bucketId === null ? { bucketName } : { bucketId };
    const finding = findVersion(context, from, key, slot, name, choice);
    finding.catch(() => {});
    return { from, bucketId, finding };
  };
  // The version is looked up after the request arrived, so the result is valid even if the bucket is read after it.
  const canBegin = isPossible && (known !== undefined || context.shards.length === 1);
  let begun = canBegin ? find(shard, known?.bucketId ?? null) : null;
  const beginIn = async (bucket: Bucket): Finding => {
    const from = bucket.placement.shards[slot] ?? 0;
    if (begun?.from === from && begun.bucketId === bucket.bucketId) return begun.finding;
    if (begun?.from === from && begun.bucketId === null) {
      const found = await begun.finding;
      if (!found.ok || found.value.bucketId === bucket.bucketId) return found;
    }
    begun = find(from, bucket.bucketId);
    return begun.finding;
  };
  return {
    begin(bucket) {
      if (isPossible && begun?.bucketId !== null) beginIn(bucket).catch(() => {});
    },
    open: (bucket) => getVersion(context, bucket, name, choice, isPossible ? beginIn(bucket) : null),
    async openProven(bucket, identity, isWholeRead = false) {
      if (!isPossible) return err({ kind: 'unproven', knowsIdentity: true });
      const ahead = isWholeRead ? readAhead(context, bucket.bucketId, name) : null;
      const found = await beginIn(bucket);
      ahead?.end();
      if (!found.ok) return found;
      const { slotState, version } = found.value;
      // A sealed slot proves nothing: DIRECTORY's map may already assign it to another shard, while this copy of the bucket has the
      // old map.
      const isHere = slotState === 'o';
      if (!isHere || !isCurrent(found.value, bucket, identity)) {
        return err({
          kind: 'unproven',
          knowsIdentity: !isHere || identity === null || found.value.identities.has(identity.home),
        });
      }
      if (version) return ok(ahead ? { ...version, handle: { ...version.handle, ahead } } : version);
      return err({ kind: choice.versionId === undefined ? 'no_such_key' : 'no_such_version' });
    },
  };
}

export async function getVersion(
  context: EngineContext,
  bucket: Bucket,
  name: string,
  choice: VersionChoice = {},
  early: Finding | null = null,
): Promise<Result<StoredVersion, ReadError>> {
  const missing = choice.versionId === undefined ? 'no_such_key' : 'no_such_version';
  if (choice.versionId !== undefined && choice.versionId !== 'null' && !isTimeuuid(choice.versionId)) {
    return err({ kind: missing });
  }
  const slot = slotOf(name);
  let holder = bucket;
  let finding = early;
  for (let attempt = 0; attempt < 6; attempt++) {
    const shard = holder.placement.shards[slot] ?? 0;
    finding ??= findVersion(context, shard, bucket, slot, name, choice);
    const found = await finding;
    if (!found.ok) return found;
    const { slotState, version } = found.value;
    // A sealed slot is still read from this shard. In any other state the slot has moved since the map was read.
    if (slotState === 'o' || slotState === 's') {
      const { generation } = found.value;
      if (generation === null || generation > holder.generation) {
        context.waitUntil(levelGeneration(context, holder, shard, generation));
      }
      return version ? ok(version) : err({ kind: missing });
    }
    if (attempt > 1) await pause(20 * 2 ** attempt);
    const fresh = await refreshBucket(context, holder);
    if (!fresh.ok) return fresh;
    holder = fresh.value;
    finding = null;
    if (slotState !== null) continue;
    const known = await introduceBucket(context, shard, fresh.value);
    if (!known.ok) return known;
  }
  return err({ kind: 'unavailable', reason: 'the slot is being moved' });
}

/** Reports a bad copy, once per blob and location, and enqueues its repair. */
export function createFaultReport(context: EngineContext, shard: number): ReportFault {
  const reported = new Set<string>();
  return (blobId, location) => {
    const key = `${blobId}/${location}`;
    if (reported.has(key)) return;
    reported.add(key);
    logError('copy_unreadable', 'a location has no good copy of a blob', { blob_id: blobId, location });
    if (context.tasks) {
      context.waitUntil(
        context.tasks
          .send({ kind: 'repair', shard, blob_id: blobId })
          .catch((error: unknown) => logError('repair_enqueue_failed', error)),
      );
    }
  };
}

export async function readVersion(
  context: EngineContext,
  version: StoredVersion,
  range: ByteRange = { start: 0, end: version.size - 1 },
): ReturnType<Engine['readVersion']> {
  const length = range.end - range.start + 1;
  if (version.size === 0 || length <= 0) return ok(new Uint8Array(0));
  const { inline, bucketId, extents, ahead } = version.handle;
  if (inline) {
    const bytes = Buffer.from(inline.data, 'base64');
    if (bytes.length === version.size && crc32(bytes) === inline.crc32) return ok(cutRange(bytes, range));
    return await readDamaged(context, version, range);
  }
  if (length === version.size && length === extents[0]?.length) {
    const bytes = await takeAhead(ahead, extents);
    if (bytes) return ok(bytes);
    rememberPlace(context, bucketId, version.name, extents);
  }
  const chunks = readRange(context, version, range);
  try {
    return ok(await toBody(chunks, length));
  } catch (error) {
    if (!(error instanceof ReadFailure)) throw error;
    const isSmall = version.size <= context.limits.inlineBytesMax && version.partCount === null;
    const mended = error.isGone && isSmall ? await readDamaged(context, version, range) : null;
    if (mended?.ok || mended?.error.kind === 'unavailable') return mended;
    return err(toReadError(version, error));
  }
}

function toReadError(version: StoredVersion, failure: ReadFailure) {
  logError('read_failed', failure, { object_id: version.objectId, blob_id: failure.blobId });
  return failure.isGone
    ? ({ kind: 'data_lost' } as const)
    : ({ kind: 'unavailable', reason: failure.message } as const);
}

/**
 * Yields the checked bytes of a range of an object. A delete removes the extents at once, but the blobs only after the grace
 * period. All extents are therefore loaded at the start, in parallel with the first bytes; the records of their blobs are loaded as
 * the read proceeds.
 */
async function* readRange(
  context: EngineContext,
  version: StoredVersion,
  range: ByteRange,
): AsyncGenerator<Uint8Array> {
  const { shard, extents } = version.handle;
  const report = createFaultReport(context, shard);
  const known = endOf(extents);
  const isAll = extents.length < FIRST_EXTENTS || known > range.end;
  let at = isAll ? range.end + 1 : Math.max(known, range.start);
  const ask = () => listPlaces(context, shard, version.objectId, { start: at, end: range.end }, PLACES_MAX);
  const asked = isAll ? ok([]) : ask();
  const head = readExtents(context, extents, isAll ? range : { start: range.start, end: known - 1 }, report);
  try {
    const [first, answer] = await Promise.all([head.next(), asked]);
    let places = answer.ok ? answer.value : [];
    // The shard has no extents of the object, so its version was removed after it was found.
    if (places.length === 0 && !isAll) throw new ReadFailure('', false);
    if (!first.done) yield first.value;
    yield* head;
    while (at <= range.end) {
      if (places.length === 0) {
        const more = await ask();
        if (!more.ok || more.value.length === 0) throw new ReadFailure('', more.ok);
        places = more.value;
      }
      const page = await openPlaces(context, shard, places.slice(0, EXTENTS_PAGE));
      if (!page.ok) throw new ReadFailure('', false);
      places = places.slice(EXTENTS_PAGE);
      const end = Math.min(range.end, endOf(page.value) - 1);
      yield* readExtents(context, page.value, { start: at, end }, report);
      at = end + 1;
    }
  } finally {
    await head.return(undefined);
  }
}

const endOf = (extents: readonly Extent[]): number => {
  const last = extents.at(-1);
  return last ? last.start + last.length : 0;
};

/** If a blob is lost, the data before it is still returned, and the read fails at the lost blob. */
async function* readExtents(
  context: EngineContext,
  extents: readonly Extent[],
  { start, end }: ByteRange,
  report: ReportFault,
): AsyncGenerator<Uint8Array> {
  if (start > end) return;
  const lost = extents.find((extent) => extent.isLost && extent.start <= end && extent.start + extent.length > start);
  const pieces = planPieces(extents, { start, end: lost ? lost.start - 1 : end });
  const covered = pieces.reduce((sum, piece) => sum + piece.take, 0);
  if (!lost && covered !== end - start + 1) throw new ReadFailure(pieces[0]?.extent.blobId ?? '', true);
  yield* readPieces(context, pieces, report);
  if (lost) throw new ReadFailure(lost.blobId, true);
}

/** Waits for the first checked bytes, so that lost data causes an error status and not an aborted answer. */
async function toBody(
  chunks: AsyncGenerator<Uint8Array>,
  length: number,
): Promise<Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>> {
  const first = await chunks.next();
  if (first.done) return new Uint8Array(0);
  if (length <= GATHER_BYTES_MAX) {
    const gathered = [first.value];
    for await (const chunk of chunks) gathered.push(chunk);
    return joinBytes(gathered, length);
  }
  const { readable, writable } = new FixedLengthStream(length);
  void pump(chunks, first.value, writable.getWriter());
  return readable;
}

async function pump(
  chunks: AsyncGenerator<Uint8Array>,
  first: Uint8Array,
  writer: WritableStreamDefaultWriter<Uint8Array>,
): Promise<void> {
  try {
    await writer.write(first);
    for await (const chunk of chunks) await writer.write(chunk);
    await writer.close();
  } catch (error) {
    if (error instanceof ReadFailure) logError('read_aborted', error, { blob_id: error.blobId });
    await chunks.return(undefined).catch(() => {});
    await writer.abort(error).catch(() => {});
  }
}

export async function findPart(
  context: EngineContext,
  version: StoredVersion,
  partNumber: number,
): ReturnType<Engine['findPart']> {
  const { size, partCount } = version;
  if (partCount === null) {
    return ok(partNumber === 1 ? { start: 0, end: size - 1, partNumber, partCount: 1 } : null);
  }
  const rows = await listPartRanges(context, version.handle.shard, version.objectId, {
    after: partNumber - 1,
    limit: 1,
    from: 0,
  });
  if (!rows.ok) return rows;
  const row = rows.value[0];
  if (row?.part !== partNumber || !row) {
    // Numbers of parts may have gaps. An empty part has no extent; only the last part of an object can be empty.
    return ok(partNumber === partCount && !row ? { start: size, end: size - 1, partNumber, partCount } : null);
  }
  const start = Number(row.start);
  return ok({ start, end: start + Number(row.size) - 1, partNumber, partCount });
}

export async function listObjectParts(
  context: EngineContext,
  version: StoredVersion,
  { after, limit, from = 0 }: { readonly after: number; readonly limit: number; readonly from?: number },
): ReturnType<Engine['listObjectParts']> {
  const { shard } = version.handle;
  const rows = await listPartRanges(context, shard, version.objectId, { after, limit: limit + 1, from });
  if (!rows.ok) return rows;
  const parts = rows.value.slice(0, limit).map((row) => {
    const facts = JSON.parse(String(row.facts ?? '{}'));
    return {
      partNumber: Number(row.part),
      start: Number(row.start),
      size: Number(row.size),
      etag: String(facts.etag ?? ''),
      modifiedAt: version.modifiedAt,
      checksums: facts.checksums ?? {},
    };
  });
  return ok({ parts, isTruncated: rows.value.length > limit });
}
