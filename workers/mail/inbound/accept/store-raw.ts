/**
 * Streams raw bytes into the locations while they arrive. Hashes them and keeps only the head, so the whole message is never in
 * memory.
 */
import { createHash } from 'node:crypto';
import { putBlob, putBlobStream } from '../../bindings/blobs.ts';

/** Size of the beginning of a message that is kept in memory. It is enough for the header. */
const HEAD_BYTES_MAX = 256 * 1024;

export interface StoredRaw {
  readonly sha256: string;
  readonly sizeBytes: number;
  /** First bytes of the message: the header and the beginning of the body. */
  readonly head: Buffer;
}

/**
 * Stores a stream. Resolves once a quorum has the bytes.
 * @param sizeBytes exact size of the source, because R2 needs it in advance.
 * @throws when the source breaks off or has another size, or the quorum fails; no location has the object then.
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
  async function* read() {
    for await (const chunk of source) {
      hash.update(chunk);
      observe(chunk);
      if (headBytes < HEAD_BYTES_MAX) {
        head.push(chunk.slice(0, HEAD_BYTES_MAX - headBytes));
        headBytes += chunk.length;
      }
      yield chunk;
    }
  }
  await putBlobStream(env, key, read(), sizeBytes);
  return { sha256: hash.digest('hex'), sizeBytes, head: Buffer.concat(head) };
}

/** Stores bytes that are in memory. */
export async function storeRawBytes(env: Env, key: string, bytes: Uint8Array): Promise<StoredRaw> {
  await putBlob(env, key, bytes);
  return {
    sha256: createHash('sha256').update(bytes).digest('hex'),
    sizeBytes: bytes.byteLength,
    head: Buffer.from(bytes.subarray(0, HEAD_BYTES_MAX)),
  };
}
