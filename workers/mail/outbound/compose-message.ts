/**
 * Composes an outgoing message (RFC 5322, MIME) in constant memory. nodemailer writes everything but the attachments; their
 * placeholders are later replaced by Base64 streams. So the size is known before any attachment is read, as R2 requires.
 *
 * By design: Bcc is never passed in. An attachment of type `message/…` or `multipart/…` is sent as application/octet-stream,
 * because RFC 2046 §5.2 forbids Base64 for these types, and their lines may exceed the limits of SMTP.
 */

import MailComposer from 'nodemailer/lib/mail-composer';
import type { MailAddress } from '../../../durable-objects/mail/contract/delivered-message.ts';
import { keepSendableIds, toEncodedWords } from '../domain/automatic-message.ts';
import { toBase64Size } from '../domain/base64-size.ts';
import type { HeaderField } from '../domain/written-fields.ts';

export interface ComposeAttachment {
  readonly fileName: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  /** Content-ID without angle brackets, for an image that the HTML shows; null for other attachments. */
  readonly contentId: string | null;
}

/** Content of a message to compose. Only the bodies may contain CR or LF. */
export interface Composition {
  readonly from: MailAddress;
  readonly to: readonly MailAddress[];
  readonly cc: readonly MailAddress[];
  readonly subject: string;
  readonly text: string;
  readonly html: string | null;
  readonly attachments: readonly ComposeAttachment[];
  /** Message-ID with angle brackets. */
  readonly messageId: string;
  readonly inReplyTo: string | null;
  readonly references: readonly string[];
  readonly date: Date;
  readonly replyTo?: readonly MailAddress[];
  /** Further header fields of the message, in order. */
  readonly headers?: readonly HeaderField[];
  /** Text in the boundaries between the parts; random by default. */
  readonly boundary?: string;
}

/** A piece of a composed message: bytes, or the place of an attachment, by its index. */
export type MessageSegment = Uint8Array | { readonly attachment: number; readonly sizeBytes: number };

export interface ComposedMessage {
  readonly segments: readonly MessageSegment[];
  /** Size of the whole message in bytes. */
  readonly sizeBytes: number;
}

/** Bytes that one line of 76 Base64 characters encodes (RFC 2045 §6.8). */
const LINE_BYTES = 57;
const LINE_CHARACTERS = 76;

/** Composes a message. @param secret at least 16 random bytes for the placeholders, so that no text can match one. */
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
    ...(composition.boundary === undefined ? {} : { baseBoundary: composition.boundary }),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  // Line ends are normalised before signing. Otherwise a lone CR or LF would become CRLF in SMTP, after the signature was made.
  const template = toCrlf(await composer.compile().build());
  return cutAtPlaces(template, places, composition.attachments);
}

/** Converts all line ends to CRLF. */
export const toCrlf = (bytes: Uint8Array): Buffer =>
  Buffer.from(
    Buffer.from(bytes)
      .toString('latin1')
      .replace(/\r\n|\r|\n/g, '\r\n'),
    'latin1',
  );

/**
 * Converts all line ends to CRLF, for a message in pieces. A CR at the end of a piece is held back until the next piece. No message
 * ends with a CR.
 */
export function createLineEnder(): (piece: Uint8Array) => Buffer {
  let isAfterCr = false;
  return (piece) => {
    const text = `${isAfterCr ? '\r' : ''}${Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString('latin1')}`;
    isAfterCr = text.endsWith('\r');
    return Buffer.from((isAfterCr ? text.slice(0, -1) : text).replace(/\r\n|\r|\n/g, '\r\n'), 'latin1');
  };
}

/** Encodes a subject that looks like encoded words, or that has a word too long for a line of 998 characters (RFC 5322 §2.1.1). */
const toSubject = (subject: string): string =>
  subject.includes('=?') || /\S{200}/.test(subject) ? toEncodedWords(subject).join(' ') : subject;

const toMailbox = (address: MailAddress) => ({ name: address.name, address: address.email });

const toTransferableType = (contentType: string): string =>
  /^(message|multipart)\//i.test(contentType) ? 'application/octet-stream' : contentType;

/** Makes the placeholder of an attachment: bytes whose Base64 is exactly one line. */
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
 * @param openAttachment opens the bytes of an attachment, by its index.
 * @throws when an attachment does not have the declared size, because the message would be corrupt.
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
