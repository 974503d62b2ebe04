/** All SQL of a shard. Statements are plain text, because the hot path may not build queries. */
import { drizzle } from 'drizzle-orm/durable-sqlite';
import { migrate } from 'drizzle-orm/durable-sqlite/migrator';
import migrations from '../../migrations/leaderboard-shard/migrations.js';
import type { ShardAddress } from '../../workers/leaderboard/domain/board.ts';
import type { ScoredEvent } from '../../workers/leaderboard/domain/event-log.ts';
import type { TopEntry } from '../../workers/leaderboard/domain/standing.ts';

export interface PlayerRow {
  readonly userId: string;
  readonly slot: number;
  readonly score: number;
  readonly reached: number;
  readonly isHidden: boolean;
  readonly isSpilled: boolean;
  readonly userName: string | null;
  readonly events: Uint8Array;
}

/** Ids of 64 characters in one JSON value, which may be 2 MB long on the platform. */
const KEYS_A_READ = 10_000;
/**
 * The platform binds at most 100 values, so 12 rows of 8. `OR FAIL`: SQLite keeps no copy of each page to take half a
 * statement back with; whoever writes takes back everything when anything fails.
 */
const ROWS_A_WRITE = [12, 4, 1];
const placeholders = (count: number): string => `(${new Array(count).fill('?').join(', ')})`;
const WRITES = new Map(
  ROWS_A_WRITE.map((rows) => [
    rows,
    `INSERT OR FAIL INTO player(slot, score, reached, is_hidden, is_spilled, user_id, user_name, events)
     VALUES ${new Array(rows).fill(placeholders(8)).join(', ')}
     ON CONFLICT(slot) DO UPDATE SET score = excluded.score, reached = excluded.reached, is_hidden = excluded.is_hidden,
       is_spilled = excluded.is_spilled, user_name = excluded.user_name, events = excluded.events`,
  ]),
);

const NO_EVENTS = new Uint8Array(0);
/** Places that an event may take; with 52 bits of hash even the second is rarely needed. */
const EVENT_PROBES = 4;

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

  /** Everything inside happens or nothing does. */
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

  /** Those of the players that are here, in the order asked for. */
  findPlayers(userIds: readonly string[]): PlayerRow[] {
    const rows: PlayerRow[] = [];
    for (let at = 0; at < userIds.length; at += KEYS_A_READ) {
      for (const row of this.#findSome(userIds.slice(at, at + KEYS_A_READ))) rows.push(row);
    }
    return rows;
  }

  /** One statement for any number of them, prepared once. */
  *#findSome(userIds: readonly string[]): Generator<PlayerRow> {
    const query = `SELECT asked.key, slot, score, reached, is_hidden, is_spilled, user_name, events
      FROM json_each(?) asked CROSS JOIN player ON user_id = asked.value`;
    for (const row of this.#sql.exec(query, JSON.stringify(userIds)).raw()) {
      const events = row[7];
      yield {
        userId: userIds[row[0] as number] as string,
        slot: row[1] as number,
        score: row[2] as number,
        reached: row[3] as number,
        isHidden: row[4] === 1,
        isSpilled: row[5] === 1,
        userName: row[6] as string | null,
        events: events instanceof ArrayBuffer ? new Uint8Array(events) : NO_EVENTS,
      };
    }
  }

  /** New players and changed ones. A call to SQLite costs more than the row in it, so several rows share one. */
  writePlayers(rows: readonly PlayerRow[]): void {
    for (let at = 0; at < rows.length; ) {
      const size = ROWS_A_WRITE.find((each) => each <= rows.length - at) ?? 1;
      const values = rows
        .slice(at, at + size)
        .flatMap((row) => [
          row.slot,
          row.score,
          row.reached,
          row.isHidden ? 1 : 0,
          row.isSpilled ? 1 : 0,
          row.userId,
          row.userName,
          row.events.length === 0 ? null : row.events,
        ]);
      this.#sql.exec(WRITES.get(size) ?? '', ...values);
      at += size;
    }
  }

  erasePlayer(slot: number): void {
    this.#sql.exec('DELETE FROM event WHERE slot = ?', slot);
    this.#sql.exec('DELETE FROM player WHERE slot = ?', slot);
  }

  /** Entries in the order of the slots; a slot that left meanwhile is left out. */
  readEntries(slots: readonly number[]): TopEntry[] {
    const query = `SELECT user_id, user_name, score, reached FROM json_each(?) asked CROSS JOIN player ON slot = asked.value`;
    const rows = this.#sql.exec(query, JSON.stringify(slots)).raw();
    return [...rows].map(([userId, userName, score, reached]) => toEntry(userId, userName, score, reached));
  }

  /** Listed players by `user_id`, after one. */
  readByUserId(after: string, limit: number): TopEntry[] {
    const query =
      'SELECT user_id, user_name, score, reached FROM player WHERE user_id > ? AND is_hidden = 0 ORDER BY user_id LIMIT ?';
    return [...this.#sql.exec(query, after, limit).raw()].map((row) => toEntry(row[0], row[1], row[2], row[3]));
  }

  /** Listed players and the sum of their scores, from SQL alone; halves, because the sum may pass 2^63. */
  sum(): { players: number; sum: string } {
    const query =
      'SELECT count(*), coalesce(sum(score >> 26), 0), coalesce(sum(score & 67108863), 0) FROM player WHERE is_hidden = 0';
    for (const [players, high, low] of this.#sql.exec(query).raw()) {
      return { players: Number(players), sum: String((BigInt(Number(high)) << 26n) + BigInt(Number(low))) };
    }
    throw new Error('count(*) gives a row');
  }

  /** Columns of every player, for the rebuild of the index: hidden ones have their slots in `hidden`. */
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

  findSpilledEvent(slot: number, hash: Uint8Array): (ScoredEvent & { userName: string | null }) | null {
    for (let step = 0; step < EVENT_PROBES; step++) {
      const row = this.#readEvent(toEventId(slot, hash) + step);
      if (row?.slot === slot && hash.every((byte, i) => row.hash[i] === byte)) return row;
    }
    return null;
  }

  spillEvent(slot: number, userName: string | null, event: ScoredEvent): void {
    let id = toEventId(slot, event.hash);
    for (let step = 1; this.#readEvent(id) !== null; step++, id++) {
      if (step === EVENT_PROBES) throw new Error('the places of an event are all taken');
    }
    this.#sql.exec(
      'INSERT INTO event(id, slot, hash, user_name, points, score, rank, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
      id,
      slot,
      event.hash,
      userName,
      event.points,
      event.score,
      event.rank,
      event.at,
    );
  }

  /** @param before seconds since 1970. */
  pruneEvents(before: number): void {
    this.#sql.exec('DELETE FROM event WHERE at < ?', before);
  }

  #readEvent(id: number): (ScoredEvent & { slot: number; userName: string | null }) | null {
    const query = 'SELECT slot, hash, user_name, points, score, rank, at FROM event WHERE id = ?';
    for (const [slot, hash, userName, points, score, rank, at] of this.#sql.exec(query, id).raw()) {
      return {
        slot: slot as number,
        hash: new Uint8Array(hash as ArrayBuffer),
        userName: userName as string | null,
        points: points as number,
        score: score as number,
        rank: rank as number,
        at: at as number,
      };
    }
    return null;
  }
}

type Value = SqlStorageValue | undefined;
const toEntry = (userId: Value, userName: Value, score: Value, reached: Value): TopEntry => ({
  userId: userId as string,
  userName: (userName ?? userId) as string,
  score: score as number,
  reached: reached as number,
});

/** 52 bits of the event's hash, told apart by slot; a row that stands there already moves it up by one. */
function toEventId(slot: number, hash: Uint8Array): number {
  const view = new DataView(hash.buffer, hash.byteOffset, 8);
  return ((view.getUint32(0) ^ slot) >>> 0) * 2 ** 20 + (view.getUint32(4) >>> 12);
}

function grow<T extends Uint32Array | Float64Array>(column: T): T {
  const grown = new (column.constructor as new (length: number) => T)(column.length * 2);
  grown.set(column);
  return grown;
}
