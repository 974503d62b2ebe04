/** Tables of a season object: the progress of its closing. Times are milliseconds since 1970 UTC. */
import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { ClosingStep } from './closing-store.ts';

/** One row with the id 1, created when the closing begins. */
export const closing = sqliteTable('closing', {
  id: integer('id').primaryKey(),
  season: text('season').notNull(),
  shards: integer('shards').notNull(),
  step: text('step').notNull().$type<ClosingStep>(),
  /** Prefix of the files of this attempt. */
  archive: text('archive').notNull(),
  sealedAt: integer('sealed_at').notNull(),
  /** JSON of the progress of each step: closing-store.ts. */
  progress: text('progress').notNull(),
});

/** Written files of the archive, for its manifest. Kind is `standings` or `lookup`. */
export const archiveFile = sqliteTable(
  'archive_file',
  {
    kind: text('kind').notNull(),
    shard: integer('shard').notNull(),
    number: integer('number').notNull(),
    /** JSON of its first key. */
    first: text('first').notNull(),
  },
  (table) => [primaryKey({ columns: [table.kind, table.shard, table.number] })],
);
