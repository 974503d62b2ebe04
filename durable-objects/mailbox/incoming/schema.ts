/** Accepted mail that has no outcome yet. */
import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

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
