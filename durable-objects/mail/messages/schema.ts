/** Tables of messages, their folders, threads and labels, and of uploads, drafts and senders. */

import { sql } from 'drizzle-orm';
import { blob, index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { FolderRole } from '../contract/folders.ts';

export const folder = sqliteTable('folder', {
  folder: integer('folder').primaryKey({ autoIncrement: true }),
  folderId: text('folder_id').notNull().unique(),
  /** Whole path of the folder, with parts joined by "/". */
  name: text('name').notNull(),
  /** The path after folding case, width and composition. No two folders have the same key. */
  nameKey: text('name_key').notNull().unique(),
  role: text('role').$type<FolderRole>().unique(),
  total: integer('total').notNull().default(0),
  unread: integer('unread').notNull().default(0),
  /**
   * Part of `total` and `unread`: messages whose first folder is another one. The counts of All omit them, so that no message
   * counts twice.
   */
  totalElsewhere: integer('total_elsewhere').notNull().default(0),
  unreadElsewhere: integer('unread_elsewhere').notNull().default(0),
  /** Total size of the messages whose first folder this is. */
  bytes: integer('bytes').notNull().default(0),
  /** For mail clients (RFC 8621 §2): position among the folders, and whether to show the folder. */
  sortOrder: integer('sort_order').notNull().default(0),
  isSubscribed: integer('is_subscribed').notNull().default(1),
  /** Number of accepted messages that were ever delivered to the folder. */
  delivered: integer('delivered').notNull().default(0),
  createdAt: integer('created_at').notNull(),
  /** A number above every UID that the folder ever had. It changes only when a message is placed in the folder. */
  uidNext: integer('uid_next').notNull().default(1),
});

/** The parts of a message that lists and searches read. A thread has no row; its number is the position of its first message. */
export const message = sqliteTable(
  'message',
  {
    position: integer('position').primaryKey(),
    messageId: text('message_id').notNull(),
    folder: integer('folder').notNull(),
    /** JSON list of the message's folders other than `folder`; null for none. */
    alsoIn: text('also_in'),
    thread: integer('thread').notNull(),
    /** Origin of the message: `received`, `sent`, `imported` or `draft`. */
    origin: text('origin').notNull(),
    isRead: integer('is_read').notNull(),
    isFlagged: integer('is_flagged').notNull(),
    isAnswered: integer('is_answered').notNull().default(0),
    isForwarded: integer('is_forwarded').notNull().default(0),
    /**
     * 0 if the message is only in Junk or Trash. It is then not in All, not in Flagged, and not in a search that names no
     * folder.
     */
    isVisible: integer('is_visible').notNull(),
    hasAttachment: integer('has_attachment').notNull(),
    /** Time at which the message returns to the Inbox; null unless it is snoozed. */
    snoozedUntil: integer('snoozed_until'),
    /** Time at which the message is erased automatically: 30 days after its move to Junk or Trash. Null elsewhere. */
    expiresAt: integer('expires_at'),
    sizeBytes: integer('size_bytes').notNull(),
    rawKey: text('raw_key'),
    rawSha256: text('raw_sha256'),
    /** Identifies the delivery that created the message. The same bytes with the same key are stored only once. */
    deliveryKey: text('delivery_key'),
    receivedAt: integer('received_at').notNull(),
    sentAt: integer('sent_at'),
    /** JSON {name, email} or null. The next four columns are JSON lists of {name, email}. */
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
    /** JSON list of `DeliveryState` of a sent message, written once no recipient waits; otherwise null. */
    delivery: text('delivery'),
  },
  (table) => [
    // Index for the view All, and for searches in a window of time.
    index('message_visible').on(table.position).where(sql`is_visible = 1`),
    index('message_unread').on(table.position).where(sql`is_read = 0`),
    index('message_flagged').on(table.position).where(sql`is_flagged = 1`),
    index('message_attachment').on(table.position).where(sql`has_attachment = 1`),
    index('message_thread').on(table.thread, table.position),
    index('message_expires').on(table.expiresAt).where(sql`expires_at IS NOT NULL`),
    index('message_snoozed').on(table.snoozedUntil).where(sql`snoozed_until IS NOT NULL`),
    // Index to recognise a repeated delivery, and an imported message that the mailbox has already.
    index('message_sha256').on(table.rawSha256),
  ],
);

/**
 * The folders of each message, one row per folder. The table takes the place of an index on `message.folder`, with the same number
 * of rows unless a message is in several folders.
 */
export const messageFolder = sqliteTable(
  'message_folder',
  {
    folder: integer('folder').notNull(),
    position: integer('position').notNull(),
    /**
     * UID of the message in this folder: the number of the change that placed it. Null for a placing by 0.2.0, which gets one when
     * a mail program first looks.
     */
    uid: integer('uid'),
    /** 1 if a mail program marked the message for removal from this folder. */
    isDeleted: integer('is_deleted').notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.folder, table.position] })],
);

/**
 * The parts of a message that lists do not read. They are in a table of their own, because each change of a flag rewrites the
 * message row. Long columns are last, so that a read can stop before them.
 */
export const messageContent = sqliteTable('message_content', {
  position: integer('position').primaryKey(),
  /** Attachments, as a JSON list of `StoredAttachment`. */
  attachments: text('attachments').notNull(),
  /** R2 keys of the text and the HTML if these are too long for a row; otherwise null. */
  textKey: text('text_key'),
  htmlKey: text('html_key'),
  /** JSON list of all headers as {name, value}. */
  headers: text('headers').notNull(),
  text: text('text').notNull(),
  html: text('html'),
  /** The tree of the message's parts as JSON of `StoredPart`; null if it is too long, or was not read at the arrival. */
  structure: text('structure'),
});

/** Muted threads: their new messages skip the Inbox. */
export const mutedThread = sqliteTable('muted_thread', {
  thread: integer('thread').primaryKey(),
  mutedAt: integer('muted_at').notNull(),
});

/** The thread of each Message-ID that one of its messages has or refers to. */
export const threadReference = sqliteTable('thread_reference', {
  reference: text('reference').primaryKey(),
  thread: integer('thread').notNull(),
});

export const messageLabel = sqliteTable(
  'message_label',
  { label: text('label').notNull(), position: integer('position').notNull() },
  (table) => [primaryKey({ columns: [table.label, table.position] }), index('label_of_message').on(table.position)],
);

/** Delivery keys of received messages that were erased. A late retry of the sender is recognised by its key and stores nothing. */
export const erasedDelivery = sqliteTable('erased_delivery', {
  deliveryKey: text('delivery_key').primaryKey(),
  messageId: text('message_id').notNull(),
  erasedAt: integer('erased_at').notNull(),
});

/** Files uploaded for a message that is being written. At most a thousand rows. */
export const upload = sqliteTable('upload', {
  attachmentId: text('attachment_id').primaryKey(),
  fileName: text('file_name').notNull(),
  contentType: text('content_type').notNull(),
  sizeBytes: integer('size_bytes').notNull(),
  r2Key: text('r2_key').notNull(),
  createdAt: integer('created_at').notNull(),
  /** Position of the draft that contains this upload. Null if no draft does; the upload is then deleted after a day. */
  draftPosition: integer('draft_position'),
});

/** The content of each draft, as JSON of the draft request. The message row is a summary of it. */
export const draft = sqliteTable('draft', {
  position: integer('position').primaryKey(),
  content: text('content').notNull(),
  revision: integer('revision').notNull(),
  updatedAt: integer('updated_at').notNull(),
  /** Revision that the draft's UID belongs to. A mail program that sees a later revision gets it under a new UID. */
  uidRevision: integer('uid_revision'),
});

/** Messages that the user moved into or out of Junk. Each row is deleted once the spam model has been trained with it. */
export const spamLesson = sqliteTable('spam_lesson', {
  messageId: text('message_id').primaryKey(),
  /** Class that the spam model learns for the message: `junk` or `ham`. */
  label: text('label').notNull(),
});

/** The user's own spam model: one row. `trainUserModel` of the checks makes the model, at most 120,001 bytes. */
export const spamModel = sqliteTable('spam_model', {
  id: integer('id').primaryKey(),
  model: blob('model').notNull(),
});

/** Senders that the user trusts or blocks. */
export const sender = sqliteTable('sender', {
  /**
   * Key of the sender: `ann@x.test`, `@x.test` for a domain, or `<dev.x.test>` for a list. In lower case, with domains in
   * A-labels.
   */
  sender: text('sender').primaryKey(),
  senderId: text('sender_id').notNull(),
  /** Status of the sender: `trusted` or `blocked`. */
  status: text('status').notNull(),
  /** `user`: the user entered the sender. `mail`: the user moved a message out of Junk or into it. */
  origin: text('origin').notNull(),
  createdAt: integer('created_at').notNull(),
});

/** Idempotency keys of submissions over the sending limit, with the draft in which each message was kept. */
export const keptDraft = sqliteTable('kept_draft', {
  idempotencyKey: text('idempotency_key').primaryKey(),
  requestSha256: text('request_sha256').notNull(),
  messageId: text('message_id').notNull(),
  /** Revision of the draft when the message was kept. If the draft has a later revision, the user has edited it. */
  revision: integer('revision').notNull(),
  createdAt: integer('created_at').notNull(),
});
