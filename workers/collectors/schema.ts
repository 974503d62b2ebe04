/** Tables of the collectors in DIRECTORY. Times are milliseconds since 1970 UTC. */
import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** One row per collector: where its round is, and its alarm. */
export const collector = sqliteTable('collector', {
  /** `mail`, `storage`, `leaderboard` or `directory`. */
  name: text('name').primaryKey(),
  /** Counts up. A round is one walk over everything that the collector looks at. */
  round: integer('round').notNull().default(1),
  /** The last key that was scanned; '' at the start of a round. */
  cursor: text('cursor').notNull().default(''),
  scanned: integer('scanned').notNull().default(0),
  /** Orphans of this round that were counted, but not recorded because there were too many. */
  unrecorded: integer('unrecorded').notNull().default(0),
  finishedAt: integer('finished_at'),
  /** A random id that the locations hold too; it tells whose bytes they are. Used by `directory`. */
  owner: text('owner'),
  /** Why the collector stopped. Null: no alarm. */
  alarm: text('alarm'),
  alarmAt: integer('alarm_at'),
  alarmScanned: integer('alarm_scanned'),
  alarmFound: integer('alarm_found'),
  /** A round may remove so many, because an operator has seen the alarm and agreed. */
  approved: integer('approved').notNull().default(0),
  /** 1: the next run takes the stores over, because an operator said that they are the right ones. */
  takeOver: integer('take_over').notNull().default(0),
});

/** Keys that no row of their owner named. Each is found in two rounds before it is deleted. */
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
    /** 1: a tombstone says that its owner gave it up, so it does not count against the limit of a round. */
    isGivenUp: integer('is_given_up').notNull(),
    /** When the first location deleted it. The others follow a day later. */
    removedAt: integer('removed_at'),
  },
  (table) => [primaryKey({ columns: [table.collector, table.key] })],
);
