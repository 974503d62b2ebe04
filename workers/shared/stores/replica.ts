/**
 * Reads of DIRECTORY in the nearest replica. A replica may be behind by any time, so its answer counts only with a proof that
 * it is current, and a refusal only if the primary confirms it: docs/design/replicas.md.
 */
import { findMisconfigured } from '../settings/settings.ts';
import { logError } from '../telemetry/log.ts';

/**
 * Where to read a row of DIRECTORY. `recent` uses a row that this isolate read lately, else the replica. Like a replica, such a row
 * may be out of date.
 */
export type Source = 'recent' | 'replica' | 'primary';

/** Time limit of a read from a replica. After it, the caller asks the primary. */
const REPLICA_TIMEOUT_MS = 1_000;

/** Reads from the nearest replica. @returns null if the replica fails or takes too long. */
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
    if (findMisconfigured(error)) throw error;
    logError('replica_failed', error);
    return null;
  } finally {
    clearTimeout(timer);
  }
}

/** A row of DIRECTORY with its generation. A later change of the row has a higher generation. */
export interface Dated {
  readonly generation: number;
}

const RECENT_MS = 5_000;
/** Maximum number of cached rows. A row may have 100 KB of policies and other documents. */
const RECENT_MAX = 200;

/** Rows of DIRECTORY that this isolate read lately, by database and key. */
const recent = new WeakMap<D1Database, Map<string, { readonly row: Dated; readonly readAt: number }>>();

/** Finds a cached row. @param key identifies the row. @returns null if this isolate did not read it within the last seconds. */
export function recentRow<T extends Dated>(database: D1Database, key: string): T | null {
  const known = recent.get(database)?.get(key);
  return known && known.readAt > Date.now() - RECENT_MS ? (known.row as T) : null;
}

/** Caches a row that was read. @param found null if there is no such row, which only the primary knows. */
export function keepRow<T extends Dated>(
  database: D1Database,
  key: string,
  found: T | null,
  source: Exclude<Source, 'recent'>,
): T | null {
  const rows = recent.get(database) ?? new Map();
  recent.set(database, rows);
  const known = recentRow(database, key)?.generation ?? 0;
  if (source === 'replica' && (found === null || found.generation < known)) return found;
  rows.delete(key);
  const [oldest] = rows.keys();
  if (rows.size >= RECENT_MAX) rows.delete(oldest);
  if (found) rows.set(key, { row: found, readAt: Date.now() });
  return found;
}
