/**
 * Standings of a season in its objects: one shard answers for a player, the season object for the top, all shards for a
 * run.
 */
import type { ShardAddress, Standings, StandingsPage } from './domain/board.ts';
import { toShardName } from './domain/board.ts';
import { shardOf } from './domain/shard-map.ts';
import { mergeStandings, type RankedEntry, rankRun, type StandingKey } from './domain/standing.ts';
import type { Season } from './seasons.ts';
import type { StandingsReader } from './standings-reader.ts';

/** Attempts to read a run if its player moves meanwhile. */
const MOVED_ATTEMPTS = 3;

export const shardStub = (env: Env, address: ShardAddress) =>
  env.LEADERBOARD_SHARD.get(env.LEADERBOARD_SHARD.idFromName(toShardName(address)));

export const seasonStub = (env: Env, season: string) =>
  env.LEADERBOARD_SEASON.get(env.LEADERBOARD_SEASON.idFromName(season));

export function createLiveStandings(env: Env, { season, shards }: Season, now: () => number): StandingsReader {
  const addresses = Array.from({ length: shards }, (_, shard): ShardAddress => ({ season, shard, shards }));
  const askAll = <T>(ask: (address: ShardAddress) => Promise<T>): Promise<T[]> => Promise.all(addresses.map(ask));

  async function page(after: StandingKey | null, limit: number): Promise<StandingsPage> {
    if (after === null) {
      const { entries, players, asOf } = await seasonStub(env, season).top({ season, shards }, limit);
      return { entries, players, asOf, next: players > entries.length ? (entries.at(-1) ?? null) : null };
    }
    const asOf = now();
    const runs = await askAll((address) => shardStub(env, address).run(address, after, 0, limit + 1));
    const merged = mergeStandings(
      runs.map((run) => run.after),
      limit + 1,
    );
    const place = sum(runs, (run) => run.countBefore + (run.hasKey ? 1 : 0));
    const firstRank = merged[0]?.score === after.score ? 1 + sum(runs, (run) => run.countAbove) : place + 1;
    const entries = rankRun(merged.slice(0, limit), place, firstRank);
    const next = merged.length > limit ? (entries.at(-1) ?? null) : null;
    return { entries, players: sum(runs, (run) => run.players), asOf, next };
  }

  async function standings(userIds: readonly string[]): Promise<Standings> {
    const wanted = [...new Set(userIds)];
    const groups = Map.groupBy(wanted, (userId) => shardOf(userId, shards));
    const found = new Map<string, RankedEntry>();
    const answers = await Promise.all(
      [...groups].map(([shard, ids]) => {
        const address = { season, shard, shards };
        return shardStub(env, address).standings(address, ids);
      }),
    );
    for (const answer of answers) for (const entry of answer.entries) if (entry) found.set(entry.userId, entry);
    return {
      entries: userIds.map((userId) => found.get(userId) ?? null),
      players: answers[0]?.players ?? 0,
      asOf: Math.min(...answers.map((answer) => answer.asOf)),
    };
  }

  async function neighbors(userId: string, radius: number) {
    for (let attempt = 1; ; attempt++) {
      const asOf = now();
      const me = (await standings([userId])).entries[0];
      if (!me) return null;
      const runs = await askAll((address) => shardStub(env, address).run(address, me, radius, radius));
      if (!runs.some((run) => run.hasKey) && attempt < MOVED_ATTEMPTS) continue;
      const before = mergeStandings(
        runs.map((run) => run.before),
        Number.POSITIVE_INFINITY,
      );
      const after = mergeStandings(
        runs.map((run) => run.after),
        radius,
      );
      const list = [...before.slice(Math.max(0, before.length - radius)), me, ...after];
      const place = sum(runs, (run) => run.countBefore) - (list.length - after.length - 1);
      const first = list[0] ?? me;
      const above =
        first.score === me.score
          ? sum(runs, (run) => run.countAbove)
          : sum(
              await askAll((address) => shardStub(env, address).countAbove(address, [first.score])),
              (counts) => counts[0] ?? 0,
            );
      return { entries: rankRun(list, place, 1 + above), asOf };
    }
  }

  const distribution = (rangesMax: number) => seasonStub(env, season).distribution({ season, shards }, rangesMax);

  return { page, standings, neighbors, distribution };
}

const sum = <T>(values: readonly T[], of: (value: T) => number): number =>
  values.reduce((total, value) => total + of(value), 0);
