/**
 * Decodes text in any charset that mail uses. Nothing here throws: bytes that a charset does not define become U+FFFD.
 *
 * Labels of charsets are often wrong. If the label is ASCII, Latin-1 or unknown, text that is valid UTF-8 beyond ASCII is decoded
 * as UTF-8. Text in those charsets is valid UTF-8 only by a rare coincidence.
 */
import { CODE_PAGES } from './code-pages.ts';
import { decodeHz, decodeIso2022 } from './iso-2022.ts';

/** Charset labels that programs write without knowing the charset of the text. */
const GUESSED =
  /^(?:|(?:us-?)?ascii|ansi[-_ ]?x3\.4-(?:1968|1986)|iso-?ir-6|646|(?:iso[-_]?)?8859[-_]?1(?::1987)?|latin-?1|l1|(?:windows|cp|ms)-?1252|iso[-_]?8859[-_]?15|latin-?9)$/;

/** Charsets by names that `TextDecoder` does not know. The names are without `x-`, `cs` and separators. */
const ALIASES: Readonly<Record<string, string>> = {
  utf8mb4: 'utf-8',
  unicode11utf8: 'utf-8',
  gbk2312: 'gbk',
  gb231280: 'gbk',
  euccn: 'gbk',
  cp936: 'gbk',
  ms936: 'gbk',
  windows936: 'gbk',
  cp54936: 'gb18030',
  big5eten: 'big5',
  cp950: 'big5',
  ms950: 'big5',
  shiftjis: 'shift_jis',
  cp932: 'shift_jis',
  windows932: 'shift_jis',
  windows31j: 'shift_jis',
  mskanji: 'shift_jis',
  eucjp: 'euc-jp',
  ujis: 'euc-jp',
  cp51932: 'euc-jp',
  euckr: 'euc-kr',
  cp949: 'euc-kr',
  ms949: 'euc-kr',
  uhc: 'euc-kr',
  ksc56011987: 'euc-kr',
  cp874: 'windows-874',
  tis620: 'windows-874',
  iso88598i: 'iso-8859-8-i',
  iso88598e: 'iso-8859-8',
  koi8: 'koi8-r',
  maccentraleurope: 'mac-latin2',
  macce: 'mac-latin2',
  macroman: 'macintosh',
  macgreek: 'mac-greek',
  macturkish: 'mac-turkish',
  maciceland: 'mac-iceland',
  macicelandic: 'mac-iceland',
  maccyrillic: 'x-mac-cyrillic',
};
/**
 * Labels of ISO-2022 charsets and their variants. Some variants have half-width katakana and supplementary kanji, which
 * `TextDecoder` does not decode.
 */
const ISO_2022 = /^(?:iso-?2022-?(?:jp(?:-?\w+)?|kr|cn(?:-?ext)?)|cp5022[0-2]|junet|jis)$/;

/** Decodes text. @param label the charset parameter as it was written; empty if there is none. */
export function decodeText(bytes: Uint8Array, label: string): string {
  const name = label
    .trim()
    .toLowerCase()
    .replace(/^["'<]+|["'>;,\s]+$/g, '');
  if (GUESSED.test(name)) return decodeGuessed(bytes, name);
  const plain = name.replace(/^x-(?!mac-|x-)/, '').replace(/^cs(?=[a-z])/, '');
  if (/^(?:unicode-1-1-)?utf-?8$/.test(plain)) return decodeUtf8(bytes);
  if (/^(?:unicode-1-1-)?utf-?7$/.test(plain)) return decodeUtf7(bytes);
  if (/^utf-?16$|^ucs-?2$|^iso-10646-ucs-2$/.test(plain)) return decodeUtf16(bytes);
  if (/^utf-?32|^ucs-?4/.test(plain)) return decodeUtf32(bytes, plain.endsWith('le'));
  if (ISO_2022.test(plain)) return decodeIso2022(bytes);
  if (/^hz(?:-?gb-?2312)?$/.test(plain)) return decodeHz(bytes);
  const key = plain.replace(/^x-/, '').replace(/[\s._-]+/g, '');
  const page =
    CODE_PAGES[key.replace(/^(?:ibm|cp|dos|oem|cspc)?0*(\d{3})$/, 'cp$1')] ?? CODE_PAGES[ALIASES[key] ?? key];
  if (page) return decodePage(bytes, page);
  const decoder = tryDecoder(name) ?? tryDecoder(plain) ?? tryDecoder(ALIASES[key] ?? key);
  return decoder ? decoder.decode(bytes) : decodeGuessed(bytes, '');
}

function tryDecoder(name: string): TextDecoder | null {
  try {
    const decoder = new TextDecoder(name);
    return decoder.encoding === 'x-user-defined' ? null : decoder;
  } catch {
    return null;
  }
}

function decodeGuessed(bytes: Uint8Array, name: string): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return decodeUtf16(bytes);
  const utf8 = tryUtf8(bytes);
  if (utf8 !== null) return name !== '' && !/1252|8859/.test(name) && hasIso2022(utf8) ? decodeIso2022(bytes) : utf8;
  return new TextDecoder(/15$|9$/.test(name) ? 'iso-8859-15' : 'windows-1252').decode(bytes);
}

/** True if 7-bit text has the escape sequences of Japanese charsets. Old programs send such text without a label. */
const hasIso2022 = (text: string): boolean =>
  ['$@', '$B'].some((sequence) => text.includes(`\u001b${sequence}`)) &&
  ['(B', '(J'].some((sequence) => text.includes(`\u001b${sequence}`));

function tryUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    return null;
  }
}

/**
 * Decodes text with the label UTF-8. A few invalid bytes are damage. If they outnumber the valid characters beyond ASCII, the label
 * is wrong, and windows-1252 is used.
 */
function decodeUtf8(bytes: Uint8Array): string {
  const whole = tryUtf8(bytes);
  if (whole !== null) return whole;
  const lossy = new TextDecoder('utf-8').decode(bytes);
  let damaged = 0;
  let good = 0;
  for (const character of lossy) {
    if (character === '\ufffd') damaged += 1;
    else if (character > '\u007f') good += 1;
  }
  return good >= damaged ? lossy : new TextDecoder('windows-1252').decode(bytes);
}

/** Decodes UTF-7 (RFC 2152): `+` and Base64 of UTF-16, up to `-` or another character. `+-` is a plus sign. */
function decodeUtf7(bytes: Uint8Array): string {
  const text = new TextDecoder('windows-1252').decode(bytes);
  return text.replace(/\+([A-Za-z0-9+/]*)-?/g, (run, base64: string) => {
    if (base64 === '') return '+';
    const units = Buffer.from(base64, 'base64');
    return units.length < 2 ? run : new TextDecoder('utf-16be').decode(units.subarray(0, units.length & ~1));
  });
}

/**
 * Decides the byte order of UTF-16 without a byte order mark. The zero bytes of Latin text show it. Without any, little endian is
 * used, because programs write it, although RFC 2781 §4.3 prefers big endian.
 */
function decodeUtf16(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  let evenZeros = 0;
  let oddZeros = 0;
  for (let at = 0; at < Math.min(bytes.length, 1_000); at += 1) {
    if (bytes[at] !== 0) continue;
    if (at % 2 === 0) evenZeros += 1;
    else oddZeros += 1;
  }
  const isBig = first !== 0xff && evenZeros > oddZeros;
  return new TextDecoder(isBig ? 'utf-16be' : 'utf-16le').decode(bytes);
}

function decodeUtf32(bytes: Uint8Array, isLittle: boolean): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength & ~3);
  const isMarkedLittle = view.byteLength > 0 && view.getUint32(0, true) === 0xfeff;
  const points: string[] = [];
  for (let at = 0; at < view.byteLength; at += 4) {
    const point = view.getUint32(at, isLittle || isMarkedLittle);
    if (at === 0 && point === 0xfeff) continue;
    points.push(point <= 0x10ffff ? String.fromCodePoint(point) : '\ufffd');
  }
  return points.join('').toWellFormed();
}

function decodePage(bytes: Uint8Array, page: string): string {
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; at += 8_192) {
    const codes = Array.from(bytes.subarray(at, at + 8_192), (byte) =>
      byte < 0x80 ? byte : page.charCodeAt(byte - 0x80),
    );
    pieces.push(String.fromCharCode(...codes));
  }
  return pieces.join('');
}
