/** Tables of domains in DIRECTORY: hosted domains, and routes of mail to other domains. */
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

export const mailDomain = sqliteTable(
  'mail_domain',
  {
    domain: text('domain').primaryKey(),
    /** 1 if the domain is hosted; 0 if the row is only a route. */
    isHosted: integer('is_hosted').notNull(),
    /** Main domain, whose addresses receive the mail of this domain; null if this domain has addresses of its own. */
    aliasOf: text('alias_of'),
    /** User who receives mail for unknown addresses (the catch-all); null if such mail is refused. */
    catchAllUserId: text('catch_all_user_id'),
    /**
     * Transport to the domain: `smtp://…`, `smtps://…` or `email-service`. Sealed if it has a password. Null for the default
     * transport.
     */
    transport: text('transport'),
    /** 1 if mail to the domain is held. */
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
    /** Algorithm of the DKIM key: `rsa-sha256` or `ed25519-sha256`. */
    algorithm: text('algorithm').notNull(),
    publicKey: text('public_key').notNull(),
    /** The private DKIM key, sealed with MASTER_KEY. */
    privateKeySealed: text('private_key_sealed').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.domain, table.selector] })],
);

/**
 * Number of recipients that mailboxes were granted: in an hour, from the limit of a hosted domain; in a month, from the limit of the
 * installation (`month`). A row `events:<domain>` says since which hour a delivery event of a domain is awaited.
 */
export const mailSendGrant = sqliteTable('mail_send_grant', {
  /** A domain, `month` or `events:<domain>`. */
  domain: text('domain').primaryKey(),
  /**
   * The period that `recipients` counts, in hours since 1970; of the row `month`, in months. In a later period, the count starts again
   * at 0.
   */
  hour: integer('hour').notNull(),
  recipients: integer('recipients').notNull(),
});

/** Queued recipients of all outboxes, as the mailboxes last reported. One row per message and destination. */
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

/**
 * The error queue: mail that failed basic validation, was stopped by a check, or could not be delivered. The operator can retry it.
 */
export const mailError = sqliteTable(
  'mail_error',
  {
    errorId: text('error_id').primaryKey(),
    userId: text('user_id').notNull(),
    /** Why the message is in the error queue: `validation`, `virus`, `spam`, `delivery`, `complaint` or `sending`. */
    kind: text('kind').notNull(),
    code: text('code').notNull(),
    detail: text('detail').notNull(),
    /** JSON list of the recipients' addresses. */
    recipients: text('recipients').notNull(),
    /** Id of the outbox message; null if the message did not reach the outbox. */
    outboxId: text('outbox_id'),
    /** R2 key of a refused request, for a retry; null for other errors. */
    requestKey: text('request_key'),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [index('mail_error_age').on(table.createdAt), index('mail_error_user').on(table.userId)],
);

/** Totals of accepted mail and its outcomes per mailbox, as the mailbox last reported. */
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

/** Numbers of refused recipients, by UTC day and reply. */
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
    /** Reasons for the quarantine: the virus verdict as JSON. */
    reasons: text('reasons').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [index('mail_quarantine_age').on(table.createdAt), index('mail_quarantine_user').on(table.userId)],
);
