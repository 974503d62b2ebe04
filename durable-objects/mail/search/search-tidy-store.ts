/** Merges the segments of the full-text index to keep searches quick. */
import { first } from '../database/store.ts';

/** Number of changes of the mailbox after which segments are merged again. */
const CHANGES_PER_TIDY = 256;
/** Maximum of index pages written per round, which takes about a tenth of a second. */
const PAGES_PER_TIDY = 500;

/**
 * Whether segments should be merged. Every message adds a segment to the index, and by itself FTS5 merges segments only when four
 * have the same size. A word is looked up in each segment, of which a mailbox of 200,000 messages has about 24. A merged index has
 * a few segments and is up to ten times faster.
 */
export function isTidyDue(sql: SqlStorage, state: number): boolean {
  if (state < CHANGES_PER_TIDY) return false;
  const tidied = first<{ state: number }>(sql, 'SELECT tidied_state AS state FROM mailbox WHERE id = 1')?.state ?? 0;
  return Math.floor(state / CHANGES_PER_TIDY) > Math.floor(tidied / CHANGES_PER_TIDY);
}

/** Merges segments of the same size, as soon as there are two. The work stays due while there is more to merge. */
export function tidySearchIndex(sql: SqlStorage): void {
  sql.exec("INSERT INTO message_search (message_search, rank) VALUES ('usermerge', 2)");
  const countWritten = () => sql.exec<{ written: number }>('SELECT total_changes() AS written').one().written;
  const before = countWritten();
  sql.exec("INSERT INTO message_search (message_search, rank) VALUES ('merge', ?)", PAGES_PER_TIDY);
  // FTS5 counts one change if there was nothing to merge (https://www.sqlite.org/fts5.html#the_merge_command).
  if (countWritten() - before < 2)
    sql.exec('UPDATE mailbox SET tidied_state = (SELECT max(state) FROM change) WHERE id = 1');
}
