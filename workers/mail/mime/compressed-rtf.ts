/**
 * Decompresses the compressed RTF of Outlook ([MS-OXRTFCP]). It consists of literals and of references to a dictionary of 4,096
 * bytes.
 */

const HEADER_BYTES = 16;
const COMPRESSED = 0x75465a4c;
const UNCOMPRESSED = 0x414c454d;
const DICTIONARY_BYTES = 4_096;
/** Initial content of the dictionary ([MS-OXRTFCP] §2.1.2.1). */
const START = Buffer.from(
  '{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx',
  'latin1',
);

/**
 * @returns the RTF; null if the bytes are not compressed RTF, or if the text would exceed `lengthMax`. Damaged input yields the
 * text before the damage.
 */
export function decompressRtf(bytes: Uint8Array, lengthMax: number): Uint8Array | null {
  if (bytes.length < HEADER_BYTES) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getUint32(4, true);
  const kind = view.getUint32(8, true);
  if (length > lengthMax) return null;
  if (kind === UNCOMPRESSED) return bytes.subarray(HEADER_BYTES, HEADER_BYTES + length);
  if (kind !== COMPRESSED) return null;
  const dictionary = Buffer.alloc(DICTIONARY_BYTES);
  let write = START.copy(dictionary);
  const out = Buffer.alloc(length);
  let used = 0;
  const add = (byte: number) => {
    if (used < length) out[used++] = byte;
    dictionary[write] = byte;
    write = (write + 1) % DICTIONARY_BYTES;
  };
  for (let at = HEADER_BYTES; at < bytes.length && used < length; ) {
    const flags = bytes[at++] ?? 0;
    for (let bit = 0; bit < 8 && at < bytes.length && used < length; bit += 1) {
      if ((flags & (1 << bit)) === 0) {
        add(bytes[at++] ?? 0);
        continue;
      }
      const reference = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
      at += 2;
      const from = reference >> 4;
      if (from === write) return out.subarray(0, used);
      for (let n = 0; n < (reference & 15) + 2; n += 1) add(dictionary[(from + n) % DICTIONARY_BYTES] ?? 0);
    }
  }
  return out.subarray(0, used);
}
