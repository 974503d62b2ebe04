/**
 * Composes an outgoing message (RFC 5322, MIME) in constant memory. nodemailer writes everything but the attachments; their
 * placeholders are then filled from streams as Base64. The size is therefore known before any attachment is read, as R2
 * requires.
 *
 * By design: Bcc is never passed in. A `message/…` or `multipart/…` attachment is sent as application/octet-stream, because RFC
 * 2046 §5.2 forbids Base64 for those types and their lines may exceed the limits of SMTP.
 */

import MailComposer from 'nodemailer/lib/mail-composer';
import { keepSendableIds, toEncodedWords } from '../domain/automatic-message.ts';
import { toBase64Size } from '../domain/base64-size.ts';
import type { HeaderField } from '../domain/written-fields.ts';

export interface ComposeAddress {
  readonly name: string;
  readonly email: string;
}

export interface ComposeAttachment {
  readonly fileName: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  /** Content-ID without angle brackets, for an inline image that the HTML refers to. */
  readonly contentId: string | null;
}

/** Input of a message. No text except the bodies may contain CR or LF. */
export interface Composition {
  readonly from: ComposeAddress;
  readonly to: readonly ComposeAddress[];
  readonly cc: readonly ComposeAddress[];
  readonly subject: string;
  readonly text: string;
  readonly html: string | null;
  readonly attachments: readonly ComposeAttachment[];
  /** Message-ID with angle brackets. */
  readonly messageId: string;
  readonly inReplyTo: string | null;
  readonly references: readonly string[];
  readonly date: Date;
  readonly replyTo?: readonly ComposeAddress[];
  /** Further header fields, in order. */
  readonly headers?: readonly HeaderField[];
}

/** Bytes, or the placeholder of an attachment with its index. */
export type MessageSegment = Uint8Array | { readonly attachment: number; readonly sizeBytes: number };

export interface ComposedMessage {
  readonly segments: readonly MessageSegment[];
  /** Size of the whole message. */
  readonly sizeBytes: number;
}

/** Bytes in one line of 76 Base64 characters (RFC 2045 §6.8). */
const LINE_BYTES = 57;
const LINE_CHARACTERS = 76;

/** @param secret at least 16 random bytes, so that no text can match a placeholder. */
export async function composeMessage(composition: Composition, secret: Uint8Array): Promise<ComposedMessage> {
  const places = composition.attachments.map((_, n) => toPlace(secret, n));
  const [inReplyTo] = keepSendableIds([composition.inReplyTo ?? '']);
  const references = keepSendableIds(composition.references);
  const composer = new MailComposer({
    from: toMailbox(composition.from),
    to: composition.to.map(toMailbox),
    cc: composition.cc.map(toMailbox),
    ...(composition.replyTo?.length ? { replyTo: composition.replyTo.map(toMailbox) } : {}),
    subject: toSubject(composition.subject),
    text: composition.text,
    ...(composition.html === null ? {} : { html: composition.html }),
    messageId: composition.messageId,
    ...(inReplyTo === undefined ? {} : { inReplyTo }),
    ...(references.length === 0 ? {} : { references }),
    date: composition.date,
    headers: (composition.headers ?? []).map(({ name, value }) => ({ key: name, value })),
    attachments: composition.attachments.map((attachment, n) => ({
      filename: attachment.fileName,
      contentType: toTransferableType(attachment.contentType),
      content: places[n] ?? Buffer.alloc(0),
      encoding: 'binary',
      contentTransferEncoding: 'base64' as const,
      contentDisposition: attachment.contentId === null ? ('attachment' as const) : ('inline' as const),
      ...(attachment.contentId === null ? {} : { cid: attachment.contentId }),
    })),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  // Normalize before signing: a lone CR or LF would become CRLF on the wire, after the signature.
  const template = toCrlf(await composer.compile().build());
  return cutAtPlaces(template, places, composition.attachments);
}

/** Ends every line with CRLF. */
export const toCrlf = (bytes: Uint8Array): Buffer =>
  Buffer.from(
    Buffer.from(bytes)
      .toString('latin1')
      .replace(/\r\n|\r|\n/g, '\r\n'),
    'latin1',
  );

/**
 * Ends every line with CRLF, for a message in pieces. A CR at the end of a piece waits for the next one; no message ends with a CR.
 */
export function createLineEnder(): (piece: Uint8Array) => Buffer {
  let isAfterCr = false;
  return (piece) => {
    const text = `${isAfterCr ? '\r' : ''}${Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString('latin1')}`;
    isAfterCr = text.endsWith('\r');
    return Buffer.from((isAfterCr ? text.slice(0, -1) : text).replace(/\r\n|\r|\n/g, '\r\n'), 'latin1');
  };
}

/** Encodes subjects that look like encoded words, or that have a word too long for a line of 998 (RFC 5322 §2.1.1). */
const toSubject = (subject: string): string =>
  subject.includes('=?') || /\S{200}/.test(subject) ? toEncodedWords(subject).join(' ') : subject;

const toMailbox = (address: ComposeAddress) => ({ name: address.name, address: address.email });

const toTransferableType = (contentType: string): string =>
  /^(message|multipart)\//i.test(contentType) ? 'application/octet-stream' : contentType;

/** A placeholder: exactly one line of Base64. */
function toPlace(secret: Uint8Array, n: number): Buffer {
  const place = Buffer.alloc(LINE_BYTES, `attachment ${n} ${Buffer.from(secret).toString('hex')} `);
  return place;
}

function cutAtPlaces(
  template: Buffer,
  places: readonly Buffer[],
  attachments: readonly ComposeAttachment[],
): ComposedMessage {
  const found = places.map((place, attachment) => ({ attachment, at: template.indexOf(place.toString('base64')) }));
  found.sort((a, b) => a.at - b.at);
  const segments: MessageSegment[] = [];
  let from = 0;
  for (const { attachment, at } of found) {
    if (at < from) throw new Error('an attachment has no placeholder in the composed message');
    const sizeBytes = attachments[attachment]?.sizeBytes ?? 0;
    segments.push(template.subarray(from, at), { attachment, sizeBytes });
    from = at + LINE_CHARACTERS;
  }
  segments.push(template.subarray(from));
  const sizeBytes = segments.reduce(
    (sum, segment) => sum + ('attachment' in segment ? toBase64Size(segment.sizeBytes) : segment.length),
    0,
  );
  return { segments, sizeBytes };
}

/**
 * Streams the message piece by piece.
 * @param openAttachment gives the bytes of an attachment by its index.
 * @throws when an attachment has another size than declared, because the message would be corrupt.
 */
export async function* streamMessage(
  composed: ComposedMessage,
  openAttachment: (attachment: number) => Promise<AsyncIterable<Uint8Array>>,
): AsyncGenerator<Uint8Array> {
  for (const segment of composed.segments) {
    if (!('attachment' in segment)) yield segment;
    else yield* encodeBase64(await openAttachment(segment.attachment), segment.sizeBytes);
  }
}

async function* encodeBase64(source: AsyncIterable<Uint8Array>, sizeBytes: number): AsyncGenerator<Uint8Array> {
  let pending = Buffer.alloc(0);
  let seen = 0;
  let isFirst = true;
  const encode = (bytes: Buffer): Buffer => {
    const lines: string[] = [];
    for (let at = 0; at < bytes.length; at += LINE_BYTES) {
      lines.push(bytes.toString('base64', at, Math.min(at + LINE_BYTES, bytes.length)));
    }
    const text = `${isFirst ? '' : '\r\n'}${lines.join('\r\n')}`;
    isFirst = false;
    return Buffer.from(text, 'latin1');
  };
  for await (const chunk of source) {
    seen += chunk.length;
    const bytes = pending.length === 0 ? Buffer.from(chunk) : Buffer.concat([pending, chunk]);
    const whole = bytes.length - (bytes.length % LINE_BYTES);
    if (whole > 0) yield encode(bytes.subarray(0, whole));
    pending = bytes.subarray(whole);
  }
  if (seen !== sizeBytes) throw new Error(`an attachment has ${seen} bytes, not ${sizeBytes}`);
  if (pending.length > 0) yield encode(pending);
}
