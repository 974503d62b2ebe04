/**
 * S3's CRCs: CRC-32 (native) and CRC-32C (Castagnoli), and the combination of these and of CRC-64/NVME (`wasm-hash.ts`).
 *
 * All three are reflected, start with all ones and are inverted at the end. CRC-32C uses "slicing by eight": eight bytes per step
 * with eight tables.
 */
import { crc32 as nativeCrc32 } from 'node:zlib';

const CRC32_POLYNOMIAL = 0xedb88320;
const CRC32C_POLYNOMIAL = 0x82f63b78;
const CRC64NVME_POLYNOMIAL = 0x9a6c9329ac4bc9b5n;

/** Eight tables of 256 entries: `TABLES[k * 256 + b]` is the effect of byte `b`, `k` bytes before the last one. */
function makeTables32(polynomial: number): Int32Array {
  const tables = new Int32Array(8 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1;
    tables[byte] = crc;
  }
  for (let i = 256; i < 8 * 256; i++) {
    const before = at(tables, i - 256);
    tables[i] = at(tables, before & 0xff) ^ (before >>> 8);
  }
  return tables;
}

const at = (table: Int32Array, index: number): number => table[index] as number;

let castagnoli: Int32Array | null = null;

/** Computes CRC-32C. @param seed CRC of the preceding bytes; 0 at the start. */
export function crc32c(bytes: Uint8Array, seed = 0): number {
  castagnoli ??= makeTables32(CRC32C_POLYNOMIAL);
  const t = castagnoli;
  const end = bytes.length - (bytes.length % 8);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let crc = ~seed;
  let i = 0;
  for (; i < end; i += 8) {
    const a = view.getInt32(i, true) ^ crc;
    const b = view.getInt32(i + 4, true);
    crc =
      at(t, 1792 + (a & 0xff)) ^
      at(t, 1536 + ((a >>> 8) & 0xff)) ^
      at(t, 1280 + ((a >>> 16) & 0xff)) ^
      at(t, 1024 + (a >>> 24)) ^
      at(t, 768 + (b & 0xff)) ^
      at(t, 512 + ((b >>> 8) & 0xff)) ^
      at(t, 256 + ((b >>> 16) & 0xff)) ^
      at(t, b >>> 24);
  }
  for (; i < bytes.length; i++) crc = at(t, (crc ^ (bytes[i] as number)) & 0xff) ^ (crc >>> 8);
  return ~crc >>> 0;
}

export const crc32 = (bytes: Uint8Array, seed = 0): number => nativeCrc32(bytes, seed);

export type CrcName = 'CRC32' | 'CRC32C' | 'CRC64NVME';

const FIELDS: Readonly<Record<CrcName, { polynomial: bigint; bits: number }>> = {
  CRC32: { polynomial: BigInt(CRC32_POLYNOMIAL), bits: 32 },
  CRC32C: { polynomial: BigInt(CRC32C_POLYNOMIAL), bits: 32 },
  CRC64NVME: { polynomial: CRC64NVME_POLYNOMIAL, bits: 64 },
};

/**
 * Creates a function that computes the CRC of A followed by B from both CRCs and the length of B. Appending n bytes
 * multiplies by x^8n modulo the polynomial. Powers are cached, because most parts have the same length.
 */
export function createCrcCombiner(name: CrcName): (first: bigint, second: bigint, secondLength: number) => bigint {
  const { polynomial, bits } = FIELDS[name];
  const one = 1n << BigInt(bits - 1);
  const multiply = (a: bigint, b: bigint): bigint => {
    let product = 0n;
    let power = b;
    for (let mask = one; mask !== 0n; mask >>= 1n) {
      if (a & mask) product ^= power;
      power = power & 1n ? (power >> 1n) ^ polynomial : power >> 1n;
    }
    return product;
  };
  const powers = new Map<number, bigint>();
  const powerOf = (byteCount: number): bigint => {
    const known = powers.get(byteCount);
    if (known !== undefined) return known;
    let result = one;
    let square = one >> 8n; // x^8 stands for one byte
    for (let n = byteCount; n > 0; n = Math.floor(n / 2)) {
      if (n % 2 === 1) result = multiply(result, square);
      square = multiply(square, square);
    }
    powers.set(byteCount, result);
    return result;
  };
  return (first, second, secondLength) =>
    secondLength === 0 ? first : multiply(powerOf(secondLength), first) ^ second;
}
