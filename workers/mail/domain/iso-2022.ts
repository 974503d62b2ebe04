/**
 * Decodes 7-bit charsets that switch tables by escape sequences: ISO-2022-JP with its extensions (RFC 1468, RFC 1554, RFC 2237),
 * ISO-2022-KR (RFC 1557), ISO-2022-CN (RFC 1922) and HZ (RFC 1843). Each run of characters from one table is converted to an 8-bit
 * charset that contains the table, and decoded as that.
 */

const ESC = 0x1b;
const SHIFT_OUT = 0x0e;
const SHIFT_IN = 0x0f;

interface Table {
  readonly charset: string;
  /** Number of bytes per character. */
  readonly width: number;
  /** Byte that precedes each character of this table in the 8-bit charset. */
  readonly prefix?: number;
}

const ASCII: Table = { charset: 'windows-1252', width: 1 };
const KATAKANA: Table = { charset: 'euc-jp', width: 1, prefix: 0x8e };
const JIS_X_0208: Table = { charset: 'euc-jp', width: 2 };
const JIS_X_0212: Table = { charset: 'euc-jp', width: 2, prefix: 0x8f };
const GB_2312: Table = { charset: 'gbk', width: 2 };
const KS_C_5601: Table = { charset: 'euc-kr', width: 2 };
/** Table for bytes over 127, which some programs send although the charset has 7 bits: half-width katakana. */
const EIGHT_BIT: Table = { charset: 'shift_jis', width: 1 };

/** Tables that an escape sequence selects for the characters after it. */
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
/** Tables that an escape sequence designates: they apply to the characters between SO and SI. */
const DESIGNATED: readonly (readonly [sequence: string, table: Table])[] = [
  ['$)C', KS_C_5601],
  ['$)A', GB_2312],
  [')I', KATAKANA],
];
/** Charsets that a sequence designates for the upper half. One character after `ESC N` is from there (ISO-2022-JP-2). */
const SINGLE: Readonly<Record<string, string>> = { '.A': 'iso-8859-1', '.F': 'iso-8859-7' };

export function decodeIso2022(bytes: Uint8Array): string {
  const out = new Runs();
  let selected = ASCII;
  let shifted: Table = KATAKANA;
  let single = 'iso-8859-1';
  let isShifted = false;
  for (let at = 0, byte = bytes[at]; byte !== undefined; byte = bytes[at]) {
    if (byte === ESC) {
      at += 1;
      const next = String.fromCharCode(...bytes.subarray(at, at + 3));
      const select = SELECTED.find(([sequence]) => next.startsWith(sequence));
      const designate = DESIGNATED.find(([sequence]) => next.startsWith(sequence));
      const half = SINGLE[next.slice(0, 2)];
      if (select) {
        selected = select[1];
        at += select[0].length;
      } else if (designate) {
        shifted = designate[1];
        at += designate[0].length;
      } else if (half) {
        single = half;
        at += 2;
      } else if (next.startsWith('N')) {
        out.add({ charset: single, width: 1 }, bytes.subarray(at + 1, at + 2));
        at += 2;
      }
    } else if (byte === SHIFT_OUT || byte === SHIFT_IN) {
      isShifted = byte === SHIFT_OUT;
      at += 1;
    } else {
      // At the end of a line, ASCII is selected again (RFC 1468), and designations of ISO-2022-CN end.
      if (byte === 0x0a) {
        selected = ASCII;
        isShifted = false;
      }
      const isText = byte > 0x20 && byte < 0x7f;
      const inTable = isShifted ? shifted : selected;
      const table = isText ? inTable : byte < 0x80 ? ASCII : EIGHT_BIT;
      out.add(table, bytes.subarray(at, at + table.width));
      at += table.width;
    }
  }
  return out.decode();
}

/** Decodes HZ. GB 2312 begins with `~{` and ends with `~}`. `~~` is a tilde. `~` before a line end continues the line. */
export function decodeHz(bytes: Uint8Array): string {
  const out = new Runs();
  let isChinese = false;
  for (let at = 0, byte = bytes[at]; byte !== undefined; byte = bytes[at]) {
    const pair = String.fromCharCode(...bytes.subarray(at, at + 2));
    if (pair === '~{' || pair === '~}') isChinese = pair === '~{';
    else if (pair === '~~') out.add(ASCII, [0x7e]);
    else if (pair !== '~\n') {
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

/** Collects decoded text. Adjacent characters of one charset are decoded together. */
class Runs {
  readonly #texts: string[] = [];
  #charset = '';
  #bytes: number[] = [];

  add({ charset, prefix }: Table, character: Iterable<number>): void {
    if (charset !== this.#charset) this.#flush();
    this.#charset = charset;
    const isHigh = charset !== 'windows-1252';
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
