/**
 * Reads every copy of every blob and repairs bad ones.
 *
 * A cycle goes over the records in the order of their ids and stores its progress. A new cycle starts `scrubCycleMs` after the
 * start of the last one. Ids are random, so the progress that is due depends on time only and not on the amount stored: after half
 * of the cycle time, scrub should be at the middle of the range of ids. A copy that is missing or does not match its SHA-256 is
 * rewritten from intact segments of any location. If no location has an intact copy of a segment, the blob is marked as lost and
 * the affected versions are reported. Small
 * objects are repaired from the journal and from snapshots (`scrub-small.ts`).
 */

import { createHash } from 'node:crypto';
import { logError, logInfo } from '../../shared/telemetry/log.ts';
import { count } from '../domain/counting.ts';
import { createByteSource } from '../engine/blobs/byte-source.ts';
import { BlobHasher } from '../engine/blobs/digests.ts';
import { askLocation, checkStored, toBlobKey } from '../engine/blobs/locations.ts';
import { ReadFailure } from '../engine/blobs/read-extents.ts';
import { readBlob } from '../engine/blobs/volumes.ts';
import { allLocations, type EngineContext, inTime, locationOf } from '../engine/model/context.ts';
import {
  type BlobRow,
  findVersionsOfBlob,
  selectBlobs,
  selectBlobsAfter,
  setLocations,
} from '../engine/store/blob-store.ts';
import { readTask, writeTask } from '../engine/store/task-store.ts';
import type { ScrubReport } from './scrub-report.ts';
import { scrubInline, scrubSetAside, scrubVolume } from './scrub-small.ts';

type CopyState = 'good' | 'bad' | 'missing' | 'unreachable';

/**
 * Reads one copy of a blob to its end and compares it with the record.
 * @param collect receives the bytes in order.
 */
async function checkCopy(
  context: EngineContext,
  location: number,
  blob: BlobRow,
  collect: (chunk: Uint8Array) => void = () => {},
): Promise<CopyState> {
  const bucket = locationOf(context, location);
  const answer = await askLocation(context, location, () => bucket.get(toBlobKey(blob.blobId)));
  if (!answer.ok) return 'unreachable';
  if (answer.value === null) return 'missing';
  const source = createByteSource(answer.value.body);
  const sha256 = createHash('sha256');
  let size = 0;
  try {
    for (;;) {
      const chunk = await inTime(source.read(), context.limits.locationTimeoutMs, 'late' as const);
      if (chunk === 'late') return 'unreachable';
      if (chunk === null) break;
      sha256.update(chunk);
      size += chunk.length;
      if (size <= blob.size) collect(chunk);
    }
  } catch {
    return 'unreachable';
  }
  return size === blob.size && sha256.digest('hex') === blob.sha256 ? 'good' : 'bad';
}

/** Checks all copies of a blob. @returns their states, and the bytes of an intact copy of a volume. */
async function checkCopies(
  context: EngineContext,
  blob: BlobRow,
): Promise<{ readonly states: CopyState[]; readonly volume: Uint8Array | null }> {
  const states: CopyState[] = [];
  let volume: Uint8Array | null = null;
  for (let location = 0; location < context.locations.length; location++) {
    // A volume is built in memory, so it also fits here. Its bytes are kept once, from the first intact copy.
    const bytes: Uint8Array | null = blob.kind === 'volume' && volume === null ? Buffer.alloc(blob.size) : null;
    let at = 0;
    const collect = (chunk: Uint8Array) => {
      bytes?.set(chunk, at);
      at += chunk.length;
    };
    const state = await checkCopy(context, location, blob, collect);
    if (state === 'good') volume ??= bytes;
    states.push(state);
  }
  return { states, volume };
}

/** Checks all copies of one blob and repairs them. @returns the number of bytes read. */
export async function scrubBlob(
  context: EngineContext,
  shard: number,
  blob: BlobRow,
  report: ScrubReport,
): Promise<number> {
  const { states, volume } = await checkCopies(context, blob);
  count(report, { blobs: 1 });
  count(report, { copies: states.length });
  count(report, { bytes: blob.size * states.length });
  const copiesThatAre = (state: CopyState) => states.filter((found) => found === state).length;
  count(report, { bad_copies: copiesThatAre('bad') });
  count(report, { missing_copies: copiesThatAre('missing') });
  count(report, { unreachable_copies: copiesThatAre('unreachable') });
  let held = 0;
  let isLost = false;
  for (const [location, state] of states.entries()) {
    if (state === 'good') held |= 1 << location;
    // A copy in a location that does not answer keeps the state that the record has.
    if (state === 'unreachable') held |= blob.locations & (1 << location);
    if (state !== 'bad' && state !== 'missing') continue;
    const outcome = await rewriteCopy(context, location, blob);
    if (outcome === 'repaired') {
      held |= 1 << location;
      count(report, { repaired_copies: 1 });
      logInfo('copy_repaired', { blob_id: blob.blobId, location, state });
    } else if (outcome === 'lost') isLost = true;
  }
  if (isLost) await reportLoss(context, shard, blob, report);
  if (blob.kind === 'volume' && (isLost || volume !== null))
    await scrubVolume(context, shard, { blob, bytes: volume }, report);
  // Each object of a volume has its own checksum, so only objects are lost and never a volume as a whole.
  const isMarked = isLost && blob.kind !== 'volume';
  // Copies of lost bytes cannot be made, so they are not listed as missing. The next cycle checks the blob again.
  const missing = isLost ? 0 : allLocations(context) & ~held;
  if (held !== blob.locations || missing !== blob.missing || isMarked !== blob.isLost) {
    await setLocations(context, shard, blob.blobId, { locations: held, missing, isLost: isMarked });
  }
  return blob.size * states.length;
}

async function reportLoss(context: EngineContext, shard: number, blob: BlobRow, report: ScrubReport): Promise<void> {
  count(report, { lost_blobs: 1 });
  logError('blob_lost', 'no location has a good copy', { blob_id: blob.blobId, shard, kind: blob.kind });
  // The objects of a volume are checked one by one.
  if (blob.kind === 'volume') return;
  for (const version of await findVersionsOfBlob(context, shard, blob.blobId)) {
    report.lost_versions.push({ bucket: version.bucket, name: version.name, object_id: version.objectId });
  }
}

/** Replaces a bad or missing copy. Each segment is read from a location where it is intact. */
async function rewriteCopy(
  context: EngineContext,
  location: number,
  blob: BlobRow,
): Promise<'repaired' | 'lost' | 'failed'> {
  const bucket = locationOf(context, location);
  const hasher = new BlobHasher();
  const stream = new FixedLengthStream(blob.size);
  const writer = stream.writable.getWriter();
  const facts = await describeBlob(context, blob);
  const put = bucket.put(toBlobKey(blob.blobId), stream.readable, { customMetadata: facts }).then(
    (stored) => ({ stored, error: null }),
    (error: unknown) => ({ stored: null, error }),
  );
  try {
    for await (const chunk of readBlob(context, blob, () => {})) {
      hasher.update(chunk);
      await writer.write(chunk);
    }
    await writer.close();
  } catch (error) {
    void writer.abort(error).catch(() => {});
    await inTime(put, context.limits.locationTimeoutMs, null);
    return error instanceof ReadFailure && error.isGone ? 'lost' : 'failed';
  }
  const outcome = await inTime(put, context.limits.locationTimeoutMs, null);
  const { md5, sha256 } = hasher.digest();
  if (!outcome?.stored || sha256 !== blob.sha256) return 'failed';
  return checkStored(outcome.stored, blob.size, md5).ok ? 'repaired' : 'failed';
}

/** Reads the custom metadata for a new copy from any location that has it. */
async function describeBlob(context: EngineContext, blob: BlobRow): Promise<Record<string, string>> {
  for (let location = 0; location < context.locations.length; location++) {
    const head = await askLocation(context, location, () => locationOf(context, location).head(toBlobKey(blob.blobId)));
    if (head.ok && head.value?.customMetadata?.kind) return head.value.customMetadata;
  }
  return { kind: blob.kind };
}

export async function scrubOne(
  context: EngineContext,
  shard: number,
  blobId: string,
  report: ScrubReport,
): Promise<void> {
  const [blob] = await selectBlobs(context, shard, [blobId]);
  if (blob) await scrubBlob(context, shard, blob, report);
}

export interface ScrubState {
  readonly startedAt: number;
  /** Id of the last blob that the cycle has checked; '' at the start, null when all blobs are checked. */
  readonly after: string | null;
  /** Row id of the last version whose inline data the cycle has checked; null when all are checked. */
  readonly inlineAfter: number | null;
  readonly finishedAt: number | null;
}

export const readScrubState = (context: EngineContext, shard: number): Promise<ScrubState | null> =>
  readTask<ScrubState>(context, shard, 'scrub');

export interface ScrubOptions {
  readonly restart?: boolean;
  /** Whether to stop once scrub has made the progress that is due by now. */
  readonly isPaced?: boolean;
  /** Called between blobs. Scrub stops when it returns false. */
  readonly mayContinue?: () => boolean;
}

/** The blob id that a cycle should have reached after `elapsedMs`; null for the end. */
export function paceOf(elapsedMs: number, cycleMs: number): string | null {
  const share = Math.max(0, elapsedMs) / cycleMs;
  return share >= 1
    ? null
    : Math.floor(share * 2 ** 32)
        .toString(16)
        .padStart(8, '0');
}

/** Continues the scrub cycle for about this many bytes. @returns false if the cycle is complete and the next is not due. */
export async function scrubStep(
  context: EngineContext,
  shard: number,
  bytesMax: number,
  report: ScrubReport,
  { restart = false, isPaced = false, mayContinue = () => true }: ScrubOptions = {},
): Promise<boolean> {
  const now = context.now();
  let state = await readScrubState(context, shard);
  const isOver = !state || (state.after === null && state.inlineAfter === null);
  if (restart || !state || (isOver && now - state.startedAt >= context.limits.scrubCycleMs)) {
    state = { startedAt: now, after: '', inlineAfter: 0, finishedAt: null };
  } else if (isOver) return false;
  let left = bytesMax;
  if (state.inlineAfter === 0) await scrubSetAside(context, shard, report);
  if (state.inlineAfter !== null) {
    state = { ...state, inlineAfter: await scrubInline(context, shard, state.inlineAfter, report) };
  }
  const goal = isPaced ? paceOf(now - state.startedAt, context.limits.scrubCycleMs) : null;
  pages: while (left > 0 && state.after !== null) {
    const page: BlobRow[] = await selectBlobsAfter(context, shard, state.after, 50);
    if (page.length === 0) state = { ...state, after: null };
    for (const blob of page) {
      if (goal !== null && blob.blobId > goal) break pages;
      left -= await scrubBlob(context, shard, blob, report);
      state = { ...state, after: blob.blobId };
      if (left <= 0 || !mayContinue()) break pages;
    }
    await writeTask(context, shard, 'scrub', state);
  }
  const isDone = state.after === null && state.inlineAfter === null;
  await writeTask(context, shard, 'scrub', { ...state, finishedAt: isDone ? context.now() : null });
  return true;
}
