/**
 * One season's leaderboard as a whole: the RPC shell. It merges what the shards tell, answers top lists, and pushes them to
 * viewers. What it knows of scores is in memory only and asked for again after a restart.
 *
 * By design: its load follows the number of shards and viewers, never the rate of scores.
 */
import { DurableObject } from 'cloudflare:workers';
import {
  type Requirement,
  type SeasonAddress,
  STALE_AFTER_MS,
  type TopList,
  toShardName,
} from '../../workers/leaderboard/domain/board.ts';
import { MergedCounts } from '../../workers/leaderboard/domain/merged-counts.ts';
import type { CountAnswer, CountReport } from '../../workers/leaderboard/domain/shard-report.ts';
import { mergeStandings, rankRun, type TopEntry } from '../../workers/leaderboard/domain/standing.ts';
import { createClock } from '../../workers/shared/clock.ts';

export class LeaderboardSeason extends DurableObject<Env> {
  readonly #now: () => number;
  readonly #boot = crypto.randomUUID();
  #counts: MergedCounts | undefined;
  #tops: (readonly TopEntry[])[] = [];
  readonly #asked = new Map<number, Promise<void>>();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#now = createClock(env);
  }

  /** A shard tells its news and is told the others'. */
  async exchange(
    address: SeasonAddress,
    report: CountReport,
    wish: { isFresh: boolean; requirement: Requirement },
  ): Promise<CountAnswer> {
    const counts = this.#open(address);
    const isUsed = this.#apply(counts, report);
    if (wish.isFresh) await this.#hearAll(address, counts, wish.requirement, report.shard);
    return counts.answer(report, isUsed);
  }

  async top(address: SeasonAddress, limit: number, requirement: Requirement): Promise<TopList> {
    const counts = this.#open(address);
    await this.#hearAll(address, counts, requirement, null);
    return {
      entries: rankRun(mergeStandings(this.#tops, limit), 0, 1),
      players: counts.players,
      asOf: Math.min(this.#now(), counts.asOf),
    };
  }

  #open({ shards }: SeasonAddress): MergedCounts {
    this.#counts ??= new MergedCounts(shards, this.#boot);
    return this.#counts;
  }

  #apply(counts: MergedCounts, report: CountReport): boolean {
    const outcome = counts.apply(report);
    if (outcome === 'applied' && report.top !== null) this.#tops[report.shard] = report.top;
    return outcome !== 'refused';
  }

  /** Asks the shards that were not heard within a second, or not since the writes that a caller must see. */
  async #hearAll(
    { season, shards }: SeasonAddress,
    counts: MergedCounts,
    requirement: Requirement,
    except: number | null,
  ): Promise<void> {
    const oldest = this.#now() - STALE_AFTER_MS;
    const silent: Promise<void>[] = [];
    for (let shard = 0; shard < shards; shard++) {
      if (shard === except) continue;
      const isBehind = counts.throughOf(shard) < (requirement?.[shard] ?? 0);
      if (!isBehind && counts.heardAt(shard) >= oldest) continue;
      silent.push(this.#ask({ season, shard, shards }, counts, isBehind));
    }
    await Promise.all(silent);
  }

  async #ask(address: { season: string; shard: number; shards: number }, counts: MergedCounts, isBehind: boolean) {
    // A question that is under way may have been answered before the write that the caller must see.
    const asked = this.#asked.get(address.shard);
    if (asked !== undefined) {
      await asked;
      if (!isBehind) return;
    }
    const again = this.#asked.get(address.shard);
    if (again !== undefined) return again;
    const question = this.#question(address, counts).finally(() => this.#asked.delete(address.shard));
    this.#asked.set(address.shard, question);
    return question;
  }

  async #question(address: { season: string; shard: number; shards: number }, counts: MergedCounts): Promise<void> {
    const stub = this.env.LEADERBOARD_SHARD.get(this.env.LEADERBOARD_SHARD.idFromName(toShardName(address)));
    this.#apply(counts, await stub.report(address, counts.generation));
  }
}
