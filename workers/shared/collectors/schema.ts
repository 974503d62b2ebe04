/** Tables of the collectors in DIRECTORY. Times are milliseconds since 1970 UTC. */
import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** Collectors: the progress of each one's round, and its alarm. */
export const collector = sqliteTable('collector', {
  /** Name of the collector: `mail`, `storage`, `leaderboard`, `directory` or `s3-location`. */
  name: text('name').primaryKey(),
  /** Number of the current round. A round is one scan of all keys of the collector. */
  round: integer('round').notNull().default(1),
  /** The last key that the round scanned; '' at its start. */
  cursor: text('cursor').notNull().default(''),
  scanned: integer('scanned').notNull().default(0),
  /** Number of orphans that this round counted but did not record, because there were too many. */
  unrecorded: integer('unrecorded').notNull().default(0),
  finishedAt: integer('finished_at'),
  /**
   * Owner id, a random id that is also stored in the locations. It identifies the database that their bytes belong to. Used by
   * `directory`.
   */
  owner: text('owner'),
  /** Reason why the collector stopped; null if there is no alarm. */
  alarm: text('alarm'),
  alarmAt: integer('alarm_at'),
  alarmScanned: integer('alarm_scanned'),
  alarmFound: integer('alarm_found'),
  /** Number of objects that the next round may remove, because an operator acknowledged the alarm. */
  approved: integer('approved').notNull().default(0),
  /** 1 if the next run takes over the stores, because an operator confirmed that they are the right ones. */
  takeOver: integer('take_over').notNull().default(0),
});

/** Candidates: keys that no row of their owner named. A key is deleted only after two rounds found it. */
export const orphan = sqliteTable(
  'orphan',
  {
    collector: text('collector').notNull(),
    key: text('key').notNull(),
    /** Time at which the object was stored. */
    storedAt: integer('stored_at').notNull(),
    foundAt: integer('found_at').notNull(),
    foundRound: integer('found_round').notNull(),
    /** Number of the newest round that found the key. */
    seenRound: integer('seen_round').notNull(),
    /** 1 if a tombstone records that the owner gave the object up. It then does not count against the limit of a round. */
    isGivenUp: integer('is_given_up').notNull(),
    /** Time at which the first location deleted the object. The other locations delete it a day later. */
    removedAt: integer('removed_at'),
  },
  (table) => [primaryKey({ columns: [table.collector, table.key] })],
);
