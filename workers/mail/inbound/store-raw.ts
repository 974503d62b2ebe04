/** Streams raw bytes into every location while they arrive. Hashes them and keeps the head, and never holds the whole message. */
import { createHash } from 'node:crypto';
import { listLocations } from '../bindings/blobs.ts';

/** Size of the start of a message that is kept: enough for its header. */
const HEAD_BYTES_MAX = 256 * 1024;

export interface StoredRaw {
  readonly sha256: string;
  readonly sizeBytes: number;
  /** The first bytes: the header and the beginning of the body. */
  readonly head: Buffer;
}

/**
 * Resolves when every location has the bytes.
 * @param sizeBytes exact size of the source, because R2 needs it in advance.
 * @throws when the source breaks off, has another size, or a location fails; no location then has the object.
 */
export async function storeRaw(
  env: Env,
  key: string,
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  sizeBytes: number,
  observe: (chunk: Uint8Array) => void = () => {},
): Promise<StoredRaw> {
  const hash = createHash('sha256');
  const head: Uint8Array[] = [];
  let headBytes = 0;
  const streams = listLocations(env).map((bucket) => {
    const { readable, writable } = new FixedLengthStream(sizeBytes);
    return { writer: writable.getWriter(), put: bucket.put(key, readable) };
  });
  // A location that fails stops reading its stream. Without this promise, a write to it would wait forever.
  const failure = new Promise<never>((_, reject) => {
    for (const { put } of streams) put.catch(reject);
  });
  failure.catch(() => {});
  const unlessFailed = <T>(step: Promise<T>): Promise<T> => Promise.race([step, failure]);
  try {
    for await (const chunk of source) {
      hash.update(chunk);
      observe(chunk);
      if (headBytes < HEAD_BYTES_MAX) {
        head.push(chunk.slice(0, HEAD_BYTES_MAX - headBytes));
        headBytes += chunk.length;
      }
      await unlessFailed(Promise.all(streams.map(({ writer }) => writer.write(chunk))));
    }
    await unlessFailed(Promise.all(streams.map(({ writer }) => writer.close())));
    await Promise.all(streams.map(({ put }) => put));
  } catch (error) {
    for (const { writer } of streams) writer.abort(error).catch(() => {});
    await Promise.allSettled(streams.map(({ put }) => put));
    throw error;
  }
  return { sha256: hash.digest('hex'), sizeBytes, head: Buffer.concat(head) };
}

/** Stores bytes held in memory. */
export async function storeRawBytes(env: Env, key: string, bytes: Uint8Array): Promise<StoredRaw> {
  await Promise.all(listLocations(env).map((bucket) => bucket.put(key, bytes)));
  return {
    sha256: createHash('sha256').update(bytes).digest('hex'),
    sizeBytes: bytes.byteLength,
    head: Buffer.from(bytes.subarray(0, HEAD_BYTES_MAX)),
  };
}
