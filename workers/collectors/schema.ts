/** Tables of the collectors in DIRECTORY. Times are milliseconds since 1970 UTC. */
import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** One row per collector: the progress of its round, and its alarm. */
export const collector = sqliteTable('collector', {
  /** `mail`, `storage`, `leaderboard` or `directory`. */
  name: text('name').primaryKey(),
  /** The number of the current round. A round is one scan of all keys of the collector. */
  round: integer('round').notNull().default(1),
  /** The last key that was scanned; '' at the start of a round. */
  cursor: text('cursor').notNull().default(''),
  scanned: integer('scanned').notNull().default(0),
  /** Orphans of this round that were counted, but not recorded because there were too many. */
  unrecorded: integer('unrecorded').notNull().default(0),
  finishedAt: integer('finished_at'),
  /** A random id, also stored in the locations. It identifies the owner of their bytes. Used by `directory`. */
  owner: text('owner'),
  /** Why the collector stopped; null if there is no alarm. */
  alarm: text('alarm'),
  alarmAt: integer('alarm_at'),
  alarmScanned: integer('alarm_scanned'),
  alarmFound: integer('alarm_found'),
  /** Objects that the next round may remove, because an operator acknowledged the alarm. */
  approved: integer('approved').notNull().default(0),
  /** 1 if the next run takes over the stores: an operator confirmed that they are the right ones. */
  takeOver: integer('take_over').notNull().default(0),
});

/** Keys that no row of their owner named. A key is deleted only after two rounds found it. */
export const orphan = sqliteTable(
  'orphan',
  {
    collector: text('collector').notNull(),
    key: text('key').notNull(),
    /** When the object was stored. */
    storedAt: integer('stored_at').notNull(),
    foundAt: integer('found_at').notNull(),
    foundRound: integer('found_round').notNull(),
    /** The newest round that found it. */
    seenRound: integer('seen_round').notNull(),
    /** 1 if a tombstone records that its owner gave it up. Then it does not count against the limit of a round. */
    isGivenUp: integer('is_given_up').notNull(),
    /** When the first location deleted it. The others follow a day later. */
    removedAt: integer('removed_at'),
  },
  (table) => [primaryKey({ columns: [table.collector, table.key] })],
);
