/**
 * Mail's bytes in R2: raw messages, attachments and long bodies, under `mail/<user_id>/`, in the bound locations (`BLOBS`,
 * `BLOBS_2`, …). A write succeeds once `WRITE_QUORUM` locations have it. Markers name the missing copies, which cron makes later. A
 * read uses the first location that has the object.
 */

import { inTime } from '../../shared/concurrency/in-time.ts';
import { blobLocations, locationsOf } from '../../shared/stores/bindings.ts';
import {
  countLocations,
  isSuspected,
  markMissing,
  noteOutcome,
  putInQuorum,
  settleQuorum,
} from '../../shared/stores/quorum.ts';
import { QuorumStream } from '../../shared/stores/quorum-stream.ts';

/** Maximum of keys that R2 deletes in one call. */
const KEYS_PER_DELETE_MAX = 1_000;

export const listLocations = blobLocations;

/**
 * Writes an object. Resolves once a quorum of the locations has it. Except for snapshots of mailboxes, all writes of a key have the
 * same bytes.
 */
export const putBlob = (env: Env, key: string, bytes: Uint8Array | string): Promise<void> =>
  putInQuorum(locationsOf(env), key, bytes);

/**
 * Streams bytes of a known length into the locations. Resolves once a quorum has them. If the length differs, the source fails, or
 * too few locations accept the bytes, it rejects and stores nothing.
 */
export async function putBlobStream(
  env: Env,
  key: string,
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  sizeBytes: number,
): Promise<void> {
  const target = locationsOf(env);
  const stream = new QuorumStream(target, key, sizeBytes);
  const refuse = (reason: string | null) => {
    if (reason !== null) throw new Error(reason);
  };
  try {
    for await (const chunk of source) refuse(await stream.write(chunk));
    refuse(await stream.close());
    const writes = stream.puts.map((put) => put?.then(({ ok }) => ok) ?? null);
    const { held } = await settleQuorum(target.locations, writes, target.quorum, target.lateMs);
    if (countLocations(held) < target.quorum) throw new Error(stream.failure ?? 'too few locations answer');
    await markMissing(target, key, held);
  } catch (error) {
    stream.abort(error);
    await inTime(Promise.all(stream.puts), target.lateMs, null);
    throw error;
  }
}

/** @returns the object; null when no location has it. @throws when no location returned the object and at least one failed. */
export async function getBlob(env: Env, key: string, range?: R2Range): Promise<R2ObjectBody | null> {
  const { locations, timeoutMs, lateMs } = locationsOf(env);
  let failure: unknown;
  for (const [i, bucket] of locations.toSorted((a, b) => Number(isSuspected(a)) - Number(isSuspected(b))).entries()) {
    try {
      const limitMs = i < locations.length - 1 ? lateMs : timeoutMs;
      const found = await inTime(bucket.get(key, range ? { range } : {}), limitMs, 'late' as const);
      noteOutcome(bucket, found !== 'late');
      if (found === 'late') failure = new Error('a location did not answer in time');
      else if (found) return found;
    } catch (error) {
      failure = error;
      noteOutcome(bucket, false);
    }
  }
  if (failure !== undefined) throw failure;
  return null;
}

const READ_BYTES = 256 * 1024;

/** Reads a stream in large pieces. R2 delivers 4 KiB at a time, and each piece costs a turn of the event loop. */
export async function* inLargePieces(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = stream.getReader({ mode: 'byob' });
  } catch {
    // A stream that JavaScript created may not be a byte stream. It is read in its own pieces.
    yield* stream;
    return;
  }
  try {
    for (;;) {
      const { done, value } = await reader.readAtLeast(READ_BYTES, new Uint8Array(READ_BYTES));
      if (value && value.byteLength > 0) yield value;
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Reads an object in large pieces. @throws if no location has it. */
export async function readBlob(env: Env, key: string): Promise<AsyncIterable<Uint8Array>> {
  const stored = await getBlob(env, key);
  if (!stored) throw new Error(`bytes are missing in every location: ${key}`);
  return inLargePieces(stored.body);
}

export async function deleteBlobs(env: Env, keys: readonly string[]): Promise<void> {
  for (let from = 0; from < keys.length; from += KEYS_PER_DELETE_MAX) {
    const some = keys.slice(from, from + KEYS_PER_DELETE_MAX);
    await Promise.all(listLocations(env).map((bucket) => bucket.delete(some)));
  }
}

/** R2 prefix of all mail objects of one user. */
export const userPrefix = (userId: string): string => `mail/${userId}/`;

/** Deletes all objects under a prefix in every location. @returns how many objects were found. */
export async function deleteBlobsUnder(env: Env, prefix: string): Promise<number> {
  let count = 0;
  for (const bucket of listLocations(env)) {
    for (;;) {
      const page = await bucket.list({ prefix, limit: KEYS_PER_DELETE_MAX });
      if (page.objects.length === 0) break;
      await bucket.delete(page.objects.map((object) => object.key));
      count += page.objects.length;
    }
  }
  return count;
}
