/**
 * Decodes encoded words (RFC 2047) as large mail clients do. Adjacent words of one charset are joined before they are decoded,
 * because some senders split a character between them. Raw bytes inside a word are kept.
 */
import { decodeText } from './charset.ts';

/** An encoded word: `=?charset*language?encoding?text?=`. Some senders wrongly put blanks into the text; these are accepted. */
const WORD = String.raw`=\?[^?\s]{1,100}\?[bq]\?[^?]*\?=`;
const RUN = new RegExp(`${WORD}(?:[ \\t\\r\\n]*${WORD})*`, 'gi');
const PARTS = /=\?([^?*\s]+)[^?]*\?([bq])\?([^?]*)\?=/gi;

/** Decodes the encoded words of a header value. @param value with one character per byte, or text that is decoded already. */
export function decodeWords(value: string): string {
  return mapWords(value, decodeRaw, (text) => text);
}

/**
 * Rewrites each run of encoded words of a header value as a single word in UTF-8, and decodes the other bytes. So a parser of
 * addresses sees no special characters of a name.
 */
export function normalizeWords(value: string): string {
  return mapWords(value, decodeRaw, (text) => `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`);
}

function mapWords(value: string, toPlain: (text: string) => string, toWord: (text: string) => string): string {
  const pieces: string[] = [];
  let from = 0;
  for (const run of value.matchAll(RUN)) {
    const end = run.index + run[0].length;
    // Leaves the word as it is, because an encoded word may not be part of an address (RFC 2047 §5).
    const word = value[end] === '@' ? run[0] : toWord(decodeRun(run[0]));
    pieces.push(toPlain(value.slice(from, run.index)), word);
    from = end;
  }
  pieces.push(toPlain(value.slice(from)));
  return pieces.join('');
}

function decodeRun(run: string): string {
  const texts: string[] = [];
  let charset = '';
  let bytes: Buffer[] = [];
  /** End of the previous word's Base64, without padding. The next word may continue its last group of four characters. */
  let open = '';
  const flush = () => {
    texts.push(decodeText(Buffer.concat([...bytes, Buffer.from(open, 'base64')]), charset));
    bytes = [];
    open = '';
  };
  for (const [, label = '', encoding = '', text = ''] of run.matchAll(PARTS)) {
    if (label.toLowerCase() !== charset) flush();
    charset = label.toLowerCase();
    const base64 = encoding.toLowerCase() === 'b' ? open + text.replace(/[^A-Za-z0-9+/=_-]+/g, '') : null;
    if (base64 === null) bytes.push(Buffer.from(open, 'base64'), decodeQ(text));
    else if (base64.endsWith('=')) bytes.push(Buffer.from(base64, 'base64'));
    open = base64 === null || base64.endsWith('=') ? '' : base64;
    // Each word of these charsets ends in ASCII, so it is decoded alone.
    if (/^iso-2022-|^hz/.test(charset)) flush();
  }
  flush();
  return texts.join('');
}

function decodeQ(text: string): Buffer {
  const decoded = text
    .replaceAll('_', ' ')
    .replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return toBytes(decoded);
}

/**
 * Converts encoded text to bytes. A character above 0xFF shows that the text was decoded already; otherwise it has one character
 * per byte.
 */
const toBytes = (text: string): Buffer => Buffer.from(text, /[^\0-\xff]/.test(text) ? 'utf8' : 'latin1');

/** Decodes bytes above ASCII as UTF-8 (RFC 6532 §3.1), or as Latin-1 if they are not valid UTF-8. */
function decodeRaw(text: string): string {
  return /[\x80-\xff]/.test(text) && !/[^\0-\xff]/.test(text) ? decodeText(Buffer.from(text, 'latin1'), '') : text;
}
