import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ChunkSignatures, createAwsChunkedDecoder } from '../../../workers/storage/domain/aws-chunked.ts';

const CRLF = '\r\n';
const hash = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const hashOfTrailers = (trailers: unknown) => hash(Buffer.from(JSON.stringify(trailers)));
/** Stands in for real signatures: the signature of a chunk is the hash of its data. */
const signatures: ChunkSignatures = {
  verifyChunk: (signature, sha256) => signature === sha256,
  verifyTrailer: (signature, trailers) => signature === hashOfTrailers(trailers),
};
const TRAILERS: [string, string][] = [['x-amz-checksum-crc32', 'AAAAAA==']];

function encode(chunks: readonly Uint8Array[], options: { signed: boolean; hasTrailer: boolean }): Buffer {
  const parts: (string | Uint8Array)[] = [];
  for (const chunk of [...chunks, Buffer.alloc(0)]) {
    parts.push(chunk.length.toString(16), options.signed ? `;chunk-signature=${hash(chunk)}` : '', CRLF, chunk);
    if (chunk.length > 0) parts.push(CRLF);
  }
  for (const [name, value] of options.hasTrailer ? TRAILERS : []) parts.push(`${name}:${value}`, CRLF);
  if (options.signed && options.hasTrailer) parts.push(`x-amz-trailer-signature:${hashOfTrailers(TRAILERS)}`, CRLF);
  parts.push(CRLF);
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

function decode(body: Uint8Array, cuts: readonly number[], signed: boolean, hasTrailer: boolean) {
  const decoder = createAwsChunkedDecoder(signed ? signatures : null, hasTrailer);
  const data: Uint8Array[] = [];
  let start = 0;
  for (const end of [...cuts.map((cut) => cut % (body.length + 1)).sort((a, b) => a - b), body.length]) {
    const pushed = decoder.push(body.subarray(start, end));
    if (!pushed.ok) return { code: pushed.error.code };
    data.push(...pushed.value);
    start = end;
  }
  const finished = decoder.finish();
  if (!finished.ok) return { code: finished.error.code };
  return { hex: Buffer.concat(data).toString('hex'), trailers: [...finished.value] };
}

const big = (byte: number) => Buffer.alloc(8192, byte);

describe('an aws-chunked body', () => {
  it('is decoded to the original, for any network chunks', () => {
    const chunks = fc.array(fc.uint8Array({ minLength: 1, maxLength: 100 }), { maxLength: 6 });
    const cuts = fc.array(fc.nat(), { maxLength: 12 });
    fc.assert(
      fc.property(chunks, cuts, fc.boolean(), (data, at, hasTrailer) => {
        const body = encode(data, { signed: false, hasTrailer });
        const hex = Buffer.concat(data).toString('hex');
        expect(decode(body, at, false, hasTrailer)).toEqual({ hex, trailers: hasTrailer ? TRAILERS : [] });
      }),
    );
  });

  it('is refused if a byte of a signed chunk or of the trailer was changed', () => {
    const body = encode([big(1), big(2)], { signed: true, hasTrailer: true });
    expect(decode(body, [7, 5000], true, true)).toMatchObject({ trailers: TRAILERS });
    const changed = Buffer.from(body);
    changed[5000] = (changed[5000] ?? 0) ^ 1;
    expect(decode(changed, [], true, true)).toEqual({ code: 'SignatureDoesNotMatch' });
    const trailer = Buffer.from(body.toString('latin1').replace('AAAAAA==', 'AAAAAQ=='), 'latin1');
    expect(decode(trailer, [], true, true)).toEqual({ code: 'SignatureDoesNotMatch' });
  });

  it('is refused if it is cut off at any point', () => {
    const body = encode([big(1), Buffer.from('tail')], { signed: true, hasTrailer: false });
    const end = body.length - 4; // Without the last two line ends the zero chunk may still be complete.
    for (let length = 0; length < end; length += 97) {
      expect(decode(body.subarray(0, length), [], true, false)).toEqual({ code: 'IncompleteBody' });
    }
  });

  it('is refused if a signed chunk before the last is short', () => {
    const body = encode([Buffer.from('a'), big(1)], { signed: true, hasTrailer: false });
    expect(decode(body, [], true, false)).toEqual({ code: 'InvalidChunkSizeError' });
  });

  it('is refused if its trailer is not a list of headers, or was not announced', () => {
    expect(decode(Buffer.from('0\r\nnonsense\r\n\r\n'), [], false, true)).toEqual({ code: 'MalformedTrailerError' });
    expect(decode(Buffer.from('0\r\na:b\r\n\r\n'), [], false, false)).toEqual({ code: 'MalformedTrailerError' });
  });
});
