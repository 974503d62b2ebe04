/** The row of a message, and its one reader. Every other form of a message is a part of what it reads. */
import { FLAG_COLUMNS, type FlagColumn, toFlags } from '../../../workers/mail/domain/message-flags.ts';
import type { RowOf } from '../../../workers/shared/stores/statement.ts';
import type { MailAddress } from '../contract/delivered-message.ts';
import type { ListedFacts, OpenedFacts } from '../contract/messages.ts';
import type { message } from './schema.ts';
import { formatThreadId } from './thread-store.ts';

export type MessageRow = RowOf<typeof message>;

const STATE = ['position', 'message_id', 'folder', 'also_in', 'thread', 'origin', 'snoozed_until'] as const;
const COUNTED = ['is_visible', 'size_bytes'] as const;
const LISTED = ['thread', 'origin', 'sender', 'to_list', 'subject', 'preview', 'sent_at', 'received_at'] as const;
const MARKED = ['size_bytes', 'snoozed_until', 'has_attachment'] as const;
const OPENED = ['cc_list', 'bcc_list', 'reply_to_list', 'header_message_id', 'in_reply_to', 'reference_list'] as const;

/** Columns that a change of a message reads. */
export type MessageState = Pick<MessageRow, (typeof STATE | typeof COUNTED)[number] | FlagColumn>;
export const STATE_COLUMNS = [...STATE, ...COUNTED, ...FLAG_COLUMNS].join(', ');

export type ListedRow = Pick<MessageRow, (typeof LISTED | typeof MARKED)[number] | FlagColumn>;
/** Columns of `message AS m` that `toListed` reads. */
export const LISTED_COLUMNS = [...LISTED, ...MARKED, ...FLAG_COLUMNS].map((name) => `m.${name}`).join(', ');

export type OpenedRow = Pick<MessageRow, (typeof OPENED)[number] | 'raw_key'>;
/** Columns of `message AS m` that `toOpened` reads. */
export const OPENED_COLUMNS = [...OPENED, 'raw_key'].map((name) => `m.${name}`).join(', ');

/** SQL of the labels of `message AS m`, as a JSON list. */
export const LABELS_SQL = '(SELECT json_group_array(l.label) FROM message_label AS l WHERE l.position = m.position)';

/** Reads what lists show of a message. */
export const toListed = (row: ListedRow): ListedFacts => ({
  threadId: formatThreadId(row.thread),
  from: JSON.parse(row.sender) as MailAddress | null,
  to: JSON.parse(row.to_list) as MailAddress[],
  subject: row.subject,
  preview: row.preview,
  sentAt: row.sent_at,
  receivedAt: row.received_at,
  sizeBytes: row.size_bytes,
  ...toFlags(row),
  hasAttachment: row.has_attachment === 1,
});

/** Reads what an opened message shows beyond a list. */
export const toOpened = (row: OpenedRow): OpenedFacts => ({
  cc: JSON.parse(row.cc_list) as MailAddress[],
  bcc: JSON.parse(row.bcc_list) as MailAddress[],
  replyTo: JSON.parse(row.reply_to_list) as MailAddress[],
  headerMessageId: row.header_message_id,
  inReplyTo: row.in_reply_to,
  references: JSON.parse(row.reference_list) as string[],
  rawKey: row.raw_key,
});
