/**
 * The form of a volume: the bytes of packed objects end to end, then an index that describes each object, then a
 * footer. With both, a volume can be verified and read without any database.
 *
 *   data │ index (gzipped JSON, one array) │ footer of 64 bytes
 *
 * Footer, big-endian: 8 bytes "TSVOLUME", u32 form (1), u32 number of entries, u64 offset of the index, u64 its length,
 * 32 bytes SHA-256 of everything before the footer.
 */
import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { err, ok, type Result } from '../../shared/pure/result.ts';

export const VOLUME_FOOTER_BYTES = 64;
const MAGIC = 'TSVOLUME';
const FORM = 1;

/**
 * An entry of a volume's index. `version` has all facts of the database about the version; null for an extent that belongs to no
 * version.
 */
export interface VolumeEntry {
  readonly objectId: string;
  /** Offset of these bytes in the object if it is not 0, as in a part that was copied from the middle of a packed object. */
  readonly at?: number;
  readonly start: number;
  readonly length: number;
  readonly crc32: number;
  readonly version: Readonly<Record<string, unknown>> | null;
}

/** Collects the bytes of a volume in one buffer, so that no byte is in memory twice. */
export class VolumeBuilder {
  readonly entries: VolumeEntry[] = [];
  readonly #dataMax: number;
  #length = 0;
  #bytes = Buffer.alloc(0);

  /**
   * Creates an empty volume.
   * @param dataMax the expected length of the data. The buffer grows if the data is longer, or if the index is longer than a
   * quarter of it.
   */
  constructor(dataMax: number) {
    this.#dataMax = dataMax;
  }

  /** Length in bytes of the data so far. */
  get length(): number {
    return this.#length;
  }

  /** Drops the bytes that were appended last. @param length length in bytes of the data that stays. */
  cutTo(length: number): void {
    this.#length = Math.min(this.#length, length);
  }

  /** Appends bytes to the data of the volume. @returns their offset in the volume. */
  append(bytes: Uint8Array): number {
    const start = this.length;
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, start);
    this.#length += bytes.length;
    return start;
  }

  /** Ends the volume with its index and footer. @returns the whole volume. Nothing can be appended afterwards. */
  build(): Buffer {
    const index = gzipSync(JSON.stringify(this.entries));
    const end = this.length + index.length;
    this.#reserve(index.length + VOLUME_FOOTER_BYTES);
    this.#bytes.set(index, this.length);
    const footer = this.#bytes.subarray(end, end + VOLUME_FOOTER_BYTES);
    footer.write(MAGIC, 0, 'latin1');
    footer.writeUInt32BE(FORM, 8);
    footer.writeUInt32BE(this.entries.length, 12);
    footer.writeBigUInt64BE(BigInt(this.length), 16);
    footer.writeBigUInt64BE(BigInt(index.length), 24);
    createHash('sha256').update(this.#bytes.subarray(0, end)).digest().copy(footer, 32);
    return this.#bytes.subarray(0, end + VOLUME_FOOTER_BYTES);
  }

  #reserve(length: number): void {
    const needed = this.length + length;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.alloc(Math.ceil(1.25 * Math.max(needed, this.#dataMax)));
    grown.set(this.#bytes.subarray(0, this.length));
    this.#bytes = grown;
  }
}

export type VolumeError = { readonly kind: 'not_a_volume' } | { readonly kind: 'checksum' };

export function readVolumeIndex(volume: Uint8Array): Result<readonly VolumeEntry[], VolumeError> {
  const bytes = Buffer.from(volume.buffer, volume.byteOffset, volume.byteLength);
  if (bytes.length < VOLUME_FOOTER_BYTES) return err({ kind: 'not_a_volume' });
  const footer = bytes.subarray(bytes.length - VOLUME_FOOTER_BYTES);
  if (footer.toString('latin1', 0, 8) !== MAGIC || footer.readUInt32BE(8) !== FORM)
    return err({ kind: 'not_a_volume' });
  const start = Number(footer.readBigUInt64BE(16));
  const length = Number(footer.readBigUInt64BE(24));
  const body = bytes.subarray(0, bytes.length - VOLUME_FOOTER_BYTES);
  if (start + length !== body.length) return err({ kind: 'not_a_volume' });
  if (!createHash('sha256').update(body).digest().equals(footer.subarray(32))) return err({ kind: 'checksum' });
  return ok(JSON.parse(gunzipSync(body.subarray(start)).toString()) as VolumeEntry[]);
}
