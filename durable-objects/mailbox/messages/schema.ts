/** Messages, the folders, threads and labels they are in, and files that wait for a message. */
import { sql } from 'drizzle-orm';
import { blob, index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { FolderRole } from '../contract/delivered-message.ts';

export const folder = sqliteTable('folder', {
  folder: integer('folder').primaryKey({ autoIncrement: true }),
  folderId: text('folder_id').notNull().unique(),
  /** The whole path, parts joined by "/". */
  name: text('name').notNull(),
  /** The folded name. Two names with the same key are the same name. */
  nameKey: text('name_key').notNull().unique(),
  role: text('role').$type<FolderRole>().unique(),
  total: integer('total').notNull().default(0),
  unread: integer('unread').notNull().default(0),
  /**
   * Messages of these counts whose first folder is another one. The counts of All leave them out, so that they are not counted
   * twice.
   */
  totalElsewhere: integer('total_elsewhere').notNull().default(0),
  unreadElsewhere: integer('unread_elsewhere').notNull().default(0),
  /** Size of the messages whose first folder it is. */
  bytes: integer('bytes').notNull().default(0),
  /** For mail clients (RFC 8621 §2): the order of the folders, and whether to show the folder. */
  sortOrder: integer('sort_order').notNull().default(0),
  isSubscribed: integer('is_subscribed').notNull().default(1),
  /** Accepted messages that were delivered to it, ever. */
  delivered: integer('delivered').notNull().default(0),
  createdAt: integer('created_at').notNull(),
});

/**
 * The parts of messages that lists and searches read. A thread has no row: its number is the position of the message that began it.
 */
export const message = sqliteTable(
  'message',
  {
    position: integer('position').primaryKey(),
    messageId: text('message_id').notNull(),
    folder: integer('folder').notNull(),
    /** JSON list of the other folders of the message; null for none. */
    alsoIn: text('also_in'),
    thread: integer('thread').notNull(),
    /** received | sent | imported | draft */
    origin: text('origin').notNull(),
    isRead: integer('is_read').notNull(),
    isFlagged: integer('is_flagged').notNull(),
    isAnswered: integer('is_answered').notNull().default(0),
    isForwarded: integer('is_forwarded').notNull().default(0),
    /** 0 if it is in Junk or Trash only: not in All, not in Flagged, not in a search that names no folder. */
    isVisible: integer('is_visible').notNull(),
    hasAttachment: integer('has_attachment').notNull(),
    /** Time at which it returns to the Inbox; null unless it is snoozed. */
    snoozedUntil: integer('snoozed_until'),
    /** Time at which it is erased automatically: 30 days after its move to Junk or Trash. */
    expiresAt: integer('expires_at'),
    sizeBytes: integer('size_bytes').notNull(),
    rawKey: text('raw_key'),
    rawSha256: text('raw_sha256'),
    /** Identifies the delivery that created it. The same bytes with the same key are stored once. */
    deliveryKey: text('delivery_key'),
    receivedAt: integer('received_at').notNull(),
    sentAt: integer('sent_at'),
    /** JSON {name, email} | null, then JSON lists of them. */
    sender: text('sender').notNull(),
    toList: text('to_list').notNull(),
    ccList: text('cc_list').notNull(),
    bccList: text('bcc_list').notNull(),
    replyToList: text('reply_to_list').notNull(),
    subject: text('subject').notNull(),
    preview: text('preview').notNull(),
    headerMessageId: text('header_message_id'),
    inReplyTo: text('in_reply_to'),
    referenceList: text('reference_list').notNull(),
    authentication: text('authentication'),
    spam: text('spam'),
    /** JSON list of `DeliveryState`, once no recipient waits; null unless it was sent. */
    delivery: text('delivery'),
  },
  (table) => [
    // For the view All, and for searches in a window of time.
    index('message_visible').on(table.position).where(sql`is_visible = 1`),
    index('message_unread').on(table.position).where(sql`is_read = 0`),
    index('message_flagged').on(table.position).where(sql`is_flagged = 1`),
    index('message_attachment').on(table.position).where(sql`has_attachment = 1`),
    index('message_thread').on(table.thread, table.position),
    index('message_expires').on(table.expiresAt).where(sql`expires_at IS NOT NULL`),
    index('message_snoozed').on(table.snoozedUntil).where(sql`snoozed_until IS NOT NULL`),
    // Recognises a repeated delivery and a message that is imported again.
    index('message_sha256').on(table.rawSha256),
  ],
);

/** Serves as the index on `message.folder`, at the same number of rows. */
export const messageFolder = sqliteTable(
  'message_folder',
  { folder: integer('folder').notNull(), position: integer('position').notNull() },
  (table) => [primaryKey({ columns: [table.folder, table.position] })],
);

/**
 * The rest of a message. It is separate from the row that lists read and flags rewrite. The long columns are last, so that a read
 * can stop before them.
 */
export const messageContent = sqliteTable('message_content', {
  position: integer('position').primaryKey(),
  /** JSON list of `StoredAttachment`. */
  attachments: text('attachments').notNull(),
  /** R2 keys of texts that are too long for a row. */
  textKey: text('text_key'),
  htmlKey: text('html_key'),
  /** JSON list of {name, value}. */
  headers: text('headers').notNull(),
  text: text('text').notNull(),
  html: text('html'),
});

/** Threads whose new messages skip the Inbox. */
export const mutedThread = sqliteTable('muted_thread', {
  thread: integer('thread').primaryKey(),
  mutedAt: integer('muted_at').notNull(),
});

/** Each Message-ID that messages of a thread have or name. */
export const threadReference = sqliteTable('thread_reference', {
  reference: text('reference').primaryKey(),
  thread: integer('thread').notNull(),
});

export const messageLabel = sqliteTable(
  'message_label',
  { label: text('label').notNull(), position: integer('position').notNull() },
  (table) => [primaryKey({ columns: [table.label, table.position] }), index('label_of_message').on(table.position)],
);

/** Delivery keys of received messages that were erased, so that a late retry stores nothing. */
export const erasedDelivery = sqliteTable('erased_delivery', {
  deliveryKey: text('delivery_key').primaryKey(),
  messageId: text('message_id').notNull(),
  erasedAt: integer('erased_at').notNull(),
});

/** Files uploaded for a message that is being written. At most a thousand. */
export const upload = sqliteTable('upload', {
  attachmentId: text('attachment_id').primaryKey(),
  fileName: text('file_name').notNull(),
  contentType: text('content_type').notNull(),
  sizeBytes: integer('size_bytes').notNull(),
  r2Key: text('r2_key').notNull(),
  createdAt: integer('created_at').notNull(),
  /** The draft that holds it. An upload that no draft holds is deleted after a day. */
  draftPosition: integer('draft_position'),
});

/** The content of a draft: JSON of the draft request. The message row is its summary. */
export const draft = sqliteTable('draft', {
  position: integer('position').primaryKey(),
  content: text('content').notNull(),
  revision: integer('revision').notNull(),
  updatedAt: integer('updated_at').notNull(),
});

/** Messages that the user moved into or out of Junk, until the spam model is trained with them. */
export const spamLesson = sqliteTable('spam_lesson', {
  messageId: text('message_id').primaryKey(),
  /** junk | ham */
  label: text('label').notNull(),
});

/** The user's own spam model, one row, made by `trainUserModel` of the checks. At most 120,001 bytes. */
export const spamModel = sqliteTable('spam_model', {
  id: integer('id').primaryKey(),
  model: blob('model').notNull(),
});

/** Senders that the user trusts or blocks. */
export const sender = sqliteTable('sender', {
  /** `ann@x.test`, `@x.test` for a domain, or `<dev.x.test>` for a list. Lower case, domains in A-labels. */
  sender: text('sender').primaryKey(),
  senderId: text('sender_id').notNull(),
  /** trusted | blocked */
  status: text('status').notNull(),
  /** user: entered; mail: by moving a message out of Junk or into it. */
  origin: text('origin').notNull(),
  createdAt: integer('created_at').notNull(),
});

/** Idempotency keys of submissions over the sending limit, and the draft that each message was kept as. */
export const keptDraft = sqliteTable('kept_draft', {
  idempotencyKey: text('idempotency_key').primaryKey(),
  requestSha256: text('request_sha256').notNull(),
  messageId: text('message_id').notNull(),
  /** Revision of the draft when the message was kept. A later revision means that the user edited the draft. */
  revision: integer('revision').notNull(),
  createdAt: integer('created_at').notNull(),
});
