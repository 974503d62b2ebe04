/** Tables of the age, the journal and the snapshot of a user database. */
import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

export const age = sqliteTable('age', {
  /** 1: the age of this database (`age-store.ts`). 2: the number up to which a replay has put its journal into this database. */
  one: integer('one').primaryKey(),
  /** Rises once a minute. The locations have the greatest number that the database ever had. */
  number: integer('number').notNull(),
});

/**
 * Change records since the journal was last written. Triggers write them for each table that drizzle.config.ts lists as journaled
 * (`npm run generate` makes the triggers). A record names a row, and the journal has the row's state at the time at which it is
 * written.
 */
export const directoryChange = sqliteTable(
  'directory_change',
  {
    /** Age of the database at the change. */
    number: integer('number').notNull(),
    tableName: text('table_name').notNull(),
    /** Values of the row's key, as a JSON array. */
    key: text('key').notNull(),
  },
  (table) => [primaryKey({ columns: [table.number, table.tableName, table.key] })],
);

/** Progress of the snapshot and of the rebuild of this database. It is in no snapshot. */
export const directoryTask = sqliteTable('directory_task', {
  /** `snapshot` or `rebuild`. */
  name: text('name').primaryKey(),
  /** Progress as JSON; null if none is under way. */
  state: text('state'),
  /** Time until which one worker has the task, in milliseconds since 1970 UTC. */
  leaseUntil: integer('lease_until').notNull(),
});
