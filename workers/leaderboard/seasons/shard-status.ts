/** Finds the parts of a live season that do not answer, for operators and for the health check. */

import { type SeasonAddress, type ShardStatus, toShardName } from '../../../durable-objects/leaderboard/protocol.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { seasonAt } from '../domain/season-name.ts';
import { seasonStub, within } from '../objects.ts';
import { createSeasonStore } from '../records/season-store.ts';
import { toSeason } from './seasons.ts';

const PROBE_MS = 2_000;

/** Reads the status of all shards from the season object; null if that does not answer. */
export async function readShards(env: Env, { season, shards }: SeasonAddress): Promise<ShardStatus[] | null> {
  try {
    return await within(season, PROBE_MS, seasonStub(env, season).status({ season, shards }));
  } catch {
    return null;
  }
}

/** Maximum number of seasons that the health check asks. */
const SEASONS_ASKED_MAX = 10;

/**
 * Finds the objects that do not answer, in the current month of `default` and in the seasons that are recorded to have such
 * objects.
 */
export async function findSilentObjects(env: Env): Promise<string[]> {
  const store = createSeasonStore(env.DIRECTORY);
  const current = seasonAt(createClock(env)());
  const [found, silent] = await Promise.all([store.find(current), store.listSilent(SEASONS_ASKED_MAX)]);
  const asked = [...(found === null ? [] : [found]), ...silent.filter(({ season }) => season !== current)];
  const names = await Promise.all(
    asked.map(async (row) => {
      const { season, silentAt } = row;
      const shards = await readShards(env, row);
      if (shards === null) return [`LEADERBOARD_SEASON ${season}`];
      const sick = shards.filter(({ isAvailable }) => !isAvailable);
      if (sick.length === 0 && silentAt !== null) await store.setSilent(season, null);
      return sick.map(({ shard }) => `LEADERBOARD_SHARD ${season}:${shard}`);
    }),
  );
  return names.flat();
}

/** Warns of final seasons that lack a shard. */
export async function findMissingShards(env: Env): Promise<{ name: string; message: string }[]> {
  const rows = await createSeasonStore(env.DIRECTORY).listIncomplete(SEASONS_ASKED_MAX);
  return rows.flatMap((row) => {
    const { season, shards, without } = toSeason(row, 0);
    return without.map((shard) => {
      const name = `LEADERBOARD_SHARD ${toShardName({ season, shard, shards })}`;
      return { name, message: 'did not answer when the season was closed without it' };
    });
  });
}
