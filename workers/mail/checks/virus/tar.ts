/** Lists tar archives (POSIX ustar). GNU's long names appear as files of their own. */

export interface TarEntry {
  readonly name: string;
  readonly content: Uint8Array;
}

const BLOCK = 512;

/** Lists the entries of an archive. `isWhole` is false if a header is malformed; the rest of the archive is then unknown. */
export function listTar(bytes: Uint8Array, entriesMax: number): { entries: TarEntry[]; isWhole: boolean } {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const entries: TarEntry[] = [];
  let at = 0;
  while (at + BLOCK <= buffer.length) {
    const header = buffer.subarray(at, at + BLOCK);
    if (header.every((byte: number) => byte === 0)) return { entries, isWhole: true };
    const size = readSize(header.subarray(124, 136));
    if (size === null || at + BLOCK + size > buffer.length || entries.length >= entriesMax)
      return { entries, isWhole: false };
    const name = header.subarray(0, 100).toString('utf8').replace(/\0.*$/s, '');
    entries.push({ name, content: buffer.subarray(at + BLOCK, at + BLOCK + size) });
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
  return { entries, isWhole: at >= buffer.length };
}

/** Reads a size: octal digits. GNU writes a big-endian number instead if the first bit is set; the result is then null. */
function readSize(field: Buffer): number | null {
  if ((field[0] ?? 0) & 0x80) return null;
  const digits = field
    .toString('latin1')
    .replace(/[\0 ]+$/, '')
    .trim();
  if (digits === '') return 0;
  return /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : null;
}
