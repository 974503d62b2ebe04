/**
 * The object of one season: merges the counts of the shards, sends the top list to the views, and closes the month.
 *
 * By design: its load depends on the number of shards and views, never on the rate of scores or the number of viewers.
 */
import { DurableObject } from 'cloudflare:workers';
import { type Distribution, distribute } from '../../../workers/leaderboard/domain/distribution.ts';
import { readSeason } from '../../../workers/leaderboard/domain/season-name.ts';
import { countAboveIn } from '../../../workers/leaderboard/objects.ts';
import { createClock } from '../../../workers/shared/settings/clock.ts';
import { settingsOf } from '../../../workers/shared/settings/settings.ts';
import { guardedEnv } from '../../../workers/shared/stores/guarded-database.ts';
import { callInTrace, runInvocation } from '../../../workers/shared/telemetry/invocation.ts';
import type { CountAnswer, CountReport } from '../domain/shard-counts.ts';
import {
  addressesOf,
  type PostMark,
  type ScoreRange,
  type SeasonAddress,
  type ShardStatus,
  type TopList,
} from '../protocol.ts';
import { beginClosing, SeasonClosing } from './closing.ts';
import { SeasonCounts } from './season-counts.ts';
import { type Closing, SeasonObjectStore } from './store.ts';
import { ViewFeed } from './view-feed.ts';

/** Time that one call may spend on a closing. */
const ADVANCE_MS = 15_000;
const QUESTION_MS = 2_000;

export class LeaderboardSeason extends DurableObject<Env> {
  readonly #now: () => number;
  readonly #store: SeasonObjectStore;
  readonly #closing: SeasonClosing;
  #opened: { readonly counts: SeasonCounts; readonly feed: ViewFeed } | undefined;
  #advancing: Promise<boolean> | undefined;
  #isGone = false;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, guardedEnv(env));
    this.#now = createClock(env);
    this.#store = new SeasonObjectStore(ctx.storage);
    this.#closing = new SeasonClosing(this.env, this.#store, this.#now);
  }

  /** Does nothing itself. The first call of an object creates it and decides its location. */
  async prepare(): Promise<void> {}

  /**
   * Opens a session in which a shard pushes its changed counts and receives those of the other shards. The platform counts all
   * exchanges of a session as one request.
   */
  async openLine(address: SeasonAddress): Promise<(report: CountReport) => Promise<CountAnswer>> {
    return async (report) => {
      const { counts, feed } = this.#open(address);
      const outcome = counts.apply(report);
      if (outcome === 'applied' && report.top !== null) feed.plan();
      await counts.pullStale(report.shard);
      return { ...counts.merged.answer(report, outcome), views: feed.names };
    };
  }

  /**
   * Registers a view for changes of the top list.
   * @param minAsOf time of the returned list: this or later, if possible.
   * @param marks posts that the list must have, if possible
   */
  async watch(
    address: SeasonAddress,
    view: string,
    minAsOf: number,
    marks: readonly PostMark[] = [],
  ): Promise<TopList> {
    const { counts, feed } = this.#open(address);
    feed.register(view);
    await counts.pullStale(null, minAsOf, marks);
    // A pull that was in progress may have begun before the post.
    if (marks.length > 0) await counts.pullStale(null, 0, marks);
    return counts.top();
  }

  async status(address: SeasonAddress): Promise<ShardStatus[]> {
    return (await this.#refresh(address)).status();
  }

  /**
   * Counts players of some shards above each score, by the last counts of these shards. Readers of a board use it for shards that
   * do not answer.
   */
  async countAbove(address: SeasonAddress, shards: readonly number[], scores: readonly number[]) {
    const { merged } = this.#open(address).counts;
    const asOf = Math.min(...shards.map((shard) => merged.countedAt(shard)));
    return { asOf, above: scores.map((score) => merged.countAbove(score, shards).above) };
  }

  /** @returns the range of scores that contains the score of the player with a rank (`MergedCounts.findRank`), by the last counts. */
  async findRank(address: SeasonAddress, rank: number): Promise<(ScoreRange & { readonly asOf: number }) | null> {
    const counts = await this.#refresh(address);
    const range = counts.merged.findRank(rank);
    return range && { ...range, asOf: counts.top().asOf };
  }

  /**
   * Reloads the counts of a shard after a player was erased, and replaces its stored snapshot.
   * @throws if the shard does not answer.
   */
  async reload(address: SeasonAddress, shard: number): Promise<void> {
    const { counts, feed } = this.#open(address);
    await counts.reload(shard);
    feed.plan();
  }

  /** Continues with the players that a shard still has. @returns their number. @throws if the shard does not answer. */
  async acceptLoss(address: SeasonAddress, shard: number): Promise<number> {
    const { counts, feed } = this.#open(address);
    const players = await counts.acceptLoss(shard);
    feed.plan();
    return players;
  }

  async distribution(address: SeasonAddress, rangesMax: number): Promise<Distribution> {
    const counts = await this.#refresh(address);
    const { players, least } = counts.merged;
    const { entries, asOf } = counts.top();
    if (players === 0) return { ranges: [], players, asOf };
    const ends = { least, best: Math.max(least, entries[0]?.score ?? least), players };
    const countAbove = (scores: readonly number[]) => this.#countAbove(address, counts, scores);
    return { ranges: await distribute(readSeason(address.season).rules, ends, rangesMax, countAbove), players, asOf };
  }

  /**
   * Counts players above each score. Queries the shards if a score is inside a bucket of several scores. If they do not answer,
   * uses the end of the bucket.
   */
  async #countAbove(address: SeasonAddress, { merged }: SeasonCounts, scores: readonly number[]): Promise<number[]> {
    const known = scores.map((score) => merged.countAbove(score));
    const above = known.map((each) => each.above);
    if (known.every(({ unsure }) => unsure === 0)) return above;
    const asked = await countAboveIn(this.env, addressesOf(address), scores, QUESTION_MS).catch(() => above);
    // Players written between the two queries would otherwise make a range negative.
    return asked.map((count) => Math.min(count, merged.players));
  }

  /**
   * Continues the closing of a past month for some seconds. The alarm continues the rest. Idempotent. @returns the
   * progress.
   */
  async close({ season, shards }: SeasonAddress): Promise<{ step: Closing['step']; players: number }> {
    if (this.#isGone) throw new Error(`the season ${season} was erased`);
    if (this.#store.readClosing() === null) {
      await this.#open({ season, shards }).feed.end();
      this.#store.writeClosing(beginClosing(season, shards, this.#now()));
    }
    await this.#advance();
    const closing = this.#store.readClosing();
    return { step: closing?.step ?? 'seal', players: closing?.progress.sealed.players ?? 0 };
  }

  /** Erases the season object after its board was deleted. */
  async destroy(address: SeasonAddress): Promise<void> {
    this.#isGone = true;
    await this.#advancing;
    await this.#open(address).feed.end();
    this.#opened = undefined;
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
  }

  async inTrace(traceId: string, method: string, args: unknown[]): Promise<unknown> {
    return callInTrace(this, this.env, traceId, method, args);
  }

  override async alarm(): Promise<void> {
    // While the deployment does not serve the leaderboard, the alarm does nothing. Later, cron continues the closing.
    if (!settingsOf(this.env).PRODUCTS.includes('leaderboard')) return;
    await runInvocation(this.env, undefined, () => this.#advance());
  }

  #advance(): Promise<boolean> {
    this.#advancing ??= this.#advanceForSeconds().finally(() => {
      this.#advancing = undefined;
    });
    return this.#advancing;
  }

  async #advanceForSeconds(): Promise<boolean> {
    const until = Date.now() + ADVANCE_MS;
    for (let isMore = true; isMore; ) {
      const closing = this.#store.readClosing();
      if (closing === null || this.#isGone) return false;
      isMore = await this.#closing.advance(closing);
      if (isMore && Date.now() > until) {
        await this.ctx.storage.setAlarm(Date.now() + 100);
        return true;
      }
    }
    return false;
  }

  #open(address: SeasonAddress) {
    if (this.#opened === undefined) {
      const counts = new SeasonCounts(this.env, this.#store, address, this.#now);
      this.#opened = { counts, feed: new ViewFeed(this.env, this.#store, address.season, () => counts.top()) };
    }
    return this.#opened;
  }

  async #refresh(address: SeasonAddress): Promise<SeasonCounts> {
    const { counts } = this.#open(address);
    await counts.pullStale();
    return counts;
  }
}
