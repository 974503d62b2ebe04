/** Removes entries of the error queue that are over 30 days old. Failed mail is not among them: its mailbox removes it. */
import { createClock } from '../../shared/settings/clock.ts';
import { boundDirectories } from '../../shared/stores/bindings.ts';
import { logInfo } from '../../shared/telemetry/log.ts';
import { deleteBlobs } from '../bindings/blobs.ts';
import { deleteErrors, listOldErrors } from '../store/queue-store.ts';

const AGE_MAX_MS = 30 * 24 * 3_600_000;
const ENTRIES_PER_ROUND = 500;
const ROUNDS_MAX = 20;

export async function removeOldErrors(env: Env): Promise<void> {
  const before = createClock(env)() - AGE_MAX_MS;
  for (const database of boundDirectories(env)) {
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const old = await listOldErrors(database, before, ENTRIES_PER_ROUND);
      if (old.length === 0) break;
      // The rows name the bytes, so the bytes are deleted first.
      await deleteBlobs(
        env,
        old.flatMap(({ requestKey }) => requestKey ?? []),
      );
      await deleteErrors(
        database,
        old.map(({ errorId }) => errorId),
      );
      logInfo('old_errors_removed', { removed: old.length });
      if (old.length < ENTRIES_PER_ROUND) break;
    }
  }
}
