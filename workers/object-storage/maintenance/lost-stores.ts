/** For health: databases that are empty although the locations have backups of them. */

import { createClock } from '../../shared/clock.ts';
import { createEngineContext } from '../engine/index.ts';
import { findBackup } from '../engine/store/claims.ts';
import { isClaimed } from '../engine/store/journal-store.ts';
import { isDirectoryLost } from './directory-owner.ts';

/** @returns a sentence about each database that was lost and is not rebuilt. */
export async function findLostDatabases(env: Env): Promise<string[]> {
  const context = createEngineContext(env, createClock(env), { waitUntil: () => undefined });
  const isLost = async (shard: number) =>
    !(await isClaimed(context, shard)) && (await findBackup(context, shard)) === true;
  const shards = await Promise.all(
    context.shards.map(async (_, shard) =>
      (await isLost(shard)) ? [`OBJECTS_${shard} was lost and is not rebuilt`] : [],
    ),
  );
  return [...((await isDirectoryLost(context)) ? ['DIRECTORY was lost and is not rebuilt'] : []), ...shards.flat()];
}
