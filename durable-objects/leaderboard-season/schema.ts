/** Tables of a season object: the last counts of its shards, its views, and the progress of its closing. Times are milliseconds since 1970 UTC. */
import { blob, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { ClosingStep } from './closing-store.ts';

/** The last counts of each shard. A restarted season begins with them. */
export const snapshot = sqliteTable('snapshot', {
  shard: integer('shard').primaryKey(),
  /** When the counts were exact. */
  at: integer('at').notNull(),
  /** Significant bits of the buckets. */
  bits: integer('bits').notNull(),
  /** The lowest score and the players of each bucket, eight bytes each. */
  buckets: blob('buckets').notNull(),
  /** JSON of the shard's best players. */
  top: text('top').notNull(),
});

/** Views that get each change of the top list. */
export const view = sqliteTable('view', { name: text('name').primaryKey() });

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
    /** JSON: its name and its first key. */
    begin: text('begin').notNull(),
  },
  (table) => [primaryKey({ columns: [table.kind, table.shard, table.number] })],
);
