/** Which parts of a live season answer: for operators and for health. */
import { createClock } from '../shared/clock.ts';
import type { SeasonAddress, ShardStatus } from './domain/board.ts';
import { seasonAt } from './domain/season-name.ts';
import { seasonStub, within } from './objects.ts';
import { createSeasonStore } from './records/season-store.ts';

const PROBE_MS = 2_000;

/** The shards as the season object sees them; null if it does not answer. */
export async function readShards(env: Env, { season, shards }: SeasonAddress): Promise<ShardStatus[] | null> {
  try {
    return await within(season, PROBE_MS, seasonStub(env, season).status({ season, shards }));
  } catch {
    return null;
  }
}

/** The parts of the current season that do not answer. */
export async function findSilentObjects(env: Env): Promise<string[]> {
  const season = seasonAt(createClock(env)());
  const row = await createSeasonStore(env.DIRECTORY).find(season);
  if (row === null) return [];
  const shards = await readShards(env, row);
  if (shards === null) return [`LEADERBOARD_SEASON ${season}`];
  return shards.filter(({ isAvailable }) => !isAvailable).map(({ shard }) => `LEADERBOARD_SHARD ${season}:${shard}`);
}
