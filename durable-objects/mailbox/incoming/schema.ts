/** Accepted mail that has no outcome yet, and mail in quarantine. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/**
 * Written before the sender receives 250. The row is deleted in the transaction that stores the message, and its content key
 * becomes the message's delivery key. So the table is short and needs no index.
 */
export const incoming = sqliteTable('incoming', {
  incomingId: text('incoming_id').primaryKey(),
  /** Hash of content and envelope. A sender's retry after a lost 250 has the same hash. */
  contentKey: text('content_key').notNull(),
  acceptedAt: integer('accepted_at').notNull(),
  /** Object of this row until the message owns it. */
  rawKey: text('raw_key').notNull(),
  sizeBytes: integer('size_bytes').notNull(),
  envelopeFrom: text('envelope_from').notNull(),
  envelopeTo: text('envelope_to').notNull(),
  /** The address or wildcard of the account that received it; the envelope's recipient if the domain's catch-all did. */
  deliveredTo: text('delivered_to').notNull(),
  clientIp: text('client_ip'),
  helo: text('helo'),
  /** smtp | local */
  origin: text('origin').notNull(),
  /** JSON of earlier verdicts: authentication at acceptance, or all verdicts for local mail. */
  verdicts: text('verdicts'),
  /** Attempts that failed. */
  attempts: integer('attempts').notNull().default(0),
  /** When it is due; null in quarantine. */
  nextAttemptAt: integer('next_attempt_at'),
  /** Why the last attempt failed. */
  detail: text('detail'),
});
