/** Outgoing mail that waits, or whose failures the operator may retry. `message.delivery` has the last state of each recipient. */
import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/**
 * One row per message. The table needs no index, because rows are deleted when every recipient has a final state. `kind` is
 * `message`, `forward`, `vacation`, `automatic` or `report`.
 */
export const outbox = sqliteTable('outbox', {
  outboxId: text('outbox_id').primaryKey(),
  kind: text('kind').notNull(),
  /** Position of the copy in Sent; null for automatic mail. */
  position: integer('position'),
  headerMessageId: text('header_message_id'),
  rawKey: text('raw_key').notNull(),
  /** 1 if this row owns the raw bytes. They are then deleted once no recipient waits. */
  ownsRaw: integer('owns_raw').notNull(),
  sizeBytes: integer('size_bytes').notNull(),
  /** Base64 of the SHA-256 of the relaxed body, which DKIM signs. */
  bodyHash: text('body_hash').notNull(),
  isEightBit: integer('is_eight_bit').notNull(),
  /** Envelope sender; empty for the null sender. */
  envelopeFrom: text('envelope_from').notNull(),
  queuedAt: integer('queued_at').notNull(),
  holdUntil: integer('hold_until').notNull(),
  /** JSON of the verdicts; null until the spam and virus checks have passed the message. */
  verdicts: text('verdicts'),
  warnedAt: integer('warned_at'),
  /** Recipients with their delivery states, as a JSON list of `OutboxRecipient`. */
  recipients: text('recipients').notNull(),
  /** The earliest time at which a recipient is due or its lease ends; null if none waits. */
  nextAttemptAt: integer('next_attempt_at'),
  /**
   * Number that each change of the row increments. `published_version` is the version that the operator's tables have; 0 if they
   * have none.
   */
  version: integer('version').notNull(),
  publishedVersion: integer('published_version').notNull().default(0),
  /** Time at which to publish the row to the operator's tables; null if it need not be published. */
  publishAt: integer('publish_at'),
});

/**
 * Recipients for whom Cloudflare Email Service accepted a message, so that its delivery events find them. One row per recipient, kept
 * 14 days: the row in `outbox` is gone by then. The key begins with the day, so that old rows are found without another index.
 */
export const acceptedRecipient = sqliteTable(
  'accepted_recipient',
  {
    /** Days since 1970. */
    day: integer('day').notNull(),
    /** Id that the transport returned. */
    reference: text('reference').notNull(),
    /** JSON of `AcceptedDelivery`. */
    delivery: text('delivery').notNull(),
    /** JSON of `OutboxMessage` with this recipient only. From it, a failure is written to `outbox`. */
    message: text('message').notNull(),
  },
  (table) => [primaryKey({ columns: [table.day, table.reference] })],
);

/** Idempotency keys of submissions, with the message that the first request with each key created. */
export const submission = sqliteTable('submission', {
  idempotencyKey: text('idempotency_key').primaryKey(),
  requestSha256: text('request_sha256').notNull(),
  messageId: text('message_id').notNull(),
  createdAt: integer('created_at').notNull(),
});
