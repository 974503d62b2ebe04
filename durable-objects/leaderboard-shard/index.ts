/**
 * The object of one shard of a season: reads the clock, calls the board and exchanges counts with the season.
 *
 * A score is one transaction and one answer. The answer is sent when its rows are durable (the object's output gate)
 * and the season counts them. Its rank counts everything acknowledged before the score arrived.
 */
import { DurableObject } from 'cloudflare:workers';
import {
  type CorrectedPlayer,
  type Correction,
  EVENT_RETENTION_MS,
  type RunKey,
  type ScoreResult,
  type ScoreUpdate,
  type ShardAddress,
  type ShardRun,
  type Standings,
  toShardName,
} from '../../workers/leaderboard/domain/board.ts';
import {
  fromUpdateColumns,
  type ResultColumns,
  toResultColumns,
  type UpdateColumns,
} from '../../workers/leaderboard/domain/score-columns.ts';
import type { CountReport } from '../../workers/leaderboard/domain/shard-report.ts';
import type { RankedEntry, TopEntry } from '../../workers/leaderboard/domain/standing.ts';
import { createClock } from '../../workers/shared/clock.ts';
import { logError } from '../../workers/shared/log.ts';
import { err, ok } from '../../workers/shared/result.ts';
import { CountExchange } from './count-exchange.ts';
import { ScoreQueue } from './score-queue.ts';
import { SeasonLine } from './season-line.ts';
import { type PendingResult, ShardBoard } from './shard-board.ts';
import { ShardStore } from './store.ts';

/** Interval of the alarm, the fallback of the timer. It pushes changes whose timer was lost, and prunes old events. */
const ALARM_INTERVAL_MS = 30_000;
const PRUNE_INTERVAL_MS = 3_600_000;

interface OpenShard {
  readonly board: ShardBoard;
  readonly exchange: CountExchange;
  readonly line: SeasonLine;
  readonly queue: ScoreQueue;
}

export class LeaderboardShard extends DurableObject<Env> {
  readonly #now: () => number;
  #store: ShardStore | undefined;
  /** Undefined before the first call, and after an error. */
  #opened: OpenShard | undefined;
  #isAlarmPlanned = false;
  #prunedAt = 0;
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

  /** Writes scores in order. Each result is independent; an error changes nothing. */
  async score(address: ShardAddress, columns: UpdateColumns): Promise<ResultColumns> {
    const updates = fromUpdateColumns(columns);
    if (this.#isGone) {
      return toResultColumns(
        updates,
        updates.map(() => err({ kind: 'season_sealed' })),
      );
    }
    const { board, exchange, queue } = this.#open(address);
    return queue.take(updates, async (pending) => {
      this.#planPush();
      const isSure = pending.every(({ unsure }) => unsure === 0);
      const results = isSure ? pending.map(({ result }) => result) : await this.#settle(board, updates, pending);
      await exchange.push();
      return toResultColumns(updates, results);
    });
  }

  /** The first answers to events that were seen here; null for others. Changes nothing. */
  async findEvents(address: ShardAddress, columns: UpdateColumns): Promise<(ScoreResult | null)[]> {
    return this.#open(address).board.findEvents(fromUpdateColumns(columns));
  }

  async standings(address: ShardAddress, userIds: readonly string[]): Promise<Standings> {
    const { board, exchange } = this.#open(address);
    await exchange.pull();
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
      asOf: exchange.asOf,
    };
  }

  /** This shard's part of the list around a key. */
  async run(address: ShardAddress, key: RunKey, before: number, after: number): Promise<ShardRun> {
    return this.#open(address).board.run(key, before, after);
  }

  async countAbove(address: ShardAddress, scores: readonly number[]): Promise<number[]> {
    const { board } = this.#open(address);
    return scores.map((score) => board.countAbove(score));
  }

  /** Answers a season whose counts of this shard are too old. */
  async report(address: ShardAddress, generation: string): Promise<CountReport> {
    const { board } = this.#open(address);
    const report = board.makeReport(this.#now(), generation);
    this.#planPush();
    return report;
  }

  async correct(address: ShardAddress, userId: string, change: Correction): Promise<CorrectedPlayer | null> {
    const { board, exchange } = this.#open(address);
    await exchange.pull();
    if (board.sealedAt !== null) return null;
    const corrected = this.#change(() => board.correct(userId, change, this.#now()));
    this.#planPush();
    await exchange.push();
    return corrected;
  }

  /** @returns whether the player was here. */
  async erase(address: ShardAddress, userId: string): Promise<boolean> {
    const { board, exchange } = this.#open(address);
    const isErased = this.#change(() => board.erase(userId, this.#now()));
    this.#planPush();
    await exchange.push();
    return isErased;
  }

  /** Whether each player has a score here, hidden or not. */
  async knows(address: ShardAddress, userIds: readonly string[]): Promise<boolean[]> {
    this.#open(address);
    return userIds.map((userId) => this.#store?.findPlayer(userId) !== null);
  }

  /** Seals the shard: no new scores are accepted. Idempotent. @returns the totals that the archive must match. */
  async seal(address: ShardAddress): Promise<{ players: number; sum: string }> {
    return this.#open(address).board.seal(this.#now());
  }

  /** Listed players in order of `user_id`, after one. For the archive's look-up. */
  async readByUserId(address: ShardAddress, after: string, limit: number): Promise<TopEntry[]> {
    this.#open(address);
    return (this.#store as ShardStore).readByUserId(after, limit);
  }

  /** Erases the shard after its season is archived. Later writes get `season_sealed`. */
  async destroy(): Promise<void> {
    this.#isGone = true;
    this.#close();
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
  }

  override async alarm(): Promise<void> {
    this.#isAlarmPlanned = false;
    const now = this.#now();
    if (this.#opened !== undefined && now - this.#prunedAt > PRUNE_INTERVAL_MS) {
      this.#opened.board.pruneEvents(Math.floor((now - EVENT_RETENTION_MS) / 1000));
      this.#prunedAt = now;
    }
    this.#planPush();
  }

  #open(address: ShardAddress): OpenShard {
    if (this.#isGone) throw new Error(`the shard ${toShardName(address)} was erased`);
    if (this.#opened === undefined) {
      const board = new ShardBoard(this.#store as ShardStore, address, crypto.randomUUID());
      const { season, shards } = address;
      const id = this.env.LEADERBOARD_SEASON.idFromName(season);
      // A stub cannot be used after its object failed, so each call gets a new one.
      const line = new SeasonLine(() => this.env.LEADERBOARD_SEASON.get(id).openLine({ season, shards }));
      const exchange = new CountExchange(board, line, this.#now, (work) => this.ctx.waitUntil(work));
      const queue = new ScoreQueue(exchange, shards, (updates) => this.#commit(board, updates));
      this.#opened = { board, exchange, line, queue };
    }
    return this.#opened;
  }

  #commit(board: ShardBoard, updates: readonly ScoreUpdate[]): PendingResult[] {
    if (this.#opened?.board !== board) throw new Error('the board was closed meanwhile');
    try {
      return board.score(updates, this.#now());
    } catch (error) {
      // Nothing is committed yet, and the abort discards all of it. A savepoint would do the same for one call, but
      // copies every page that a score changes.
      logError('leaderboard_shard_failed', error);
      this.ctx.abort('scores could not be written');
      throw error;
    }
  }

  #close(): void {
    this.#opened?.exchange.stop();
    this.#opened?.line.close();
    this.#opened = undefined;
  }

  /** After an error the index may be ahead of the rows. Closing the board rebuilds it from them. */
  #change<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      this.#close();
      throw error;
    }
  }

  /** A timer ends with the object; the alarm behind it does not. */
  #planPush(): void {
    if (!this.#opened?.exchange.planPush() || this.#isAlarmPlanned) return;
    this.#isAlarmPlanned = true;
    this.ctx.waitUntil(this.ctx.storage.setAlarm(Date.now() + ALARM_INTERVAL_MS));
  }

  /**
   * Resolves ranks inside mixed buckets: asks the other shards for counts, and stores the answered rank with the event.
   */
  async #settle(
    board: ShardBoard,
    updates: readonly ScoreUpdate[],
    pending: readonly PendingResult[],
  ): Promise<ScoreResult[]> {
    const scores = pending.flatMap(({ result, unsure }) => (result.ok && unsure > 0 ? [result.value.score] : []));
    const own = scores.map((score) => board.countAbove(score));
    const exact = await this.#countElsewhere(board, scores);
    const settled: { update: ScoreUpdate; rank: number }[] = [];
    const results = pending.map(({ result, unsure }, i): ScoreResult => {
      if (!result.ok || unsure === 0) return result;
      const { score, isDuplicate } = result.value;
      const rank = 1 + (own[scores.indexOf(score)] ?? 0) + (exact.get(score) ?? 0);
      if (!isDuplicate) settled.push({ update: updates[i] as ScoreUpdate, rank });
      return ok({ ...result.value, rank });
    });
    board.settleRanks(settled);
    return results;
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
