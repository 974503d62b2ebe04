/** Queries of a shard. Statements are plain text: building them would be too slow for the hot path. */
import { drizzle } from 'drizzle-orm/durable-sqlite';
import { migrate } from 'drizzle-orm/durable-sqlite/migrator';
import migrations from '../../migrations/leaderboard-shard/migrations.js';
import type { ShardAddress } from '../../workers/leaderboard/domain/board.ts';
import { NO_EVENTS } from '../../workers/leaderboard/domain/event-log.ts';
import type { TopEntry } from '../../workers/leaderboard/domain/standing.ts';

export interface PlayerRow {
  readonly userId: string;
  readonly slot: number;
  readonly score: number;
  readonly reached: number;
  readonly isHidden: boolean;
  readonly userName: string | null;
  readonly events: Uint8Array;
}

export interface EventPage {
  readonly id: number;
  /** Seconds since 1970. */
  readonly at: number;
  readonly slots: Uint32Array;
  /** Packed records, one per slot. */
  readonly log: Uint8Array;
  readonly userNames: readonly (string | null)[] | null;
}

/** Ids of 64 characters fit into one JSON value. The platform's limit is 2 MB. */
const KEYS_PER_READ = 10_000;
/**
 * The platform binds at most 100 values per statement. A call to SQLite costs more than a row, so rows share a
 * statement. With `OR FAIL` SQLite keeps no copy of each page to undo half a statement: after an error the caller
 * discards everything.
 */
const BOUND_VALUES_PER_STATEMENT_MAX = 98;
const placeholders = (count: number): string => `(${new Array(count).fill('?').join(', ')})`;

type SqlValue = SqlStorageValue | Uint8Array;

/** Writes rows with as few statements as possible. Each statement is prepared once. */
class RowWriter {
  readonly #columns: number;
  readonly #toStatement: (values: string) => string;
  readonly #statements = new Map<number, string>();

  constructor(columns: number, toStatement: (values: string) => string) {
    this.#columns = columns;
    this.#toStatement = toStatement;
  }

  write(sql: SqlStorage, rows: readonly (readonly SqlValue[])[]): void {
    const most = Math.floor(BOUND_VALUES_PER_STATEMENT_MAX / this.#columns);
    for (let at = 0; at < rows.length; ) {
      const left = rows.length - at;
      const size = left >= most ? most : left >= 4 ? 4 : 1;
      sql.exec(this.#statement(size), ...rows.slice(at, at + size).flat());
      at += size;
    }
  }

  #statement(rows: number): string {
    const known = this.#statements.get(rows);
    if (known !== undefined) return known;
    const statement = this.#toStatement(new Array(rows).fill(placeholders(this.#columns)).join(', '));
    this.#statements.set(rows, statement);
    return statement;
  }
}

const playerWriter = new RowWriter(
  7,
  (values) => `INSERT OR FAIL INTO player(slot, score, reached, is_hidden, user_id, user_name, events) VALUES ${values}
    ON CONFLICT(slot) DO UPDATE SET score = excluded.score, reached = excluded.reached, is_hidden = excluded.is_hidden,
      user_name = excluded.user_name, events = excluded.events`,
);
const scoreWriter = new RowWriter(
  3,
  (values) => `UPDATE OR FAIL player SET score = changed.column2, reached = changed.column3
    FROM (VALUES ${values}) changed WHERE slot = changed.column1`,
);

export class ShardStore {
  readonly #storage: DurableObjectStorage;
  readonly #sql: SqlStorage;

  private constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#sql = storage.sql;
  }

  static async open(storage: DurableObjectStorage): Promise<ShardStore> {
    await migrate(drizzle(storage), migrations);
    return new ShardStore(storage);
  }

  /** Runs all changes or none. */
  transaction<T>(work: () => T): T {
    return this.#storage.transactionSync(work);
  }

  readBoard(): { address: ShardAddress; sealedAt: number | null } | null {
    const query = 'SELECT season, shard, shards, sealed_at FROM board WHERE id = 1';
    for (const [season, shard, shards, sealedAt] of this.#sql.exec(query).raw()) {
      const address = { season: String(season), shard: Number(shard), shards: Number(shards) };
      return { address, sealedAt: sealedAt === null ? null : Number(sealedAt) };
    }
    return null;
  }

  writeBoard({ season, shard, shards }: ShardAddress): void {
    this.#sql.exec('INSERT OR IGNORE INTO board(id, season, shard, shards) VALUES (1, ?, ?, ?)', season, shard, shards);
  }

  seal(at: number): void {
    this.#sql.exec('UPDATE board SET sealed_at = ? WHERE id = 1 AND sealed_at IS NULL', at);
  }

  findPlayer(userId: string): PlayerRow | null {
    return this.findPlayers([userId])[0] ?? null;
  }

  /** The rows of known players, in the order of the ids. */
  findPlayers(userIds: readonly string[]): PlayerRow[] {
    const rows: PlayerRow[] = [];
    for (let at = 0; at < userIds.length; at += KEYS_PER_READ) {
      for (const row of this.#findSome(userIds.slice(at, at + KEYS_PER_READ))) rows.push(row);
    }
    return rows;
  }

  /** One statement for any number of ids, prepared once. */
  *#findSome(userIds: readonly string[]): Generator<PlayerRow> {
    const query = `SELECT asked.key, slot, score, reached, is_hidden, user_name, events
      FROM json_each(?) asked CROSS JOIN player ON user_id = asked.value`;
    for (const row of this.#sql.exec(query, JSON.stringify(userIds)).raw()) {
      const events = row[6];
      yield {
        userId: userIds[row[0] as number] as string,
        slot: row[1] as number,
        score: row[2] as number,
        reached: row[3] as number,
        isHidden: row[4] === 1,
        userName: row[5] as string | null,
        events: events instanceof ArrayBuffer ? new Uint8Array(events) : NO_EVENTS,
      };
    }
  }

  /** New players and changed ones. */
  writePlayers(rows: readonly PlayerRow[]): void {
    const toValues = ({ slot, score, reached, isHidden, userId, userName, events }: PlayerRow) => {
      return [slot, score, reached, isHidden ? 1 : 0, userId, userName, events.length === 0 ? null : events] as const;
    };
    playerWriter.write(this.#sql, rows.map(toValues));
  }

  /** As `writePlayers`, for known players of whom only score and time changed. */
  writeScores(rows: readonly Pick<PlayerRow, 'slot' | 'score' | 'reached'>[]): void {
    scoreWriter.write(
      this.#sql,
      rows.map(({ slot, score, reached }) => [slot, score, reached]),
    );
  }

  erasePlayer(slot: number): void {
    this.#sql.exec('DELETE FROM player WHERE slot = ?', slot);
  }

  /** Entries in the order of the slots. Omits slots that were removed meanwhile. */
  readEntries(slots: readonly number[]): TopEntry[] {
    const query = `SELECT user_id, user_name, score, reached FROM json_each(?) asked CROSS JOIN player ON slot = asked.value`;
    const rows = this.#sql.exec(query, JSON.stringify(slots)).raw();
    return [...rows].map(([userId, userName, score, reached]) => toEntry(userId, userName, score, reached));
  }

  /** Listed players in order of `user_id`, after one. */
  readByUserId(after: string, limit: number): TopEntry[] {
    const query =
      'SELECT user_id, user_name, score, reached FROM player WHERE user_id > ? AND is_hidden = 0 ORDER BY user_id LIMIT ?';
    return [...this.#sql.exec(query, after, limit).raw()].map((row) => toEntry(row[0], row[1], row[2], row[3]));
  }

  /**
   * Listed players and the sum of their scores, from SQL alone. Summed in two halves, because the sum may exceed 2^63.
   */
  sum(): { players: number; sum: string } {
    const query =
      'SELECT count(*), coalesce(sum(score >> 26), 0), coalesce(sum(score & 67108863), 0) FROM player WHERE is_hidden = 0';
    for (const [players, high, low] of this.#sql.exec(query).raw()) {
      return { players: Number(players), sum: String((BigInt(Number(high)) << 26n) + BigInt(Number(low))) };
    }
    throw new Error('count(*) gives a row');
  }

  /** Columns of listed players, for the rebuild of the index. */
  readColumns(): { slots: Uint32Array; scores: Float64Array; reached: Float64Array; newest: number; nextSlot: number } {
    let slots = new Uint32Array(4_096);
    let scores = new Float64Array(4_096);
    let reached = new Float64Array(4_096);
    let count = 0;
    let newest = 0;
    let nextSlot = 1;
    for (const row of this.#sql.exec('SELECT slot, score, reached, is_hidden FROM player').raw()) {
      const since = row[2] as number;
      if (since > newest) newest = since;
      nextSlot = (row[0] as number) + 1;
      if (row[3] === 1) continue;
      if (count === slots.length) [slots, scores, reached] = [grow(slots), grow(scores), grow(reached)];
      slots[count] = row[0] as number;
      scores[count] = row[1] as number;
      reached[count] = since;
      count++;
    }
    return {
      slots: slots.subarray(0, count),
      scores: scores.subarray(0, count),
      reached: reached.subarray(0, count),
      newest,
      nextSlot,
    };
  }

  *readEventPages(): Generator<Pick<EventPage, 'id' | 'slots' | 'log'>> {
    for (const [id, slots, log] of this.#sql.exec('SELECT id, slots, events FROM event_page').raw()) {
      yield { id: id as number, slots: toSlots(slots), log: new Uint8Array(log as ArrayBuffer) };
    }
  }

  readEventPage(id: number): EventPage | null {
    const query = 'SELECT at, slots, events, user_names FROM event_page WHERE id = ?';
    for (const [at, slots, log, names] of this.#sql.exec(query, id).raw()) {
      const userNames = typeof names === 'string' ? (JSON.parse(names) as (string | null)[]) : null;
      return { id, at: at as number, slots: toSlots(slots), log: new Uint8Array(log as ArrayBuffer), userNames };
    }
    return null;
  }

  writeEventPage({ id, at, slots, log, userNames }: EventPage): void {
    const names = userNames === null ? null : JSON.stringify(userNames);
    const query = `INSERT INTO event_page(id, at, slots, events, user_names) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT(id) DO UPDATE SET slots = excluded.slots, events = excluded.events, user_names = excluded.user_names`;
    this.#sql.exec(query, id, at, new Uint8Array(slots.buffer, slots.byteOffset, slots.byteLength), log, names);
  }

  /** Pages with events of a slot. */
  findEventPages(slot: number): number[] {
    const rows = this.#sql.exec('SELECT id, slots FROM event_page').raw();
    return [...rows].flatMap(([id, slots]) => (toSlots(slots).includes(slot) ? [id as number] : []));
  }

  firstEventPage(): number | null {
    for (const [id] of this.#sql.exec('SELECT min(id) FROM event_page').raw()) return id as number | null;
    return null;
  }

  /** @param before seconds since 1970. */
  pruneEventPages(before: number): void {
    this.#sql.exec('DELETE FROM event_page WHERE at < ?', before);
  }
}

type Value = SqlStorageValue | undefined;
const toSlots = (bytes: Value): Uint32Array => new Uint32Array(bytes as ArrayBuffer);
const toEntry = (userId: Value, userName: Value, score: Value, reached: Value): TopEntry => ({
  userId: userId as string,
  userName: (userName ?? userId) as string,
  score: score as number,
  reached: reached as number,
});

function grow<T extends Uint32Array | Float64Array>(column: T): T {
  const grown = new (column.constructor as new (length: number) => T)(column.length * 2);
  grown.set(column);
  return grown;
}
