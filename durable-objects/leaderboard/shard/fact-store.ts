/** SQL of what a shard keeps about players beside their scores, on boards that ask for it. */
import type { DayPointsRow, EntryDataRow, LastPostRow } from '../domain/player-rows.ts';

/** Rows that one statement receives as a JSON value of less than 2 MB, at 1 KB of data each. */
const ROWS_PER_STATEMENT = 1_000;

/** The tables, whose rows end with the player. */
export const FACT_TABLES = ['day_points', 'entry_data', 'last_post', 'player_name'] as const;

export class FactStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  erase(slot: number): void {
    for (const table of FACT_TABLES) this.#sql.exec(`DELETE FROM ${table} WHERE slot = ?`, slot);
  }

  readDayPoints(slots: readonly number[]): DayPointsRow[] {
    const query = 'SELECT slot, day, points FROM json_each(?) asked CROSS JOIN day_points ON slot = asked.value';
    const rows = this.#sql.exec(query, JSON.stringify(slots)).raw();
    return Array.from(rows, ([slot, day, points]) => ({
      slot: Number(slot),
      day: Number(day),
      points: Number(points),
    }));
  }

  writeDayPoints(rows: readonly DayPointsRow[]): void {
    const query = `INSERT OR REPLACE INTO day_points(slot, day, points)
      SELECT value->>0, value->>1, value->>2 FROM json_each(?)`;
    for (const part of inParts(rows))
      this.#sql.exec(query, JSON.stringify(part.map(({ slot, day, points }) => [slot, day, points])));
  }

  readLastPosts(slots: readonly number[]): LastPostRow[] {
    const query = 'SELECT slot, at FROM json_each(?) asked CROSS JOIN last_post ON slot = asked.value';
    const rows = this.#sql.exec(query, JSON.stringify(slots)).raw();
    return Array.from(rows, ([slot, at]) => ({ slot: Number(slot), at: Number(at) }));
  }

  writeLastPosts(rows: readonly LastPostRow[]): void {
    const query = 'INSERT OR REPLACE INTO last_post(slot, at) SELECT value->>0, value->>1 FROM json_each(?)';
    for (const part of inParts(rows)) this.#sql.exec(query, JSON.stringify(part.map(({ slot, at }) => [slot, at])));
  }

  /** Data of players, by user id. */
  readDataOf(userIds: readonly string[]): Map<string, string> {
    const query = `SELECT user_id, data FROM json_each(?) asked CROSS JOIN player ON user_id = asked.value
      CROSS JOIN entry_data ON entry_data.slot = player.slot`;
    const rows = this.#sql.exec(query, JSON.stringify(userIds)).raw();
    return new Map(Array.from(rows, ([userId, data]) => [String(userId), String(data)]));
  }

  /** Reads the data of a range of players, both ends included. */
  readDataBetween(first: number, last: number): EntryDataRow[] {
    const rows = this.#sql.exec('SELECT slot, data FROM entry_data WHERE slot BETWEEN ? AND ?', first, last).raw();
    return Array.from(rows, ([slot, data]) => ({ slot: Number(slot), data: String(data) }));
  }

  writeData(rows: readonly EntryDataRow[]): void {
    const query = 'INSERT OR REPLACE INTO entry_data(slot, data) SELECT value->>0, value->>1 FROM json_each(?)';
    for (const part of inParts(rows)) this.#sql.exec(query, JSON.stringify(part.map(({ slot, data }) => [slot, data])));
  }

  removeData(slots: readonly number[]): void {
    this.#sql.exec('DELETE FROM entry_data WHERE slot IN (SELECT value FROM json_each(?))', JSON.stringify(slots));
  }
}

function inParts<T>(rows: readonly T[]): T[][] {
  const parts: T[][] = [];
  for (let at = 0; at < rows.length; at += ROWS_PER_STATEMENT) parts.push(rows.slice(at, at + ROWS_PER_STATEMENT));
  return parts;
}
