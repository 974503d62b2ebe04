/**
 * Reads the entries of a zip archive without unpacking it as a whole: the directory at its end, then one entry as a stream
 * (APPNOTE.TXT 6.3.10 §4.3, with Zip64). Archives of Google Takeout have many gigabytes.
 */
import { fill } from '../../shared/texts/index.ts';
import { mailSettingsTexts } from '../../shared/texts/mail-settings.ts';

const t = mailSettingsTexts.transfer.archive;
const END = 0x06054b50;
const END_64 = 0x06064b50;
const END_64_LOCATOR = 0x07064b50;
const ENTRY = 0x02014b50;
const LOCAL_ENTRY = 0x04034b50;
const END_BYTES = 22;
/** The end of the directory, its locator of Zip64 and the longest comment. */
const TAIL_BYTES_MAX = END_BYTES + 20 + 0xffff;
const DIRECTORY_BYTES_MAX = 64 * 1024 * 1024;
const ENTRY_BYTES = 46;
const LOCAL_ENTRY_BYTES = 30;
const ZIP64_FIELD = 1;
const STORED = 0;
const DEFLATED = 8;
/** A size or offset of this value is in the field of Zip64. */
const IN_ZIP64 = 0xffffffff;

export interface ZipEntry {
  readonly name: string;
  /** Size when it is unpacked, bytes. */
  readonly size: number;
  open(): Promise<ReadableStream<Uint8Array>>;
}

export class ZipError extends Error {}

const readView = async (blob: Blob): Promise<DataView> => new DataView(await blob.arrayBuffer());

/** @returns the files of an archive, without folders. @throws ZipError if it is no archive, or damaged. */
export async function listZipEntries(file: Blob): Promise<ZipEntry[]> {
  const { offset, size } = await findDirectory(file);
  if (size > DIRECTORY_BYTES_MAX || offset + size > file.size) throw new ZipError(t.damaged);
  const view = await readView(file.slice(offset, offset + size));
  const entries: ZipEntry[] = [];
  for (let at = 0; at + ENTRY_BYTES <= view.byteLength && view.getUint32(at, true) === ENTRY; ) {
    const lengths = [28, 30, 32].map((field) => view.getUint16(at + field, true));
    const [nameLength = 0, extraLength = 0, commentLength = 0] = lengths;
    if (at + ENTRY_BYTES + nameLength + extraLength > view.byteLength) throw new ZipError(t.damaged);
    const name = new TextDecoder().decode(new Uint8Array(view.buffer, at + ENTRY_BYTES, nameLength));
    if (!name.endsWith('/')) entries.push(toEntry(file, view, at, name));
    at += ENTRY_BYTES + nameLength + extraLength + commentLength;
  }
  return entries;
}

/** Finds the directory by the record at the end of the file. */
async function findDirectory(file: Blob): Promise<{ offset: number; size: number }> {
  const start = Math.max(0, file.size - TAIL_BYTES_MAX);
  const tail = await readView(file.slice(start));
  let at = tail.byteLength - END_BYTES;
  while (at >= 0 && tail.getUint32(at, true) !== END) at -= 1;
  if (at < 0) throw new ZipError(t.noArchive);
  const size = tail.getUint32(at + 12, true);
  const offset = tail.getUint32(at + 16, true);
  const locator = at - 20;
  if (locator < 0 || tail.getUint32(locator, true) !== END_64_LOCATOR) return { offset, size };
  const end64 = Number(tail.getBigUint64(locator + 8, true));
  const view = await readView(file.slice(end64, end64 + 56));
  if (view.byteLength < 56 || view.getUint32(0, true) !== END_64) throw new ZipError(t.damaged);
  return { size: Number(view.getBigUint64(40, true)), offset: Number(view.getBigUint64(48, true)) };
}

/** @param at position of the entry in the directory. */
function toEntry(file: Blob, view: DataView, at: number, name: string): ZipEntry {
  const nameLength = view.getUint16(at + 28, true);
  const extraEnd = at + ENTRY_BYTES + nameLength + view.getUint16(at + 30, true);
  const written = [24, 20, 42].map((field) => view.getUint32(at + field, true));
  const [size = 0, packedSize = 0, offset = 0] = readZip64(written, view, at + ENTRY_BYTES + nameLength, extraEnd);
  const method = view.getUint16(at + 10, true);
  const isEncrypted = (view.getUint16(at + 8, true) & 1) !== 0;
  return {
    name,
    size,
    async open() {
      if (isEncrypted || (method !== STORED && method !== DEFLATED)) throw new ZipError(fill(t.cannotUnpack, { name }));
      const local = await readView(file.slice(offset, offset + LOCAL_ENTRY_BYTES));
      if (local.byteLength < LOCAL_ENTRY_BYTES || local.getUint32(0, true) !== LOCAL_ENTRY)
        throw new ZipError(t.damaged);
      const begin = offset + LOCAL_ENTRY_BYTES + local.getUint16(26, true) + local.getUint16(28, true);
      const bytes = file.slice(begin, begin + packedSize).stream();
      return method === STORED ? bytes : bytes.pipeThrough(new DecompressionStream('deflate-raw'));
    },
  };
}

/** @param values unpacked size, packed size and offset. Replaces the values that do not fit into 32 bits by those of the field of Zip64, which has only these, in this order. */
function readZip64(values: readonly number[], view: DataView, from: number, to: number): number[] {
  for (let at = from; at + 4 <= to; at += 4 + view.getUint16(at + 2, true)) {
    if (view.getUint16(at, true) !== ZIP64_FIELD) continue;
    let next = at + 4;
    return values.map((value) => {
      if (value !== IN_ZIP64 || next + 8 > to) return value;
      next += 8;
      return Number(view.getBigUint64(next - 8, true));
    });
  }
  return [...values];
}
