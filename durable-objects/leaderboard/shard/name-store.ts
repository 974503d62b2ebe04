/**
 * SQL of the names of a shard's players, for searches by the beginning of a name. The first search writes them, two rows for each player; after it,
 * a new or renamed player costs two more. A shard that is never searched has none.
 */
import { foldName } from '../../../workers/leaderboard/domain/name-search.ts';
import type { PlayerRow } from '../domain/player-rows.ts';

const SLOTS_PER_READ = 4_000;
/** Sorts after every character that a name may have. */
const LAST = '\u{10FFFF}';

export class NameStore {
  readonly #sql: SqlStorage;
  /** Whether the names are written; null until it is read. */
  #isWritten: boolean | null = null;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Whether the names of all players are written. */
  get isWritten(): boolean {
    this.#isWritten ??= [...this.#sql.exec('SELECT 1 FROM board WHERE has_names = 1').raw()].length > 0;
    return this.#isWritten;
  }

  /** Forgets what was read, after the rows of the shard were replaced. */
  reset(): void {
    this.#isWritten = null;
  }

  /** Writes the names of all players, in the caller's transaction. */
  writeAll(lastSlot: number): void {
    const query = 'SELECT slot, user_id, user_name FROM player WHERE slot BETWEEN ? AND ?';
    for (let first = 0; first <= lastSlot; first += SLOTS_PER_READ) {
      const rows = this.#sql.exec(query, first, first + SLOTS_PER_READ - 1).raw();
      this.write(Array.from(rows, ([slot, id, name]) => toRow(slot, id, name)));
    }
    this.#sql.exec('UPDATE board SET has_names = 1 WHERE id = 1');
    this.#isWritten = true;
  }

  write(rows: readonly PlayerRow[]): void {
    const query = 'INSERT OR REPLACE INTO player_name(slot, name) SELECT value->>0, value->>1 FROM json_each(?)';
    const values = rows.map(({ slot, userId, userName }) => [slot, foldName(userName ?? userId)]);
    this.#sql.exec(query, JSON.stringify(values));
  }

  /** Finds players whose folded names begin with a text, by name. */
  find(beginning: string, limit: number): PlayerRow[] {
    const query = `SELECT slot, user_id, user_name FROM player_name JOIN player USING (slot)
      WHERE name >= ? AND name < ? ORDER BY name, slot LIMIT ?`;
    const rows = this.#sql.exec(query, beginning, beginning + LAST, limit).raw();
    return Array.from(rows, ([slot, id, name]) => toRow(slot, id, name));
  }
}

const toRow = (slot: unknown, userId: unknown, userName: unknown): PlayerRow => ({
  slot: Number(slot),
  userId: String(userId),
  userName: userName as string | null,
});
