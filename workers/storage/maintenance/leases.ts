/** Leases prevent two runs of background work from doing the same work at the same time. */
import type { EngineContext } from '../engine/model/context.ts';
import { acquireLease, releaseLease } from '../engine/store/task-store.ts';

/** Runs work under a lease. The lease of a dead holder expires. @returns null if another run holds the lease. */
export async function withLease<T>(
  context: EngineContext,
  shard: number,
  name: string,
  leaseMs: number,
  work: () => Promise<T>,
): Promise<T | null> {
  const holder = await acquireLease(context, shard, name, leaseMs);
  if (holder === null) return null;
  try {
    return await work();
  } finally {
    await releaseLease(context, shard, name, holder);
  }
}
