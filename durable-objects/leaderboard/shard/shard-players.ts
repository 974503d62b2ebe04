/**
 * The players of one shard in memory: their order, the hidden players, and whether the top list changed. Ids and names stay in SQL.
 */

import { compareStandings, type StandingKey, type TopEntry } from '../../../workers/leaderboard/domain/standing.ts';
import { OrderedIndex } from '../domain/ordered-index.ts';
import type { CountReport, ShardCounts } from '../domain/shard-counts.ts';
import { ABSENT } from '../domain/slot-keys.ts';
import { type ShardRun, TOP_ENTRIES } from '../protocol.ts';
import type { Move, PlayerRow, ShardStore } from './store.ts';

export class ShardPlayers {
  readonly index = new OrderedIndex();
  readonly counts: ShardCounts;
  readonly #store: ShardStore;
  readonly #hidden: Map<number, Move>;
  #newest: number;
  #nextSlot: number;
  /** Time of the last report, which lacks later scores. */
  reportedAt = 0;
  /** Players of the last reported top list, by slot. The next list need not read them from SQL. */
  #topNames = new Map<number, PlayerRow>();
  /** The lowest score in the last reported top list. A player outside that list with at most this score changes no top list. */
  #topFloor = -1;

  /** @param moves score changes of the log that the stored pages lack. */
  constructor(store: ShardStore, counts: ShardCounts, moves: Iterable<Move>) {
    this.#store = store;
    this.counts = counts;
    const { keys } = this.index;
    for (const [number, page] of store.readScorePages()) keys.loadPage(number, page);
    for (const { slot, score, reached } of moves) keys.set(slot, score, reached);
    this.#hidden = new Map(store.readHidden().map((move) => [move.slot, move]));
    for (const slot of this.#hidden.keys()) keys.set(slot, ABSENT, 0);
    this.index.build();
    this.#newest = [...this.#hidden.values()].reduce((newest, { reached }) => Math.max(newest, reached), keys.newest());
    this.#nextSlot = store.lastSlot() + 1;
  }

  isHidden(slot: number): boolean {
    return this.#hidden.has(slot);
  }

  takeSlot(): number {
    return this.#nextSlot++;
  }

  /** @returns a time later than all times returned before, in microseconds since 1970. @param now milliseconds since 1970. */
  takeReached(now: number): number {
    this.#newest = Math.max(now * 1000, this.#newest + 1);
    return this.#newest;
  }

  /** Score and time of a player, listed or hidden; null for a player without a score. */
  keyOf(slot: number): Move | null {
    const score = this.index.scoreOf(slot);
    if (score !== ABSENT) return { slot, score, reached: this.index.reachedOf(slot) };
    return this.#hidden.get(slot) ?? null;
  }

  /** Sets a player's score. Hidden players stay hidden. @returns the change for the log, or null if there is none. */
  move(move: Move): Move | null {
    const { slot, score, reached } = move;
    if (this.#hidden.has(slot)) {
      this.hide(move);
      return move;
    }
    const from = this.index.scoreOf(slot);
    if (from === score && this.index.reachedOf(slot) === reached) return null;
    this.index.set(slot, score, reached);
    this.counts.noteMove(from === ABSENT ? null : from, score);
    this.#noteTop(slot, score);
    return move;
  }

  /** Removes a player from the list. @returns the change for the log; null for a player who is not listed. */
  leave(slot: number): Move | null {
    const from = this.index.scoreOf(slot);
    if (!this.index.remove(slot)) return null;
    this.counts.noteMove(from, null);
    this.#noteTop(slot, from);
    this.#topNames.delete(slot);
    return { slot, score: ABSENT, reached: 0 };
  }

  /** Keeps the score of a player who was hidden. */
  hide(move: Move): void {
    this.#hidden.set(move.slot, move);
    this.#store.hide(move);
  }

  show(slot: number): void {
    if (this.#hidden.delete(slot)) this.#store.show(slot);
  }

  noteRenamed(slot: number): void {
    this.#noteTop(slot, this.index.scoreOf(slot));
    this.#topNames.delete(slot);
  }

  #noteTop(slot: number, score: number): void {
    if (score > this.#topFloor || this.#topNames.has(slot)) this.counts.noteTop();
  }

  /** Makes the shard's report for the season. @param asked the generation of the season, if it requested the report. */
  makeReport(now: number, asked?: string): CountReport {
    this.reportedAt = now;
    return this.counts.report(this.index, now, () => this.#readTop(), asked);
  }

  #readTop(): TopEntry[] {
    const slots = this.index.range(0, TOP_ENTRIES);
    const unknown = this.#store.readPlayers(slots.filter((slot) => !this.#topNames.has(slot)));
    const read = new Map(unknown.map((row) => [row.slot, row]));
    const rows = slots.map((slot) => (this.#topNames.get(slot) ?? read.get(slot)) as PlayerRow);
    const top = rows.map((row) => this.toEntry(row));
    this.#topNames = new Map(rows.map((row) => [row.slot, row]));
    this.#topFloor = top.length < TOP_ENTRIES ? -1 : (top.at(-1)?.score ?? -1);
    return top;
  }

  run(key: StandingKey, before: number, after: number): ShardRun {
    const at = this.index.countBefore(key.score, key.reached);
    const [here] = this.#entries(at, 1);
    const isTie = here?.score === key.score && here.reached === key.reached;
    const order = here === undefined || !isTie ? 1 : compareStandings(here, key);
    // The key's player and one entry of this shard may have the same score and time. The user ids then decide their order.
    const countBefore = order < 0 ? at + 1 : at;
    const firstAfter = order <= 0 ? at + 1 : at;
    const start = Math.max(0, countBefore - before);
    return {
      before: this.#entries(start, countBefore - start),
      after: this.#entries(firstAfter, after),
      countBefore,
      countAbove: this.index.countAbove(key.score),
      hasKey: order === 0,
      players: this.index.size,
    };
  }

  #entries(start: number, limit: number): TopEntry[] {
    if (limit <= 0) return [];
    return this.#store.readPlayers(this.index.range(start, limit)).map((row) => this.toEntry(row));
  }

  readByUserId(after: string, limit: number): TopEntry[] {
    for (let from = after; ; ) {
      const rows = this.#store.readByUserId(from, limit);
      const listed = rows.filter(({ slot }) => this.index.scoreOf(slot) !== ABSENT);
      const last = rows.at(-1);
      if (listed.length > 0 || last === undefined) return listed.map((row) => this.toEntry(row));
      from = last.userId;
    }
  }

  toEntry({ slot, userId, userName }: PlayerRow): TopEntry {
    const [score, reached] = [this.index.scoreOf(slot), this.index.reachedOf(slot)];
    return { userId, userName: userName ?? userId, score, reached };
  }
}
