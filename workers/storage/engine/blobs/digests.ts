/** Computes digests while bytes stream to R2. */
import { createHash, type Hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { type ChecksumAlgorithm, createHasher, type Hasher } from '../../domain/checksums.ts';
import { createCrcCombiner } from '../../domain/crc.ts';
import { SEGMENT_BYTES } from '../model/context.ts';
import type { BodyDigests } from '../model/contract.ts';

/**
 * Digests of a whole body. If the body becomes one blob, its MD5 and SHA-256 are the blob's, and its CRC-32 is combined
 * from those of the blob's segments. No digest is computed twice.
 */
export class BodyHasher {
  readonly #hashes: { readonly md5: Hash; readonly sha256: Hash } | null;
  readonly #further: (readonly [ChecksumAlgorithm, Hasher])[];
  #crc32 = 0;
  #size = 0;

  constructor(algorithms: readonly ChecksumAlgorithm[], isOneBlob: boolean) {
    this.#hashes = isOneBlob ? null : { md5: createHash('md5'), sha256: createHash('sha256') };
    // `digest` always computes CRC32 and SHA256, so they need no hasher here.
    this.#further = [...new Set(algorithms)]
      .filter((algorithm) => algorithm !== 'CRC32' && algorithm !== 'SHA256')
      .map((algorithm) => [algorithm, createHasher(algorithm)]);
  }

  update(bytes: Uint8Array): void {
    if (this.#hashes) {
      this.#hashes.md5.update(bytes);
      this.#hashes.sha256.update(bytes);
      this.#crc32 = crc32(bytes, this.#crc32);
    }
    for (const [, hasher] of this.#further) hasher.update(bytes);
    this.#size += bytes.length;
  }

  /** Returns the digests of the whole body. @param blob the blob's digests in hex, if the body became a single blob. */
  digest(blob?: BlobDigests): BodyDigests & { readonly crc32Value: number } {
    const md5 = this.#hashes?.md5.digest('hex') ?? blob?.md5 ?? '';
    const sha256 = this.#hashes?.sha256.digest() ?? Buffer.from(blob?.sha256 ?? '', 'hex');
    const crc32Value = this.#hashes || !blob ? this.#crc32 : combineSegments(blob);
    const crc32Bytes = Buffer.alloc(4);
    crc32Bytes.writeUInt32BE(crc32Value);
    return {
      size: this.#size,
      md5,
      sha256: sha256.toString('hex'),
      crc32: crc32Bytes.toString('base64'),
      crc32Value,
      checksums: {
        CRC32: crc32Bytes.toString('base64'),
        SHA256: sha256.toString('base64'),
        ...Object.fromEntries(this.#further.map(([algorithm, hasher]) => [algorithm, hasher.digest()])),
      },
    };
  }
}

interface BlobDigests {
  readonly size: number;
  readonly md5: string;
  readonly sha256: string;
  readonly segments: string;
}

function combineSegments({ segments, size }: BlobDigests): number {
  const combine = createCrcCombiner('CRC32');
  let whole = 0n;
  for (let at = 0; at < size; at += SEGMENT_BYTES) {
    const index = (at / SEGMENT_BYTES) * 8;
    whole = combine(whole, BigInt(`0x${segments.slice(index, index + 8)}`), Math.min(SEGMENT_BYTES, size - at));
  }
  return Number(whole);
}

/** Digests of one blob: SHA-256, MD5 (R2's ETag) and the CRC-32 of each segment. */
export class BlobHasher {
  readonly #md5 = createHash('md5');
  readonly #sha256 = createHash('sha256');
  #segments = '';
  #crc32 = 0;
  #inSegment = 0;
  #size = 0;

  update(bytes: Uint8Array): void {
    this.#md5.update(bytes);
    this.#sha256.update(bytes);
    this.#size += bytes.length;
    for (let at = 0; at < bytes.length; ) {
      const piece = bytes.subarray(at, at + SEGMENT_BYTES - this.#inSegment);
      this.#crc32 = crc32(piece, this.#crc32);
      this.#inSegment += piece.length;
      at += piece.length;
      if (this.#inSegment === SEGMENT_BYTES) this.#endSegment();
    }
  }

  #endSegment(): void {
    this.#segments += toHex32(this.#crc32);
    this.#crc32 = 0;
    this.#inSegment = 0;
  }

  digest(): BlobDigests {
    if (this.#inSegment > 0) this.#endSegment();
    return {
      size: this.#size,
      md5: this.#md5.digest('hex'),
      sha256: this.#sha256.digest('hex'),
      segments: this.#segments,
    };
  }
}

const toHex32 = (value: number): string => value.toString(16).padStart(8, '0');
