/** Keeps the full-text index quick: merges what arrived message by message. */
import { scheduleWake } from '../store.ts';

/** Changes of the mailbox from one tidying of its index to the next. */
const CHANGES_PER_TIDY = 256;
/** Soon, but not between the messages of one import. */
const TIDY_DELAY_MS = 5_000;
const TIDY_PAUSE_MS = 50;
/** Of the index, written by one round: about a tenth of a second. */
const PAGES_PER_TIDY = 500;
export const TIDY_WAKE = 'search';

/**
 * Every message adds a segment to the index, and FTS5 merges only four of a size. A word has to be looked up in each: two
 * dozen of them in a mailbox of 200,000, where a tidy index has a few and answers up to ten times sooner.
 */
export function scheduleTidying(sql: SqlStorage, state: number, now: number): void {
  if (state % CHANGES_PER_TIDY === 0) scheduleWake(sql, TIDY_WAKE, now + TIDY_DELAY_MS);
}

/** Merges some of the segments that are two of a size; wakes again while there is more to merge. */
export function tidySearchIndex(sql: SqlStorage, now: number): void {
  sql.exec("INSERT INTO message_search (message_search, rank) VALUES ('usermerge', 2)");
  const countWritten = () => sql.exec<{ written: number }>('SELECT total_changes() AS written').one().written;
  const before = countWritten();
  sql.exec("INSERT INTO message_search (message_search, rank) VALUES ('merge', ?)", PAGES_PER_TIDY);
  // With nothing to merge FTS5 counts one change (https://www.sqlite.org/fts5.html#the_merge_command).
  if (countWritten() - before >= 2) scheduleWake(sql, TIDY_WAKE, now + TIDY_PAUSE_MS);
}
