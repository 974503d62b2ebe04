/** Data of the entries of an answer, which the shards of their players keep. Only boards that keep data ask for it. */
import { toShardName } from '../../../durable-objects/leaderboard/protocol.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { findBoard } from '../boards/boards.ts';
import { inParallelGroups } from '../domain/in-groups.ts';
import { shardOf } from '../domain/shard-map.ts';
import { shardStub } from '../objects.ts';
import type { Season } from '../seasons/seasons.ts';
import { ask } from '../silence.ts';

interface EntryJson {
  readonly user_id: string;
}

/**
 * Adds the data of their scores to entries. The data of a shard that does not answer is left out.
 * @param name of the board; undefined for `default`, which keeps no data
 */
export async function withData<E extends EntryJson>(
  env: Env,
  name: string | undefined,
  { season, shards, archive }: Season,
  entries: readonly E[],
): Promise<(E & { data?: unknown })[]> {
  const board = name === undefined || archive !== null ? null : await findBoard(env, name);
  if (board === null || board.dataBytesMax === null) return [...entries];
  return inParallelGroups(
    entries,
    ({ user_id }) => shardOf(user_id, shards),
    async (group, shard) => {
      const address = { season, shards, shard };
      const call = () =>
        shardStub(env, address).readData(
          address,
          group.map(({ user_id }) => user_id),
        );
      const data = await ask(toShardName(address), call).catch((error: unknown) => {
        logError('leaderboard_shard_unavailable', error, { season, shard });
        return [];
      });
      return group.map((entry, i) => (data[i] == null ? entry : { ...entry, data: JSON.parse(data[i]) as unknown }));
    },
  );
}
