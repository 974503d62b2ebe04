import { describe, expect, it } from 'vitest';
import {
  CHECKSUM_ALGORITHMS,
  type ChecksumAlgorithm,
  createHasher,
  isChecksumValue,
  isTypeAllowed,
  parseChecksumClaim,
  toDefaultType,
  UNSUPPORTED_MESSAGE,
} from '../../../workers/storage/domain/checksums.ts';
import { crc32, crc32c, createCrcCombiner } from '../../../workers/storage/domain/crc.ts';

describe('the value of a checksum', () => {
  it.each(CHECKSUM_ALGORITHMS)('of %s is Base64 with the length of the digest', (algorithm: ChecksumAlgorithm) => {
    const value = createHasher(algorithm).digest();
    const bytes = Buffer.from(value, 'base64');
    expect(isChecksumValue(algorithm, value)).toBe(true);
    expect(isChecksumValue(algorithm, bytes.subarray(1).toString('base64'))).toBe(false);
    expect(isChecksumValue(algorithm, Buffer.concat([bytes, Buffer.alloc(1)]).toString('base64'))).toBe(false);
  });
  it('has one spelling', () => {
    expect(isChecksumValue('CRC32', 'y/Q5Jg==')).toBe(true);
    for (const other of ['y/Q5Jg', 'y/Q5Jh==', 'y_Q5Jg==', ' y/Q5Jg=='])
      expect(isChecksumValue('CRC32', other)).toBe(false);
  });
});

describe('a checksum claim', () => {
  const messageOf = (headers: Record<string, string>) => {
    const claim = parseChecksumClaim(new Headers(headers));
    return claim.ok ? null : claim.error.message;
  };
  const crc32 = { 'x-amz-checksum-crc32': 'y/Q5Jg==' };
  it('names one algorithm, in a header or in the trailer', () => {
    const message = 'Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.';
    expect(messageOf(crc32)).toBeNull();
    expect(messageOf({ ...crc32, 'x-amz-trailer': 'x-amz-checksum-crc32' })).toBe(message);
    expect(messageOf({ ...crc32, 'x-amz-checksum-sha1': 'AA==' })).toBe(message);
    expect(messageOf({ 'x-amz-trailer': 'x-amz-checksum-crc32, x-amz-checksum-sha1' })).toBe(message);
  });
  it('must agree with x-amz-sdk-checksum-algorithm, which is rejected on its own', () => {
    const named = (name: string, more: Record<string, string> = {}) =>
      messageOf({ 'x-amz-sdk-checksum-algorithm': name, ...more });
    expect(named('crc32', crc32)).toBeNull();
    expect(named('SHA1', crc32)).toBe('Value for x-amz-sdk-checksum-algorithm header is invalid.');
    expect(named('CRC16', crc32)).toBe(UNSUPPORTED_MESSAGE);
    expect(named('CRC16')).toBe(UNSUPPORTED_MESSAGE);
    expect(named('CRC32')).toBe(
      'x-amz-sdk-checksum-algorithm specified, but no corresponding x-amz-checksum-* or x-amz-trailer headers were found.',
    );
  });
  it('has a value that the algorithm can produce', () => {
    expect(messageOf({ 'x-amz-checksum-crc32': 'y/Q5' })).toBe('Value for x-amz-checksum-crc32 header is invalid.');
  });
});

describe('the checksum type of a multipart upload', () => {
  // Source: Amazon S3 User Guide, "Checking object integrity", table of full object and composite checksums.
  it.each([
    ['CRC64NVME', 'FULL_OBJECT', [true, false]],
    ['CRC32', 'COMPOSITE', [true, true]],
    ['CRC32C', 'COMPOSITE', [true, true]],
    ['SHA1', 'COMPOSITE', [false, true]],
    ['SHA256', 'COMPOSITE', [false, true]],
  ] as const)('for %s defaults to %s, with full and composite allowed: %j', (algorithm, byDefault, allowed) => {
    expect(toDefaultType(algorithm)).toBe(byDefault);
    expect([isTypeAllowed(algorithm, 'FULL_OBJECT'), isTypeAllowed(algorithm, 'COMPOSITE')]).toEqual(allowed);
  });
});

describe('a cyclic redundancy check', () => {
  // This test is the first to build the tables, because Stryker runs only that test against mutants of the tables.
  it('of eight bytes at once is that of the bytes one after the other', () => {
    for (let value = 0; value < 256; value++) {
      for (let place = 0; place < 8; place++) {
        const word = new Uint8Array(8).with(place, value);
        const bytes = [...word].map((byte) => Uint8Array.of(byte));
        expect(crc32c(word)).toBe(bytes.reduce((crc, byte) => crc32c(byte, crc), 0));
      }
    }
  });
  it('begins at zero, and gives the published check value', () => {
    const text = Buffer.from('123456789');
    const empty = new Uint8Array(0);
    expect([crc32(empty), crc32c(empty)]).toEqual([0, 0]);
    expect([crc32(text), crc32c(text)]).toEqual([0xcbf43926, 0xe3069283]);
    // Source: RFC 3720 §B.4, CRC-32C of 32 bytes of zeros, of ones, and ascending.
    expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa);
    expect(crc32c(new Uint8Array(32).fill(0xff))).toBe(0x62a8ab43);
    expect(crc32c(Uint8Array.from({ length: 32 }, (_, i) => i))).toBe(0x46dd794e);
  });
  it('of a whole and an empty part is that of the whole', () => {
    const combine = createCrcCombiner('CRC32');
    expect([combine(0x1234n, 0n, 0), combine(0n, 0x1234n, 5)]).toEqual([0x1234n, 0x1234n]);
  });
});
