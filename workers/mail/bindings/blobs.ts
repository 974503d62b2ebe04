/**
 * Mail's bytes in R2: raw messages, attachments and long bodies, each under `mail/<user_id>/`, in every bound location
 * (`BLOBS`, `BLOBS_2`, …). A read uses the first location that has the object.
 */
import { blobLocations } from '../../shared/bindings.ts';

/** R2 deletes at most this many keys in one call. */
const KEYS_PER_DELETE_MAX = 1_000;

export const listLocations = blobLocations;

/** Resolves when every location has the bytes. A key is only ever written with the same bytes, but for snapshots. */
export async function putBlob(env: Env, key: string, bytes: Uint8Array | string): Promise<void> {
  await Promise.all(listLocations(env).map((bucket) => bucket.put(key, bytes)));
}

/**
 * Streams bytes of a known length into every location at the pace of the slowest. Rejects and stores nothing if the length
 * differs or the source fails.
 */
export async function putBlobStream(
  env: Env,
  key: string,
  source: AsyncIterable<Uint8Array>,
  sizeBytes: number,
): Promise<void> {
  const sinks = listLocations(env).map((bucket) => {
    const { readable, writable } = new FixedLengthStream(sizeBytes);
    return { writer: writable.getWriter(), put: bucket.put(key, readable) };
  });
  // A location that fails stops reading its stream. Without this promise, a write to it would wait forever.
  const failure = new Promise<never>((_, reject) => {
    for (const { put } of sinks) put.catch(reject);
  });
  failure.catch(() => {});
  const pump = async () => {
    try {
      for await (const chunk of source) {
        await Promise.race([failure, Promise.all(sinks.map(({ writer }) => writer.write(chunk)))]);
      }
      await Promise.race([failure, Promise.all(sinks.map(({ writer }) => writer.close()))]);
    } catch (error) {
      for (const { writer } of sinks) writer.abort(error).catch(() => {});
      throw error;
    }
  };
  const outcomes = await Promise.allSettled([pump(), ...sinks.map(({ put }) => put)]);
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed) throw failed.reason;
}

/** @returns null when no location has the object. @throws when no location returned it and at least one failed. */
export async function getBlob(env: Env, key: string, range?: R2Range): Promise<R2ObjectBody | null> {
  let failure: unknown;
  for (const bucket of listLocations(env)) {
    try {
      const found = await bucket.get(key, range ? { range } : {});
      if (found) return found;
    } catch (error) {
      failure = error;
    }
  }
  if (failure !== undefined) throw failure;
  return null;
}

const READ_BYTES = 256 * 1024;

/** The bytes of a stream in large pieces. R2 delivers 4 KiB at a time, and each piece costs a turn of the event loop. */
export async function* inLargePieces(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = stream.getReader({ mode: 'byob' });
  } catch {
    // A stream that JavaScript created may not be a byte stream.
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

export async function deleteBlobs(env: Env, keys: readonly string[]): Promise<void> {
  for (let from = 0; from < keys.length; from += KEYS_PER_DELETE_MAX) {
    const some = keys.slice(from, from + KEYS_PER_DELETE_MAX);
    await Promise.all(listLocations(env).map((bucket) => bucket.delete(some)));
  }
}

/** Prefix of all objects of one user. */
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
