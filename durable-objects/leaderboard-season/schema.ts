/** What a season object must not forget: how far its closing has come. Times are milliseconds since 1970 UTC. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** The one row has the id 1; it appears when the closing begins. */
export const closing = sqliteTable('closing', {
  id: integer('id').primaryKey(),
  season: text('season').notNull(),
  shards: integer('shards').notNull(),
  step: text('step').notNull().$type<'seal' | 'standings' | 'lookups' | 'verify' | 'publish' | 'keep' | 'done'>(),
  /** Names this attempt's files; a file is written once. */
  attempt: text('attempt').notNull(),
  startedAt: integer('started_at').notNull(),
  publishedAt: integer('published_at'),
  /** JSON of the step's own progress: domain/closing.ts. */
  progress: text('progress').notNull(),
});
