/** Messages that a mailbox writes by itself, as RFC 5322 bytes: the vacation reply (RFC 3834) and the forwarding code. Pure. */

export interface AutomaticText {
  readonly from: { readonly name: string; readonly email: string };
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly messageId: string;
  readonly inReplyTo: string | null;
  readonly references: readonly string[];
  readonly now: number;
  /** RFC 3834 §5: `auto-replied` to a message, `auto-generated` without one. */
  readonly autoSubmitted: 'auto-replied' | 'auto-generated';
}

export function composeAutomatic(message: AutomaticText): string {
  const references = [...message.references.slice(-20), ...(message.inReplyTo === null ? [] : [message.inReplyTo])];
  const headers = [
    `From: ${encodeWords(message.from.name)} <${message.from.email}>`,
    `To: <${message.to}>`,
    `Subject: ${encodeWords(message.subject)}`,
    `Date: ${new Date(message.now).toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: ${message.messageId}`,
    ...(message.inReplyTo === null ? [] : [`In-Reply-To: ${message.inReplyTo}`]),
    ...(references.length === 0 ? [] : [`References: ${[...new Set(references)].join('\r\n ')}`]),
    `Auto-Submitted: ${message.autoSubmitted}`,
    'X-Auto-Response-Suppress: All',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: base64',
  ];
  const body = Buffer.from(message.text.replace(/\r?\n/g, '\r\n')).toString('base64');
  return `${headers.join('\r\n')}\r\n\r\n${body.replace(/.{1,76}/g, '$&\r\n')}`;
}

/** RFC 2047 encoded words of at most 75 characters, so nothing in the text can end the header. */
function encodeWords(text: string): string {
  const words: string[] = [];
  let word = '';
  for (const character of text.slice(0, 500)) {
    if (Buffer.byteLength(word + character) > 42) {
      words.push(word);
      word = '';
    }
    word += character;
  }
  if (word !== '') words.push(word);
  return words.map((each) => `=?utf-8?B?${Buffer.from(each).toString('base64')}?=`).join('\r\n ');
}
