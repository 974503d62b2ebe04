/**
 * The object of one shard of a season: reads the clock, calls the board and exchanges counts with the season.
 *
 * A score is acknowledged when its shard has committed it (the object's output gate). Calls that arrive within some
 * milliseconds share one commit. A rank is the shard's own count plus the last counts of the other shards.
 */
import { DurableObject } from 'cloudflare:workers';
import type { FoundName } from '../../../workers/leaderboard/domain/name-search.ts';
import type { BoardRules } from '../../../workers/leaderboard/domain/score-rules.ts';
import type { StandingKey } from '../../../workers/leaderboard/domain/standing.ts';
import { seasonStub } from '../../../workers/leaderboard/objects.ts';
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import { createClock } from '../../../workers/shared/settings/clock.ts';
import { callInTrace, runInvocation } from '../../../workers/shared/telemetry/invocation.ts';
import { logError } from '../../../workers/shared/telemetry/log.ts';
import { CopyError } from '../domain/copy-file.ts';
import { PostRate } from '../domain/post-rate.ts';
import type { CountReport } from '../domain/shard-counts.ts';
import {
  type CopyFault,
  type CorrectedPlayer,
  type Correction,
  EVENT_RETENTION_MS,
  type ScoreAnswer,
  type ScoreError,
  type ScoreResult,
  type ScoreUpdate,
  type ShardAddress,
  type ShardRun,
  type ShardStandings,
  toShardName,
} from '../protocol.ts';
import { findNames } from './found-names.ts';
import { recordAlone } from './lone-shard.ts';
import { findPast } from './past-players.ts';
import { restoreCopy } from './restoring.ts';
import { SeasonLink } from './season-link.ts';
import { ShardBoard } from './shard-board.ts';
import { openCopy, writeCopy } from './shard-copy.ts';
import { ShardStore } from './store.ts';

/** Time from the start of one commit to the start of the next. A call that comes alone does not wait. */
const ROUND_MS = 20;
/** Interval at which a shard that changes writes a checkpoint and its copy, and removes old events. */
const ALARM_INTERVAL_MS = 3_600_000;
/** Time from the seal, an erasure or a correction of the past to the copy that has it. */
const COPY_AFTER_MS = 60_000;

/** Key of a stored value: whether a restore is in progress. */
const RESTORING = 'restoring';
/** Stands for a generation that no shard knows, so that its report has all counts. */
const FULL = 'all';

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
  /** Time of the next alarm; 0 if there is none. */
  #alarmAt = 0;
  readonly #rate = new PostRate();
  #isGone = false;
  #isRestoring = false;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#now = createClock(env);
    ctx.blockConcurrencyWhile(async () => {
      this.#store = await ShardStore.open(ctx.storage);
      this.#alarmAt = (await ctx.storage.getAlarm()) ?? 0;
      // A restore that was cut has left a part of the rows.
      if (ctx.storage.kv.get(RESTORING) !== undefined) {
        this.#store.clear();
        ctx.storage.kv.delete(RESTORING);
      }
      const known = this.#store.readBoard();
      if (known !== null) this.#open(known.address);
    });
  }

  async inTrace(traceId: string, method: string, args: unknown[]): Promise<unknown> {
    return callInTrace(this, this.env, traceId, method, args);
  }

  /** Does nothing itself. The first call of an object creates it and decides its location. */
  async prepare(): Promise<void> {}

  /**
   * Writes scores in order. Each update has its own result; an update that fails changes nothing.
   * @param rules rules of the board. Workers of 0.2.0 do not send them; the shard then uses those that it knows.
   * @param perSecond posts a second that it takes; undefined without such a rate
   */
  async score(
    address: ShardAddress,
    updates: readonly ScoreUpdate[],
    rules?: BoardRules,
    perSecond?: number,
  ): Promise<ScoreAnswer> {
    const now = this.#now();
    const refuse = (error: ScoreError) => ({ results: updates.map(() => err(error)), asOf: now, writtenAt: now });
    if (this.#isGone) return refuse({ kind: 'season_sealed' });
    const shard = this.#open(address);
    const waitMs = perSecond === undefined ? 0 : this.#rate.take(updates.length, perSecond, Date.now());
    if (waitMs > 0) return refuse({ kind: 'board_busy', waitMs });
    if (rules !== undefined) shard.board.learnRules(rules);
    this.#round ??= this.#beginRound(shard);
    const { updates: all, results } = this.#round;
    const at = all.length;
    all.push(...updates);
    const own = (await results).slice(at, at + updates.length);
    // A report made in this millisecond may lack these scores. So the time of the new scores is later than that of the last report.
    const writtenAt = Math.max(this.#now(), shard.board.players.reportedAt + 1);
    const given = rules === undefined ? own.map(toFormerResult) : own;
    return { results: given, asOf: this.#asOf(shard.board), writtenAt, views: shard.board.counts.views };
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
    checkLoss(board);
    const results = this.#change(board, () => board.score(updates, this.#now()));
    this.#planWork(link);
    return results;
  }

  /** @returns the first answers to events that this shard has counted; null for other events. Changes nothing. */
  async findEvents(address: ShardAddress, updates: readonly ScoreUpdate[]): Promise<(ScoreResult | null)[]> {
    return this.#serve(address).board.findEvents(updates);
  }

  async standings(address: ShardAddress, userIds: readonly string[]): Promise<ShardStandings> {
    const { board, link } = this.#open(address);
    const past = board.sealedAt === null ? null : await findPast(this.env, board, userIds, this.#now());
    if (past !== null) return past;
    await link.refresh();
    checkLoss(board);
    const entries = userIds.map((userId) => board.standing(userId));
    return { entries, players: board.players.index.size + board.counts.others.players, asOf: this.#asOf(board) };
  }

  /** Data of the scores of players as JSON text, in the order of the ids; null for a player without data. */
  async readData(address: ShardAddress, userIds: readonly string[]): Promise<(string | null)[]> {
    return this.#serve(address).board.readData(userIds);
  }

  /** Finds players by the beginning of their folded names. Objects of 0.2.0 do not have it. */
  async findNames(address: ShardAddress, beginning: string, limit: number): Promise<FoundName[]> {
    const { board } = this.#serve(address);
    return this.#change(board, () => findNames(this.#store as ShardStore, board.players, beginning, limit));
  }

  async run(address: ShardAddress, key: StandingKey, before: number, after: number): Promise<ShardRun> {
    return this.#serve(address).board.players.run(key, before, after);
  }

  /** Counts the shard's players above each score. A score of −1 counts all players. */
  async countAbove(address: ShardAddress, scores: readonly number[]): Promise<number[]> {
    const { board } = this.#serve(address);
    return scores.map((score) => board.players.index.countAbove(score));
  }

  /** @returns the shard's counts. The season calls it when the counts it has are too old. */
  async report(address: ShardAddress, generation: string): Promise<CountReport> {
    const { board, link } = this.#open(address);
    const report = board.players.makeReport(this.#now(), generation);
    // A shard that does not know the generation would answer every such call with all its counts.
    if (board.sealedAt === null) link.pushFor();
    return report;
  }

  /** Corrects a player. If the shard is sealed, the season has to `reload` its counts then. */
  async correct(address: ShardAddress, userId: string, change: Correction): Promise<CorrectedPlayer | null> {
    const { board, link } = this.#serve(address);
    const isSealed = board.sealedAt !== null;
    if (!isSealed) await link.refresh();
    checkLoss(board);
    const corrected = this.#change(board, () => board.correct(userId, change, this.#now()));
    if (isSealed) {
      this.#planAlarm(COPY_AFTER_MS);
      return corrected;
    }
    this.#planWork(link);
    await link.push();
    return corrected;
  }

  async erase(address: ShardAddress, userId: string): Promise<boolean> {
    const { board } = this.#serve(address);
    const isErased = this.#change(board, () => board.erase(userId, this.#now()));
    if (isErased) this.#planAlarm(COPY_AFTER_MS);
    return isErased;
  }

  /** Whether the player has a score in this shard, hidden or not. */
  async knows(address: ShardAddress, userId: string): Promise<boolean> {
    return this.#serve(address).board.knows(userId);
  }

  /** Seals the shard: no new scores are accepted. Idempotent. @returns all its counts, which do not change by posts any more. */
  async seal(address: ShardAddress): Promise<{ players: number; report: CountReport }> {
    const { board } = this.#open(address);
    checkLoss(board);
    const players = this.#change(board, () => board.seal(this.#now()));
    this.#planAlarm(COPY_AFTER_MS);
    return { players, report: board.players.makeReport(this.#now(), FULL) };
  }

  /** Replaces the rows of a shard that lost them by those of its newest copy in R2. @returns the players, and the time of the copy. */
  async restore(address: ShardAddress): Promise<Result<{ players: number; at: number }, CopyFault>> {
    if (this.#isGone) {
      // The season was archived and erased, and is moved into its shards again.
      this.#store = await ShardStore.open(this.ctx.storage);
      this.#isGone = false;
    }
    const logged = this.#opened?.board.logged ?? 0;
    try {
      const begin = () => {
        this.#isRestoring = true;
        this.ctx.storage.kv.put(RESTORING, true);
        this.#opened?.link.stop();
        this.#opened = undefined;
      };
      const manifest = await restoreCopy(this.env, this.#store as ShardStore, address, { logged, begin });
      this.ctx.storage.kv.delete(RESTORING);
      this.#isRestoring = false;
      const { board } = this.#open(address);
      if (board.sealedAt !== null) this.#change(board, () => board.seal(this.#now()));
      return ok({ players: board.players.index.size, at: manifest.at });
    } catch (error) {
      // The next life of the object removes the rows.
      if (this.#isRestoring) this.ctx.abort('the shard could not be restored');
      if (error instanceof CopyError) return err({ kind: error.kind, detail: error.message });
      throw error;
    }
  }

  /** Lets the shard overwrite the copy of its former life, after an operator accepted the loss of its players. */
  async takeOverCopies(address: ShardAddress): Promise<void> {
    const { manifest } = await openCopy(this.env, address);
    const { board } = this.#open(address);
    this.#change(board, () => board.continueCopies(manifest.copy));
  }

  /** Erases the shard. Later writes are refused with `season_sealed`. */
  async destroy(): Promise<void> {
    this.#isGone = true;
    this.#opened?.link.stop();
    this.#opened = undefined;
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
  }

  override async alarm(): Promise<void> {
    this.#alarmAt = 0;
    const shard = this.#opened;
    if (shard !== undefined) await runInvocation(this.env, undefined, () => this.#tidy(shard));
  }

  async #tidy({ board, link }: OpenShard): Promise<void> {
    const isAsleep = this.#change(board, () => board.tidy(this.#now()));
    if (board.sealedAt === null) {
      link.pushFor();
      if (board.address.shards === 1) await recordAlone(this.env, board, this.#rate.takeVerdict());
    } else if (!isAsleep) this.#planAlarm(board.sealedAt + EVENT_RETENTION_MS + COPY_AFTER_MS - this.#now());
    try {
      const isGone = () => this.#isGone || this.#opened?.board !== board;
      await writeCopy(this.env, this.#store as ShardStore, board.takeSnapshot(this.#now()), isGone);
    } catch (error) {
      logError('leaderboard_copy_failed', error, { season: board.address.season, shard: board.address.shard });
      this.#planAlarm(ALARM_INTERVAL_MS);
    }
  }

  /** Plans the next alarm, unless an earlier one is planned. */
  #planAlarm(afterMs: number): void {
    const at = Date.now() + afterMs;
    if (this.#alarmAt !== 0 && this.#alarmAt <= at) return;
    this.#alarmAt = at;
    this.ctx.waitUntil(this.ctx.storage.setAlarm(at));
  }

  #open(address: ShardAddress): OpenShard {
    if (this.#isGone) throw new Error(`the shard ${toShardName(address)} was erased`);
    if (this.#isRestoring) throw new Error(`the shard ${toShardName(address)} is being restored`);
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

  #serve(address: ShardAddress): OpenShard {
    const shard = this.#open(address);
    checkLoss(shard.board);
    // The season tells a shard that has restarted whether it lost players.
    if (shard.board.sealedAt === null) shard.link.planPush();
    return shard;
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
    this.#planAlarm(ALARM_INTERVAL_MS);
  }

  #asOf({ address, counts, startsAt }: ShardBoard): number {
    if (address.shards === 1) return this.#now();
    return Math.min(this.#now(), counts.isAnswered ? counts.othersAsOf : startsAt);
  }
}

/** A result for a Worker of 0.2.0, which does not know the limit per day: its client retries, and reaches a newer Worker soon. */
const toFormerResult = (result: ScoreResult): ScoreResult =>
  !result.ok && result.error.kind === 'points_per_day_exceeded' ? err({ kind: 'unavailable' }) : result;

/** @throws if the shard lost players, for example by a restore. Serving the others would give wrong ranks, and new scores from 0. */
function checkLoss({ address, counts, players }: ShardBoard): void {
  if (counts.lostFrom === undefined) return;
  throw new Error(`${toShardName(address)} has ${players.index.size} of ${counts.lostFrom} players`);
}
