/** Composes the raw message of a new Email. Attachments are streamed. */
import { randomUUID } from 'node:crypto';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { toMailDate, toQuotedPrintable } from '../../domain/automatic-message.ts';
import { toBase64Size } from '../../domain/base64-size.ts';
import { readPieces } from '../../inbound/process/delivery.ts';
import { type ComposedMessage, type MessageSegment, toCrlf } from '../../outbound/compose-message.ts';
import { foldField, toParameter } from '../domain/compose-headers.ts';
import type { SetError } from '../protocol/method.ts';
import { invalidProperties } from '../protocol/standard.ts';
import type { OpenBlob } from './blobs.ts';
import type { NewEmail, NewPart } from './new-email.ts';
import { isSendable } from './sendable-message.ts';

/**
 * Maximum size of an attached message that is kept as a message. It cannot be Base64 (RFC 2046 §5.2.1), so it is held in memory. A
 * larger one, or one with lines that SMTP cannot transport, is sent as application/octet-stream.
 */
const HELD_MESSAGE_BYTES_MAX = 8 * 1024 * 1024;

export interface ComposedEmail extends ComposedMessage {
  /** Attachments; segments name them by index. */
  readonly attachments: readonly OpenBlob[];
}

/** @param domain domain of the Message-ID that is made if the client gave none. */
export async function composeEmail(
  email: NewEmail,
  { domain, now, openBlob }: { domain: string; now: number; openBlob: (id: string) => Promise<OpenBlob | null> },
): Promise<Result<ComposedEmail, SetError>> {
  const writer = new PartWriter(email.values, openBlob);
  writer.write(email.fields);
  if (!email.hasField('date')) writer.write([`Date: ${toMailDate(now)}`]);
  if (!email.hasField('message-id')) writer.write([`Message-ID: <${randomUUID()}@${domain}>`]);
  writer.write(['MIME-Version: 1.0']);
  await writer.part(email.body ?? { ...EMPTY_TEXT });
  if (writer.missing.length > 0) return err({ type: 'blobNotFound', notFound: writer.missing });
  if (writer.unknownValues.length > 0)
    return err(invalidProperties(['bodyValues'], `No value for part ${writer.unknownValues[0]}.`));
  return ok(writer.end());
}

const EMPTY_TEXT: NewPart = {
  type: 'text/plain',
  method: null,
  partId: null,
  blobId: null,
  name: null,
  disposition: null,
  cid: null,
  language: null,
  location: null,
  fields: [],
  subParts: null,
};

class PartWriter {
  readonly missing: string[] = [];
  readonly unknownValues: string[] = [];
  readonly #values: Readonly<Record<string, string>>;
  readonly #openBlob: (id: string) => Promise<OpenBlob | null>;
  readonly #segments: MessageSegment[] = [];
  readonly #attachments: OpenBlob[] = [];

  constructor(values: Readonly<Record<string, string>>, openBlob: (id: string) => Promise<OpenBlob | null>) {
    this.#values = values;
    this.#openBlob = openBlob;
  }

  write(lines: readonly string[]): void {
    this.#text(lines.map((line) => `${line}\r\n`).join(''));
  }

  async part(part: NewPart): Promise<void> {
    if (part.subParts) return this.#multipart(part, part.subParts);
    if (part.blobId !== null) return this.#blob(part, part.blobId);
    const value = part.partId === null ? '' : this.#values[part.partId];
    if (value === undefined) this.unknownValues.push(part.partId ?? '');
    this.write([
      ...toFields(part, `${part.type ?? 'text/plain'}${toMethod(part)}; charset=utf-8`),
      'Content-Transfer-Encoding: quoted-printable',
      '',
    ]);
    this.#text(toQuotedPrintable((value ?? '').replace(/\r\n?/g, '\n')));
  }

  async #multipart(part: NewPart, subParts: readonly NewPart[]): Promise<void> {
    const boundary = `=_${randomUUID()}`;
    this.write([...toFields(part, `${part.type}; boundary="${boundary}"`), '']);
    for (const each of subParts) {
      this.write([`--${boundary}`]);
      await this.part(each);
    }
    this.write([`--${boundary}--`]);
  }

  async #blob(part: NewPart, blobId: string): Promise<void> {
    const blob = await this.#openBlob(blobId);
    if (!blob) {
      this.missing.push(blobId);
      return;
    }
    const type = part.type === null ? blob.type : `${part.type}${toMethod(part)}`;
    const isMessage = /^message\//i.test(type);
    const held = isMessage && blob.sizeBytes <= HELD_MESSAGE_BYTES_MAX ? await readPieces(await blob.read()) : null;
    const message = held && toCrlf(held);
    if (message && isSendable(message)) {
      this.write([...toFields(part, type), 'Content-Transfer-Encoding: 8bit', '']);
      this.#segments.push(message);
    } else {
      const sent = isMessage || /^multipart\//i.test(type) ? 'application/octet-stream' : type;
      this.write([...toFields(part, sent), 'Content-Transfer-Encoding: base64', '']);
      this.#segments.push({ attachment: this.#attachments.length, sizeBytes: blob.sizeBytes });
      this.#attachments.push(blob);
    }
    this.#text('\r\n');
  }

  #text(text: string): void {
    this.#segments.push(Buffer.from(text));
  }

  end(): ComposedEmail {
    const sizeBytes = this.#segments.reduce(
      (sum, segment) => sum + ('attachment' in segment ? toBase64Size(segment.sizeBytes) : segment.length),
      0,
    );
    return { segments: this.#segments, sizeBytes, attachments: this.#attachments };
  }
}

const toMethod = ({ method }: NewPart): string => (method === null ? '' : `; method=${method}`);

function toFields(part: NewPart, contentType: string): string[] {
  const { name, disposition, cid, language, location } = part;
  return [
    ...part.fields.filter((field) => !/^content-(?:type|disposition|id|language|location):/i.test(field)),
    foldField('Content-Type', `${contentType}${name === null ? '' : toParameter('name', name)}`),
    ...(disposition === null && name === null
      ? []
      : [
          foldField(
            'Content-Disposition',
            `${disposition ?? 'attachment'}${name === null ? '' : toParameter('filename', name)}`,
          ),
        ]),
    ...(cid === null ? [] : [`Content-ID: <${cid}>`]),
    ...(language === null || language.length === 0 ? [] : [`Content-Language: ${language.join(', ')}`]),
    ...(location === null ? [] : [`Content-Location: ${location}`]),
  ];
}
