/** Makes what a submission stores: the copy in Sent, and the outgoing raw message. */
import { randomUUID } from 'node:crypto';
import type { MailAddress, ParsedMessage } from '../../../../durable-objects/mail/contract/delivered-message.ts';
import { getBlob, inLargePieces } from '../../bindings/blobs.ts';
import { createBodyHasher } from '../../dkim/body-hash.ts';
import { cleanFileName, makeNamesUnique } from '../../domain/attachment-name.ts';
import { toAddress } from '../../domain/email-address.ts';
import { type HeaderField, toHeaderFields } from '../../domain/written-fields.ts';
import { storeRaw, storeRawBytes } from '../../inbound/accept/store-raw.ts';
import { type PartWriter, storeParts, toPartKey } from '../../inbound/process/delivery.ts';
import { cleanHtml, toPlainText } from '../../mime/clean-html.ts';
import { type ComposedMessage, composeMessage, streamMessage } from '../compose-message.ts';
import type { FoundFile } from './attached-files.ts';
import type { SubmitRequest } from './request-schema.ts';

export const toRecipients = (request: Pick<SubmitRequest, 'to' | 'cc' | 'bcc'>) => ({
  to: request.to?.map(toAddress) ?? [],
  cc: request.cc?.map(toAddress) ?? [],
  bcc: request.bcc?.map(toAddress) ?? [],
});

export const toReplyTo = (request: Pick<SubmitRequest, 'reply_to'>) => ({
  replyTo: request.reply_to?.map(toAddress) ?? [],
});

/** Content of a message as its author wrote it. */
export interface Content {
  readonly to: readonly MailAddress[];
  readonly cc: readonly MailAddress[];
  readonly bcc: readonly MailAddress[];
  readonly replyTo: readonly MailAddress[];
  readonly subject: string;
  /** Plain text: the body, or text made from the HTML if there is no body. */
  readonly text: string;
  /** HTML as it was submitted, not cleaned. */
  readonly html: string | null;
  readonly inReplyTo: string | null;
  readonly references: readonly string[];
  /** Header fields that the author set, including those for the importance. */
  readonly headers: readonly HeaderField[];
}

/** Makes the content from a request. Call it only once per message, because making text from HTML takes time. */
export const toContent = (request: SubmitRequest, recipients: ReturnType<typeof toRecipients>): Content => ({
  ...recipients,
  ...toReplyTo(request),
  subject: request.subject ?? '',
  text: request.body ?? (request.html === undefined ? '' : toPlainText(request.html)),
  html: request.html ?? null,
  inReplyTo: request.in_reply_to ?? null,
  references: request.references ?? [],
  headers: toHeaderFields(request),
});

/** Sender and files of a message, in addition to its content. */
export interface Parts {
  readonly from: MailAddress;
  readonly files: readonly FoundFile[];
}

/** What the copy and the outgoing message have in common. */
export interface Making {
  readonly outboxId: string;
  readonly messageId: string;
  readonly now: number;
  /** Names of the files, each only once. */
  readonly names: readonly string[];
}

export function toMaking({ from, files }: Parts, now: number): Making {
  const outboxId = randomUUID();
  return {
    outboxId,
    messageId: `<${outboxId}@${from.email.slice(from.email.lastIndexOf('@') + 1)}>`,
    now,
    names: makeNamesUnique(files.map((file) => cleanFileName(file.fileName, file.contentType))),
  };
}

/**
 * Makes the copy in Sent from the request. The outgoing message is not parsed for it: that lacks Bcc, and large files would be read
 * again. The files of the copy are objects of their own, because they become uploads again if sending is canceled.
 */
export async function toSentCopy(
  content: Content,
  { from, files }: Parts,
  {
    messageId,
    now,
    names,
    prefix,
    parts,
    env,
  }: Making & {
    readonly prefix: string;
    readonly parts: PartWriter;
    readonly env: Env;
  },
): Promise<ParsedMessage> {
  const parsed = await storeParts(
    {
      ...content,
      from: { name: from.name, email: from.email },
      sentAt: now,
      messageId,
      html: content.html === null ? null : cleanHtml(content.html),
      attachments: [],
      isComplete: true,
    },
    prefix,
    parts,
  );
  const attachments: ParsedMessage['attachments'][number][] = [];
  for (const [n, file] of files.entries()) {
    const r2Key = toPartKey(prefix, n);
    if (file.bytes) await parts.put(r2Key, file.bytes);
    else {
      const uploaded = await getBlob(env, file.r2Key);
      if (!uploaded) throw new Error('an uploaded file is missing in every location');
      await parts.putStream(r2Key, inLargePieces(uploaded.body), file.sizeBytes);
    }
    attachments.push({
      fileName: names[n] ?? file.fileName,
      contentType: file.contentType,
      sizeBytes: file.sizeBytes,
      isInline: file.contentId !== null,
      contentId: file.contentId,
      r2Key,
    });
  }
  return { ...parsed, attachments };
}

/** Composes the outgoing message, with places for the files. */
export const compose = ({ bcc: _, ...content }: Content, { from, files }: Parts, { messageId, now, names }: Making) =>
  composeMessage(
    {
      ...content,
      from,
      attachments: files.map((file, n) => ({ ...file, fileName: names[n] ?? file.fileName })),
      messageId,
      date: new Date(now),
    },
    crypto.getRandomValues(new Uint8Array(16)),
  );

/** Streams the message into a quorum of the locations. Meanwhile hashes its body for DKIM. */
export async function storeComposed(env: Env, composed: ComposedMessage, rawKey: string, parsed: ParsedMessage) {
  const hasher = createBodyHasher();
  const end = <T>(stored: T) => ({ ...stored, bodyHash: hasher.digest(), isEightBit: hasher.isEightBit() });
  const [only, ...more] = composed.segments;
  if (only instanceof Uint8Array && more.length === 0) {
    hasher.push(only);
    return end(await storeRawBytes(env, rawKey, only));
  }
  const stream = streamMessage(composed, async (n) => {
    const stored = await getBlob(env, parsed.attachments[n]?.r2Key ?? '');
    if (!stored) throw new Error('an attachment is missing in every location');
    return inLargePieces(stored.body);
  });
  return end(await storeRaw(env, rawKey, stream, composed.sizeBytes, (chunk) => hasher.push(chunk)));
}
