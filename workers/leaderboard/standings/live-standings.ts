/**
 * Standings of a season from its objects, current or past. One shard answers for a player, a view for the top list, and all shards for
 * a run of the list. A run omits the players of a shard that does not answer; the ranks count these players by the season's last counts.
 * Players who were erased from a past season count, and are left out of lists.
 */

import {
  addressesOf,
  type CountedEntry,
  LIST_END,
  LIST_START,
  type RankPlace,
  type ScoreRange,
  type ShardAddress,
  type ShardRun,
  type ShardStandings,
  type Standings,
  type StandingsPage,
  type StandingsReader,
  startOf,
  toShardName,
  type ViewAddress,
} from '../../../durable-objects/leaderboard/protocol.ts';
import { logError } from '../../shared/telemetry/log.ts';
import type { Distribution } from '../domain/distribution.ts';
import { RunMerger } from '../domain/run-merger.ts';
import { shardOf } from '../domain/shard-map.ts';
import {
  agreeRanks,
  decideWindow,
  mergeStandings,
  type RankedEntry,
  rankRun,
  type StandingKey,
  settleRanks,
  type TopEntry,
} from '../domain/standing.ts';
import { toFirstPage } from '../domain/standings-json.ts';
import { countAboveIn, seasonStub, shardStub, toViewName, UnavailableError, viewStub, within } from '../objects.ts';
import type { Season } from '../seasons/seasons.ts';
import { ask, READ_MS } from '../silence.ts';

/** Attempts to read the neighbors of a player whose score changes during the reads. */
const MOVED_ATTEMPTS = 3;
/** A score below all others, so that `countAbove` of it counts all players. */
const ALL = -1;
const EXPORT_ROWS = 2_048;
/** The next integer is still exact. */
const SCORE_MAX = Number.MAX_SAFE_INTEGER - 1;
const SCORES_PER_QUESTION = 15;
/** Stands for the answer of a season object that does not answer. The shards then find the rank, from score 0 on. */
const NO_COUNTS = { low: 0, high: 0, asOf: Number.NEGATIVE_INFINITY };

/** A call to one shard. */
type Question<T> = (shard: ReturnType<typeof shardStub>, address: ShardAddress) => Promise<T>;

/** The answers of the shards, and the numbers of the shards that did not answer. */
interface Answers<T> {
  readonly answers: readonly T[];
  readonly missing: readonly number[];
}

export class LiveStandings implements StandingsReader {
  readonly #env: Env;
  readonly #season: Season;
  readonly #view: ViewAddress;
  readonly #now: () => number;

  /** Opens the standings of a live season. @param region region of the reader, whose view answers. */
  constructor(env: Env, season: Season, region: string, now: () => number) {
    this.#env = env;
    this.#season = season;
    this.#view = { season: season.season, shards: season.shards, view: `${region}:0` };
    this.#now = now;
  }

  async page(after: StandingKey | null, limit: number, isExact: boolean, minAsOf = 0): Promise<StandingsPage> {
    if (after === null && !isExact) {
      try {
        const top = await ask(this.#viewName(), () => this.#viewStub().top(this.#view, limit, minAsOf));
        return toFirstPage(top, limit);
      } catch (error) {
        logError('leaderboard_view_unavailable', error, { season: this.#season.season, view: this.#view.view });
        // The view did not answer, so the list is merged from all shards.
        return this.page(null, limit, true);
      }
    }
    const key = after ?? LIST_START;
    const asOf = this.#now();
    const { answers, missing } = await this.#ask((shard, address) => shard.run(address, key, 0, limit + 1), isExact);
    const merged = merge(answers, 'after', limit + 1);
    const place = sum(answers, (run) => run.countBefore + (run.hasKey ? 1 : 0));
    const firstRank = merged[0]?.score === key.score ? 1 + sum(answers, (run) => run.countAbove) : place + 1;
    const entries = rankRun(merged.slice(0, limit), place, firstRank);
    const next = merged.length > limit ? (entries.at(-1) ?? null) : null;
    const players = sum(answers, (run) => run.players);
    return { ...(await this.#addMissing(entries.filter(isShown), players, missing, asOf)), next };
  }

  async keyAtRank(rank: number, isExact: boolean, minAsOf = 0): Promise<RankPlace> {
    const { season } = this.#season;
    const now = this.#now();
    const counted = await ask(season, () => seasonStub(this.#env, season).findRank(this.#season, rank)).catch(
      () => NO_COUNTS,
    );
    if (counted === null && !isExact && minAsOf === 0) return { key: LIST_END, asOf: now };
    const isRecent = !isExact && counted !== null && counted.asOf >= minAsOf;
    const range = isRecent ? counted : await this.#findRange(counted ?? NO_COUNTS, rank);
    if (range === null) return { key: LIST_END, asOf: now };
    return { key: startOf(await this.#scoreAtRank(range, rank)), asOf: isRecent ? counted.asOf : now };
  }

  /** Counts the players above each score now. @throws UnavailableError if a shard does not answer. */
  #countAbove(scores: readonly number[]): Promise<number[]> {
    return countAboveIn(this.#env, this.#addresses(), scores, READ_MS);
  }

  /** The shards that are asked. A final season may lack some. */
  #addresses(): ShardAddress[] {
    return addressesOf(this.#season).filter(({ shard }) => !this.#season.without.includes(shard));
  }

  /**
   * Finds a range with the score that `#scoreAtRank` looks for, by the shards' counts of now. It begins with a range that was right a
   * moment ago, and moves in growing steps.
   * @returns null if the list is shorter.
   */
  async #findRange({ low, high }: ScoreRange, rank: number): Promise<ScoreRange | null> {
    for (let step = 64; ; step *= 8) {
      const [players = 0, aboveLow = 0, aboveNext = 0] = await this.#countAbove([ALL, low, high + 1]);
      if (players < rank) return null;
      if (aboveLow < rank - 1) [low, high] = [Math.max(ALL, low - step), low - 1];
      else if (aboveNext >= rank - 1) [low, high] = [high + 1, Math.min(SCORE_MAX, high + step)];
      else return { low, high };
    }
  }

  /** Finds the highest score of a range that has at least `rank` − 1 players above it. */
  async #scoreAtRank({ low, high }: ScoreRange, rank: number): Promise<number> {
    while (low < high) {
      const parts = Math.min(SCORES_PER_QUESTION, high - low);
      const [start, width] = [low, high - low];
      const scores = Array.from({ length: parts }, (_, i) => start + Math.ceil((width * (i + 1)) / parts));
      const counts = await this.#countAbove(scores);
      const last = counts.findLastIndex((above) => above >= rank - 1);
      [low, high] = [scores[last] ?? low, (scores[last + 1] ?? high + 1) - 1];
    }
    return low;
  }

  /** Finds players. If the shards' last counts do not decide the ranks, or are too old, every shard counts the players above. */
  async standings(userIds: readonly string[], isExact: boolean, minAsOf = 0): Promise<Standings> {
    const asOf = this.#now();
    const known = await this.#find(userIds);
    const isRecent = known.asOf >= minAsOf;
    const found = known.entries.filter((entry) => entry !== null);
    const isCertain = isRecent && agreeRanks(found) && !found.some(({ isEstimated }) => isEstimated);
    if (!isExact && isCertain) return { ...known, entries: known.entries.map((entry) => entry && toRanked(entry)) };
    const scores = [ALL, ...new Set(found.map(({ score }) => score))];
    const count: Question<number[]> = (shard, address) => shard.countAbove(address, scores);
    const { answers, missing } = await this.#ask(count, isExact || !isRecent);
    const above = new Map(scores.map((score, i) => [score, sum(answers, (counts) => counts[i] ?? 0)]));
    const ranked = found.map((entry) => ({ ...toRanked(entry), rank: 1 + (above.get(entry.score) ?? 0) }));
    const all = await this.#addMissing(ranked, above.get(ALL) ?? 0, missing, asOf);
    // A score may have changed between the two questions.
    const settled = settleRanks(all.entries);
    const byId = new Map(settled.map((entry) => [entry.userId, entry]));
    const players = Math.max(all.players, ...settled.map(({ rank }) => rank));
    return { ...all, players, entries: userIds.map((userId) => byId.get(userId) ?? null) };
  }

  /** Asks the shards of some players for what they know. */
  async #find(userIds: readonly string[]): Promise<ShardStandings> {
    const { season, shards } = this.#season;
    const groups = Map.groupBy(new Set(userIds), (userId) => shardOf(userId, shards));
    const answers = await Promise.all(
      [...groups].map(([shard, ids]) =>
        this.#call({ season, shard, shards }, (stub, address) => stub.standings(address, ids)),
      ),
    );
    const found = answers.flatMap(({ entries }) => entries.filter((entry) => entry !== null));
    const byId = new Map(found.map((entry) => [entry.userId, entry]));
    const entries = userIds.map((userId) => byId.get(userId) ?? null);
    const asOf = Math.min(...answers.map((answer) => answer.asOf));
    return { entries, players: answers[0]?.players ?? 0, asOf };
  }

  async neighbors(userId: string, radius: number, isExact: boolean, isFull = false) {
    const most = isFull ? 2 * radius : radius;
    for (let attempt = 1; ; attempt++) {
      const asOf = this.#now();
      const [found] = (await this.#find([userId])).entries;
      if (!found) return null;
      const me = toRanked(found);
      const { answers, missing } = await this.#ask((shard, address) => shard.run(address, me, most, most), isExact);
      if (!answers.some((run) => run.hasKey) && attempt < MOVED_ATTEMPTS) continue;
      const before = merge(answers, 'before', Number.POSITIVE_INFINITY);
      const after = merge(answers, 'after', most);
      const [ahead, below] = decideWindow(before.length, after.length, radius, isFull);
      const list = [...before.slice(before.length - ahead), me, ...after.slice(0, below)];
      const place = sum(answers, (run) => run.countBefore) - list.indexOf(me);
      const first = list[0] ?? me;
      const above =
        first.score === me.score
          ? sum(answers, (run) => run.countAbove)
          : sum(
              (await this.#ask((shard, address) => shard.countAbove(address, [first.score]), isExact)).answers,
              (counts) => counts[0] ?? 0,
            );
      // A score may have changed since the first question: no more players are above the first one than are before it.
      const ranked = rankRun(list, place, 1 + Math.min(above, place)).filter(isShown);
      return this.#addMissing(ranked, 0, missing, asOf);
    }
  }

  distribution(rangesMax: number): Promise<Distribution> {
    return within(this.#viewName(), READ_MS, this.#viewStub().distribution(this.#view, rangesMax));
  }

  async *rows(after: string | null): AsyncGenerator<readonly RankedEntry[] | null> {
    const me = after === null ? LIST_START : (await this.#find([after])).entries[0];
    if (!me) return yield null;
    const { answers } = await this.#ask((shard, address) => shard.run(address, me, 0, 0), true);
    const addresses = this.#addresses();
    const merger = new RunMerger<TopEntry>(
      addresses.length,
      async (source, key, limit) =>
        (await this.#call(addresses[source] as ShardAddress, (stub, address) => stub.run(address, key, 0, limit)))
          .after,
      me,
    );
    let place = sum(answers, (run) => run.countBefore + (run.hasKey ? 1 : 0));
    let last = { score: me.score, rank: 1 + sum(answers, (run) => run.countAbove) };
    for (;;) {
      const run = await merger.take(EXPORT_ROWS);
      if (run.length === 0) return;
      const entries = rankRun(run, place, run[0]?.score === last.score ? last.rank : place + 1);
      place += run.length;
      last = entries.at(-1) ?? last;
      yield entries.filter(isShown);
    }
  }

  #viewName() {
    return toViewName(this.#season.season, this.#view.view);
  }

  #viewStub() {
    return viewStub(this.#env, this.#season.season, this.#view.view);
  }

  #call<T>(address: ShardAddress, question: Question<T>): Promise<T> {
    return within(toShardName(address), READ_MS, question(shardStub(this.#env, address), address));
  }

  /** Asks a shard. The caller has an answer without it, too. */
  #try<T>(address: ShardAddress, question: Question<T>): Promise<T> {
    return ask(toShardName(address), () => question(shardStub(this.#env, address), address));
  }

  /** Asks every shard. @throws UnavailableError if a shard does not answer and the answer has to be exact. */
  async #ask<T>(question: Question<T>, isExact: boolean): Promise<Answers<T>> {
    const addresses = this.#addresses();
    const outcomes = await Promise.allSettled(
      addresses.map((address) => (isExact ? this.#call(address, question) : this.#try(address, question))),
    );
    const failure = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failure !== undefined && isExact) throw failure.reason;
    const silent = addresses.filter((_, i) => outcomes[i]?.status === 'rejected').map(({ shard }) => shard);
    const missing = [...silent, ...this.#season.without];
    return { answers: outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [] : [outcome.value])), missing };
  }

  /** Adds the players of shards that did not answer to the ranks of a list, by the season's last counts. */
  async #addMissing(entries: readonly RankedEntry[], players: number, missing: readonly number[], asOf: number) {
    if (missing.length === 0) return { entries, players, asOf };
    if (missing.length === this.#season.shards) throw new UnavailableError(this.#season.season, 'no shard answers');
    const scores = [ALL, ...entries.map(({ score }) => score)];
    const counts = seasonStub(this.#env, this.#season.season).countAbove(this.#season, missing, scores);
    const { above, asOf: missingAsOf } = await within(this.#season.season, READ_MS, counts);
    return {
      entries: entries.map((entry, i) => ({ ...entry, rank: entry.rank + (above[i + 1] ?? 0) })),
      players: players + (above[0] ?? 0),
      asOf: Math.min(asOf, missingAsOf),
    };
  }
}

/** Whether an entry has a player. That of an erased player of a past season has no id. */
const isShown = ({ userId }: TopEntry): boolean => userId !== '';

const toRanked = ({ userId, userName, score, reached, rank }: CountedEntry): RankedEntry => {
  return { userId, userName, score, reached, rank };
};

const merge = (runs: readonly ShardRun[], side: 'before' | 'after', limit: number): TopEntry[] =>
  mergeStandings(
    runs.map((run) => run[side]),
    limit,
  );

const sum = <T>(values: readonly T[], of: (value: T) => number): number =>
  values.reduce((total, value) => total + of(value), 0);
