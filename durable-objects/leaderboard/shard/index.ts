/**
 * The object of one shard of a season: reads the clock, calls the board and exchanges counts with the season.
 *
 * A score is acknowledged when its shard has committed it (the object's output gate). Calls that arrive within some
 * milliseconds share one commit. A rank is the shard's own count plus the last counts of the other shards.
 */
import { DurableObject } from 'cloudflare:workers';
import type { StandingKey, TopEntry } from '../../../workers/leaderboard/domain/standing.ts';
import { countAboveIn, seasonStub } from '../../../workers/leaderboard/objects.ts';
import { err } from '../../../workers/shared/pure/result.ts';
import { createClock } from '../../../workers/shared/settings/clock.ts';
import { callInTrace, runInvocation } from '../../../workers/shared/telemetry/invocation.ts';
import { logError } from '../../../workers/shared/telemetry/log.ts';
import type { CountReport } from '../domain/shard-counts.ts';
import {
  addressesOf,
  type CorrectedPlayer,
  type Correction,
  type ScoreAnswer,
  type ScoreResult,
  type ScoreUpdate,
  type ShardAddress,
  type ShardRun,
  type Standings,
  toShardName,
} from '../protocol.ts';
import { SeasonLink } from './season-link.ts';
import { type KnownCounts, ShardBoard } from './shard-board.ts';
import { ShardStore } from './store.ts';

/** Time from the start of one commit to the start of the next. A call that comes alone does not wait. */
const ROUND_MS = 20;
/** Interval at which a shard that changes writes a checkpoint and removes old events. */
const ALARM_INTERVAL_MS = 3_600_000;
const QUESTION_MS = 2_000;
const NO_COUNTS: KnownCounts = new Map();
/** Below every score, so `countAbove(ALL)` counts all players. */
const ALL = -1;

interface OpenShard {
  readonly board: ShardBoard;
  readonly link: SeasonLink;
}

/** A score round: the calls that share one commit. */
interface Round {
  readonly updates: ScoreUpdate[];
  readonly results: Promise<ScoreResult[]>;
}

export class LeaderboardShard extends DurableObject<Env> {
  readonly #now: () => number;
  #store: ShardStore | undefined;
  #opened: OpenShard | undefined;
  /** The round that has not been committed. New calls join it. */
  #round: Round | undefined;
  #roundAt = 0;
  /** Resolves once the previous round is committed. */
  #committed: Promise<unknown> = Promise.resolve();
  #isAlarmPlanned = false;
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

  async inTrace(traceId: string, method: string, args: unknown[]): Promise<unknown> {
    return callInTrace(this, this.env, traceId, method, args);
  }

  /** Does nothing itself. The first call of an object creates it and decides its location. */
  async prepare(): Promise<void> {}

  /** Writes scores in order. Each update has its own result; an update that fails changes nothing. */
  async score(address: ShardAddress, updates: readonly ScoreUpdate[]): Promise<ScoreAnswer> {
    if (this.#isGone) {
      const now = this.#now();
      return { results: updates.map(() => err({ kind: 'season_sealed' })), asOf: now, writtenAt: now };
    }
    const shard = this.#open(address);
    this.#round ??= this.#beginRound(shard);
    const { updates: all, results } = this.#round;
    const at = all.length;
    all.push(...updates);
    const own = (await results).slice(at, at + updates.length);
    // A report made in this millisecond may lack these scores. So the time of the new scores is later than that of the last report.
    const writtenAt = Math.max(this.#now(), shard.board.players.reportedAt + 1);
    return { results: own, asOf: this.#asOf(shard.board), writtenAt };
  }

  #beginRound(shard: OpenShard): Round {
    const updates: ScoreUpdate[] = [];
    const results = this.#commitRound(shard, updates, this.#committed);
    this.#committed = results.catch(() => {});
    return { updates, results };
  }

  async #commitRound({ board, link }: OpenShard, updates: ScoreUpdate[], before: Promise<unknown>) {
    await before;
    // Never waits longer than one round, even if the clock was set back.
    const waitMs = Math.min(ROUND_MS, this.#roundAt + ROUND_MS - Date.now());
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    await link.refresh();
    this.#round = undefined;
    this.#roundAt = Date.now();
    const known = await this.#askShards(
      board,
      this.#change(board, () => board.listUnsure(updates)),
    );
    const results = this.#change(board, () => board.score(updates, this.#now(), known));
    this.#planWork(link);
    return results;
  }

  /** @returns the first answers to events that this shard has counted; null for other events. Changes nothing. */
  async findEvents(address: ShardAddress, updates: readonly ScoreUpdate[]): Promise<(ScoreResult | null)[]> {
    return this.#open(address).board.findEvents(updates);
  }

  async standings(address: ShardAddress, userIds: readonly string[]): Promise<Standings> {
    const { board, link } = this.#open(address);
    await link.refresh();
    const find = (known: KnownCounts) => userIds.map((userId) => board.standing(userId, known));
    let entries = find(NO_COUNTS);
    const unsure = entries.flatMap((entry) => (entry !== null && board.isUnsure(entry.score) ? [entry.score] : []));
    const known = await this.#askShards(board, unsure);
    if (unsure.length > 0) entries = find(known);
    const players = board.players.index.size + (known.get(ALL) ?? board.counts.others.players);
    return { entries, players, asOf: this.#asOf(board) };
  }

  async run(address: ShardAddress, key: StandingKey, before: number, after: number): Promise<ShardRun> {
    return this.#open(address).board.players.run(key, before, after);
  }

  /** Counts the shard's players above each score. A score of −1 counts all players. */
  async countAbove(address: ShardAddress, scores: readonly number[]): Promise<number[]> {
    const { board } = this.#open(address);
    return scores.map((score) => board.players.index.countAbove(score));
  }

  /** @returns the shard's counts. The season calls it when the counts it has are too old. */
  async report(address: ShardAddress, generation: string): Promise<CountReport> {
    return this.#open(address).board.players.makeReport(this.#now(), generation);
  }

  async correct(address: ShardAddress, userId: string, change: Correction): Promise<CorrectedPlayer | null> {
    const { board, link } = this.#open(address);
    await link.refresh();
    if (board.sealedAt !== null) return null;
    const corrected = this.#change(board, () => board.correct(userId, change, this.#now()));
    this.#planWork(link);
    await link.push();
    return corrected;
  }

  async erase(address: ShardAddress, userId: string): Promise<boolean> {
    const { board } = this.#open(address);
    return this.#change(board, () => board.erase(userId, this.#now()));
  }

  /** Whether the player has a score in this shard, hidden or not. */
  async knows(address: ShardAddress, userId: string): Promise<boolean> {
    return this.#open(address).board.knows(userId);
  }

  /** Seals the shard: no new scores are accepted. Idempotent. @returns the totals that the archive must match. */
  async seal(address: ShardAddress): Promise<{ players: number; sum: string }> {
    const { board } = this.#open(address);
    return this.#change(board, () => board.seal(this.#now()));
  }

  /** Reads listed players in order of `user_id`, starting after `after`, for the archive's look-ups. */
  async readByUserId(address: ShardAddress, after: string, limit: number): Promise<TopEntry[]> {
    return this.#open(address).board.players.readByUserId(after, limit);
  }

  /** Erases the shard after its season is archived. Later writes are refused with `season_sealed`. */
  async destroy(): Promise<void> {
    this.#isGone = true;
    this.#opened?.link.stop();
    this.#opened = undefined;
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
  }

  override async alarm(): Promise<void> {
    this.#isAlarmPlanned = false;
    const shard = this.#opened;
    if (shard === undefined) return;
    runInvocation(this.env, undefined, () => {
      this.#change(shard.board, () => shard.board.tidy(this.#now()));
      shard.link.planPush();
    });
  }

  #open(address: ShardAddress): OpenShard {
    if (this.#isGone) throw new Error(`the shard ${toShardName(address)} was erased`);
    if (this.#opened === undefined) {
      const board = new ShardBoard(this.#store as ShardStore, address, crypto.randomUUID());
      const { season, shards } = address;
      // Opens a session on a new stub, because a stub cannot be used again after its object failed.
      const openLine = () => seasonStub(this.env, season).openLine({ season, shards });
      const link = new SeasonLink(board, openLine, this.#now, (work) => this.ctx.waitUntil(work));
      this.#opened = { board, link };
    }
    return this.#opened;
  }

  /**
   * Runs a call in one transaction. After an error, aborts the object, which discards the uncommitted rows and the board in
   * memory. A savepoint could roll back the rows of one call, but it copies every page that a score changes.
   */
  #change<T>(board: ShardBoard, work: () => T): T {
    if (this.#opened?.board !== board) throw new Error('the board was closed meanwhile');
    try {
      return work();
    } catch (error) {
      logError('leaderboard_shard_failed', error);
      this.ctx.abort('the board could not be changed');
      throw error;
    }
  }

  #planWork(link: SeasonLink): void {
    link.planPush();
    if (this.#isAlarmPlanned) return;
    this.#isAlarmPlanned = true;
    this.ctx.waitUntil(this.ctx.storage.setAlarm(Date.now() + ALARM_INTERVAL_MS));
  }

  #asOf({ address, counts }: ShardBoard): number {
    if (address.shards === 1 || counts.othersAsOf === 0) return this.#now();
    return Math.min(this.#now(), counts.othersAsOf);
  }

  /**
   * Asks the other shards for the number of their players above scores if the exchanged counts do not determine it. If they do
   * not answer, the exchanged counts are used as they are.
   * @throws UnavailableError if there are no counts yet.
   */
  async #askShards({ address, counts }: ShardBoard, scores: readonly number[]): Promise<KnownCounts> {
    if (scores.length === 0) return NO_COUNTS;
    const asked = [...new Set(scores), ALL];
    const others = addressesOf(address).filter(({ shard }) => shard !== address.shard);
    try {
      const above = await countAboveIn(this.env, others, asked, QUESTION_MS);
      return new Map(asked.map((score, i) => [score, above[i] as number]));
    } catch (error) {
      if (counts.othersAsOf === 0) throw error;
      logError('leaderboard_shard_unavailable', error, { season: address.season });
      return NO_COUNTS;
    }
  }
}
