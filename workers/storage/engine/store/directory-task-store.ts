/** Progress and leases of the snapshot and the rebuild of DIRECTORY, or of another user database. */
import { prepare, readFirst, statement } from '../../../shared/stores/statement.ts';
import type { EngineContext } from '../model/context.ts';

export type DirectoryTask = 'snapshot' | 'rebuild';

/** Time for which one worker has a task. No consumer of a queue and no request runs longer. */
const LEASE_MS = 900_000;

const claim = statement<{ name: string; until: number; now: number }, { state: string | null }>(
  `INSERT INTO directory_task(name, state, lease_until) VALUES (:name, NULL, :until)
   ON CONFLICT(name) DO UPDATE SET lease_until = excluded.lease_until WHERE lease_until < :now RETURNING state`,
);
const release = statement<{ name: string; until: number; state: string | null }>(
  'UPDATE directory_task SET state = :state, lease_until = 0 WHERE name = :name AND lease_until = :until',
);

/**
 * Runs one step of a task, unless another worker runs one.
 * @param step gets the state that the last step returned; null at the start. A step that fails leaves that state.
 * @returns the state that the step returned. `under_way` if another worker has the task, or took it over meanwhile.
 */
export async function runDirectoryStep<T>(
  context: EngineContext,
  name: DirectoryTask,
  step: (state: T | null) => Promise<T | null>,
): Promise<{ readonly state: T | null } | 'under_way'> {
  const { directory } = context;
  const now = Math.trunc(context.now());
  const until = now + LEASE_MS;
  const row = await readFirst(directory, claim, { name, until, now });
  if (row === null) return 'under_way';
  const end = (state: string | null) => prepare(directory, release, { name, until, state }).run();
  try {
    const state = await step(row.state === null ? null : (JSON.parse(row.state) as T));
    const { meta } = await end(state === null ? null : JSON.stringify(state));
    return meta.changes === 0 ? 'under_way' : { state };
  } catch (error) {
    await end(row.state).catch(() => {});
    throw error;
  }
}
