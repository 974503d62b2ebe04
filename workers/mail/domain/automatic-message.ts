/** Writes the automatic messages of a mailbox as RFC 5322 bytes: the vacation reply (RFC 3834) and the forwarding code. Pure. */

export interface AutomaticText {
  readonly from: { readonly name: string; readonly email: string };
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly messageId: string;
  readonly inReplyTo: string | null;
  readonly references: readonly string[];
  readonly now: number;
  /** Value of Auto-Submitted (RFC 3834 §5): `auto-replied` in response to a message, otherwise `auto-generated`. */
  readonly autoSubmitted: 'auto-replied' | 'auto-generated';
}

export function composeAutomatic(message: AutomaticText): string {
  const [inReplyTo] = keepSendableIds([message.inReplyTo ?? '']);
  const references = keepSendableIds([...message.references.slice(-20), inReplyTo ?? '']);
  const headers = [
    `From: ${encodeWords(message.from.name)} <${message.from.email}>`,
    `To: <${message.to}>`,
    `Subject: ${encodeWords(message.subject)}`,
    `Date: ${toMailDate(message.now)}`,
    `Message-ID: ${message.messageId}`,
    ...(inReplyTo === undefined ? [] : [`In-Reply-To: ${inReplyTo}`]),
    ...(references.length === 0 ? [] : [`References: ${[...new Set(references)].join('\r\n ')}`]),
    `Auto-Submitted: ${message.autoSubmitted}`,
    'X-Auto-Response-Suppress: All',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: quoted-printable',
  ];
  return `${headers.join('\r\n')}\r\n\r\n${toQuotedPrintable(message.text)}`;
}

/** Selects the Message-IDs that a header can hold: ASCII, in a line of at most 998 characters (RFC 5322 §2.1.1). */
export const keepSendableIds = (ids: readonly string[]): string[] =>
  ids.filter((id) => /^<[!-;=?-~]{1,900}>$/.test(id));

/** @returns a time as a date of RFC 5322 §3.3, in UTC. */
export const toMailDate = (time: number): string => new Date(time).toUTCString().replace('GMT', '+0000');

/**
 * Encodes text as quoted-printable (RFC 2045 §6.7), in lines of at most 76 characters. English text stays readable. Base64 would
 * look like spam.
 */
export function toQuotedPrintable(text: string): string {
  const lines = text.replace(/\r?\n$/, '').split(/\r?\n/);
  return lines.map((line) => `${foldQuoted(quote(line))}\r\n`).join('');
}

const quote = (line: string): string =>
  [...Buffer.from(line)]
    .map((byte, at, bytes) => {
      const isLastSpace = at === bytes.length - 1 && (byte === 0x20 || byte === 0x09);
      const isPlain = ((byte >= 0x20 && byte <= 0x7e) || byte === 0x09) && byte !== 0x3d && !isLastSpace;
      return isPlain ? String.fromCharCode(byte) : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');

/** Inserts soft line breaks, never inside an escape. */
const foldQuoted = (line: string): string =>
  line.length <= 76 ? line : (line.match(/(?:=[0-9A-F]{2}|[^=]){1,25}/g) ?? []).join('=\r\n');

/** Encodes a header value unless it is short and plain. So no text can end the header. */
const encodeWords = (text: string): string =>
  /^[A-Za-z0-9][A-Za-z0-9 .@_+-]{0,60}$/.test(text) ? text : toEncodedWords(text.slice(0, 500)).join('\r\n ');

/** Encodes text as encoded words (RFC 2047) of at most 75 characters each. */
export function toEncodedWords(text: string): string[] {
  const words: string[] = [];
  let word = '';
  for (const character of text) {
    if (Buffer.byteLength(word + character) > 42) {
      words.push(word);
      word = '';
    }
    word += character;
  }
  if (word !== '') words.push(word);
  return words.map((each) => `=?utf-8?B?${Buffer.from(each).toString('base64')}?=`);
}
