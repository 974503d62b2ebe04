/**
 * Lists zip archives (PKWARE APPNOTE) by their central directory, as unpackers do. If the local entries contradict the directory,
 * the archive is `inconsistent`, because some unpackers follow the entries.
 *
 * Gaps: Zip64, and methods other than "stored" and "deflated", are reported but not opened.
 */

export interface ZipEntry {
  readonly name: string;
  readonly isEncrypted: boolean;
  readonly isFolder: boolean;
  /** Compression method: 0 is stored, 8 is deflated. Others are not supported. */
  readonly method: number;
  /** Bytes of the entry as in the archive, still compressed. */
  readonly content: Uint8Array;
}

export type ZipListing =
  | { readonly ok: true; readonly entries: readonly ZipEntry[]; readonly isConsistent: boolean }
  | { readonly ok: false };

const END_SIGNATURE = 0x06054b50;
const CENTRAL_SIGNATURE = 0x02014b50;
const LOCAL_SIGNATURE = 0x04034b50;
const END_BYTES = 22;
const CENTRAL_BYTES = 46;
const LOCAL_BYTES = 30;
const COMMENT_BYTES_MAX = 65_535;
/** Size of the largest data descriptor that may follow the content of an entry: signature, CRC and two 8-byte sizes. */
const DESCRIPTOR_BYTES_MAX = 24;

/** @param entriesMax maximum of entries. If there are more, the archive counts as inconsistent. */
export function listZip(bytes: Uint8Array, entriesMax: number): ZipListing {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = findEnd(buffer);
  if (end === null) return { ok: false };
  const count = buffer.readUInt16LE(end + 10);
  const size = buffer.readUInt32LE(end + 12);
  // Bytes before the archive, as in a self-extracting file, shift every offset.
  const start = end - size;
  const shift = start - buffer.readUInt32LE(end + 16);
  if (start < 0 || shift < 0) return { ok: false };
  const entries: ZipEntry[] = [];
  const spans: { from: number; to: number }[] = [];
  let at = start;
  for (let index = 0; index < count && index < entriesMax; index += 1) {
    if (at + CENTRAL_BYTES > end || buffer.readUInt32LE(at) !== CENTRAL_SIGNATURE) return { ok: false };
    const entry = readEntry(buffer, at, shift);
    if (entry === null) return { ok: false };
    entries.push(entry.entry);
    spans.push(entry.span);
    at = entry.next;
  }
  return { ok: true, entries, isConsistent: count <= entriesMax && at === end && areAdjacent(spans, shift, start) };
}

function findEnd(buffer: Buffer): number | null {
  const lowest = Math.max(0, buffer.length - END_BYTES - COMMENT_BYTES_MAX);
  for (let at = buffer.length - END_BYTES; at >= lowest; at -= 1) {
    if (buffer[at] === 0x50 && buffer.readUInt32LE(at) === END_SIGNATURE) return at;
  }
  return null;
}

function readEntry(buffer: Buffer, at: number, shift: number) {
  const flags = buffer.readUInt16LE(at + 8);
  const compressed = buffer.readUInt32LE(at + 20);
  const nameLength = buffer.readUInt16LE(at + 28);
  const next = at + CENTRAL_BYTES + nameLength + buffer.readUInt16LE(at + 30) + buffer.readUInt16LE(at + 32);
  const local = buffer.readUInt32LE(at + 42) + shift;
  if (local + LOCAL_BYTES > buffer.length || buffer.readUInt32LE(local) !== LOCAL_SIGNATURE) return null;
  const from = local + LOCAL_BYTES + buffer.readUInt16LE(local + 26) + buffer.readUInt16LE(local + 28);
  if (from + compressed > buffer.length) return null;
  const nameBytes = buffer.subarray(at + CENTRAL_BYTES, at + CENTRAL_BYTES + nameLength);
  const localName = buffer.subarray(local + LOCAL_BYTES, local + LOCAL_BYTES + buffer.readUInt16LE(local + 26));
  const name = nameBytes.toString(flags & 0x0800 ? 'utf8' : 'latin1');
  const isSameName = nameBytes.equals(localName);
  const entry: ZipEntry = {
    name: isSameName ? name : `${name} (${localName.toString('latin1').slice(0, 200)})`,
    isEncrypted: (flags & 1) === 1,
    isFolder: name.endsWith('/') && compressed === 0,
    method: buffer.readUInt16LE(at + 10),
    content: buffer.subarray(from, from + compressed),
  };
  return { entry, next, span: { from: isSameName ? local : -1, to: from + compressed } };
}

/** True if the entries are adjacent up to the directory, so that there is no room for an unlisted one. */
function areAdjacent(spans: readonly { from: number; to: number }[], shift: number, directory: number): boolean {
  let expected = shift;
  for (const span of [...spans].sort((left, right) => left.from - right.from)) {
    if (span.from < expected || span.from > expected + DESCRIPTOR_BYTES_MAX) return false;
    expected = span.to;
  }
  return directory <= expected + DESCRIPTOR_BYTES_MAX;
}
