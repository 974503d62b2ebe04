/**
 * One user's mailbox. Times are milliseconds since 1970 UTC unless a name says otherwise.
 *
 * `position` is the time of a message's arrival in microseconds since 1970, made unique in the mailbox. It is the row id, so the table is
 * in order of time. The public id (a TIMEUUID) contains the same time, so an id finds its row without an index. The full-text index
 * (`message_search`, FTS5) has the same row ids. It is derived; `search-index-store.ts` creates it because drizzle has no
 * virtual tables.
 */
import { sql } from 'drizzle-orm';
import { blob, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { RecipientState } from '../../../workers/mail/outbound/domain/recipient-state.ts';
import type { FolderRole } from '../contract/delivered-message.ts';

/** The one row about the mailbox as a whole. */
export const mailbox = sqliteTable('mailbox', {
  id: integer('id').primaryKey(),
  userId: text('user_id').notNull(),
  accountType: text('account_type').notNull(),
  limitBytes: integer('limit_bytes').notNull(),
  usedBytes: integer('used_bytes').notNull().default(0),
  /** Changes up to this number were pruned: a client with an older state must reload everything. */
  stateFloor: integer('state_floor').notNull().default(0),
  /** JSON: signature, vacation. */
  settings: text('settings').notNull().default('{}'),
  createdAt: integer('created_at').notNull(),
});

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
  createdAt: integer('created_at').notNull(),
});

export const thread = sqliteTable(
  'thread',
  {
    thread: integer('thread').primaryKey({ autoIncrement: true }),
    /** RFC 5256 §2.1 base subject of its first message. */
    baseSubject: text('base_subject').notNull(),
    /** 1 while it holds only replies that name no parent: a later original of that subject joins it. */
    lacksRoot: integer('lacks_root').notNull(),
    /** The thread that this one was merged into. */
    mergedInto: integer('merged_into'),
  },
  (table) => [index('thread_subject').on(table.baseSubject, table.thread), index('thread_merged').on(table.mergedInto)],
);

/** Every Message-ID that messages of a thread have or name. */
export const threadReference = sqliteTable(
  'thread_reference',
  { reference: text('reference').primaryKey(), thread: integer('thread').notNull() },
  (table) => [index('thread_reference_thread').on(table.thread)],
);

export const message = sqliteTable(
  'message',
  {
    position: integer('position').primaryKey(),
    messageId: text('message_id').notNull(),
    folder: integer('folder').notNull(),
    thread: integer('thread').notNull(),
    /** received | sent | imported | draft */
    origin: text('origin').notNull(),
    isRead: integer('is_read').notNull(),
    isFlagged: integer('is_flagged').notNull(),
    /** 0 in Junk and Trash: not in All, not in Flagged, not in a search that names no folder. */
    isVisible: integer('is_visible').notNull(),
    hasAttachment: integer('has_attachment').notNull(),
    /** When it is erased automatically: 30 days after its move to Junk or Trash. */
    expiresAt: integer('expires_at'),
    sizeBytes: integer('size_bytes').notNull(),
    rawKey: text('raw_key'),
    rawSha256: text('raw_sha256'),
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
  },
  (table) => [
    index('message_folder').on(table.folder, table.position),
    index('message_unread').on(table.folder, table.position).where(sql`is_read = 0`),
    index('message_visible').on(table.position).where(sql`is_visible = 1`),
    index('message_unread_all').on(table.position).where(sql`is_read = 0`),
    index('message_flagged').on(table.position).where(sql`is_flagged = 1`),
    index('message_attachment').on(table.position).where(sql`has_attachment = 1`),
    index('message_thread').on(table.thread, table.position),
    index('message_expires').on(table.expiresAt).where(sql`expires_at IS NOT NULL`),
    index('message_sha256').on(table.rawSha256),
    index('message_size').on(table.sizeBytes),
  ],
);

/** Texts of a message, apart from the row that lists read: kind is text | html | headers. Over 1 MB they are in R2. */
export const messagePart = sqliteTable(
  'message_part',
  {
    position: integer('position').notNull(),
    kind: text('kind').notNull(),
    value: text('value'),
    r2Key: text('r2_key'),
  },
  (table) => [primaryKey({ columns: [table.position, table.kind] })],
);

export const attachment = sqliteTable(
  'attachment',
  {
    position: integer('position').notNull(),
    ordinal: integer('ordinal').notNull(),
    fileName: text('file_name').notNull(),
    contentType: text('content_type').notNull(),
    sizeBytes: integer('size_bytes').notNull(),
    isInline: integer('is_inline').notNull(),
    contentId: text('content_id'),
    r2Key: text('r2_key').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.position, table.ordinal] }),
    uniqueIndex('attachment_name').on(table.position, table.fileName),
  ],
);

export const messageLabel = sqliteTable(
  'message_label',
  { label: text('label').notNull(), position: integer('position').notNull() },
  (table) => [primaryKey({ columns: [table.label, table.position] }), index('label_of_message').on(table.position)],
);

/** Delivery keys and their messages. A row outlives its message, so that a late retry stores nothing. */
export const delivery = sqliteTable(
  'delivery',
  {
    deliveryKey: text('delivery_key').primaryKey(),
    messageId: text('message_id').notNull(),
    deliveredAt: integer('delivered_at').notNull(),
  },
  (table) => [index('delivery_age').on(table.deliveredAt)],
);

/** The change log: one number per change, assigned in the transaction that makes it. */
export const change = sqliteTable(
  'change',
  {
    state: integer('state').primaryKey({ autoIncrement: true }),
    changedAt: integer('changed_at').notNull(),
    /** JSON, as clients receive it. */
    body: text('body').notNull(),
  },
  (table) => [index('change_age').on(table.changedAt)],
);

/** R2 keys without an owner. The alarm deletes the objects in every location. */
export const garbage = sqliteTable('garbage', {
  r2Key: text('r2_key').primaryKey(),
  since: integer('since').notNull(),
});

/** Wakes by name. The object's one alarm is set to the earliest time. */
export const wake = sqliteTable('wake', {
  name: text('name').primaryKey(),
  wakeAt: integer('wake_at'),
  /** Set while the work of the wake runs: when it is due again if it dies. */
  retryAt: integer('retry_at'),
});

/** Files uploaded for a message that is being written. */
export const upload = sqliteTable(
  'upload',
  {
    attachmentId: text('attachment_id').primaryKey(),
    fileName: text('file_name').notNull(),
    contentType: text('content_type').notNull(),
    sizeBytes: integer('size_bytes').notNull(),
    r2Key: text('r2_key').notNull(),
    createdAt: integer('created_at').notNull(),
    /** The draft that holds it. An upload that no draft holds is deleted after a day. */
    draftPosition: integer('draft_position'),
  },
  (table) => [index('upload_draft').on(table.draftPosition), index('upload_age').on(table.createdAt)],
);

/** The content of a draft: JSON of the draft request. The message row is its summary. */
export const draft = sqliteTable('draft', {
  position: integer('position').primaryKey(),
  content: text('content').notNull(),
  revision: integer('revision').notNull(),
  updatedAt: integer('updated_at').notNull(),
});

export const filter = sqliteTable('filter', {
  filterId: text('filter_id').primaryKey(),
  ordinal: integer('ordinal').notNull(),
  /** JSON: name, enabled, match, conditions, actions. */
  rule: text('rule').notNull(),
  createdAt: integer('created_at').notNull(),
});

/** Addresses for automatic forwards. Only confirmed ones are used. */
export const forwardTarget = sqliteTable('forward_target', {
  email: text('email').primaryKey(),
  codeSha256: text('code_sha256'),
  guesses: integer('guesses').notNull().default(0),
  confirmedAt: integer('confirmed_at'),
  createdAt: integer('created_at').notNull(),
});

/** Codes mailed to forward targets in the last day. Rows outlive their target: removing and adding it again must not reset a limit. */
export const forwardInvitation = sqliteTable('forward_invitation', {
  invitationId: integer('invitation_id').primaryKey(),
  email: text('email').notNull(),
  createdAt: integer('created_at').notNull(),
});

/** Recipients of the vacation reply. RFC 3834 §2: the same person gets no second one within days. */
export const vacationReply = sqliteTable('vacation_reply', {
  email: text('email').primaryKey(),
  repliedAt: integer('replied_at').notNull(),
});

/** Automatic mail to be sent (a forward, a vacation reply), written with the message that caused it. */
export const automaticSend = sqliteTable('automatic_send', {
  sendId: integer('send_id').primaryKey({ autoIncrement: true }),
  kind: text('kind').notNull(),
  messageId: text('message_id').notNull(),
  recipient: text('recipient').notNull(),
  envelopeFrom: text('envelope_from').notNull(),
  createdAt: integer('created_at').notNull(),
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

export const contact = sqliteTable(
  'contact',
  {
    email: text('email').primaryKey(),
    contactId: text('contact_id').notNull().unique(),
    name: text('name').notNull(),
    note: text('note').notNull().default(''),
    /** 1: entered by the user; 0: gathered from sent mail. */
    isSaved: integer('is_saved').notNull(),
    sentCount: integer('sent_count').notNull().default(0),
    lastSentAt: integer('last_sent_at'),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [index('contact_use').on(table.sentCount)],
);

/** Senders that the user trusts or blocks. */
export const sender = sqliteTable('sender', {
  /** `ann@x.test`, `@x.test` for a domain, or `<dev.x.test>` for a list. Lower case, domains in A-labels. */
  sender: text('sender').primaryKey(),
  senderId: text('sender_id').notNull().unique(),
  /** trusted | blocked */
  status: text('status').notNull(),
  /** user: entered; mail: by moving a message out of Junk or into it. */
  origin: text('origin').notNull(),
  createdAt: integer('created_at').notNull(),
});

/** Mail accepted for this mailbox: written before the sender receives 250, finished with an outcome. */
export const incoming = sqliteTable(
  'incoming',
  {
    incomingId: text('incoming_id').primaryKey(),
    /** Hash of content and envelope. A sender's retry after a lost 250 has the same hash. */
    contentKey: text('content_key').notNull().unique(),
    acceptedAt: integer('accepted_at').notNull(),
    /** Owned by this row until it has an outcome, then by the message or the quarantine. */
    rawKey: text('raw_key').notNull(),
    sizeBytes: integer('size_bytes').notNull(),
    envelopeFrom: text('envelope_from').notNull(),
    envelopeTo: text('envelope_to').notNull(),
    clientIp: text('client_ip'),
    helo: text('helo'),
    /** smtp | local */
    origin: text('origin').notNull(),
    /** JSON of earlier verdicts: authentication at acceptance, or all verdicts for local mail. */
    verdicts: text('verdicts'),
    attempts: integer('attempts').notNull().default(0),
    /** When it is due; null once it has an outcome. */
    nextAttemptAt: integer('next_attempt_at'),
    leaseUntil: integer('lease_until'),
    /** inbox | junk | folder | quarantine | refused */
    outcome: text('outcome'),
    detail: text('detail'),
    messageId: text('message_id'),
    finishedAt: integer('finished_at'),
  },
  (table) => [
    index('incoming_pending').on(table.nextAttemptAt).where(sql`next_attempt_at IS NOT NULL`),
    index('incoming_finished').on(table.finishedAt),
  ],
);

/** Totals since creation: accepted messages, and each outcome. Accepted is the sum of all outcomes and pending messages. */
export const incomingTotal = sqliteTable('incoming_total', {
  outcome: text('outcome').primaryKey(),
  count: integer('count').notNull(),
});

/** Outgoing mail, one row per message. `kind`: message | forward | vacation | automatic | report. */
export const outbox = sqliteTable(
  'outbox',
  {
    outboxId: text('outbox_id').primaryKey(),
    kind: text('kind').notNull(),
    /** The copy in Sent; null for automatic mail. */
    messageId: text('message_id'),
    headerMessageId: text('header_message_id'),
    rawKey: text('raw_key').notNull(),
    /** 1 if this row owns the bytes, which are then removed with the last recipient. */
    ownsRaw: integer('owns_raw').notNull(),
    sizeBytes: integer('size_bytes').notNull(),
    /** Base64 of the relaxed body's hash, which DKIM signs. */
    bodyHash: text('body_hash').notNull(),
    isEightBit: integer('is_eight_bit').notNull(),
    /** Empty for the null sender. */
    envelopeFrom: text('envelope_from').notNull(),
    queuedAt: integer('queued_at').notNull(),
    holdUntil: integer('hold_until').notNull(),
    /** JSON of the verdicts; null until the spam and virus checks have passed it. */
    verdicts: text('verdicts'),
    warnedAt: integer('warned_at'),
    /** Grows with each change. The operator's tables have `published_version`. */
    version: integer('version').notNull().default(1),
    publishedVersion: integer('published_version').notNull().default(0),
  },
  (table) => [
    index('outbox_message').on(table.messageId),
    index('outbox_header').on(table.headerMessageId),
    index('outbox_queued').on(table.queuedAt),
    index('outbox_unpublished').on(table.outboxId).where(sql`published_version < version`),
  ],
);

export const outboxRecipient = sqliteTable(
  'outbox_recipient',
  {
    outboxId: text('outbox_id').notNull(),
    ordinal: integer('ordinal').notNull(),
    email: text('email').notNull(),
    domain: text('domain').notNull(),
    state: text('state').$type<RecipientState>().notNull(),
    /** When it was last made ready to send. The five days of attempts start here. */
    queuedAt: integer('queued_at').notNull(),
    attempts: integer('attempts').notNull().default(0),
    /** Null once the state is final. */
    nextAttemptAt: integer('next_attempt_at'),
    leaseUntil: integer('lease_until'),
    leaseId: text('lease_id'),
    lastCode: integer('last_code'),
    lastReply: text('last_reply'),
    lastAttemptAt: integer('last_attempt_at'),
    isUncertain: integer('is_uncertain').notNull().default(0),
    isExpired: integer('is_expired').notNull().default(0),
    /** failed | delayed: a report to the sender is due; null otherwise. */
    reportDue: text('report_due'),
    /** The report about this recipient; null until a report was assigned. */
    reportId: text('report_id'),
  },
  (table) => [
    primaryKey({ columns: [table.outboxId, table.ordinal] }),
    index('outbox_recipient_due').on(table.nextAttemptAt).where(sql`next_attempt_at IS NOT NULL`),
    index('outbox_recipient_failed').on(table.queuedAt).where(sql`state = 'failed'`),
    index('outbox_recipient_report').on(table.outboxId).where(sql`report_due IS NOT NULL`),
  ],
);

/** Idempotency keys, and what the first request with each made. */
export const submission = sqliteTable(
  'submission',
  {
    idempotencyKey: text('idempotency_key').primaryKey(),
    requestSha256: text('request_sha256').notNull(),
    outboxId: text('outbox_id').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [index('submission_age').on(table.createdAt)],
);

/** Idempotency keys of submissions over the sending limit, and the draft that each message was kept as. */
export const keptDraft = sqliteTable(
  'kept_draft',
  {
    idempotencyKey: text('idempotency_key').primaryKey(),
    requestSha256: text('request_sha256').notNull(),
    messageId: text('message_id').notNull(),
    /** The revision that was kept. A later one is the user's own edit. */
    revision: integer('revision').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [index('kept_draft_age').on(table.createdAt)],
);

/** Recipients that the account sent to, per minute of the last hour. */
export const sendCount = sqliteTable('send_count', {
  /** Minutes since 1970. */
  minute: integer('minute').primaryKey(),
  recipients: integer('recipients').notNull(),
});

/** Recipients left of what DIRECTORY granted out of the hourly limit of a domain. */
export const domainShare = sqliteTable('domain_share', {
  domain: text('domain').primaryKey(),
  /** Hours since 1970. */
  hour: integer('hour').notNull(),
  recipients: integer('recipients').notNull(),
});
