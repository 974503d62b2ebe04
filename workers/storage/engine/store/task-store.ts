/** Progress and leases of background work. Both are rows of the table `task` in the shard that they concern. */
import { guardQueries, type WriteGuard } from '../../../shared/stores/guarded-database.ts';
import { prepare, type RowOf, readFirst, statement } from '../../../shared/stores/statement.ts';
import { databaseOf, type EngineContext } from '../model/context.ts';
import type { task } from './schema.ts';

type TaskRow = RowOf<typeof task>;

const findTask = statement<Pick<TaskRow, 'name'>, Pick<TaskRow, 'state'>>('SELECT state FROM task WHERE name = :name');

/** Reads the stored state of a task. @returns null when there is none. */
export async function readTask<T>(context: EngineContext, shard: number, name: string): Promise<T | null> {
  const row = await readFirst(databaseOf(context, shard), findTask, { name });
  return row === null ? null : (JSON.parse(row.state) as T);
}

const putTask = statement<{ name: string; state: string; nowMs: number }>(
  `INSERT INTO task(name, state, updated_at) VALUES (:name, :state, :nowMs)
   ON CONFLICT(name) DO UPDATE SET state = excluded.state, updated_at = excluded.updated_at`,
);

export async function writeTask(context: EngineContext, shard: number, name: string, state: unknown): Promise<void> {
  const values = { name, state: JSON.stringify(state), nowMs: context.now() };
  await prepare(databaseOf(context, shard), putTask, values).run();
}

const takeLease = statement<
  { name: string; holder: string; nowMs: number; expiredBeforeMs: number },
  Pick<TaskRow, 'state'>
>(
  `INSERT INTO task(name, state, updated_at) VALUES (:name, :holder, :nowMs)
   ON CONFLICT(name) DO UPDATE SET state = excluded.state, updated_at = excluded.updated_at WHERE updated_at < :expiredBeforeMs
   RETURNING state`,
);

const leaseName = (name: string): string => `lease ${name}`;

/** Takes a lease on a task. @returns a token that ends the lease, or null while another worker holds it. */
export async function acquireLease(
  context: EngineContext,
  shard: number,
  name: string,
  leaseMs: number,
): Promise<string | null> {
  const holder = JSON.stringify(crypto.randomUUID());
  const nowMs = context.now();
  const values = { name: leaseName(name), holder, nowMs, expiredBeforeMs: nowMs - leaseMs };
  const row = await readFirst(databaseOf(context, shard), takeLease, values);
  return row?.state === holder ? holder : null;
}

const dropLease = statement<{ name: string; holder: string }>(
  'DELETE FROM task WHERE name = :name AND state = :holder',
);

/** Ends a lease early. Has no effect on a lease that another worker has taken since. */
export async function releaseLease(context: EngineContext, shard: number, name: string, holder: string): Promise<void> {
  await prepare(databaseOf(context, shard), dropLease, { name: leaseName(name), holder }).run();
}

const refuseLate = statement<{ name: string; holder: string }>(
  `INSERT INTO guard(reason) SELECT NULL WHERE NOT EXISTS (SELECT 1 FROM task WHERE name = :name AND state = :holder)`,
);

/** A batch failed because another worker has taken the lease since, or has even ended it. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/**
 * Wraps the database of a lease: each of its writes fails with everything in its batch unless the holder still has the lease.
 * A write throws `LeaseLost` then. The guard is a row without the reason that it must have, so it writes nothing.
 */
export function holdDatabase(database: D1Database, name: string, holder: string): D1Database {
  const guard: WriteGuard = {
    check: async () => {},
    toGuard: () => prepare(database, refuseLate, { name: leaseName(name), holder }),
    rethrow: (error) => {
      const isLost = error instanceof Error && error.message.includes('NOT NULL constraint failed: guard.reason');
      throw isLost ? new LeaseLost(`another worker has taken the lease "${name}"`) : error;
    },
  };
  return guardQueries(database, guard, true) as D1Database;
}
