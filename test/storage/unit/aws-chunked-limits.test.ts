import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type ChunkSignatures, createAwsChunkedDecoder } from '../../../workers/storage/domain/aws-chunked.ts';

/** Stands in for real signatures: the signature of a chunk is the hash of its data. */
const signatures: ChunkSignatures = {
  verifyChunk: (signature, sha256) => signature === sha256,
  verifyTrailer: (signature) => signature === 'good',
};
const chunk = (length: number) => {
  const data = 'a'.repeat(length);
  const hash = createHash('sha256').update(data).digest('hex');
  return `${length.toString(16)};chunk-signature=${hash}\r\n${data}${length > 0 ? '\r\n' : ''}`;
};
const decode = (text: string, options: { isSigned?: boolean; hasTrailer?: boolean } = {}) => {
  const decoder = createAwsChunkedDecoder(options.isSigned ? signatures : null, options.hasTrailer ?? false);
  const pushed = decoder.push(Buffer.from(text));
  if (!pushed.ok) return pushed.error;
  const finished = decoder.finish();
  return finished.ok ? [Buffer.concat(pushed.value).length, Object.fromEntries(finished.value)] : finished.error;
};
const signed = (...lengths: number[]) => decode(`${lengths.map(chunk).join('')}\r\n`, { isSigned: true });

describe('the chunks of a signed body', () => {
  it('have at least 8,192 bytes, except for the last', () => {
    expect(signed(8192, 8192, 1, 0)).toEqual([16_385, {}]);
    expect(signed(8192, 0)).toEqual([8192, {}]);
    expect(signed(1, 0)).toEqual([1, {}]);
    expect(signed(0)).toEqual([0, {}]);
    const short = { code: 'InvalidChunkSizeError' };
    expect(signed(8191, 8192, 0)).toMatchObject(short);
    expect(signed(100, 1, 0)).toMatchObject(short);
  });
  it('have a signature each, including the last', () => {
    const missing = { code: 'IncompleteBody', message: 'The chunk header holds no chunk-signature.' };
    expect(decode('1\r\na\r\n0\r\n\r\n', { isSigned: true })).toEqual(missing);
    expect(decode('1;chunk-signature=ab\r\na\r\n', { isSigned: true })).toEqual(missing);
    expect(decode(`${chunk(1)}0;chunk-signature=${'0'.repeat(64)}\r\n\r\n`, { isSigned: true })).toMatchObject({
      code: 'SignatureDoesNotMatch',
    });
  });
});

describe('an aws-chunked body', () => {
  it('has chunk headers with a hexadecimal size and optional extensions', () => {
    expect(decode('2;ext=1\r\nab\r\n0\r\n\r\n')).toEqual([2, {}]);
    const wrong = { code: 'IncompleteBody', message: 'The chunk header is not well-formed.' };
    for (const header of ['', 'x', '-1', '1 ', ';a', '1000000000000']) expect(decode(`${header}\r\n`)).toEqual(wrong);
  });
  it('has chunk headers of at most 1,024 bytes, for any network chunks', () => {
    const header = (length: number) => `0;${'x'.repeat(length - 4)}\r\n`;
    const tooLong = { code: 'IncompleteBody', message: 'The chunk header is too long.' };
    expect(decode(header(1024))).toEqual([0, {}]);
    expect(decode(header(1025))).toEqual(tooLong);
    expect(decode('0'.repeat(1024))).toMatchObject({
      code: 'IncompleteBody',
      message: expect.not.stringContaining('too long'),
    });
    expect(decode('0'.repeat(1025))).toEqual(tooLong);
  });
  it('has chunks of the length that their headers give', () => {
    const message = 'A chunk is longer than its header says.';
    expect(decode('2\r\nabc\r\n0\r\n\r\n')).toEqual({ code: 'IncompleteBody', message });
  });
  it('has a trailer of at most 16 KiB', () => {
    const trailer = (length: number) => `a:${'x'.repeat(length - 4)}\r\n`;
    expect(decode(`0\r\n${trailer(16_384)}`, { hasTrailer: true })).toEqual([0, { a: 'x'.repeat(16_380) }]);
    expect(decode(`0\r\n${trailer(16_385)}`, { hasTrailer: true })).toMatchObject({ code: 'MalformedTrailerError' });
  });
  it('has trailer names of at least one character', () => {
    expect(decode('0\r\nA: 1 \r\nb:\r\n\r\n', { hasTrailer: true })).toEqual([0, { a: '1', b: '' }]);
    expect(decode('0\r\n:1\r\n\r\n', { hasTrailer: true })).toMatchObject({ code: 'MalformedTrailerError' });
  });
  it('has a signature over the trailers if it is signed', () => {
    const end = (line: string) => decode(`${chunk(0)}a:1\r\n${line}\r\n`, { isSigned: true, hasTrailer: true });
    expect(end('x-amz-trailer-signature:good\r\n')).toEqual([0, { a: '1' }]);
    expect(end('x-amz-trailer-signature:bad\r\n')).toMatchObject({ code: 'SignatureDoesNotMatch' });
    expect(end('')).toMatchObject({ code: 'MalformedTrailerError' });
  });
});
