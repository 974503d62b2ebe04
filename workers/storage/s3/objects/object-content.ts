/** Opens the content of an object. If a customer-provided key encrypts it, the ciphertext is decrypted while it streams. */
import { err, ok } from '../../../shared/pure/result.ts';
import { logError } from '../../../shared/telemetry/log.ts';
import { type Cipher, type CustomerKey, createCipher, keyRecordOf } from '../../domain/customer-key.ts';
import { createByteSource } from '../../engine/blobs/byte-source.ts';
import type { ByteRange, Engine, StoredVersion } from '../../engine/model/contract.ts';

/** Number of parts whose nonces are loaded by one query. */
const PARTS_PER_READ = 1_000;

/** @param key key of the version, checked before; null for a version without one. */
export async function readContent(
  engine: Engine,
  version: StoredVersion,
  range: ByteRange | null,
  key: CustomerKey | null,
): ReturnType<Engine['readVersion']> {
  const wanted = range ?? { start: 0, end: version.size - 1 };
  const length = wanted.end - wanted.start + 1;
  if (key === null || version.size === 0 || length <= 0) return await engine.readVersion(version, range ?? undefined);
  const sections = sectionsOf(engine, version, wanted, key);
  const [stored, first] = await Promise.all([engine.readVersion(version, wanted), sections.next().catch(() => null)]);
  if (!stored.ok) return stored;
  if (first === null || first.done) {
    if (stored.value instanceof ReadableStream) await stored.value.cancel();
    return err({ kind: 'unavailable', reason: 'the nonces of the parts could not be read' });
  }
  const plain = decrypt(chunksOf(stored.value), wanted.start, first.value, sections);
  if (stored.value instanceof Uint8Array) {
    const pieces: Uint8Array[] = [];
    for await (const piece of plain) pieces.push(piece);
    return ok(new Uint8Array(Buffer.concat(pieces, length)));
  }
  const { readable, writable } = new FixedLengthStream(length);
  void pump(plain, writable.getWriter());
  return ok(readable);
}

/** A range of an object that has one nonce: the whole object, or a part. */
interface Section {
  readonly start: number;
  /** Position after its last byte. */
  readonly end: number;
  readonly cipher: Cipher;
}

/** Yields the sections that a range touches, in order. */
async function* sectionsOf(
  engine: Engine,
  version: StoredVersion,
  range: ByteRange,
  key: CustomerKey,
): AsyncGenerator<Section> {
  const nonce = keyRecordOf(version.metadata)?.nonce;
  if (nonce !== undefined) {
    yield { start: 0, end: version.size, cipher: await createCipher(key, nonce) };
    return;
  }
  for (let after = 0; ; ) {
    const listed = await engine.listObjectParts(version, { after, limit: PARTS_PER_READ, from: range.start });
    if (!listed.ok) throw new Error('the parts of an encrypted object could not be listed');
    const { parts, isTruncated } = listed.value;
    for (const { start, size, etag } of parts)
      yield { start, end: start + size, cipher: await createCipher(key, etag) };
    if (!isTruncated) return;
    after = parts.at(-1)?.partNumber ?? 0;
  }
}

async function* chunksOf(body: Uint8Array | ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = createByteSource(body);
  let isOver = false;
  try {
    for (let chunk = await source.read(); chunk !== null; chunk = await source.read()) yield chunk;
    isOver = true;
  } finally {
    if (!isOver) await source.cancel('the answer was aborted').catch(() => {});
  }
}

/** Decrypts the bytes of a range. @param start position of the first byte in the object. */
async function* decrypt(
  chunks: AsyncIterable<Uint8Array>,
  start: number,
  first: Section,
  rest: AsyncIterator<Section>,
): AsyncGenerator<Uint8Array> {
  let section = first;
  let at = start;
  for await (const chunk of chunks) {
    for (let done = 0; done < chunk.length; ) {
      while (at >= section.end) {
        const next = await rest.next();
        if (next.done) throw new Error('an encrypted object has more bytes than its parts');
        section = next.value;
      }
      const piece = chunk.subarray(done, done + section.end - at);
      yield await section.cipher.apply(piece, at - section.start);
      done += piece.length;
      at += piece.length;
    }
  }
}

async function pump(chunks: AsyncGenerator<Uint8Array>, writer: WritableStreamDefaultWriter<Uint8Array>) {
  try {
    for await (const chunk of chunks) await writer.write(chunk);
    await writer.close();
  } catch (error) {
    logError('decryption_aborted', error);
    await chunks.return(undefined).catch(() => {});
    await writer.abort(error).catch(() => {});
  }
}
