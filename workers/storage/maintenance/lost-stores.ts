/** Health check for databases that are empty although the locations have backups of them, or were put back to an earlier state. */

import { directoryNameOf } from '../../shared/collectors/owner-store.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { findOlderStores } from '../../shared/stores/guarded-database.ts';
import { OlderStoreError } from '../../shared/stores/store-age.ts';
import { createEngineContext } from '../engine/index.ts';
import { atDirectory, inTime } from '../engine/model/context.ts';
import { findBackup } from '../engine/store/claims.ts';
import { isClaimed } from '../engine/store/journal-store.ts';
import { isDirectoryLost } from './directory-owner.ts';

/** Time limit of the probes. It is below the 3 seconds for which the health check waits for its stores. */
const PROBE_MS = 2_000;

/**
 * Finds databases that were lost and have not been rebuilt. Databases that do not answer are skipped.
 * @returns a sentence about each.
 */
export async function findLostDatabases(env: Env): Promise<string[]> {
  const context = createEngineContext(env, createClock(env), { waitUntil: () => undefined });
  const isShardLost = async (shard: number) =>
    !(await isClaimed(context, shard)) && (await findBackup(context, shard)) === true;
  const databases = [
    ...context.directories.map((_, number) => ({
      name: directoryNameOf(number),
      isLost: isDirectoryLost(atDirectory(context, number)),
    })),
    ...context.shards.map((_, shard) => ({ name: `OBJECTS_${shard}`, isLost: isShardLost(shard) })),
  ];
  const lost = databases.map(async ({ name, isLost }) =>
    (await inTime(isLost, PROBE_MS, false).catch(() => false)) ? [`${name} was lost and has not been rebuilt`] : [],
  );
  return (await Promise.all(lost)).flat();
}

/** Finds databases that were put back to an earlier state and have not been replayed. @returns a sentence about each. */
export async function findOlderDatabases(env: Env): Promise<string[]> {
  const older = [...(await findOlderStores(env))].filter(([, isOlder]) => isOlder);
  return older.map(([name]) => new OlderStoreError(name).message.replace(/\.$/, ''));
}

/** The gauge of databases that were put back, for the alert that pages. */
export async function readOlderGauge(env: Env) {
  const samples = [...(await findOlderStores(env))].map(([database, isOlder]) => ({
    labels: { database },
    value: isOlder ? 1 : 0,
  }));
  const help = '1 if a database was put back to an earlier state and has not been replayed.';
  return [{ name: 'tessera_store_older', type: 'gauge' as const, help, samples }];
}
