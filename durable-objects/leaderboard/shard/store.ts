/** SQL of a shard. Statements are plain text, because a query builder would be too slow for the hot path. */
import { drizzle } from 'drizzle-orm/durable-sqlite';
import { migrate } from 'drizzle-orm/durable-sqlite/migrator';
import migrations from '../../../migrations/leaderboard-shard/migrations.js';
import type { BoardRules } from '../../../workers/leaderboard/domain/score-rules.ts';
import type { EventPage, StoredPage } from '../domain/event-page.ts';
import type { Move, PlayerRow } from '../domain/player-rows.ts';
import { ABSENT, pageOfSlot, slotInPage } from '../domain/slot-keys.ts';
import type { ShardAddress } from '../protocol.ts';
import { FACT_TABLES, FactStore } from './fact-store.ts';
import { NameStore } from './name-store.ts';

/** Consecutive players of the list of a sealed shard. */
export interface SealedPage {
  /** Number of players before the page. */
  readonly place: number;
  /** Score and time of each player. */
  readonly keys: Float64Array;
  readonly slots: Uint32Array;
}

/** The board of a copy. */
export interface RestoredBoard extends ShardAddress {
  readonly sealedAt: number | null;
  readonly logged: number;
  readonly rules: BoardRules | null;
  readonly copy: number;
}

/** The stored state of a board. */
export interface BoardState {
  readonly address: ShardAddress;
  readonly sealedAt: number | null;
  readonly checkpoint: number;
  readonly rules: BoardRules | null;
  /** Number of players in the pages of the sealed list; null before they are written. */
  readonly sealedPlayers: number | null;
}

/**
 * Rows that one statement receives as a JSON value. At 64 characters and a name per row, the value stays below the platform's limit
 * of 2 MB.
 */
const ROWS_PER_STATEMENT = 4_000;

export class ShardStore {
  readonly #sql: SqlStorage;
  readonly facts: FactStore;
  readonly names: NameStore;

  private constructor(sql: SqlStorage) {
    this.#sql = sql;
    this.facts = new FactStore(sql);
    this.names = new NameStore(sql);
  }

  static async open(storage: DurableObjectStorage): Promise<ShardStore> {
    await migrate(drizzle(storage), migrations);
    return new ShardStore(storage.sql);
  }

  readBoard(): BoardState | null {
    const query = 'SELECT season, shard, shards, sealed_at, checkpoint, rules, sealed_players FROM board WHERE id = 1';
    for (const [season, shard, shards, sealedAt, checkpoint, rules, players] of this.#sql.exec(query).raw()) {
      const address = { season: String(season), shard: Number(shard), shards: Number(shards) };
      const state = { address, sealedAt: sealedAt as number | null, checkpoint: Number(checkpoint) };
      const sealedPlayers = players as number | null;
      return { ...state, sealedPlayers, rules: rules === null ? null : JSON.parse(String(rules)) };
    }
    return null;
  }

  writeBoard({ season, shard, shards }: ShardAddress): void {
    this.#sql.exec('INSERT OR IGNORE INTO board(id, season, shard, shards) VALUES (1, ?, ?, ?)', season, shard, shards);
  }

  writeRules(rules: BoardRules): void {
    this.#sql.exec('UPDATE board SET rules = ? WHERE id = 1', JSON.stringify(rules));
  }

  seal(at: number): void {
    this.#sql.exec('UPDATE board SET sealed_at = ? WHERE id = 1 AND sealed_at IS NULL', at);
  }

  /** Number of the last copy that was begun. */
  readCopies(): number {
    return this.#readNumber('SELECT coalesce(max(copies), 0) FROM board');
  }

  writeCopies(copies: number): void {
    this.#sql.exec('UPDATE board SET copies = ? WHERE id = 1', copies);
  }

  /** Reads the players of a range of slots, both ends included. */
  readSlots(first: number, last: number): PlayerRow[] {
    const query = 'SELECT slot, user_id, user_name FROM player WHERE slot BETWEEN ? AND ?';
    return this.#readPlayers(query, first, last);
  }

  /** Removes everything, before the shard is restored from a copy. */
  clear(): void {
    for (const table of ['board', 'player', 'hidden', ...FACT_TABLES, 'score_page', 'sealed_page', 'event_page', 'log'])
      this.#sql.exec(`DELETE FROM ${table}`);
    this.names.reset();
  }

  /** Writes the board of a copy. Until then the restored shard is an empty one. */
  restoreBoard({ season, shard, shards, sealedAt, logged, rules, copy }: RestoredBoard): void {
    const query = `INSERT INTO board(id, season, shard, shards, sealed_at, checkpoint, rules, copies)
      VALUES (1, ?, ?, ?, ?, ?, ?, ?)`;
    const json = rules === null ? null : JSON.stringify(rules);
    this.#sql.exec(query, season, shard, shards, sealedAt, logged, json, copy);
  }

  findPlayers(userIds: readonly string[]): PlayerRow[] {
    // One row for all players, because each row of a cursor costs more than its look-up.
    const query = `SELECT json_group_array(json_array(slot, user_id, user_name))
      FROM json_each(?) asked CROSS JOIN player ON user_id = asked.value`;
    return inParts(userIds).flatMap((part) => {
      const [[rows]] = [...this.#sql.exec(query, JSON.stringify(part)).raw()] as [[string]];
      return (JSON.parse(rows) as PlayerColumns[]).map(toPlayerRow);
    });
  }

  /** Reads players in the order of the given slots. Omits slots of removed players. */
  readPlayers(slots: readonly number[]): PlayerRow[] {
    const query = 'SELECT slot, user_id, user_name FROM json_each(?) asked CROSS JOIN player ON slot = asked.value';
    return this.#readPlayers(query, JSON.stringify(slots));
  }

  #readPlayers(query: string, ...values: SqlStorageValue[]): PlayerRow[] {
    return Array.from(this.#sql.exec(query, ...values).raw(), (row) => toPlayerRow(row as unknown as PlayerColumns));
  }

  writePlayers(rows: readonly PlayerRow[]): void {
    const query = `INSERT INTO player(slot, user_id, user_name) SELECT value->>0, value->>1, value->>2 FROM json_each(?)
      WHERE true ON CONFLICT(slot) DO UPDATE SET user_name = excluded.user_name`;
    for (const part of inParts(rows)) {
      const values = part.map(({ slot, userId, userName }) => [slot, userId, userName]);
      this.#sql.exec(query, JSON.stringify(values));
      if (this.names.isWritten) this.names.write(part);
    }
  }

  erasePlayer(slot: number): void {
    this.#sql.exec('DELETE FROM player WHERE slot = ?', slot);
    this.facts.erase(slot);
  }

  lastSlot(): number {
    return this.#readNumber('SELECT coalesce(max(slot), 0) FROM player');
  }

  readHidden(): Move[] {
    const rows = this.#sql.exec('SELECT slot, score, reached FROM hidden').raw();
    return Array.from(rows, ([slot, score, reached]) => toMove(Number(slot), Number(score), Number(reached)));
  }

  hide({ slot, score, reached }: Move): void {
    this.#sql.exec('INSERT OR REPLACE INTO hidden(slot, score, reached) VALUES (?, ?, ?)', slot, score, reached);
  }

  show(slot: number): void {
    this.#sql.exec('DELETE FROM hidden WHERE slot = ?', slot);
  }

  *readScorePages(): Generator<[number: number, page: Float64Array]> {
    for (const [id, keys] of this.#sql.exec('SELECT id, keys FROM score_page').raw()) {
      yield [id as number, new Float64Array(keys as ArrayBuffer)];
    }
  }

  writeScorePage(id: number, page: Float64Array): void {
    const keys = new Uint8Array(page.buffer, page.byteOffset, page.byteLength);
    this.#sql.exec('INSERT OR REPLACE INTO score_page(id, keys) VALUES (?, ?)', id, keys);
  }

  /** Replaces the pages of a sealed list. */
  writeSealedPages(pages: Iterable<SealedPage>, players: number): void {
    this.#sql.exec('DELETE FROM sealed_page');
    const query = 'INSERT INTO sealed_page(place, score, reached, slots, keys) VALUES (?, ?, ?, ?, ?)';
    for (const { place, keys, slots } of pages)
      this.#sql.exec(query, place, keys[0], keys[1], new Uint8Array(slots.buffer), new Uint8Array(keys.buffer));
    this.#sql.exec('UPDATE board SET sealed_players = ? WHERE id = 1', players);
  }

  /** Reads the last page that begins before a key in list order; null if there is none. */
  findSealedPage(score: number, reached: number): SealedPage | null {
    const columns = 'SELECT place, slots, keys FROM sealed_page WHERE score =';
    const tied = `${columns} ? AND reached < ? ORDER BY reached DESC LIMIT 1`;
    for (const row of this.#sql.exec(tied, score, reached).raw()) return toSealedPage(row);
    const better = `${columns} (SELECT min(score) FROM sealed_page WHERE score > ?) ORDER BY reached DESC LIMIT 1`;
    for (const row of this.#sql.exec(better, score).raw()) return toSealedPage(row);
    return null;
  }

  readSealedPage(place: number): SealedPage {
    const query = 'SELECT place, slots, keys FROM sealed_page WHERE place = ?';
    for (const row of this.#sql.exec(query, place).raw()) return toSealedPage(row);
    throw new Error(`the sealed list has no page at ${place}`);
  }

  /** Score and time of a slot in the stored pages; null if the slot is not listed. */
  readKey(slot: number): [score: number, reached: number] | null {
    const query = 'SELECT substr(keys, ?, 16) FROM score_page WHERE id = ?';
    for (const [bytes] of this.#sql.exec(query, 1 + 16 * slotInPage(slot), pageOfSlot(slot)).raw()) {
      const [score = ABSENT, reached = 0] = new Float64Array(bytes as ArrayBuffer);
      return score === ABSENT ? null : [score, reached];
    }
    return null;
  }

  /** Writes a commit to the log. @param place row of the log: 0 for the first commit after a checkpoint, then 1 and so on. */
  writeLog(place: number, number: number, moves: readonly Move[], events: StoredPage): void {
    const columns = Float64Array.from(moves.flatMap(({ slot, score, reached }) => [slot, score, reached]));
    const query = `INSERT INTO log(place, number, moves, slots, records, user_names) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT(place) DO UPDATE SET number = excluded.number, moves = excluded.moves, slots = excluded.slots,
        records = excluded.records, user_names = excluded.user_names`;
    const { slots, records, userNames } = events;
    this.#sql.exec(query, place, number, new Uint8Array(columns.buffer), slots, records, userNames);
  }

  /** Reads the commits since a checkpoint, in order. */
  *readLog(checkpoint: number): Generator<{ number: number; moves: Move[]; events: StoredPage }> {
    const query = 'SELECT number, moves, slots, records, user_names FROM log WHERE number > ? ORDER BY number';
    for (const [number, moves, slots, records, names] of this.#sql.exec(query, checkpoint).raw()) {
      const columns = new Float64Array(moves as ArrayBuffer);
      yield {
        number: number as number,
        moves: Array.from({ length: columns.length / 3 }, (_, i) =>
          toMove(columns[i * 3] as number, columns[i * 3 + 1] as number, columns[i * 3 + 2] as number),
        ),
        events: toStoredPage(slots, records, names),
      };
    }
  }

  /** Records that the stored pages include the log up to this number. */
  writeCheckpoint(number: number): void {
    this.#sql.exec('UPDATE board SET checkpoint = ? WHERE id = 1', number);
  }

  /** Deletes out-of-date log rows, which are kept only to be overwritten. They may contain names of an erased player. */
  clearLog(): void {
    this.#sql.exec('DELETE FROM log');
  }

  *readEventWords(): Generator<[id: number, words: Uint32Array]> {
    for (const [id, words] of this.#sql.exec('SELECT id, words FROM event_page').raw()) {
      yield [id as number, new Uint32Array(words as ArrayBuffer)];
    }
  }

  readEventPage(id: number): { at: number; page: StoredPage } | null {
    const query = 'SELECT at, slots, records, user_names FROM event_page WHERE id = ?';
    for (const [at, slots, records, names] of this.#sql.exec(query, id).raw()) {
      return { at: at as number, page: toStoredPage(slots, records, names) };
    }
    return null;
  }

  findEventPages(slot: number): number[] {
    const rows = this.#sql.exec('SELECT id, slots FROM event_page').raw();
    return [...rows].flatMap(([id, slots]) =>
      new Uint32Array(slots as ArrayBuffer).includes(slot) ? [id as number] : [],
    );
  }

  /** @param at time of the checkpoint, in seconds since 1970. */
  writeEventPage(id: number, at: number, page: EventPage): void {
    const { slots, records, userNames } = page.pack();
    const query =
      'INSERT OR REPLACE INTO event_page(id, at, slots, words, records, user_names) VALUES (?, ?, ?, ?, ?, ?)';
    this.#sql.exec(query, id, at, slots, new Uint8Array(page.words().buffer), records, userNames);
  }

  /** @returns ids of the first and the last stored page; 0 without pages. */
  pageRange(): [first: number, last: number] {
    const first = this.#readNumber('SELECT coalesce(min(id), 0) FROM event_page');
    return [first, this.#readNumber('SELECT coalesce(max(id), 0) FROM event_page')];
  }

  /** Deletes pages without events since a time. @param before seconds since 1970. */
  pruneEventPages(before: number): void {
    this.#sql.exec('DELETE FROM event_page WHERE at < ?', before);
  }

  #readNumber(query: string): number {
    for (const [value] of this.#sql.exec(query).raw()) return Number(value);
    throw new Error('the aggregate returned no row');
  }
}

type PlayerColumns = [slot: number, userId: string, userName: string | null];
const toPlayerRow = ([slot, userId, userName]: PlayerColumns): PlayerRow => ({ slot, userId, userName });

const toMove = (slot: number, score: number, reached: number): Move => ({ slot, score, reached });

const toSealedPage = ([place, slots, keys]: readonly SqlStorageValue[]): SealedPage => ({
  place: Number(place),
  slots: new Uint32Array(slots as ArrayBuffer),
  keys: new Float64Array(keys as ArrayBuffer),
});

const toStoredPage = (slots: unknown, records: unknown, userNames: unknown): StoredPage => ({
  slots: new Uint8Array(slots as ArrayBuffer),
  records: new Uint8Array(records as ArrayBuffer),
  userNames: userNames as string | null,
});

function inParts<T>(rows: readonly T[]): T[][] {
  const parts: T[][] = [];
  for (let at = 0; at < rows.length; at += ROWS_PER_STATEMENT) parts.push(rows.slice(at, at + ROWS_PER_STATEMENT));
  return parts;
}
