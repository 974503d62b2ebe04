/**
 * The board of one shard: its rows, its ordered index and its report to the season. No method awaits, so each call is
 * one transaction. The index changes after the SQL, and is rebuilt from SQL after an error.
 */
import {
  type CorrectedPlayer,
  type Correction,
  type ScoreResult,
  type ScoreUpdate,
  type ShardAddress,
  type ShardRun,
  TOP_ENTRIES,
} from '../../workers/leaderboard/domain/board.ts';
import { hashEvent } from '../../workers/leaderboard/domain/event-hash.ts';
import { findPlace, NO_EVENTS, setRank } from '../../workers/leaderboard/domain/event-log.ts';
import { OrderedIndex } from '../../workers/leaderboard/domain/ordered-index.ts';
import { parseSeason } from '../../workers/leaderboard/domain/season-name.ts';
import { type CountReport, ShardReport } from '../../workers/leaderboard/domain/shard-report.ts';
import {
  compareStandings,
  type RankedEntry,
  type StandingKey,
  type TopEntry,
} from '../../workers/leaderboard/domain/standing.ts';
import { sortStandings } from '../../workers/leaderboard/domain/standing-order.ts';
import { err, ok } from '../../workers/shared/result.ts';
import { EventPages } from './event-pages.ts';
import { ScoreRound } from './score-round.ts';
import type { PlayerRow, ShardStore } from './store.ts';

/** A result whose rank may not be final: the other shards have to be asked about `unsure` players. */
export interface PendingResult {
  readonly result: ScoreResult;
  readonly unsure: number;
}

export class ShardBoard {
  readonly address: ShardAddress;
  readonly report: ShardReport;
  sealedAt: number | null;
  readonly #store: ShardStore;
  readonly #pages: EventPages;
  readonly #endsAt: number;
  #isNew: boolean;
  readonly #index = new OrderedIndex();
  #newest: number;
  #nextSlot: number;
  /** Players of the last reported top list, by slot, so that the next list need not be read from SQL. */
  #topNames = new Map<number, { readonly userId: string; readonly userName: string }>();
  /** The lowest score in that list. A player outside the list with at most this score changes no top list. */
  #topFloor = -1;

  constructor(store: ShardStore, address: ShardAddress, boot: string) {
    this.#store = store;
    this.#pages = new EventPages(store);
    this.address = address;
    this.sealedAt = store.readBoard()?.sealedAt ?? null;
    this.#endsAt = parseSeason(address.season)?.endsAt ?? 0;
    this.#isNew = store.readBoard() === null;
    this.report = new ShardReport(address.shard, boot);
    const { slots, scores, reached, newest, nextSlot } = store.readColumns();
    this.#index.load(slots, scores, reached, sortStandings(scores, reached));
    this.#newest = newest;
    this.#nextSlot = nextSlot;
  }

  get players(): number {
    return this.#index.size;
  }

  /** Whether the board is sealed, or is empty and its month is over: then it was archived and erased. */
  isClosed(now: number): boolean {
    return this.sealedAt !== null || (this.#isNew && now >= this.#endsAt);
  }

  /** Creates the board's row before the first change. */
  begin(): void {
    if (!this.#isNew) return;
    this.#store.writeBoard(this.address);
    this.#isNew = false;
  }

  /** Seals the board: no new scores are accepted. Idempotent. */
  seal(now: number): { players: number; sum: string } {
    this.begin();
    this.#store.seal(now);
    this.sealedAt ??= now;
    return this.#store.sum();
  }

  /**
   * Writes scores in order, each completely or not at all. @param now milliseconds.
   * After an error rows may be half written: the object must be reset, so that they are never committed.
   */
  score(updates: readonly ScoreUpdate[], now: number): PendingResult[] {
    const round = this.#begin(updates);
    const results = updates.map((update) => this.#scoreOne(round, update, now));
    round.write(now);
    return results;
  }

  #begin(updates: readonly ScoreUpdate[]): ScoreRound {
    return new ScoreRound(this.#store, this.#pages, new Set(updates.map(({ userId }) => userId)));
  }

  #scoreOne(round: ScoreRound, { userId, points, userName, eventId }: ScoreUpdate, now: number): PendingResult {
    const row = round.find(userId);
    const hash = eventId === null ? null : hashEvent(eventId);
    if (row !== null && hash !== null) {
      const repeated = this.#findRepeated(round, userId, hash, points);
      if (repeated !== null) return repeated;
    }
    if (this.isClosed(now)) return { result: err({ kind: 'season_sealed' }), unsure: 0 };
    const score = (row?.score ?? 0) + points;
    if (!Number.isSafeInteger(score)) return { result: err({ kind: 'score_overflow' }), unsure: 0 };
    // With 0 points a known player keeps the position. Others reach their score now, after all earlier ones.
    const reached = row !== null && points === 0 ? row.reached : this.#nextReached(now);
    const { rank, unsure } = this.#rank(score);
    const name = userName ?? row?.userName ?? null;
    this.begin();
    const slot = row?.slot ?? this.#nextSlot++;
    const isHidden = row?.isHidden ?? false;
    if (row === null || points !== 0 || name !== row.userName || hash !== null) {
      const at = Math.floor(now / 1000);
      const event = hash === null ? null : { hash, at, points, score, rank: unsure > 0 ? 0 : rank };
      round.put({ userId, slot, score, reached, isHidden, userName: name, events: row?.events ?? NO_EVENTS }, event);
    }
    if (row !== null && name !== row.userName) this.#noteRenamed(slot);
    if (!isHidden) this.#move(slot, row?.score ?? null, score, reached);
    const outcome = { userName: name ?? userId, score, rank, isDuplicate: false };
    return { result: ok(outcome), unsure };
  }

  /** The first answers to events seen before, 409 for those with other points; null for others. */
  findEvents(updates: readonly ScoreUpdate[]): (ScoreResult | null)[] {
    const round = this.#begin(updates);
    return updates.map(({ userId, points, eventId }) => {
      const repeated = eventId === null ? null : this.#findRepeated(round, userId, hashEvent(eventId), points);
      return repeated?.result ?? null;
    });
  }

  #findRepeated(round: ScoreRound, userId: string, hash: Uint8Array, points: number): PendingResult | null {
    const found = round.findEvent(userId, hash);
    if (found === null) return null;
    const { event } = found;
    if (event.points !== points) return { result: err({ kind: 'event_conflict', points: event.points }), unsure: 0 };
    const outcome = { userName: found.userName ?? userId, score: event.score, isDuplicate: true };
    if (event.rank > 0) return { result: ok({ ...outcome, rank: event.rank }), unsure: 0 };
    const { rank, unsure } = this.#rank(event.score);
    return { result: ok({ ...outcome, rank }), unsure };
  }

  /** Stores the ranks of first answers that the other shards had to resolve. */
  settleRanks(settled: readonly { readonly update: ScoreUpdate; readonly rank: number }[]): void {
    const rows = new Map(
      this.#store.findPlayers([...new Set(settled.map(({ update }) => update.userId))]).map((row) => [row.userId, row]),
    );
    const changed = new Set<PlayerRow>();
    const paged: { slot: number; hash: Uint8Array; rank: number }[] = [];
    for (const { update, rank } of settled) {
      const row = rows.get(update.userId);
      if (row === undefined || update.eventId === null) continue;
      const hash = hashEvent(update.eventId);
      const place = findPlace(row.events, hash);
      if (place < 0) paged.push({ slot: row.slot, hash, rank });
      else {
        setRank(row.events, place, rank);
        changed.add(row);
      }
    }
    this.#store.writePlayers([...changed]);
    this.#pages.setRanks(paged);
  }

  /** Removes events that are too old for a retry. @param before seconds since 1970. */
  pruneEvents(before: number): void {
    this.#pages.prune(before);
  }

  /** Exact if `unsure` is 0; otherwise the best possible rank. */
  #rank(score: number): { rank: number; unsure: number } {
    const { above, unsure } = this.report.others.countAbove(score);
    return { rank: 1 + this.#index.countAbove(score) + above, unsure };
  }

  countAbove(score: number): number {
    return this.#index.countAbove(score);
  }

  /** A listed player, with the rank that this shard knows; null for others. */
  standing(userId: string): { entry: RankedEntry; unsure: number } | null {
    const row = this.#store.findPlayer(userId);
    if (row === null || row.isHidden) return null;
    const { rank, unsure } = this.#rank(row.score);
    const { score, reached } = row;
    return { entry: { userId, userName: row.userName ?? userId, score, reached, rank }, unsure };
  }

  /** Entries on both sides of a key, which may be in this shard or not. */
  run(key: StandingKey, before: number, after: number): ShardRun {
    const at = this.#index.countBefore(key.score, key.reached);
    const [here] = this.#entries(at, 1);
    const isTie = here !== undefined && here.score === key.score && here.reached === key.reached;
    const order = here === undefined || !isTie ? 1 : compareStandings(here, key);
    // One entry of this shard may share score and time with the key. The user ids decide their order.
    const countBefore = order < 0 ? at + 1 : at;
    const firstAfter = order <= 0 ? at + 1 : at;
    const start = Math.max(0, countBefore - before);
    return {
      before: this.#entries(start, countBefore - start),
      after: this.#entries(firstAfter, after),
      countBefore,
      countAbove: this.#index.countAbove(key.score),
      hasKey: order === 0,
      players: this.#index.size,
    };
  }

  #entries(start: number, limit: number): TopEntry[] {
    return limit <= 0 ? [] : this.#store.readEntries(this.#index.range(start, limit));
  }

  correct(userId: string, change: Correction, now: number): CorrectedPlayer | null {
    return this.#store.transaction(() => {
      const row = this.#store.findPlayer(userId);
      if (row === null) return null;
      const score = change.score ?? row.score;
      const isHidden = change.hidden ?? row.isHidden;
      const reached = score === row.score && isHidden === row.isHidden ? row.reached : this.#nextReached(now);
      this.#store.writePlayers([{ ...row, score, isHidden, reached }]);
      if (isHidden) this.#leave(row.slot);
      else this.#move(row.slot, row.isHidden ? null : row.score, score, reached);
      return {
        userName: row.userName ?? userId,
        score,
        rank: isHidden ? null : this.#rank(score).rank,
        isHidden,
      };
    });
  }

  /** @returns whether the player was in this shard. */
  erase(userId: string, now: number): boolean {
    return this.#store.transaction(() => {
      const row = this.#store.findPlayer(userId);
      if (row === null) return false;
      this.#store.erasePlayer(row.slot);
      this.#pages.erase(row.slot);
      this.#nextReached(now);
      this.#leave(row.slot);
      return true;
    });
  }

  /** @param asked the generation of a season that requests the report. */
  makeReport(now: number, asked?: string): CountReport {
    return this.report.report(this.#index, now, () => this.#readTop(), asked);
  }

  #readTop(): TopEntry[] {
    const slots = this.#index.range(0, TOP_ENTRIES);
    const unknown = slots.filter((slot) => !this.#topNames.has(slot));
    const read = this.#store.readEntries(unknown);
    const names = new Map(unknown.map((slot, i) => [slot, read[i] as TopEntry]));
    const top = slots.map((slot) => {
      const { userId, userName } = this.#topNames.get(slot) ?? (names.get(slot) as TopEntry);
      return { slot, userId, userName, score: this.#index.scoreOf(slot), reached: this.#index.reachedOf(slot) };
    });
    this.#topNames = new Map(top.map(({ slot, userId, userName }) => [slot, { userId, userName }]));
    this.#topFloor = top.length < TOP_ENTRIES ? -1 : (top.at(-1)?.score ?? -1);
    return top.map(({ slot: _, ...entry }) => entry);
  }

  #nextReached(now: number): number {
    this.#newest = Math.max(now * 1000, this.#newest + 1);
    return this.#newest;
  }

  #move(slot: number, from: number | null, to: number, reached: number): void {
    if (from === to && this.#index.reachedOf(slot) === reached) return;
    this.#index.set(slot, to, reached);
    this.report.noteMove(from, to);
    if (to > this.#topFloor || this.#topNames.has(slot)) this.report.noteTop();
  }

  #leave(slot: number): void {
    const from = this.#index.scoreOf(slot);
    if (!this.#index.remove(slot)) return;
    this.report.noteMove(from, null);
    if (from > this.#topFloor || this.#topNames.has(slot)) this.report.noteTop();
    this.#topNames.delete(slot);
  }

  #noteRenamed(slot: number): void {
    if (this.#index.scoreOf(slot) > this.#topFloor || this.#topNames.has(slot)) this.report.noteTop();
    this.#topNames.delete(slot);
  }
}
