/**
 * Submits a message in one transaction. It checks the sending limit and the Idempotency-Key, then writes the copy in Sent and the
 * outbox row. If a step fails, nothing is written.
 */
import { toDraftContentId } from '../../../workers/mail/domain/inline-picture.ts';
import { showRemoteImages } from '../../../workers/mail/domain/remote-images.ts';
import { fromHeaderFields } from '../../../workers/mail/domain/written-fields.ts';
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import type { StoredAttachment } from '../contract/delivered-message.ts';
import type { Upload } from '../contract/drafts.ts';
import type { MailboxRow } from '../contract/mailbox.ts';
import type { Canceled, Submission, SubmitError, Submitted } from '../contract/outbox.ts';
import { first } from '../database/store.ts';
import { createDraft, readDraft, takeDraft } from '../drafts/draft-store.ts';
import { dropKeptDraft, findKeptDraft } from '../drafts/kept-draft-store.ts';
import { storeMessage } from '../incoming/arrival-store.ts';
import { markAnswered, markForwarded } from '../messages/answer-mark-store.ts';
import { readDelivery } from '../messages/delivery-state-store.ts';
import { findFolder } from '../messages/folder-store.ts';
import { readMessage, readMessageId } from '../messages/message-read-store.ts';
import { eraseMessage, findDraft, findMessage, patchMessage } from '../messages/message-store.ts';
import { toPosition } from '../messages/position-store.ts';
import {
  countHeldBytes,
  deleteUploadRows,
  insertUploadRow,
  readLooseUploads,
  readUploads,
} from '../messages/upload-store.ts';
import { countSend, readSendWait, readShare } from '../rules/send-limit-store.ts';
import { cancelOutbox, detachOutbox, insertOutbox, readOutbox } from './outbox-store.ts';

const HOUR_MS = 3_600_000;
/** Time for which an Idempotency-Key is kept. */
const KEY_AGE_MAX_MS = 7 * 24 * HOUR_MS;

/** @returns the result of the first request with this key; null if there was none. */
export function findSubmission(
  sql: SqlStorage,
  key: string,
  requestSha256: string,
): Result<Submitted | null, { kind: 'idempotency_conflict' }> {
  const row = first<{ request_sha256: string; message_id: string }>(
    sql,
    'SELECT request_sha256, message_id FROM submission WHERE idempotency_key = ?',
    key,
  );
  if (!row) return ok(null);
  if (row.request_sha256 !== requestSha256) return err({ kind: 'idempotency_conflict' });
  return ok(toSubmitted(sql, row.message_id, true));
}

const toSubmitted = (sql: SqlStorage, messageId: string, duplicate: boolean): Submitted => ({
  messageId,
  emailId: messageId,
  delivery: readDelivery(sql, toPosition(messageId)),
  duplicate,
});

export function submitMessage(
  sql: SqlStorage,
  mailbox: MailboxRow,
  submission: Submission,
  now: number,
): Result<Submitted, SubmitError> {
  const { idempotency, outbox } = submission;
  const recipients = outbox.recipients.length;
  if (idempotency) {
    const known = findSubmission(sql, idempotency.key, idempotency.requestSha256);
    if (!known.ok) return known;
    if (known.value) return ok(known.value);
  }
  const retryAfterMs = readSendWait(sql, submission.limits, recipients, now);
  if (retryAfterMs > 0) return err({ kind: 'rate_limited', retryAfterMs });
  const { draftRevision, attachmentIds } = submission;
  const kept = idempotency && findKeptDraft(sql, idempotency);
  const draftId = submission.draftId ?? (kept?.isUnchanged ? kept.messageId : null);
  const draft = draftId === null ? null : readDraft(sql, draftId);
  if (draftId !== null && draft === null) return err({ kind: 'no_draft' });
  if (draftRevision !== null && draft?.revision !== draftRevision) return err({ kind: 'draft_changed' });
  // The copy in Sent replaces the draft that `takeDraft` removes, so the draft's size is subtracted before the quota is checked.
  const replaced = draftId === null ? null : findDraft(sql, draftId);
  const draftBytes = replaced ? replaced.size_bytes + countHeldBytes(sql, replaced.position) : 0;
  const freedBytes = readLooseUploads(sql, attachmentIds).reduce((sum, upload) => sum + upload.sizeBytes, draftBytes);
  const { usedBytes, limitBytes } = mailbox;
  if (usedBytes - freedBytes + submission.sentCopy.sizeBytes > limitBytes) {
    return err({ kind: 'over_quota', usedBytes, limitBytes });
  }
  if (readShare(sql, submission.domainHour) < recipients) return err({ kind: 'share_taken' });
  const stored = storeMessage(sql, mailbox, submission.sentCopy, now);
  if (!stored.ok) return stored;
  countSend(sql, recipients, submission.domainHour, now);
  insertOutbox(sql, outbox, toPosition(stored.value.messageId), now);
  takeDraft(sql, draftId, attachmentIds, now);
  markAnswered(sql, submission.sentCopy.parsed.inReplyTo, true, now);
  markForwarded(sql, submission.forwardOf, now);
  sql.exec('DELETE FROM submission WHERE created_at < ?', now - KEY_AGE_MAX_MS);
  if (idempotency) {
    dropKeptDraft(sql, idempotency, now);
    sql.exec(
      'INSERT INTO submission (idempotency_key, request_sha256, message_id, created_at) VALUES (?, ?, ?, ?)',
      idempotency.key,
      idempotency.requestSha256,
      stored.value.messageId,
      now,
    );
  }
  return ok(toSubmitted(sql, stored.value.messageId, false));
}

/**
 * Cancels held recipients. If the message was sent to no recipient, the copy in Sent becomes a draft again, with its files.
 * `too_late` means that no recipient was held.
 */
export function cancelSubmission(
  sql: SqlStorage,
  mailbox: MailboxRow,
  messageId: string,
  now: number,
): Result<Canceled, { kind: 'not_found' } | { kind: 'too_late' }> {
  const position = toPosition(messageId);
  const canceled = cancelOutbox(sql, position, now);
  if (canceled === null) return err({ kind: 'not_found' });
  if (canceled === 0) return err({ kind: 'too_late' });
  const delivery = readDelivery(sql, position);
  const isWhole = delivery.every((recipient) => recipient.state === 'canceled');
  if (!isWhole) return ok({ delivery, draftId: null });
  return ok({ delivery, draftId: moveToDrafts(sql, mailbox, { messageId, refusal: null }, now) });
}

/**
 * Moves a message that a check refused from Sent to Drafts, with the reason. Does nothing if a recipient has it, or may still get it. The
 * row in the outbox stays until its report is made, but cannot be sent again: the author sends the draft.
 */
export function returnToDrafts(sql: SqlStorage, mailbox: MailboxRow, outboxId: string, now: number): void {
  const message = readOutbox(sql, outboxId);
  if (message?.kind !== 'message' || message.position === null) return;
  if (!message.recipients.every(({ state }) => state === 'failed')) return;
  const messageId = readMessageId(sql, message.position);
  if (messageId === null) return;
  const refusal = message.recipients[0]?.lastReply ?? null;
  moveToDrafts(sql, mailbox, { messageId, refusal }, now);
  detachOutbox(sql, outboxId);
}

interface Returned {
  readonly messageId: string;
  readonly refusal: string | null;
}

function moveToDrafts(sql: SqlStorage, mailbox: MailboxRow, returned: Returned, now: number): string | null {
  const answered = first<{ id: string | null }>(
    sql,
    'SELECT in_reply_to AS id FROM message WHERE position = ?',
    toPosition(returned.messageId),
  );
  const draftId = toDraft(sql, mailbox, returned, now);
  markAnswered(sql, answered?.id ?? null, false, now);
  return draftId;
}

/**
 * Turns the copy in Sent into a draft. If it is too long for a draft, or its files are not R2 objects of their own, it is only
 * moved to Drafts.
 * @returns the draft's id; null if the copy was erased or only moved.
 */
function toDraft(sql: SqlStorage, mailbox: MailboxRow, { messageId, refusal }: Returned, now: number): string | null {
  const message = findMessage(sql, messageId);
  const detail = message && readMessage(sql, message.position);
  const drafts = findFolder(sql, 'drafts');
  if (!message || !detail || !drafts) return null;
  const files = detail.attachments.flatMap(({ r2Key, ...file }) => (r2Key === null ? [] : [{ ...file, r2Key }]));
  // After a rebuild, the copy may have its files as ranges of the raw message. These cannot become uploads.
  const hasFiles = files.length === detail.attachments.length;
  const attachmentIds = hasFiles ? files.map((file) => moveToUploads(sql, file, now)) : [];
  const cleanedHtml = detail.html?.value
    ? nameDraftPictures(detail.html.value, detail.attachments, attachmentIds)
    : null;
  const html = cleanedHtml === null ? null : showRemoteImages(cleanedHtml);
  const content = {
    from: detail.from,
    to: detail.to,
    cc: detail.cc,
    bcc: detail.bcc,
    subject: detail.subject,
    body: detail.text.value ?? '',
    html,
    attachmentIds,
    inReplyTo: detail.inReplyTo,
    references: detail.references,
    replyTo: detail.replyTo,
    ...fromHeaderFields(detail.headers),
    refusal,
  };
  const isInline = hasFiles && detail.text.r2Key === null && (detail.html === null || detail.html.r2Key === null);
  // The draft needs no quota check: the copy in Sent, which it replaces, counted against the quota.
  const draft = isInline
    ? createDraft(sql, { ...mailbox, limitBytes: Number.MAX_SAFE_INTEGER }, content, cleanedHtml, now)
    : null;
  if (!draft?.ok) {
    deleteUploadRows(sql, readUploads(sql, attachmentIds));
    patchMessage(sql, message, { folder: drafts }, now);
    return null;
  }
  // The draft owns the files now, so erasing the copy must not delete them.
  sql.exec(`UPDATE message_content SET attachments = '[]' WHERE position = ?`, message.position);
  eraseMessage(sql, message, now);
  return draft.value.messageId;
}

/** Gives the pictures in the HTML new Content-IDs, because the attachments got new ids. */
const nameDraftPictures = (
  html: string,
  attachments: readonly StoredAttachment[],
  attachmentIds: readonly string[],
): string =>
  attachments.reduce(
    (text, { contentId }, at) =>
      contentId === null
        ? text
        : text.replaceAll(`"cid:${contentId}"`, `"cid:${toDraftContentId(attachmentIds[at] ?? '')}"`),
    html,
  );

function moveToUploads(sql: SqlStorage, file: Omit<Upload, 'attachmentId'>, now: number): string {
  const attachmentId = crypto.randomUUID();
  insertUploadRow(sql, { ...file, attachmentId }, now);
  return attachmentId;
}
