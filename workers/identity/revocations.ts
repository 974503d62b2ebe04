/**
 * Makes revocations effective although credentials may be read from replicas. Each look-up proves that it knows every acknowledged
 * revocation: for object storage by the generation that each shard has, for everything else by a look-up in the primary within the
 * last ten seconds. docs/design/revocation.md has the argument.
 */

import { lookUpTogether } from '../shared/concurrency/shared-look-up.ts';
import { ProblemError, problem } from '../shared/json/problem.ts';
import { databaseOf } from '../shared/stores/directories.ts';
import { askReplica, type Dated, keepRow, recentRow, type Source } from '../shared/stores/replica.ts';
import { logError } from '../shared/telemetry/log.ts';
import { raiseGenerationOf, raiseGenerationTo, readGeneration } from './store/revocation-store.ts';

/** The generation of identity in one of the user databases. */
export interface IdentityGeneration {
  /** Number of the database. */
  readonly home: number;
  readonly generation: number;
}

/**
 * Raises generations of identity in every store that proves look-ups, such as the shards.
 * @returns for each given home, the highest generation that any of these stores has, in the same order.
 */
export type RevocationWitness = (generations: readonly IdentityGeneration[], env: Env) => Promise<readonly number[]>;

const witnesses: RevocationWitness[] = [];

/** Registers a witness. `workers/index.ts` registers that of object storage, because identity does not know the products. */
export const registerRevocationWitness = (witness: RevocationWitness): void => void witnesses.push(witness);

/** A credential as found by a look-up. It includes every revocation that was acknowledged before `provenAt`. */
interface Proven<T> {
  readonly found: T | null;
  readonly provenAt: number;
  /** Whether a look-up of the credential in the background was started. */
  isRefreshing?: boolean;
}

/** Credentials that this isolate may use again without a look-up, by database and hash. */
const kept = new WeakMap<D1Database, Map<string, Proven<unknown>>>();
const KEPT_MAX = 1_000;

const PENDING = problem(503, 'revocation_pending', 'The change is stored, but not every database enforces it yet.');

/**
 * Sends the generation of identity to all witnesses. Called after a revocation is committed and before it is acknowledged.
 * @param homes numbers of the databases in which revocations were committed. @throws ProblemError if a witness does not answer.
 */
export async function publishRevocations(env: Env, homes: readonly number[]): Promise<void> {
  for (const home of homes) kept.delete(databaseOf(env, home));
  for (let behind = homes; behind.length > 0; ) {
    const reads = behind.map(async (home) => ({ home, generation: await readGeneration(databaseOf(env, home)) }));
    const generations = await Promise.all(reads);
    const seen = await Promise.all(witnesses.map((witness) => witness(generations, env))).catch((error: unknown) => {
      throw new ProblemError(PENDING, error);
    });
    const raised = generations.flatMap(({ home, generation }, at) => {
      const highest = Math.max(generation, ...seen.map((each) => each[at] ?? 0));
      return highest === generation ? [] : [{ home, highest }];
    });
    for (const { home, highest } of raised) await raiseGenerationTo(databaseOf(env, home), highest);
    behind = raised.map(({ home }) => home);
  }
}

const REVOCATION_MS = 10_000;
/** Age from which the next request starts a look-up of a remembered credential in the background, and does not wait for it. */
const REFRESH_MS = 7_000;

/** Times at which this isolate last ran `republishRevocations`, by database. */
const republishedAt = new WeakMap<D1Database, number>();

/**
 * Publishes the generation of a database for a shard that has none because it is new or was rebuilt. Raises the generation first,
 * as a revocation does.
 */
export async function republishRevocations(env: Env, home: number): Promise<void> {
  const now = Date.now();
  const database = databaseOf(env, home);
  if ((republishedAt.get(database) ?? 0) > now - REVOCATION_MS) return;
  republishedAt.set(database, now);
  try {
    await raiseGenerationOf(database);
    await publishRevocations(env, [home]);
  } catch (error) {
    logError('revocations_not_published', error);
  }
}

/**
 * Generation and time of the primary's newest answer to this isolate, by database. A query that began after a revocation returns
 * its generation or a later one.
 */
const latest = new WeakMap<D1Database, { readonly generation: number; readonly askedAt: number }>();

type Find<T> = (database: D1Database | D1DatabaseSession) => Promise<T | null>;

/** Finds a credential in the primary and remembers the generation of the answer. */
export async function findInPrimary<T extends Dated>(database: D1Database, find: Find<T>): Promise<T | null> {
  const askedAt = Date.now();
  const found = await find(database);
  if (found && askedAt >= (latest.get(database)?.askedAt ?? 0)) {
    latest.set(database, { generation: found.generation, askedAt });
  }
  return found;
}

/**
 * For a change of rows that `findUnrevoked` reads: this isolate uses the new rows at once. The batch of the change must raise the
 * generation, so that other isolates use them within ten seconds.
 */
export function forgetProven(database: D1Database): void {
  kept.delete(database);
  latest.delete(database);
}

/** Finds a credential in a current replica, else in the primary. Applies all revocations that are older than ten seconds. */
async function findProven<T extends Dated>(database: D1Database, find: Find<T>): Promise<Proven<T>> {
  const known = latest.get(database);
  if (known && isRecent(known.askedAt)) {
    const found = await askReplica(database, find);
    if (found && found.generation >= known.generation) return { found, provenAt: known.askedAt };
  }
  const provenAt = Date.now();
  return { found: await findInPrimary(database, find), provenAt };
}

const isRecent = (provenAt: number): boolean => provenAt > Date.now() - REVOCATION_MS;

/**
 * Finds a credential, or settings whose changes raise the generation too; applies all changes that are older than ten seconds.
 * @param hash of the credential, or another key. @param isKept whether this isolate may use the row again for as long as that holds.
 * @param waitUntil keeps a look-up in the background alive. Without it, there are none, and one request in ten seconds waits for
 *   the primary.
 */
export async function findUnrevoked<T extends Dated>(
  database: D1Database,
  hash: string,
  find: Find<T>,
  isKept: (found: T) => boolean,
  waitUntil?: (work: Promise<unknown>) => void,
): Promise<T | null> {
  // A revocation in this isolate drops the map. A look-up that began before the revocation therefore stores its row in the dropped
  // map.
  const rows = kept.get(database) ?? new Map<string, Proven<unknown>>();
  kept.set(database, rows);
  const before = rows.get(hash) as Proven<T> | undefined;
  if (before && isRecent(before.provenAt)) {
    if (waitUntil && !before.isRefreshing && before.provenAt <= Date.now() - REFRESH_MS) {
      before.isRefreshing = true;
      waitUntil(refresh());
    }
    return before.found;
  }
  rows.delete(hash);
  const proven = await lookUpTogether(hash, () => findProven(database, find));
  if (rows.size >= KEPT_MAX) rows.clear();
  if (proven.found && isKept(proven.found)) rows.set(hash, proven);
  return proven.found;

  async function refresh(): Promise<void> {
    try {
      const provenAt = Date.now();
      const found = await findInPrimary(database, find);
      if (found && isKept(found)) rows.set(hash, { found, provenAt });
      else rows.delete(hash);
    } catch (error) {
      logError('credential_refresh_failed', error);
    }
  }
}

/**
 * Finds a credential in one copy of DIRECTORY, for a caller that proves the answer itself.
 * @param key identifies the credential in the cache of rows.
 */
export async function findIn<T extends Dated>(
  source: Source,
  database: D1Database,
  key: string,
  find: Find<T>,
): Promise<T | null> {
  if (source === 'recent') {
    const known = recentRow<T>(database, key);
    // A row that is older than a known revocation is not returned, because the shards would refuse it.
    if (known && known.generation >= (latest.get(database)?.generation ?? 0)) return known;
  }
  const from = source === 'primary' ? 'primary' : 'replica';
  return lookUpTogether(`${from} ${key}`, async () => {
    const found = await (from === 'primary' ? findInPrimary(database, find) : askReplica(database, find));
    return keepRow(database, key, found, from);
  });
}
