/**
 * Decodes 7-bit charsets that switch tables by escape sequences: ISO-2022-JP with its extensions (RFC 1468, RFC 1554, RFC 2237),
 * ISO-2022-KR (RFC 1557), ISO-2022-CN (RFC 1922) and HZ (RFC 1843). Each run is moved to the 8-bit charset of the same table.
 */

const ESC = 0x1b;
const SHIFT_OUT = 0x0e;
const SHIFT_IN = 0x0f;

interface Table {
  readonly charset: string;
  /** Bytes of one character. */
  readonly width: number;
  /** Byte before each character in the 8-bit charset. */
  readonly prefix?: number;
}

const ASCII: Table = { charset: 'windows-1252', width: 1 };
const KATAKANA: Table = { charset: 'euc-jp', width: 1, prefix: 0x8e };
const JIS_X_0208: Table = { charset: 'euc-jp', width: 2 };
const JIS_X_0212: Table = { charset: 'euc-jp', width: 2, prefix: 0x8f };
const GB_2312: Table = { charset: 'gbk', width: 2 };
const KS_C_5601: Table = { charset: 'euc-kr', width: 2 };

/** Tables that an escape sequence selects at once. */
const SELECTED: readonly (readonly [sequence: string, table: Table])[] = [
  ['(B', ASCII],
  ['(J', ASCII],
  ['(H', ASCII],
  ['(I', KATAKANA],
  ['$@', JIS_X_0208],
  ['$B', JIS_X_0208],
  ['$(@', JIS_X_0208],
  ['$(B', JIS_X_0208],
  ['$(D', JIS_X_0212],
  ['$A', GB_2312],
  ['$(A', GB_2312],
  ['$(C', KS_C_5601],
];
/** Tables that a sequence designates for the characters between SO and SI. */
const DESIGNATED: readonly (readonly [sequence: string, table: Table])[] = [
  ['$)C', KS_C_5601],
  ['$)A', GB_2312],
  [')I', KATAKANA],
];
/** Tables of the upper half for one character after `ESC N` (ISO-2022-JP-2). */
const SINGLE: Readonly<Record<string, string>> = { '.A': 'windows-1252', '.F': 'iso-8859-7' };

export function decodeIso2022(bytes: Uint8Array): string {
  const out = new Runs();
  let selected = ASCII;
  let shifted: Table = KATAKANA;
  let single = 'windows-1252';
  let isShifted = false;
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at] ?? 0;
    if (byte === ESC) {
      const next = String.fromCharCode(...bytes.subarray(at + 1, at + 4));
      const select = SELECTED.find(([sequence]) => next.startsWith(sequence));
      const designate = DESIGNATED.find(([sequence]) => next.startsWith(sequence));
      const half = SINGLE[next.slice(0, 2)];
      if (select) selected = select[1];
      else if (designate) shifted = designate[1];
      else if (half) single = half;
      else if (next.startsWith('N')) out.add({ charset: single, width: 1 }, [(bytes[at + 2] ?? 0) | 0x80]);
      at += select || designate ? 1 + (select ?? designate ?? [''])[0].length : half ? 3 : next.startsWith('N') ? 3 : 1;
      continue;
    }
    if (byte === SHIFT_OUT || byte === SHIFT_IN) isShifted = byte === SHIFT_OUT;
    // A line begins in ASCII (RFC 1468), and designations of ISO-2022-CN end with it.
    if (byte === 0x0a) {
      selected = ASCII;
      isShifted = false;
    }
    const table = isShifted ? shifted : selected;
    const isText = byte > 0x20 && byte !== 0x7f;
    const width = isText && byte < 0x80 ? table.width : 1;
    if (byte === SHIFT_OUT || byte === SHIFT_IN) at += 1;
    else {
      out.add(
        isText && byte < 0x80 ? table : byte < 0x80 ? ASCII : { charset: 'shift_jis', width: 1 },
        bytes.subarray(at, at + width),
      );
      at += width;
    }
  }
  return out.decode();
}

/** `~{` begins and `~}` ends GB 2312; `~~` is a tilde, and `~` before a line end continues the line. */
export function decodeHz(bytes: Uint8Array): string {
  const out = new Runs();
  let isChinese = false;
  for (let at = 0; at < bytes.length; ) {
    const pair = String.fromCharCode(...bytes.subarray(at, at + 2));
    if (pair === '~{' || pair === '~}') isChinese = pair === '~{';
    else if (pair === '~~') out.add(ASCII, [0x7e]);
    else if (pair !== '~\n') {
      const byte = bytes[at] ?? 0;
      const isDouble = isChinese && byte > 0x20 && byte < 0x7f;
      if (byte === 0x0a) isChinese = false;
      out.add(isDouble ? GB_2312 : ASCII, bytes.subarray(at, at + (isDouble ? 2 : 1)));
      at += isDouble ? 2 : 1;
      continue;
    }
    at += 2;
  }
  return out.decode();
}

/** Runs of characters of one charset. */
class Runs {
  readonly #texts: string[] = [];
  #charset = '';
  #bytes: number[] = [];

  add({ charset, prefix }: Table, character: Iterable<number>): void {
    if (charset !== this.#charset) this.#flush();
    this.#charset = charset;
    const isHigh = charset !== 'windows-1252' && charset !== 'shift_jis';
    if (prefix !== undefined) this.#bytes.push(prefix);
    for (const byte of character) this.#bytes.push(isHigh ? byte | 0x80 : byte);
    if (this.#bytes.length > 65_536 && charset === 'windows-1252') this.#flush();
  }

  decode(): string {
    this.#flush();
    return this.#texts.join('');
  }

  #flush(): void {
    if (this.#bytes.length > 0) this.#texts.push(new TextDecoder(this.#charset).decode(Uint8Array.from(this.#bytes)));
    this.#bytes = [];
  }
}
