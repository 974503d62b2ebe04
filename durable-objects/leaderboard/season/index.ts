/**
 * The object of one season: merges the counts of the shards, sends the top list to the views, and ends the season.
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
import { countAbovePast } from '../domain/past-counts.ts';
import type { CountAnswer, CountReport } from '../domain/shard-counts.ts';
import {
  addressesOf,
  type PastAnswer,
  type PostMark,
  type ScoreRange,
  type SeasonAddress,
  type ShardStatus,
  type TopList,
} from '../protocol.ts';
import { advanceArchived, findArchived, removeArchive } from './archived-season.ts';
import { SeasonClosing } from './closing.ts';
import { SeasonCounts } from './season-counts.ts';
import { type SeasonEnd, SeasonObjectStore } from './store.ts';
import { ViewFeed } from './view-feed.ts';

const QUESTION_MS = 2_000;

export class LeaderboardSeason extends DurableObject<Env> {
  readonly #now: () => number;
  readonly #store: SeasonObjectStore;
  readonly #closing: SeasonClosing;
  #opened: { readonly counts: SeasonCounts; readonly feed: ViewFeed } | undefined;
  /** The call that ends the season, so that there is one at a time. */
  #closingNow: Promise<unknown> = Promise.resolve();
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
    const isNew = feed.register(view);
    // A shard that is alone pushes only after it was asked, so it is asked for each new view.
    const isUnasked = isNew && address.shards === 1;
    await counts.pullStale(null, isUnasked ? Math.max(minAsOf, this.#now()) : minAsOf, marks);
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

  /**
   * Counts the players above each score in a final season, from one stored row for each score.
   * @returns null if the season is not final.
   */
  async countPast(_address: SeasonAddress, scores: readonly number[]): Promise<PastAnswer | null> {
    const end = this.#store.readEnd();
    if (end === null || end.finalAt === null) return null;
    const above = scores.map((score) => countAbovePast(this.#store.findPast(score), score, end));
    return { above, players: end.players, asOf: end.asOf ?? Number.MAX_SAFE_INTEGER };
  }

  /** @returns the range of scores that contains the score of the player with a rank (`MergedCounts.findRank`), by the last counts. */
  async findRank(address: SeasonAddress, rank: number): Promise<(ScoreRange & { readonly asOf: number }) | null> {
    const counts = await this.#refresh(address);
    const range = counts.merged.findRank(rank);
    return range && { ...range, asOf: counts.asOf };
  }

  /**
   * Reloads the counts of a shard after a player was erased or corrected, and replaces what is stored of them.
   * @param erased user id of a player who is erased now, and need not be hidden any more
   * @throws if the shard does not answer.
   */
  async reload(address: SeasonAddress, shard: number, erased?: string): Promise<void> {
    const { counts, feed } = this.#open(address);
    await counts.reload(shard);
    // The files of a season that has moved into its shards have the player, too.
    if (erased !== undefined && this.#store.readArchived()?.step === 'moved')
      await removeArchive(this.env, this.#store, address.season);
    if (erased !== undefined) counts.setErased(erased, false);
    this.#closing.storeCounts(counts);
    feed.plan();
  }

  /** Hides a player from lists at once, until the player is erased from the shard. */
  async hide(address: SeasonAddress, userId: string): Promise<void> {
    const { counts, feed } = this.#open(address);
    counts.setErased(userId, true);
    await feed.sendNow();
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
    const { asOf, best } = counts;
    if (players === 0) return { ranges: [], players, asOf };
    const ends = { least, best: Math.max(least, best ?? least), players };
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
   * Ends a season that is over: seals its shards. Idempotent. @returns how far it is.
   * @param without numbers of shards without which the season may become final, if they do not answer
   */
  async close({ season, shards }: SeasonAddress, without: readonly number[] = []): Promise<SeasonEnd> {
    const call = this.#closingNow.catch(() => {}).then(() => this.#close({ season, shards }, without));
    this.#closingNow = call;
    return call;
  }

  async #close(address: SeasonAddress, without: readonly number[]): Promise<SeasonEnd> {
    if (this.#isGone) throw new Error(`the season ${address.season} was erased`);
    const archived = await findArchived(this.env, this.#store, address);
    const { counts, feed } = this.#open(address);
    if (archived !== null) {
      const parts = { env: this.env, store: this.#store, counts, closing: this.#closing };
      await advanceArchived(parts, archived, this.#now());
      return {
        finalAt: archived.sealedAt,
        players: archived.progress.sealed.players,
        bits: 0,
        without: [],
        asOf: null,
      };
    }
    if (this.#store.readEnd() === null) await feed.end();
    return this.#closing.advance(address, counts, without);
  }

  /** Erases the season object after its board was deleted. */
  async destroy(address: SeasonAddress): Promise<void> {
    this.#isGone = true;
    await this.#closingNow.catch(() => {});
    await this.#open(address).feed.end();
    this.#opened = undefined;
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
  }

  async inTrace(traceId: string, method: string, args: unknown[]): Promise<unknown> {
    return callInTrace(this, this.env, traceId, method, args);
  }

  /** Continues to erase the objects of a season that 0.2.0 archived. */
  override async alarm(): Promise<void> {
    // While the deployment does not serve the leaderboard, the alarm does nothing. Later, cron continues.
    if (!settingsOf(this.env).PRODUCTS.includes('leaderboard')) return;
    const archived = this.#store.readArchived();
    if (archived !== null) await runInvocation(this.env, undefined, () => this.close(archived));
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
