/** Outgoing mail. */
import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { RecipientState } from '../../../workers/mail/outbound/domain/recipient-state.ts';

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
