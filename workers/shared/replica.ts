/**
 * Reads of DIRECTORY in the nearest replica. A replica may be behind by any time, so its answer counts only with a proof that
 * it is current, and a refusal only if the primary confirms it: docs/architecture.md, "Reads from replicas".
 */
import { logError } from './log.ts';

export type Source = 'replica' | 'primary';

/** A replica that takes longer is given up. The primary then answers. */
const REPLICA_TIMEOUT_MS = 1_000;

/** @returns null if the replica fails or takes too long. */
export async function askReplica<T>(
  database: D1Database,
  ask: (replica: D1DatabaseSession) => Promise<T>,
): Promise<T | null> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), REPLICA_TIMEOUT_MS);
  });
  try {
    return await Promise.race([ask(database.withSession('first-unconstrained')), late]);
  } catch (error) {
    logError('replica_failed', error);
    return null;
  } finally {
    clearTimeout(timer);
  }
}
