/** Merges the segments of the full-text index to keep searches quick. */
import { scheduleWake } from '../database/store.ts';

/** Changes of the mailbox between two merges. */
const CHANGES_PER_TIDY = 256;
/** Short, but longer than the gap between messages of one import. */
const TIDY_DELAY_MS = 5_000;
const TIDY_PAUSE_MS = 50;
/** Pages of the index written per round: about a tenth of a second. */
const PAGES_PER_TIDY = 500;
export const TIDY_WAKE = 'search';

/**
 * Every message adds a segment to the index, and FTS5 merges only four of one size. A word is looked up in each segment: about 24 in a
 * mailbox of 200,000 messages. A merged index has a few and is up to ten times faster.
 */
export function scheduleTidying(sql: SqlStorage, state: number, now: number): void {
  if (state % CHANGES_PER_TIDY === 0) scheduleWake(sql, TIDY_WAKE, now + TIDY_DELAY_MS);
}

/** Merges segments of which there are two of one size. Schedules another round while there is more to merge. */
export function tidySearchIndex(sql: SqlStorage, now: number): void {
  sql.exec("INSERT INTO message_search (message_search, rank) VALUES ('usermerge', 2)");
  const countWritten = () => sql.exec<{ written: number }>('SELECT total_changes() AS written').one().written;
  const before = countWritten();
  sql.exec("INSERT INTO message_search (message_search, rank) VALUES ('merge', ?)", PAGES_PER_TIDY);
  // If there is nothing to merge, FTS5 counts one change (https://www.sqlite.org/fts5.html#the_merge_command).
  if (countWritten() - before >= 2) scheduleWake(sql, TIDY_WAKE, now + TIDY_PAUSE_MS);
}
