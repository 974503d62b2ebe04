/** Converts rows of a mailbox to JSON. */

import type { FolderRow } from '../../../durable-objects/mail/contract/folders.ts';
import type {
  DeliveryState,
  MessageDetail,
  MessageSummary,
  TextRow,
} from '../../../durable-objects/mail/contract/messages.ts';

import { ANSWER_BYTES_MAX, measureJson } from '../../shared/pure/request-budget.ts';
import { getBlob } from '../bindings/blobs.ts';
import { isCutText } from '../domain/cut-text.ts';
import { readListId } from '../domain/list-query.ts';
import { toFlagJson } from '../domain/message-flags.ts';
import { isDelayed } from '../domain/recipient-state.ts';
import { HIDDEN_RECIPIENT, readImportance } from '../domain/written-fields.ts';
import { showRemoteImages } from '../mime/clean-html.ts';
import { findUnsubscribe } from '../outbound/leave-list.ts';
import type { Folder, Message, Summary } from '../schemas/message.ts';
import { toTime } from './route.ts';

export const toFolderJson = (row: FolderRow, userId: string): Folder => ({
  id: row.folder_id,
  name: row.name,
  user_id: userId,
  role: row.role,
  unread: row.unread,
  total: row.total,
});

export const toSummaryJson = (message: MessageSummary, userId: string, snippet?: string): Summary => ({
  id: message.messageId,
  user_id: userId,
  email_id: message.messageId,
  thread_id: message.threadId,
  folder_id: message.folderId,
  from: message.from,
  to: [...message.to],
  date: toTime(message.sentAt ?? message.receivedAt),
  received_at: toTime(message.receivedAt),
  subject: message.subject,
  preview: message.preview,
  size: message.sizeBytes,
  ...toFlagJson(message),
  snoozed_until: message.snoozedUntil === null ? null : toTime(message.snoozedUntil),
  is_draft: message.origin === 'draft',
  has_attachments: message.hasAttachment,
  labels: [...message.labels],
  ...(snippet === undefined ? {} : { snippet }),
});

/** Part of the budget of an answer that is kept for what is not text: a header has at most a megabyte. */
const FIELDS_BYTES = 2_000_000;

/**
 * Converts a message to JSON. Bodies over 1 MB are read from R2. If both bodies exceed the budget of an answer, HTML is left out and the
 * text is cut.
 */
export async function toMessageJson(
  env: Env,
  message: MessageDetail,
  userId: string,
  withRemoteImages = false,
): Promise<Message> {
  const [text, foundHtml] = await Promise.all([
    readText(env, message.text),
    message.html ? readText(env, message.html) : null,
  ]);
  const shownHtml = foundHtml !== null && withRemoteImages ? showRemoteImages(foundHtml) : foundHtml;
  const { body, html } = fitBodies(text, shownHtml);
  const isOwn = message.origin === 'sent' || message.origin === 'draft';
  return {
    ...toSummaryJson(message, userId),
    cc: [...message.cc],
    ...(isOwn ? { bcc: [...message.bcc] } : {}),
    reply_to: [...message.replyTo],
    importance: readImportance(message.headers),
    unsubscribe: findUnsubscribe(env, message),
    list_id: readListId(message.headers),
    delivered_to: message.headers.findLast(({ name }) => name === HIDDEN_RECIPIENT)?.value ?? null,
    body,
    html,
    ...(body === text && html === shownHtml && !isCutText(text) ? {} : { is_truncated: true }),
    headers: {
      message_id: message.headerMessageId,
      in_reply_to: message.inReplyTo,
      references: [...message.references],
    },
    attachments: message.attachments.map((attachment) => ({
      file_name: attachment.fileName,
      content_type: attachment.contentType,
      size: attachment.sizeBytes,
      inline: attachment.isInline,
      content_id: attachment.contentId,
    })),
    authentication: readVerdicts(message.authentication),
    spam: readVerdicts(message.spam),
    ...(message.origin === 'sent' ? { delivery: message.delivery.map(toDeliveryJson) } : {}),
  };
}

const readVerdicts = (json: string | null) => (json === null ? null : (JSON.parse(json) as Record<string, unknown>));

export const toDeliveryJson = (state: DeliveryState) => ({
  email: state.email,
  state: state.state,
  ...(state.nextAttemptAt === null ? {} : { next_attempt_at: toTime(state.nextAttemptAt) }),
  ...(state.lastReply === null ? {} : { last_reply: state.lastReply }),
  ...(state.isUncertain ? { uncertain: true } : {}),
  ...(isDelayed(state) ? { delayed: true } : {}),
});

/** Fits the bodies of a message into an answer. @returns the bodies; no HTML if it does not fit, and as much of the text as fits. */
function fitBodies(text: string, html: string | null): { readonly body: string; readonly html: string | null } {
  const bytesMax = ANSWER_BYTES_MAX - FIELDS_BYTES;
  const textBytes = measureJson(text, bytesMax);
  const isWhole = textBytes !== null && measureJson(html, bytesMax - textBytes) !== null;
  if (isWhole) return { body: text, html };
  // An escaped character has at most six bytes.
  const body = textBytes === null ? text.slice(0, bytesMax / 6).toWellFormed() : text;
  return { body, html: null };
}

/** Reads a text. Of a text that does not fit into an answer, one byte more than fits is read. */
async function readText(env: Env, text: TextRow): Promise<string> {
  if (text.r2Key === null) return text.value ?? '';
  const blob = await getBlob(env, text.r2Key, { offset: 0, length: ANSWER_BYTES_MAX + 1 });
  if (!blob) throw new Error(`a body is missing in every location: ${text.r2Key}`);
  return blob.text();
}
