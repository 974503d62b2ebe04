/** Converts rows of a mailbox to JSON. */

import type { FolderRow } from '../../../durable-objects/mail/contract/folders.ts';
import type {
  DeliveryState,
  MessageDetail,
  MessageSummary,
  TextRow,
} from '../../../durable-objects/mail/contract/messages.ts';

import { getBlob } from '../bindings/blobs.ts';
import { readListId } from '../domain/list-query.ts';
import { toFlagJson } from '../domain/message-flags.ts';
import { isDelayed } from '../domain/recipient-state.ts';
import { readImportance } from '../domain/written-fields.ts';
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

/** Converts a message to JSON. Bodies over 1 MB are read from R2. */
export async function toMessageJson(
  env: Env,
  message: MessageDetail,
  userId: string,
  withRemoteImages = false,
): Promise<Message> {
  const [body, html] = await Promise.all([
    readText(env, message.text),
    message.html ? readText(env, message.html) : null,
  ]);
  const isOwn = message.origin === 'sent' || message.origin === 'draft';
  return {
    ...toSummaryJson(message, userId),
    cc: [...message.cc],
    ...(isOwn ? { bcc: [...message.bcc] } : {}),
    reply_to: [...message.replyTo],
    importance: readImportance(message.headers),
    unsubscribe: findUnsubscribe(env, message),
    list_id: readListId(message.headers),
    body,
    html: html !== null && withRemoteImages ? showRemoteImages(html) : html,
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

async function readText(env: Env, text: TextRow): Promise<string> {
  if (text.r2Key === null) return text.value ?? '';
  const blob = await getBlob(env, text.r2Key);
  if (!blob) throw new Error(`a body is missing in every location: ${text.r2Key}`);
  return blob.text();
}
