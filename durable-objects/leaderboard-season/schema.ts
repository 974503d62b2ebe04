/** What a season object must not forget: how far its closing has come. Times are milliseconds since 1970 UTC. */
import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { ClosingStep } from './closing-store.ts';

/** The one row has the id 1; it appears when the closing begins. */
export const closing = sqliteTable('closing', {
  id: integer('id').primaryKey(),
  season: text('season').notNull(),
  shards: integer('shards').notNull(),
  step: text('step').notNull().$type<ClosingStep>(),
  /** Where the files of this attempt go. */
  archive: text('archive').notNull(),
  sealedAt: integer('sealed_at').notNull(),
  /** JSON of what the step must not forget: closing-store.ts. */
  progress: text('progress').notNull(),
});

/** A file of the archive that is written: what the manifest will say of it. Kind is `standings` or `lookup`. */
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
