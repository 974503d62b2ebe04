/**
 * One shard of one season's leaderboard: the RPC shell. It reads the clock, calls the board, and talks with the season.
 *
 * A score is one transaction and one answer; the answer leaves when its rows are durable (the object's output gate). The
 * rank in it counts this shard's own newest writes exactly and the other shards' as of at most a second ago.
 * News go to the season object 100 ms after the last ones; its answer brings the news of all others.
 *
 * Gaps: none known.
 * By design: a report that fails is not repeated at once; the next score, read or alarm sends what is still untold.
 */
import { DurableObject } from 'cloudflare:workers';
import {
  type CorrectedPlayer,
  type Correction,
  EVENT_RETENTION_MS,
  PUSH_INTERVAL_MS,
  type Requirement,
  type RunKey,
  type ScoreResult,
  type ScoreUpdate,
  type ShardAddress,
  type ShardRun,
  STALE_AFTER_MS,
  type Standings,
  toShardName,
} from '../../workers/leaderboard/domain/board.ts';
import type { CountReport } from '../../workers/leaderboard/domain/shard-report.ts';
import type { RankedEntry, TopEntry } from '../../workers/leaderboard/domain/standing.ts';
import { createClock } from '../../workers/shared/clock.ts';
import { logError } from '../../workers/shared/log.ts';
import { err } from '../../workers/shared/result.ts';
import { type PendingResult, ShardBoard } from './shard-board.ts';
import { ShardStore } from './store.ts';

/** The slow alarm behind the quick timer: it finds news that a timer was lost with, and old events. */
const ALARM_INTERVAL_MS = 30_000;
const PRUNE_INTERVAL_MS = 3_600_000;

export class LeaderboardShard extends DurableObject<Env> {
  readonly #now: () => number;
  #store: ShardStore | undefined;
  #board: ShardBoard | undefined;
  #exchange: Promise<void> | undefined;
  #exchangedAt = 0;
  #isPushPlanned = false;
  #isAlarmPlanned = false;
  #prunedAt = 0;
  readonly #queue: {
    updates: readonly ScoreUpdate[];
    resolve: (results: PendingResult[]) => void;
    reject: (error: unknown) => void;
  }[] = [];
  #isGone = false;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#now = createClock(env);
    ctx.blockConcurrencyWhile(async () => {
      this.#store = await ShardStore.open(ctx.storage);
      const known = this.#store.readBoard();
      if (known !== null) this.#open(known.address);
    });
  }

  /**
   * Takes scores in order. Each result stands alone; an error changes nothing.
   * @param requirement what of the other shards the ranks must count.
   */
  async score(
    address: ShardAddress,
    updates: readonly ScoreUpdate[],
    requirement: Requirement,
  ): Promise<ScoreResult[]> {
    if (this.#isGone) return updates.map(() => err({ kind: 'season_sealed' }));
    const board = this.#open(address);
    if (!this.#isFresh(board, requirement)) await this.#refresh(board, requirement);
    const pending = await this.#enqueue(updates);
    this.#planPush(board);
    return pending.every(({ unsure }) => unsure === 0)
      ? pending.map(({ result }) => result)
      : this.#settle(board, updates, pending);
  }

  /**
   * Calls that come in the same moment are one transaction, and so one commit to the disk: under load the commits are what
   * a score costs. Each call's answer still waits for its rows to be durable.
   */
  #enqueue(updates: readonly ScoreUpdate[]): Promise<PendingResult[]> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ updates, resolve, reject });
      if (this.#queue.length === 1) setTimeout(() => this.#flush(), 0);
    });
  }

  #flush(): void {
    const calls = this.#queue.splice(0);
    try {
      if (this.#isGone || this.#board === undefined) throw new Error('the shard was erased');
      const board = this.#board;
      const results = this.#change(() =>
        board.score(
          calls.flatMap(({ updates }) => updates),
          this.#now(),
        ),
      );
      let at = 0;
      for (const { updates, resolve } of calls) {
        resolve(results.slice(at, at + updates.length));
        at += updates.length;
      }
    } catch (error) {
      for (const { reject } of calls) reject(error);
    }
  }

  /** The first answers to those of the events that were seen here; null for the others. Changes nothing. */
  async findEvents(address: ShardAddress, updates: readonly ScoreUpdate[]): Promise<(ScoreResult | null)[]> {
    const board = this.#open(address);
    return updates.map((update) => board.findEvent(update));
  }

  async standings(address: ShardAddress, userIds: readonly string[], requirement: Requirement): Promise<Standings> {
    const board = this.#open(address);
    if (!this.#isFresh(board, requirement)) await this.#refresh(board, requirement);
    const found = userIds.map((userId) => board.standing(userId));
    const exact = await this.#countElsewhere(
      board,
      found.flatMap((each) => (each !== null && each.unsure > 0 ? [each.entry.score] : [])),
    );
    return {
      entries: found.map((each): RankedEntry | null => {
        if (each === null || each.unsure === 0) return each?.entry ?? null;
        return { ...each.entry, rank: 1 + board.countAbove(each.entry.score) + (exact.get(each.entry.score) ?? 0) };
      }),
      players: board.players + board.report.others.players,
      asOf: this.#asOf(board),
    };
  }

  /** This shard's part of the list around a key. */
  async run(address: ShardAddress, key: RunKey, before: number, after: number): Promise<ShardRun> {
    return this.#open(address).run(key, before, after);
  }

  async top(address: ShardAddress, limit: number): Promise<TopEntry[]> {
    return this.#open(address).top(limit);
  }

  async countAbove(address: ShardAddress, scores: readonly number[]): Promise<number[]> {
    const board = this.#open(address);
    return scores.map((score) => board.countAbove(score));
  }

  /** What the season asks when it has not heard for too long. */
  async report(address: ShardAddress, generation: string): Promise<CountReport> {
    const board = this.#open(address);
    const report = board.makeReport(this.#now(), generation);
    if (board.report.hasNews) this.#planPush(board);
    return report;
  }

  async correct(address: ShardAddress, userId: string, change: Correction): Promise<CorrectedPlayer | null> {
    const board = this.#open(address);
    if (!this.#isFresh(board, null)) await this.#refresh(board, null);
    if (board.sealedAt !== null) return null;
    const corrected = this.#change(() => board.correct(userId, change, this.#now()));
    this.#planPush(board);
    return corrected;
  }

  /** @returns what the shard has reached with it; null when the player was not here. */
  async erase(address: ShardAddress, userId: string): Promise<number | null> {
    const board = this.#open(address);
    const isErased = this.#change(() => board.erase(userId, this.#now()));
    if (isErased) this.#planPush(board);
    return isErased ? board.newest : null;
  }

  /** Which of them have a score here, hidden or not. */
  async knows(address: ShardAddress, userIds: readonly string[]): Promise<boolean[]> {
    this.#open(address);
    return userIds.map((userId) => this.#store?.findPlayer(userId) !== null);
  }

  /** From here on nothing new is taken. Safe to repeat. @returns what the archive must add up to. */
  async seal(address: ShardAddress): Promise<{ players: number; sum: string }> {
    const board = this.#open(address);
    return board.seal(this.#now());
  }

  /** Listed players by `user_id`, after one: for the archive's look-up. */
  async readByUserId(address: ShardAddress, after: string, limit: number): Promise<TopEntry[]> {
    this.#open(address);
    return (this.#store as ShardStore).readByUserId(after, limit);
  }

  /** Forgets everything; the season is in the archive. Whoever still writes is told that it is sealed. */
  async destroy(): Promise<void> {
    this.#isGone = true;
    this.#board = undefined;
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
  }

  override async alarm(): Promise<void> {
    this.#isAlarmPlanned = false;
    const board = this.#board;
    if (board === undefined) return;
    const now = this.#now();
    if (now - this.#prunedAt > PRUNE_INTERVAL_MS) {
      this.#store?.pruneEvents(Math.floor((now - EVENT_RETENTION_MS) / 1000));
      this.#prunedAt = now;
    }
    if (board.report.hasNews) this.#planPush(board);
  }

  #open(address: ShardAddress): ShardBoard {
    if (this.#isGone) throw new Error(`the shard ${toShardName(address)} was erased`);
    this.#board ??= new ShardBoard(this.#store as ShardStore, address, crypto.randomUUID());
    return this.#board;
  }

  /** After a throw the index may be ahead of the rows: it is built anew from them. */
  #change<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      this.#board = undefined;
      throw error;
    }
  }

  #asOf(board: ShardBoard): number {
    return board.address.shards === 1 ? this.#now() : Math.min(this.#now(), board.report.othersAsOf);
  }

  #isFresh(board: ShardBoard, requirement: Requirement): boolean {
    if (board.address.shards === 1) return true;
    const { othersAsOf, othersThrough } = board.report;
    if (this.#now() - othersAsOf > STALE_AFTER_MS) return false;
    return (
      requirement === null ||
      requirement.every((through, shard) => shard === board.address.shard || (othersThrough[shard] ?? 0) >= through)
    );
  }

  /** Brings the others' counts up to date; one exchange serves all who wait. */
  async #refresh(board: ShardBoard, requirement: Requirement): Promise<void> {
    // One that is under way may have asked too early for us; the next one does not.
    if (this.#exchange !== undefined) await this.#exchange;
    for (let attempt = 0; attempt < 2 && !this.#isFresh(board, requirement); attempt++) {
      await (this.#exchange ?? this.#startExchange(board, { isFresh: true, requirement }));
    }
  }

  #startExchange(board: ShardBoard, wish: { isFresh: boolean; requirement: Requirement }): Promise<void> {
    const exchange = this.#talk(board, wish).finally(() => {
      this.#exchange = undefined;
      this.#exchangedAt = Date.now();
    });
    this.#exchange = exchange;
    return exchange;
  }

  async #talk(board: ShardBoard, wish: { isFresh: boolean; requirement: Requirement }): Promise<void> {
    const { season, shards } = board.address;
    const report = board.makeReport(this.#now());
    const stub = this.env.LEADERBOARD_SEASON.get(this.env.LEADERBOARD_SEASON.idFromName(season));
    const answer = await stub.exchange({ season, shards }, report, wish);
    board.report.acknowledge(report.number, answer);
    if (answer.needsFull) {
      const full = board.makeReport(this.#now());
      board.report.acknowledge(full.number, await stub.exchange({ season, shards }, full, wish));
    }
    if (board.report.hasNews) this.#planPush(board);
  }

  #planPush(board: ShardBoard): void {
    if (this.#isPushPlanned || !board.report.hasNews) return;
    this.#isPushPlanned = true;
    const waitMs = Math.max(5, this.#exchangedAt + PUSH_INTERVAL_MS - Date.now());
    setTimeout(() => {
      this.#isPushPlanned = false;
      if (this.#exchange !== undefined) return;
      this.ctx.waitUntil(
        this.#startExchange(board, { isFresh: false, requirement: null }).catch((error: unknown) =>
          logError('leaderboard_push_failed', error, { season: board.address.season, shard: board.address.shard }),
        ),
      );
    }, waitMs);
    if (!this.#isAlarmPlanned) {
      this.#isAlarmPlanned = true;
      this.ctx.waitUntil(this.ctx.storage.setAlarm(Date.now() + ALARM_INTERVAL_MS));
    }
  }

  /** Ranks inside mixed buckets: the other shards count, and the event remembers what was answered. */
  async #settle(
    board: ShardBoard,
    updates: readonly ScoreUpdate[],
    pending: readonly PendingResult[],
  ): Promise<ScoreResult[]> {
    const scores = pending.flatMap(({ result, unsure }) => (result.ok && unsure > 0 ? [result.value.score] : []));
    const own = scores.map((score) => board.countAbove(score));
    const exact = await this.#countElsewhere(board, scores);
    return pending.map(({ result, unsure }, i) => {
      if (!result.ok || unsure === 0) return result;
      const { score } = result.value;
      const outcome = { ...result.value, rank: 1 + (own[scores.indexOf(score)] ?? 0) + (exact.get(score) ?? 0) };
      const update = updates[i];
      if (update !== undefined && !outcome.isDuplicate) board.settleRank(update, outcome);
      return { ok: true, value: outcome };
    });
  }

  async #countElsewhere(board: ShardBoard, scores: readonly number[]): Promise<Map<number, number>> {
    const counts = new Map<number, number>();
    if (scores.length === 0) return counts;
    const { season, shard: own, shards } = board.address;
    const others = Array.from({ length: shards }, (_, shard) => ({ season, shard, shards })).filter(
      ({ shard }) => shard !== own,
    );
    const answers = await Promise.all(
      others.map((address) =>
        this.env.LEADERBOARD_SHARD.get(this.env.LEADERBOARD_SHARD.idFromName(toShardName(address))).countAbove(
          address,
          scores,
        ),
      ),
    );
    for (const [i, score] of scores.entries()) {
      counts.set(
        score,
        answers.reduce((sum, answer) => sum + (answer[i] ?? 0), 0),
      );
    }
    return counts;
  }
}
