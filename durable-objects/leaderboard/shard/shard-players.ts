/**
 * The players of one shard: their order, the hidden players, and whether the top list changed. Ids and names stay in SQL. The order is in
 * memory while scores arrive. A sealed shard leaves it in SQL until a player is corrected.
 */

import { compareStandings, type StandingKey, type TopEntry } from '../../../workers/leaderboard/domain/standing.ts';
import { OrderedIndex } from '../domain/ordered-index.ts';
import type { PlayerIndex } from '../domain/player-index.ts';
import type { Move, PlayerRow } from '../domain/player-rows.ts';
import type { CountReport, ShardCounts } from '../domain/shard-counts.ts';
import { ABSENT } from '../domain/slot-keys.ts';
import { type ShardRun, TOP_ENTRIES } from '../protocol.ts';
import { SealedIndex, toSealedPages } from './sealed-index.ts';
import type { ShardStore } from './store.ts';

export class ShardPlayers {
  readonly counts: ShardCounts;
  readonly #store: ShardStore;
  readonly #hidden: Map<number, Move>;
  readonly #sealed: SealedIndex | null;
  /** The list in memory; null until a sealed shard needs it. */
  #loaded: OrderedIndex | null = null;
  #newest = 0;
  #nextSlot: number;
  /** Time of the last report, which lacks later scores. */
  reportedAt = 0;
  /** Players of the last reported top list, by slot. The next list need not read them from SQL. */
  #topNames = new Map<number, PlayerRow>();
  /** The lowest score in the last reported top list. A player outside that list with at most this score changes no top list. */
  #topFloor = -1;

  /**
   * @param sealedPlayers number of players in the sealed list; null if there is none
   * @param moves score changes of the log that the stored pages lack. A sealed list lacks none.
   */
  constructor(store: ShardStore, counts: ShardCounts, sealedPlayers: number | null, moves: Iterable<Move>) {
    this.#store = store;
    this.counts = counts;
    this.#hidden = new Map(store.readHidden().map((move) => [move.slot, move]));
    this.#nextSlot = store.lastSlot() + 1;
    this.#sealed = sealedPlayers === null ? null : new SealedIndex(store, sealedPlayers);
    if (this.#sealed === null) this.#load(moves);
  }

  get index(): PlayerIndex {
    return this.#loaded ?? (this.#sealed as SealedIndex);
  }

  #load(moves: Iterable<Move> = []): OrderedIndex {
    if (this.#loaded !== null) return this.#loaded;
    const index = new OrderedIndex();
    const { keys } = index;
    for (const [number, page] of this.#store.readScorePages()) keys.loadPage(number, page);
    for (const { slot, score, reached } of moves) keys.set(slot, score, reached);
    for (const slot of this.#hidden.keys()) keys.set(slot, ABSENT, 0);
    index.build();
    this.#newest = [...this.#hidden.values()].reduce((newest, { reached }) => Math.max(newest, reached), keys.newest());
    this.#loaded = index;
    return index;
  }

  /** Stores the pages of keys that changed since the last call. */
  writeKeys(): void {
    for (const [number, page] of this.#loaded?.keys.takeChanged() ?? []) this.#store.writeScorePage(number, page);
  }

  /** Stores the list as a sealed one. @returns the number of players. */
  writeSealed(): number {
    const index = this.#load();
    this.#store.writeSealedPages(toSealedPages(index), index.size);
    return index.size;
  }

  isHidden(slot: number): boolean {
    return this.#hidden.has(slot);
  }

  takeSlot(): number {
    return this.#nextSlot++;
  }

  /** @returns a time later than all times returned before, in microseconds since 1970. @param now milliseconds since 1970. */
  takeReached(now: number): number {
    this.#load();
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
    const index = this.#load();
    const from = index.scoreOf(slot);
    if (from === score && index.reachedOf(slot) === reached) return null;
    index.set(slot, score, reached);
    this.counts.noteMove(from === ABSENT ? null : from, score);
    this.#noteTop(slot, score);
    return move;
  }

  /** Removes a player from the list. @returns the change for the log; null for a player who is not listed. */
  leave(slot: number): Move | null {
    const index = this.#load();
    const from = index.scoreOf(slot);
    if (!index.remove(slot)) return null;
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
    const unknown = this.#readRows(slots.filter((slot) => !this.#topNames.has(slot)));
    const read = new Map(unknown.map((row) => [row.slot, row]));
    const rows = slots.map((slot) => (this.#topNames.get(slot) ?? read.get(slot)) as PlayerRow);
    const top = rows.map((row) => this.toEntry(row));
    this.#topNames = new Map(rows.map((row) => [row.slot, row]));
    this.#topFloor = top.length < TOP_ENTRIES ? -1 : (top.at(-1)?.score ?? -1);
    return top;
  }

  run(key: StandingKey, before: number, after: number): ShardRun {
    let countBefore = this.index.countBefore(key.score, key.reached);
    let order = this.#compareAt(countBefore, key);
    while (order < 0) order = this.#compareAt(++countBefore, key);
    const firstAfter = order === 0 ? countBefore + 1 : countBefore;
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

  /**
   * Compares the entry at a position with a key. The key's player and entries of this shard may have the same score and time. The user ids
   * then decide their order.
   */
  #compareAt(position: number, key: StandingKey): number {
    const [here] = this.#entries(position, 1);
    const isTie = here?.score === key.score && here.reached === key.reached;
    return here === undefined || !isTie ? 1 : compareStandings(here, key);
  }

  #entries(start: number, limit: number): TopEntry[] {
    if (limit <= 0) return [];
    return this.#readRows(this.index.range(start, limit)).map((row) => this.toEntry(row));
  }

  /** Reads players in the order of the slots. Erased players keep their place in a sealed list, without id and name. */
  #readRows(slots: readonly number[]): PlayerRow[] {
    const rows = this.#store.readPlayers(slots);
    if (rows.length === slots.length) return rows;
    const bySlot = new Map(rows.map((row) => [row.slot, row]));
    return slots.map((slot) => bySlot.get(slot) ?? { slot, userId: '', userName: null });
  }

  /** Forgets the name of a player who was erased from a sealed list. */
  noteErased(slot: number): void {
    this.#topNames.delete(slot);
    this.counts.noteTop();
  }

  toEntry({ slot, userId, userName }: PlayerRow): TopEntry {
    const [score, reached] = [this.index.scoreOf(slot), this.index.reachedOf(slot)];
    return { userId, userName: userName ?? userId, score, reached };
  }
}
