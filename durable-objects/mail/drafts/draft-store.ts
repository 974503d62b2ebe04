/**
 * Drafts. A draft is a message in the folder Drafts that keeps its id; each save replaces its whole content in one transaction. The
 * table `draft` has the content as the author sent it. The message row is a summary of it, and search finds it like any other
 * message.
 *
 * Sending a draft calls `takeDraft` in the transaction that inserts the outbox row. So no message is both sent and still a draft.
 */
import { makeNamesUnique } from '../../../workers/mail/domain/attachment-name.ts';
import { toEmailId } from '../../../workers/mail/domain/email-id.ts';
import { findDraftContentId } from '../../../workers/mail/domain/inline-picture.ts';
import { toPlainText } from '../../../workers/mail/domain/plain-text.ts';
import { toHeaderFields } from '../../../workers/mail/domain/written-fields.ts';
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import type { ParsedMessage } from '../contract/delivered-message.ts';
import type { Draft, DraftContent, DraftError, Upload } from '../contract/drafts.ts';
import type { MailboxRow } from '../contract/mailbox.ts';
import { recordChange } from '../database/change-store.ts';
import { first } from '../database/store.ts';
import { readRevision } from '../messages/email-id-store.ts';
import { findFolder, findFolderByNumber, updateCounts } from '../messages/folder-store.ts';
import { listLabels } from '../messages/label-store.ts';
import type { MessageState } from '../messages/message-row-store.ts';
import {
  eraseMessage,
  findDraft,
  foldersOf,
  insertMessage,
  toPreview,
  writeContent,
} from '../messages/message-store.ts';
import { mintMessageId, mintPosition } from '../messages/position-store.ts';
import {
  forgetReferences,
  formatThreadId,
  isThread,
  readReferences,
  reassignThread,
} from '../messages/thread-store.ts';
import { dropUploads, holdUploads, readUploads } from '../messages/upload-store.ts';

/** Maximum of a draft's content, below the 2 MB that a row may have. */
const CONTENT_BYTES_MAX = 1_900_000;

interface Checked {
  readonly json: string;
  readonly sizeBytes: number;
  readonly uploads: readonly Upload[];
}

/** @param replaced the draft whose content is replaced; null for a new draft. */
function check(
  sql: SqlStorage,
  mailbox: MailboxRow,
  content: DraftContent,
  replaced: MessageState | null,
): Result<Checked, DraftError> {
  const json = JSON.stringify(content);
  const sizeBytes = Buffer.byteLength(json);
  if (sizeBytes > CONTENT_BYTES_MAX) {
    return err({
      kind: 'bad_request',
      path: 'body',
      message: `A draft has at most ${CONTENT_BYTES_MAX} bytes of text.`,
    });
  }
  const uploads = readUploads(sql, content.attachmentIds);
  const known = new Set(uploads.map((upload) => upload.attachmentId));
  const missing = content.attachmentIds.findIndex((id) => !known.has(id));
  if (missing !== -1) {
    return err({ kind: 'bad_request', path: `attachments.${missing}`, message: 'Upload not found.' });
  }
  const foreign = uploads.findIndex(
    ({ draftPosition }) => draftPosition !== null && draftPosition !== (replaced?.position ?? null),
  );
  if (foreign !== -1) {
    const path = `attachments.${content.attachmentIds.indexOf(uploads[foreign]?.attachmentId ?? '')}`;
    return err({ kind: 'bad_request', path, message: 'This upload belongs to another draft.' });
  }
  const { usedBytes, limitBytes } = mailbox;
  if (usedBytes - (replaced?.size_bytes ?? 0) + sizeBytes > limitBytes)
    return err({ kind: 'over_quota', usedBytes, limitBytes });
  return ok({ json, sizeBytes, uploads });
}

/** Converts a draft to the fields of a message row. A draft has no Message-ID; it gets one when it is sent. */
function toParsed(
  content: DraftContent,
  uploads: readonly Upload[],
  cleanedHtml: string | null,
  now: number,
): ParsedMessage {
  const names = makeNamesUnique(uploads.map((upload) => upload.fileName));
  return {
    from: content.from,
    to: content.to,
    cc: content.cc,
    bcc: content.bcc,
    replyTo: content.replyTo ?? [],
    subject: content.subject,
    sentAt: now,
    messageId: null,
    inReplyTo: content.inReplyTo,
    references: content.references,
    text: { value: content.body === '' && cleanedHtml !== null ? toPlainText(cleanedHtml) : content.body, r2Key: null },
    html: cleanedHtml === null ? null : { value: cleanedHtml, r2Key: null },
    headers: toHeaderFields(content),
    attachments: uploads.map((upload, at) => {
      const contentId = findDraftContentId(content.html, upload.attachmentId);
      return {
        fileName: names[at] ?? upload.fileName,
        contentType: upload.contentType,
        sizeBytes: upload.sizeBytes,
        isInline: contentId !== null,
        contentId,
        r2Key: upload.r2Key,
      };
    }),
  };
}

/** @param cleanedHtml `content.html`, cleaned by the caller so that it is safe to show. */
export function createDraft(
  sql: SqlStorage,
  mailbox: MailboxRow,
  content: DraftContent,
  cleanedHtml: string | null,
  now: number,
): Result<Draft, DraftError> {
  const checked = check(sql, mailbox, content, null);
  if (!checked.ok) return checked;
  const folder = findFolder(sql, 'drafts');
  if (!folder) throw new Error('the mailbox has no Drafts');
  const position = mintPosition(sql, now);
  const messageId = mintMessageId(position);
  const { json, sizeBytes, uploads } = checked.value;
  insertMessage(
    sql,
    {
      position,
      messageId,
      folder,
      origin: 'draft',
      isRead: true,
      isFlagged: false,
      labels: [],
      receivedAt: now,
      sizeBytes,
      rawKey: null,
      rawSha256: null,
      deliveryKey: null,
      spam: null,
      authentication: null,
      parsed: toParsed(content, uploads, cleanedHtml, now),
    },
    now,
  );
  sql.exec('INSERT INTO draft (position, content, revision, updated_at) VALUES (?, ?, 1, ?)', position, json, now);
  holdUploads(sql, position, content.attachmentIds, now);
  return ok({ messageId, revision: 1, updatedAt: now, content, attachments: uploads });
}

/**
 * @param request.revision the last revision that the author saw. If the draft has a later one, the save is rejected. Null saves in
 * any case.
 */
export function replaceDraft(
  sql: SqlStorage,
  mailbox: MailboxRow,
  messageId: string,
  request: { readonly content: DraftContent; readonly cleanedHtml: string | null; readonly revision: number | null },
  now: number,
): Result<Draft, DraftError> {
  const message = findDraft(sql, messageId);
  if (!message) return err({ kind: 'not_found' });
  const { content, cleanedHtml } = request;
  const revisionBefore = readRevision(sql, message.position);
  if (request.revision !== null && request.revision !== revisionBefore) {
    return err({ kind: 'draft_changed', revision: revisionBefore });
  }
  const checked = check(sql, mailbox, content, message);
  if (!checked.ok) return checked;
  const { json, sizeBytes, uploads } = checked.value;
  const parsed = toParsed(content, uploads, cleanedHtml, now);
  const thread = rewriteRow(sql, message, parsed, sizeBytes);
  holdUploads(sql, message.position, content.attachmentIds, now);
  sql.exec(
    'UPDATE draft SET content = ?, revision = revision + 1, updated_at = ? WHERE position = ?',
    json,
    now,
    message.position,
  );
  const revision = revisionBefore + 1;
  recordSave(sql, message, thread, revision, now);
  return ok({ messageId: message.message_id, revision, updatedAt: now, content, attachments: uploads });
}

/** Records that the save made a new email for JMAP, because an email never changes under its id. */
function recordSave(sql: SqlStorage, before: MessageState, thread: number, revision: number, now: number): void {
  const { message_id, position } = before;
  const [folder_id = '', ...others] = foldersOf(before).map((folder) => findFolderByNumber(sql, folder).folder_id);
  recordChange(
    sql,
    {
      type: 'message_updated',
      message_id,
      email_id: toEmailId({ messageId: message_id, revision }),
      replaced_email_id: toEmailId({ messageId: message_id, revision: revision - 1 }),
      folder_id,
      ...(others.length > 0 ? { folder_ids: [folder_id, ...others] } : {}),
      thread_id: formatThreadId(thread),
      ...(thread === before.thread ? {} : { left_thread_id: formatThreadId(before.thread) }),
      ...(isThread(sql, before.thread) ? {} : { thread: 'ended' }),
      is_read: before.is_read === 1,
      is_flagged: before.is_flagged === 1,
      labels: listLabels(sql, position),
    },
    now,
  );
}

function rewriteRow(sql: SqlStorage, message: MessageState, parsed: ParsedMessage, sizeBytes: number): number {
  const ids = readReferences(sql, message.position);
  const isMoved = !isPlaceSame(sql, message.position, parsed);
  const thread = isMoved ? reassignThread(sql, message.thread, parsed) : message.thread;
  sql.exec(
    `UPDATE message SET thread = ?, has_attachment = ?, size_bytes = ?, sent_at = ?, sender = ?, to_list = ?, cc_list = ?,
       bcc_list = ?, reply_to_list = ?, subject = ?, preview = ?, in_reply_to = ?, reference_list = ? WHERE position = ?`,
    thread,
    Number(parsed.attachments.length > 0),
    sizeBytes,
    parsed.sentAt,
    JSON.stringify(parsed.from),
    JSON.stringify(parsed.to),
    JSON.stringify(parsed.cc),
    JSON.stringify(parsed.bcc),
    JSON.stringify(parsed.replyTo),
    parsed.subject,
    toPreview(parsed.text.value),
    parsed.inReplyTo,
    JSON.stringify(parsed.references),
    message.position,
  );
  if (isMoved) forgetReferences(sql, message.thread, ids);
  writeContent(sql, message.position, parsed);
  const place = { folders: foldersOf(message), isUnread: message.is_read === 0 };
  updateCounts(sql, { ...place, sizeBytes: message.size_bytes }, { ...place, sizeBytes });
  return thread;
}

/**
 * True if subject and references are unchanged. The draft then keeps its thread, so that saving does not move it to another
 * conversation.
 */
const isPlaceSame = (sql: SqlStorage, position: number, { subject, inReplyTo, references }: ParsedMessage): boolean =>
  first(
    sql,
    'SELECT 1 AS same FROM message WHERE position = ? AND subject = ? AND in_reply_to IS ? AND reference_list = ?',
    position,
    subject,
    inReplyTo,
    JSON.stringify(references),
  ) !== null;

export function readDraft(sql: SqlStorage, messageId: string): Draft | null {
  const message = findDraft(sql, messageId);
  if (!message) return null;
  const row = first<{ content: string; revision: number; updated_at: number }>(
    sql,
    'SELECT content, revision, updated_at FROM draft WHERE position = ?',
    message.position,
  );
  if (!row) return null;
  const content = JSON.parse(row.content) as DraftContent;
  return {
    messageId: message.message_id,
    revision: row.revision,
    updatedAt: row.updated_at,
    content,
    attachments: readUploads(sql, content.attachmentIds),
  };
}

/** Erases a draft and its files. @returns false if the draft does not exist. */
export function deleteDraft(sql: SqlStorage, messageId: string, now: number): boolean {
  const message = findDraft(sql, messageId);
  if (!message) return false;
  eraseMessage(sql, message, now);
  return true;
}

/**
 * Removes the draft and the uploads of a message that is sent. Call it in the transaction that sends.
 * @param draftId null if the message was not written as a draft.
 * @returns false if the draft does not exist; the message must not be sent then.
 */
export function takeDraft(
  sql: SqlStorage,
  draftId: string | null,
  attachmentIds: readonly string[],
  now: number,
): boolean {
  if (draftId !== null && !deleteDraft(sql, draftId, now)) return false;
  dropUploads(sql, attachmentIds, now);
  return true;
}
