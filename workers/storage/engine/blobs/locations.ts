/** Access to the R2 buckets (locations): stores a blob in a quorum of them at least, and removes it from all. */
import { at } from '../../../shared/pure/at.ts';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { countLocations, settleQuorum } from '../../../shared/stores/quorum.ts';
import type { QuorumStream, StreamedPut } from '../../../shared/stores/quorum-stream.ts';
import { logError } from '../../../shared/telemetry/log.ts';
import { allLocations, type EngineContext, inTime, locationOf } from '../model/context.ts';
import type { Unavailable } from '../model/contract.ts';

export const BLOB_PREFIX = 'blobs/';
export const toBlobKey = (blobId: string): string => `${BLOB_PREFIX}${blobId}`;

export const isBlobKey = (key: string): boolean => /^blobs\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(key);

/** Custom metadata of the blob's R2 object, from which the blob is recovered if every database is lost. R2 allows 8,192 bytes. */
export type BlobDescription = Readonly<Record<string, string>>;

const LATE = Symbol('late');

/** Turns the outcome of an R2 call into a value. Errors and timeouts of the call become `unavailable`. */
export async function askLocation<T>(
  context: EngineContext,
  location: number,
  work: () => Promise<T>,
  timeoutMs = context.limits.locationTimeoutMs,
): Promise<Result<T, Unavailable>> {
  const name = location === 0 ? 'BLOBS' : `BLOBS_${location + 1}`;
  try {
    const value = await inTime(work(), timeoutMs, LATE);
    return value === LATE ? err({ kind: 'unavailable', reason: `${name} did not answer in time` }) : ok(value as T);
  } catch (error) {
    return err({ kind: 'unavailable', reason: `${name}: ${error instanceof Error ? error.message : String(error)}` });
  }
}

/** Bit masks of the locations that have a blob, and of the locations that still lack it. */
export interface Copies {
  readonly locations: number;
  readonly missing: number;
}

/**
 * Waits until a quorum has a copy of a blob, and a limited time for the other copies. Late copies are not aborted.
 * @param copies outcomes of the writes, in the order of the locations; null for a write that was given up.
 */
export async function settleCopies(
  context: EngineContext,
  blobId: string,
  copies: readonly (Promise<Result<null, Unavailable>> | null)[],
): Promise<Result<Copies, Unavailable>> {
  const outcomes = context.locations.map(
    (): Unavailable => ({ kind: 'unavailable', reason: 'did not answer in time' }),
  );
  const writes = copies.map(
    (copy, location) =>
      copy?.then((outcome) => {
        if (!outcome.ok) outcomes[location] = outcome.error;
        return outcome.ok;
      }) ?? null,
  );
  context.waitUntil(Promise.all(writes));
  const { lateLocationMs } = context.limits;
  const { held: locations } = await settleQuorum(context.locations, writes, context.quorum, lateLocationMs);
  const missing = allLocations(context) & ~locations;
  const failed = outcomes.findIndex((_, location) => (missing >> location) & 1);
  if (countLocations(locations) < context.quorum) return err(at(outcomes, failed));
  if (missing !== 0) logError('copy_missing', at(outcomes, failed).reason, { blob_id: blobId, missing });
  return ok({ locations, missing });
}

/**
 * Writes buffered bytes to every location.
 * @param md5 returns the MD5 of the bytes. It is called after the writes have begun, so that hashing runs in parallel.
 */
export const putCopies = (
  context: EngineContext,
  blobId: string,
  bytes: Uint8Array,
  md5: () => string,
  description: BlobDescription,
): Promise<Result<Copies, Unavailable>> =>
  putCopiesAt(context, { id: blobId, key: toBlobKey(blobId), description }, bytes, md5);

/** Writes buffered bytes to every location under a key. @param id names the object in the log. */
export const putCopiesAt = (
  context: EngineContext,
  { id, key, description }: { readonly id: string; readonly key: string; readonly description: BlobDescription },
  bytes: Uint8Array,
  md5: () => string,
): Promise<Result<Copies, Unavailable>> =>
  settleCopies(
    context,
    id,
    context.locations.map((_, location) => putBytes(context, location, key, bytes, md5, description)),
  );

/** Waits for the copies of a streamed blob, and checks size and ETag that each location reports. */
export function settleStream(
  context: EngineContext,
  blobId: string,
  stream: QuorumStream,
  length: number,
  md5: string,
): Promise<Result<Copies, Unavailable>> {
  const check = async (put: StreamedPut, location: number) => {
    const answer = await askLocation(context, location, async () => {
      const outcome = await put;
      if (!outcome.ok) throw outcome.error;
      return outcome.value;
    });
    return answer.ok ? checkStored(answer.value, length, md5) : answer;
  };
  const copies = stream.puts.map((put, location) => (put === null ? null : check(put, location)));
  return settleCopies(context, blobId, copies);
}

/** Writes buffered bytes to one location and verifies size and ETag that R2 reports. */
async function putBytes(
  context: EngineContext,
  location: number,
  key: string,
  bytes: Uint8Array,
  md5: () => string,
  description: BlobDescription,
): Promise<Result<null, Unavailable>> {
  const answer = await askLocation(context, location, async () => {
    const bucket = locationOf(context, location);
    return await bucket.put(key, bytes, { customMetadata: description });
  });
  if (!answer.ok) return answer;
  return checkStored(answer.value, bytes.length, md5());
}

export function checkStored(stored: R2Object | null, size: number, md5: string): Result<null, Unavailable> {
  if (stored === null) return err({ kind: 'unavailable', reason: 'R2 did not store the object' });
  // If R2 receives an object in one piece, the ETag is the MD5.
  if (stored.size !== size || stored.etag !== md5)
    return err({ kind: 'unavailable', reason: 'R2 stored other bytes than were sent' });
  return ok(null);
}

/** Removes blobs from every location. If the removal fails, the orphan collector finds the blobs later. */
export async function removeBlobs(context: EngineContext, blobIds: readonly string[]): Promise<boolean> {
  if (blobIds.length === 0) return true;
  const outcomes = await Promise.all(
    context.locations.map((bucket, location) =>
      askLocation(context, location, async () => {
        // Keys are removed in groups, because R2 removes at most 1,000 keys per call.
        for (let at = 0; at < blobIds.length; at += 1000) {
          await bucket.delete(blobIds.slice(at, at + 1000).map(toBlobKey));
        }
      }),
    ),
  );
  for (const outcome of outcomes) if (!outcome.ok) logError('blob_delete_failed', outcome.error.reason);
  return outcomes.every((outcome) => outcome.ok);
}
