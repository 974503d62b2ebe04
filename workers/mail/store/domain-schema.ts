/** Domains in DIRECTORY: hosted domains, and routes of mail to others. */
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

export const mailDomain = sqliteTable(
  'mail_domain',
  {
    domain: text('domain').primaryKey(),
    /** 1: hosted. 0: a route only. */
    isHosted: integer('is_hosted').notNull(),
    /** Hosted domain whose addresses receive the mail of this one; null if its own addresses do. */
    aliasOf: text('alias_of'),
    /** The user who receives mail for unknown addresses; null if such mail is refused. */
    catchAllUserId: text('catch_all_user_id'),
    /** `smtp://…`, `smtps://…` or `email-service`, with the password sealed; null for the default transport. */
    transport: text('transport'),
    /** 1: mail to the domain is held. */
    isHeld: integer('is_held').notNull().default(0),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [index('mail_domain_alias').on(table.aliasOf)],
);

export const mailDkimKey = sqliteTable(
  'mail_dkim_key',
  {
    domain: text('domain').notNull(),
    selector: text('selector').notNull(),
    /** rsa-sha256 | ed25519-sha256 */
    algorithm: text('algorithm').notNull(),
    publicKey: text('public_key').notNull(),
    /** Sealed with MASTER_KEY. */
    privateKeySealed: text('private_key_sealed').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.domain, table.selector] })],
);

/** Recipients that mailboxes were granted in an hour out of the limit of a hosted domain. */
export const mailSendGrant = sqliteTable('mail_send_grant', {
  domain: text('domain').primaryKey(),
  /** Hours since 1970. The count starts again at 0 in a later hour. */
  hour: integer('hour').notNull(),
  recipients: integer('recipients').notNull(),
});

/** Queued recipients of all outboxes, as last reported by their mailboxes. One row per message and destination. */
export const mailQueue = sqliteTable(
  'mail_queue',
  {
    outboxId: text('outbox_id').notNull(),
    destination: text('destination').notNull(),
    userId: text('user_id').notNull(),
    kind: text('kind').notNull(),
    sizeBytes: integer('size_bytes').notNull(),
    queuedAt: integer('queued_at').notNull(),
    held: integer('held').notNull(),
    queued: integer('queued').notNull(),
    deferred: integer('deferred').notNull(),
    nextAttemptAt: integer('next_attempt_at'),
    lastReply: text('last_reply'),
  },
  (table) => [
    primaryKey({ columns: [table.outboxId, table.destination] }),
    index('mail_queue_destination').on(table.destination),
    index('mail_queue_user').on(table.userId),
  ],
);

/** The error queue: mail that failed basic validation, was stopped by a check, or could not be delivered. */
export const mailError = sqliteTable(
  'mail_error',
  {
    errorId: text('error_id').primaryKey(),
    userId: text('user_id').notNull(),
    /** validation | virus | spam | delivery */
    kind: text('kind').notNull(),
    code: text('code').notNull(),
    detail: text('detail').notNull(),
    /** JSON array of addresses. */
    recipients: text('recipients').notNull(),
    /** Set for a message that reached the outbox. */
    outboxId: text('outbox_id'),
    /** R2 key of the refused request, for a retry. */
    requestKey: text('request_key'),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [index('mail_error_age').on(table.createdAt), index('mail_error_user').on(table.userId)],
);

/** Accepted mail and its outcomes per mailbox, as last reported by the mailbox. */
export const mailLedger = sqliteTable('mail_ledger', {
  userId: text('user_id').primaryKey(),
  accepted: integer('accepted').notNull(),
  pending: integer('pending').notNull(),
  deferred: integer('deferred').notNull(),
  oldestPendingAt: integer('oldest_pending_at'),
  inbox: integer('inbox').notNull(),
  junk: integer('junk').notNull(),
  folder: integer('folder').notNull(),
  quarantine: integer('quarantine').notNull(),
  refused: integer('refused').notNull(),
});

/** Refused recipients by UTC day and reply. */
export const mailRefusal = sqliteTable(
  'mail_refusal',
  {
    day: text('day').notNull(),
    smtpCode: integer('smtp_code').notNull(),
    reason: text('reason').notNull(),
    count: integer('count').notNull(),
  },
  (table) => [primaryKey({ columns: [table.day, table.smtpCode, table.reason] })],
);

export const mailQuarantine = sqliteTable(
  'mail_quarantine',
  {
    incomingId: text('incoming_id').primaryKey(),
    userId: text('user_id').notNull(),
    envelopeFrom: text('envelope_from').notNull(),
    envelopeTo: text('envelope_to').notNull(),
    subject: text('subject').notNull(),
    sizeBytes: integer('size_bytes').notNull(),
    /** JSON: the virus verdict. */
    reasons: text('reasons').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [index('mail_quarantine_age').on(table.createdAt), index('mail_quarantine_user').on(table.userId)],
);
