/** Outgoing mail that has work left, or whose failures the operator may retry. The last state of each recipient is in `message.delivery`. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/**
 * One row per message, and no index: rows are deleted when every recipient has a final state. `kind`: message | forward | vacation
 * | automatic | report.
 */
export const outbox = sqliteTable('outbox', {
  outboxId: text('outbox_id').primaryKey(),
  kind: text('kind').notNull(),
  /** The copy in Sent; null for automatic mail. */
  position: integer('position'),
  headerMessageId: text('header_message_id'),
  rawKey: text('raw_key').notNull(),
  /** 1 if this row owns the bytes. They are then deleted when no recipient waits. */
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
  /** JSON list of `OutboxRecipient`. */
  recipients: text('recipients').notNull(),
  /** The earliest time that a recipient is due or its lease ends; null if none waits. */
  nextAttemptAt: integer('next_attempt_at'),
  /** Incremented by each change. The operator's tables have `published_version`; 0 if they have none. */
  version: integer('version').notNull(),
  publishedVersion: integer('published_version').notNull().default(0),
  /** Time at which to publish it to the operator's tables; null if that is not needed. */
  publishAt: integer('publish_at'),
});

/** Idempotency keys, and the message that the first request with each key created. */
export const submission = sqliteTable('submission', {
  idempotencyKey: text('idempotency_key').primaryKey(),
  requestSha256: text('request_sha256').notNull(),
  messageId: text('message_id').notNull(),
  createdAt: integer('created_at').notNull(),
});
