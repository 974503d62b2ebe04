/**
 * Checksums that S3 verifies and stores (Amazon S3 User Guide, "Checking object integrity"): how requests name them,
 * how they are computed, and how those of parts are combined.
 */
import { createHash } from 'node:crypto';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { type CrcName, crc32, crc32c, createCrcCombiner } from './crc.ts';
import { type S3Failure, s3Failure } from './failure.ts';
import { createWasmHasher, isWasmAlgorithm } from './wasm-hash.ts';

export const CHECKSUM_ALGORITHMS = [
  'CRC32',
  'CRC32C',
  'CRC64NVME',
  'SHA1',
  'SHA256',
  'SHA512',
  'MD5',
  'XXHASH64',
  'XXHASH3',
  'XXHASH128',
] as const;
export type ChecksumAlgorithm = (typeof CHECKSUM_ALGORITHMS)[number];
export type ChecksumType = 'COMPOSITE' | 'FULL_OBJECT';

/** A checksum stored with a version. `value` is Base64; a composite checksum has `-<parts>` after it. */
export interface Checksum {
  readonly algorithm: ChecksumAlgorithm;
  readonly type: ChecksumType;
  readonly value: string;
}

const BYTES: Readonly<Record<ChecksumAlgorithm, number>> = {
  CRC32: 4,
  CRC32C: 4,
  CRC64NVME: 8,
  SHA1: 20,
  SHA256: 32,
  SHA512: 64,
  MD5: 16,
  XXHASH64: 8,
  XXHASH3: 8,
  XXHASH128: 16,
};

export const toChecksumHeader = (algorithm: ChecksumAlgorithm): string => `x-amz-checksum-${algorithm.toLowerCase()}`;
/** Name of a checksum algorithm's element in XML answers, such as `ChecksumCRC32`. */
export const toChecksumElement = (algorithm: ChecksumAlgorithm): string => `Checksum${algorithm}`;

export const parseChecksumAlgorithm = (text: string): ChecksumAlgorithm | null =>
  CHECKSUM_ALGORITHMS.find((name) => name === text.toUpperCase()) ?? null;

/** Message that S3 returns for an unknown checksum algorithm. */
export const UNSUPPORTED_MESSAGE = `Checksum algorithm provided is unsupported. Please try again with any of the valid types: [${CHECKSUM_ALGORITHMS.join(', ')}]`;

export function isChecksumValue(algorithm: ChecksumAlgorithm, value: string): boolean {
  const bytes = Buffer.from(value, 'base64');
  return bytes.length === BYTES[algorithm] && bytes.toString('base64') === value;
}

export interface Hasher {
  update(bytes: Uint8Array): void;
  /** Ends the computation. @returns the checksum in Base64. */
  digest(): string;
}

export function createHasher(algorithm: ChecksumAlgorithm): Hasher {
  if (isWasmAlgorithm(algorithm)) {
    const hash = createWasmHasher(algorithm);
    return { update: hash.update, digest: () => hash.digest().toString('base64') };
  }
  if (algorithm !== 'CRC32' && algorithm !== 'CRC32C') {
    const hash = createHash(algorithm.toLowerCase());
    return { update: (bytes) => void hash.update(bytes), digest: () => hash.digest('base64') };
  }
  const step = algorithm === 'CRC32' ? crc32 : crc32c;
  let crc = 0;
  return {
    update: (bytes) => {
      crc = step(bytes, crc);
    },
    digest: () => toBase64(BigInt(crc), 4),
  };
}

function toBase64(value: bigint, byteCount: number): string {
  return Buffer.from(value.toString(16).padStart(byteCount * 2, '0'), 'hex').toString('base64');
}

/** A checksum that a request declares. `expected` is null when the trailer has the value. */
export interface ChecksumClaim {
  readonly algorithm: ChecksumAlgorithm;
  readonly expected: string | null;
}

/** Reads the checksum that the headers of a request declare. @returns null when they declare none. */
export function parseChecksumClaim(headers: {
  get(name: string): string | null;
}): Result<ChecksumClaim | null, S3Failure> {
  const invalid = (message: string) => err(s3Failure('InvalidRequest', message));
  const given = CHECKSUM_ALGORITHMS.filter((algorithm) => headers.get(toChecksumHeader(algorithm)) !== null);
  const trailers = (headers.get('x-amz-trailer') ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '');
  const trailing: ChecksumAlgorithm[] = [];
  for (const name of trailers) {
    const algorithm = CHECKSUM_ALGORITHMS.find((candidate) => toChecksumHeader(candidate) === name);
    if (!algorithm) return invalid('The value specified in the x-amz-trailer header is not supported');
    trailing.push(algorithm);
  }
  if (given.length + trailing.length > 1) {
    return invalid('Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.');
  }
  const algorithm = given[0] ?? trailing[0];
  const named = headers.get('x-amz-sdk-checksum-algorithm');
  if (named !== null) {
    const parsed = parseChecksumAlgorithm(named);
    if (parsed === null) return invalid(UNSUPPORTED_MESSAGE);
    if (algorithm !== undefined && parsed !== algorithm) {
      return invalid('Value for x-amz-sdk-checksum-algorithm header is invalid.');
    }
  }
  if (algorithm === undefined) {
    if (named === null) return ok(null);
    return invalid(
      'x-amz-sdk-checksum-algorithm specified, but no corresponding x-amz-checksum-* or x-amz-trailer headers were found.',
    );
  }
  const expected = given[0] ? headers.get(toChecksumHeader(algorithm)) : null;
  if (expected !== null && !isChecksumValue(algorithm, expected)) {
    return invalid(`Value for ${toChecksumHeader(algorithm)} header is invalid.`);
  }
  return ok({ algorithm, expected });
}

/** The checksum type of a multipart upload that does not request one (CreateMultipartUpload, x-amz-checksum-type). */
export function toDefaultType(algorithm: ChecksumAlgorithm): ChecksumType {
  return algorithm === 'CRC64NVME' ? 'FULL_OBJECT' : 'COMPOSITE';
}

export function isTypeAllowed(algorithm: ChecksumAlgorithm, type: ChecksumType): boolean {
  if (algorithm === 'CRC64NVME') return type === 'FULL_OBJECT';
  return type === 'COMPOSITE' || algorithm === 'CRC32' || algorithm === 'CRC32C';
}

/** Combines the checksums of the parts, in order, into the checksum of the whole object. */
export function combineChecksums(
  algorithm: ChecksumAlgorithm,
  type: ChecksumType,
  parts: readonly { readonly value: string; readonly sizeBytes: number }[],
): Checksum {
  if (type === 'COMPOSITE') {
    const hasher = createHasher(algorithm);
    for (const part of parts) hasher.update(Buffer.from(part.value, 'base64'));
    return { algorithm, type, value: `${hasher.digest()}-${parts.length}` };
  }
  const combine = createCrcCombiner(algorithm as CrcName);
  let whole = 0n;
  for (const part of parts) {
    const crc = BigInt(`0x${Buffer.from(part.value, 'base64').toString('hex')}`);
    whole = combine(whole, crc, part.sizeBytes);
  }
  return { algorithm, type, value: toBase64(whole, BYTES[algorithm]) };
}
