/** From the request to what is kept of it: the copy in Sent, and the raw message that goes out. */
import type { ParsedMessage } from '../../../durable-objects/mailbox/delivered-message.ts';
import { getBlob, inLargePieces, putBlobStream } from '../blobs.ts';
import { type PartStore, storeParts } from '../delivery.ts';
import { storeRaw, storeRawBytes } from '../inbound/store-raw.ts';
import { cleanHtml, toPlainText } from '../mime/clean-html.ts';
import { composeMessage, streamMessage } from './compose-message.ts';
import { createBodyHasher } from './dkim/body-hash.ts';
import type { SubmitAddress, SubmitRequest } from './submit-schema.ts';
import type { FoundFile } from './submitted-files.ts';

export const toAddress = (address: SubmitAddress) => ({ name: address.name ?? '', email: address.email });

/** What a message is made of beside the request. */
export interface Parts {
  readonly from: { readonly name: string; readonly email: string };
  readonly files: readonly FoundFile[];
}

interface Making {
  readonly messageId: string;
  readonly now: number;
  readonly names: readonly string[];
}

/** The copy in Sent is made from the request, never parsed back: Bcc is in it, and large files are not read again. */
export async function toSentCopy(
  request: SubmitRequest,
  { from, files }: Parts,
  {
    messageId,
    now,
    names,
    prefix,
    store,
    env,
  }: Making & {
    readonly prefix: string;
    readonly store: PartStore;
    readonly env: Env;
  },
): Promise<ParsedMessage> {
  const html = request.html === undefined ? null : cleanHtml(request.html);
  const parsed = await storeParts(
    {
      from: { name: from.name, email: from.email },
      to: request.to?.map(toAddress) ?? [],
      cc: request.cc?.map(toAddress) ?? [],
      bcc: request.bcc?.map(toAddress) ?? [],
      replyTo: [],
      subject: request.subject ?? '',
      sentAt: now,
      messageId,
      inReplyTo: request.in_reply_to ?? null,
      references: request.references ?? [],
      text: request.body ?? (request.html === undefined ? '' : toPlainText(request.html)),
      html,
      headers: [],
      attachments: [],
      isComplete: true,
    },
    prefix,
    store,
  );
  const attachments: ParsedMessage['attachments'][number][] = [];
  for (const [n, file] of files.entries()) {
    const r2Key = `${prefix}part-${n}`;
    if (file.bytes) await store.put(r2Key, file.bytes);
    else {
      const uploaded = await getBlob(env, file.r2Key);
      if (!uploaded) throw new Error('an uploaded file is missing in every location');
      await putBlobStream(env, r2Key, inLargePieces(uploaded.body), file.sizeBytes);
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

/** Streams the message into every location, with what DKIM needs computed as it passes. */
export async function storeComposed(
  env: Env,
  request: SubmitRequest,
  { from, files }: Parts,
  { messageId, now, names, rawKey, parsed }: Making & { readonly rawKey: string; readonly parsed: ParsedMessage },
) {
  const composed = await composeMessage(
    {
      from,
      to: request.to?.map(toAddress) ?? [],
      cc: request.cc?.map(toAddress) ?? [],
      subject: request.subject ?? '',
      text: request.body ?? (request.html === undefined ? '' : toPlainText(request.html)),
      html: request.html ?? null,
      attachments: files.map((file, n) => ({ ...file, fileName: names[n] ?? file.fileName })),
      messageId,
      inReplyTo: request.in_reply_to ?? null,
      references: request.references ?? [],
      date: new Date(now),
    },
    crypto.getRandomValues(new Uint8Array(16)),
  );
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
