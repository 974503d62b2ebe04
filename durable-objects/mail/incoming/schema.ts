/** Accepted mail that has no outcome yet, and mail in quarantine. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/**
 * Accepted messages. A row is written before the sender receives 250. The transaction that stores the message deletes the row; the
 * message's delivery key is made from the content key. So the table is short and needs no index.
 */
export const incoming = sqliteTable('incoming', {
  incomingId: text('incoming_id').primaryKey(),
  /** Hash of content and envelope. A sender's retry after a lost 250 has the same hash. */
  contentKey: text('content_key').notNull(),
  acceptedAt: integer('accepted_at').notNull(),
  /** R2 key of the raw bytes. This row owns the object until the message does. */
  rawKey: text('raw_key').notNull(),
  sizeBytes: integer('size_bytes').notNull(),
  envelopeFrom: text('envelope_from').notNull(),
  envelopeTo: text('envelope_to').notNull(),
  /** Address or wildcard of the account that matched the recipient. If the domain's catch-all matched, the envelope recipient. */
  deliveredTo: text('delivered_to').notNull(),
  clientIp: text('client_ip'),
  helo: text('helo'),
  /** Origin of the message: `smtp` (from outside) or `local` (from a user of this service). */
  origin: text('origin').notNull(),
  /** JSON of earlier verdicts: authentication at acceptance, or all verdicts for local mail. */
  verdicts: text('verdicts'),
  /** Number of failed attempts to process the message. */
  attempts: integer('attempts').notNull().default(0),
  /** Time of the next attempt to process the message; null in quarantine. */
  nextAttemptAt: integer('next_attempt_at'),
  /** Why the last attempt to process the message failed; null if none did. */
  detail: text('detail'),
});
