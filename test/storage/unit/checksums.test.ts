import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ChecksumAlgorithm,
  combineChecksums,
  createHasher,
  parseChecksumClaim,
} from '../../../workers/storage/domain/checksums.ts';

const digest = (algorithm: ChecksumAlgorithm, ...pieces: Uint8Array[]) => {
  const hasher = createHasher(algorithm);
  for (const piece of pieces) hasher.update(piece);
  return hasher.digest();
};
const hexOf = (base64: string) => Buffer.from(base64, 'base64').toString('hex');
const CRCS = ['CRC32', 'CRC32C', 'CRC64NVME'] as const;
const CHUNKED = [...CRCS, 'XXHASH64', 'XXHASH3', 'XXHASH128'] as const;

describe('checksums', () => {
  it.each([
    ['CRC32', 'cbf43926'],
    ['CRC32C', 'e3069283'],
    ['CRC64NVME', 'ae8b14860a799888'],
    // Source: `xxhsum -H1`, `-H3` and `-H2` of the reference implementation.
    ['XXHASH64', '8cb841db40e6ae83'],
    ['XXHASH3', '72dcb18b67a17dff'],
    ['XXHASH128', '33119477ede5dcd5e9716427681d5860'],
    ['SHA1', 'f7c3bc1d808e04732adf679965ccc34ca7ae3441'],
    ['SHA256', '15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225'],
  ] as const)('give the published check value of %s', (algorithm, hex) => {
    expect(hexOf(digest(algorithm, Buffer.from('123456789')))).toBe(hex);
  });

  it('do not depend on the chunks', () => {
    const pieces = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 });
    fc.assert(
      fc.property(pieces, fc.constantFrom(...CHUNKED), (cut, algorithm) => {
        expect(digest(algorithm, ...cut)).toBe(digest(algorithm, Buffer.concat(cut)));
      }),
    );
  });

  it('of parts combine to the checksum of the whole', () => {
    const pieces = fc.array(fc.uint8Array({ maxLength: 3000 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(pieces, fc.constantFrom(...CRCS), (cut, algorithm) => {
        const parts = cut.map((piece) => ({ value: digest(algorithm, piece), sizeBytes: piece.length }));
        const whole = combineChecksums(algorithm, 'FULL_OBJECT', parts);
        expect(whole.value).toBe(digest(algorithm, Buffer.concat(cut)));
      }),
    );
  });

  it('of ten thousand parts combine', () => {
    const value = digest('CRC64NVME', Buffer.alloc(64, 1));
    const parts = Array.from({ length: 10_000 }, () => ({ value, sizeBytes: 64 }));
    const whole = combineChecksums('CRC64NVME', 'FULL_OBJECT', parts);
    expect(whole.value).toBe(digest('CRC64NVME', Buffer.alloc(640_000, 1)));
  });

  it('of parts are hashed to a composite checksum with the number of parts', () => {
    const parts = ['a', 'b'].map((text) => ({ value: digest('SHA256', Buffer.from(text)), sizeBytes: 1 }));
    const both = Buffer.concat(parts.map((part) => Buffer.from(part.value, 'base64')));
    expect(combineChecksums('SHA256', 'COMPOSITE', parts).value).toBe(`${digest('SHA256', both)}-2`);
  });
});

describe('the checksum claim of a request', () => {
  const claim = (headers: Record<string, string>) => parseChecksumClaim(new Headers(headers));
  it('is read from a header or announced for the trailer', () => {
    const crc32 = { algorithm: 'CRC32', expected: 'y/Q5Jg==' };
    expect(claim({ 'x-amz-checksum-crc32': 'y/Q5Jg==' })).toEqual({ ok: true, value: crc32 });
    const trailing = { 'x-amz-trailer': 'x-amz-checksum-crc32c', 'x-amz-sdk-checksum-algorithm': 'CRC32C' };
    expect(claim(trailing)).toEqual({ ok: true, value: { algorithm: 'CRC32C', expected: null } });
    expect(claim({})).toEqual({ ok: true, value: null });
  });
  const wrong: Record<string, string>[] = [
    { 'x-amz-checksum-crc32': 'short' },
    { 'x-amz-checksum-crc32': 'y/Q5Jg==', 'x-amz-checksum-sha1': 'AAAA' },
    { 'x-amz-checksum-crc32': 'y/Q5Jg==', 'x-amz-sdk-checksum-algorithm': 'SHA256' },
    { 'x-amz-trailer': 'x-amz-meta-a' },
  ];
  it.each(wrong)('is refused as %j', (headers) => {
    expect(claim(headers)).toMatchObject({ ok: false, error: { code: 'InvalidRequest' } });
  });
});
