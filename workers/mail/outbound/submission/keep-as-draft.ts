/** Saves a message that may not be sent now as a draft, unless it is one already. */

import { randomUUID } from 'node:crypto';
import type { Idempotency } from '../../../../durable-objects/mail/contract/drafts.ts';

import { putBlob, userPrefix } from '../../bindings/blobs.ts';
import { openMailbox } from '../../bindings/mailbox.ts';
import { toAddress } from '../../domain/email-address.ts';
import { cleanDraftHtml, cleanHtml } from '../../mime/clean-html.ts';
import type { FoundFile } from './attached-files.ts';
import type { SubmitRequest } from './request-schema.ts';
import { toRecipients, toReplyTo } from './sent-copy.ts';

/** @returns the id of the draft; null if the quota has no room for it. */
export async function keepAsDraft(
  env: Env,
  userId: string,
  request: SubmitRequest,
  files: readonly FoundFile[],
  idempotency: Idempotency | null,
): Promise<string | null> {
  if (request.draft_id !== undefined) return request.draft_id;
  const mailbox = openMailbox(env, userId);
  // A repeated request finds its draft, so that its files are not stored again.
  const known = idempotency && (await mailbox.findKeptDraft(idempotency));
  if (known?.ok && known.value !== null) return known.value;
  const attachmentIds: string[] = [];
  for (const [at, file] of files.entries()) {
    const asked = request.attachments?.[at];
    if (asked && 'attachment_id' in asked) {
      attachmentIds.push(asked.attachment_id);
      continue;
    }
    const attachmentId = randomUUID();
    const r2Key = `${userPrefix(userId)}upload/${attachmentId}`;
    await putBlob(env, r2Key, file.bytes ?? new Uint8Array());
    const { fileName, contentType, sizeBytes } = file;
    const kept = await mailbox.insertUpload({ attachmentId, fileName, contentType, sizeBytes, r2Key });
    if (!kept.ok) return null;
    attachmentIds.push(attachmentId);
  }
  const content = {
    from: request.from ? toAddress(request.from) : null,
    ...toRecipients(request),
    subject: request.subject ?? '',
    body: request.body ?? '',
    html: request.html === undefined ? null : cleanDraftHtml(request.html),
    attachmentIds,
    inReplyTo: request.in_reply_to ?? null,
    references: request.references ?? [],
    ...toReplyTo(request),
    headers: request.headers ?? [],
    importance: request.importance ?? 'normal',
    forwardOf: request.forward_of ?? null,
  };
  const cleanedHtml = request.html === undefined ? null : cleanHtml(request.html);
  const kept = await mailbox.keepDraft({ content, cleanedHtml, idempotency });
  return kept.ok ? kept.value : null;
}
