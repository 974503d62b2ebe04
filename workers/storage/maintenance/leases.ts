/** Leases prevent two runs of background work from doing the same work at the same time. */
import { databaseOf, type EngineContext } from '../engine/model/context.ts';
import { acquireLease, holdDatabase, LeaseLost, releaseLease } from '../engine/store/task-store.ts';

/**
 * Runs work under a lease. The lease of a dead holder expires.
 *
 * A holder that is only slow may go on after that. Work whose late writes would do harm uses the context that it is given: with it,
 * a write to the shard is refused once another run has taken the lease, and the work ends there.
 * @returns null if another run holds the lease, or has taken it during the work.
 */
export async function withLease<T>(
  context: EngineContext,
  shard: number,
  name: string,
  leaseMs: number,
  work: (held: EngineContext) => Promise<T>,
): Promise<T | null> {
  const holder = await acquireLease(context, shard, name, leaseMs);
  if (holder === null) return null;
  const database = holdDatabase(databaseOf(context, shard), name, holder);
  try {
    return await work({ ...context, shards: context.shards.with(shard, database) });
  } catch (error) {
    if (error instanceof LeaseLost) return null;
    throw error;
  } finally {
    await releaseLease(context, shard, name, holder);
  }
}
