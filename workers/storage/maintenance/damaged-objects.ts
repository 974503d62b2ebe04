/** Reports to operators how many small objects have no intact copy. Fsck and scrub name them. */

import { inTime } from '../../shared/concurrency/in-time.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { createEngineContext } from '../engine/index.ts';
import { countSetAside } from '../engine/store/small-store.ts';

const COUNT_MAX = 1_000;
const PROBE_MS = 2_000;

/** Counts the damaged objects of each shard, up to 1,000. A shard that does not answer is left out. */
async function countDamaged(env: Env): Promise<{ readonly database: string; readonly count: number }[]> {
  const context = createEngineContext(env, createClock(env), { waitUntil: () => undefined });
  const counts = await Promise.all(
    context.shards.map(async (_, shard) => {
      const count = await inTime(countSetAside(context, shard, COUNT_MAX), PROBE_MS, null).catch(() => null);
      return count === null ? [] : [{ database: `OBJECTS_${shard}`, count }];
    }),
  );
  return counts.flat();
}

/** Part of the health check: one message for each shard with damaged objects. */
export async function findDamagedObjects(env: Env): Promise<{ name: string; message: string }[]> {
  const found = (await countDamaged(env)).filter(({ count }) => count > 0);
  return found.map(({ database, count }) => {
    const some = count >= COUNT_MAX ? `at least ${count}` : String(count);
    return { name: database, message: `lost the bytes of ${some} objects; POST /v1/storage/fsck names them` };
  });
}

/** The gauges of storage. */
export async function readStorageGauges(env: Env) {
  const samples = (await countDamaged(env)).map(({ database, count }) => ({ labels: { database }, value: count }));
  const help = 'Small objects without an intact copy, until they are repaired or deleted; counted up to 1,000.';
  return [{ name: 'tessera_objects_damaged', type: 'gauge' as const, help, samples }];
}
