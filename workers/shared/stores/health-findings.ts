/**
 * Probes every store with small requests. Cron does so once a minute and keeps the findings (`verdict-store.ts`); an operator's request
 * does so at once.
 */
import { runInParallel } from '../concurrency/parallel.ts';
import { listStores, writeQuorum } from './bindings.ts';
import { judgeDatabase, readDatabaseState } from './probe-store.ts';

/** A part with a sentence that begins with its name. */
export interface HealthFinding {
  readonly name: string;
  readonly message: string;
}

/** What was found about the stores. Settings are not part of it, because an isolate knows its own. */
export interface StoreFindings {
  readonly unavailable: readonly string[];
  readonly misconfigured: readonly HealthFinding[];
  /** Conditions that do not make the service unavailable yet, but need an operator soon. */
  readonly warnings: readonly HealthFinding[];
}

/** Finds the parts of a product that do not answer. @returns their names. */
export type FindSilent = (env: Env) => Promise<string[]>;

/** Finds conditions of a product that need an operator soon. */
export type FindWarnings = (env: Env) => Promise<HealthFinding[]>;

export interface Finders {
  readonly findSilent: FindSilent;
  readonly findWarnings: FindWarnings;
}

/** Time limit of a store's probe. */
const PROBE_MS = 3_000;

/** D1 allows six connections at a time in an invocation. Probes beyond them would wait, and their time would count. */
const PROBES_AT_A_TIME = 6;

export async function findAboutStores(env: Env, { findSilent, findWarnings }: Finders): Promise<StoreFindings> {
  const { databases, buckets } = listStores(env);
  const found: (HealthFinding & { isSick: boolean })[] = [];
  const judge = async (name: string, database: D1Database) => {
    for (const finding of judgeDatabase(name, await readDatabaseState(database))) found.push({ name, ...finding });
  };
  const probes = [
    ...[...databases].map(([name, database]) => ({ name, probe: () => judge(name, database) as Promise<unknown> })),
    ...[...buckets].map(([name, bucket]) => ({ name, probe: () => bucket.head('health') as Promise<unknown> })),
  ];
  const late: string[] = [];
  await runInParallel(probes, PROBES_AT_A_TIME, async ({ name, probe }) => {
    if (!(await answersInTime(probe, PROBE_MS))) late.push(name);
  });
  const silentStores = probes.map(({ name }) => name).filter((name) => late.includes(name));
  // `findSilent` reads DIRECTORY, so it is not called if DIRECTORY does not answer; the probe of DIRECTORY reports that.
  const silent = silentStores.includes('DIRECTORY') ? [] : await findSilent(env).catch(() => []);
  const silentBuckets = silentStores.filter((name) => buckets.has(name));
  const isQuorumHeld = buckets.size - silentBuckets.length >= quorumOf(env, buckets.size);
  const spared = isQuorumHeld ? silentBuckets : [];
  const listed = (isWanted: boolean) =>
    [...databases.keys()].flatMap((database) =>
      found.filter(({ name, isSick }) => name === database && isSick === isWanted).map(toFinding),
    );
  return {
    unavailable: [...silentStores.filter((name) => !spared.includes(name)), ...silent],
    misconfigured: listed(true),
    warnings: [
      ...listed(false),
      ...spared.map((name) => ({ name, message: 'does not answer; the other locations do' })),
      ...(await findWarnings(env).catch(() => [])),
    ],
  };
}

const toFinding = ({ name, message }: HealthFinding): HealthFinding => ({ name, message });

/** The write quorum. If the setting is bad, all bound locations count, because health must answer nevertheless. */
function quorumOf(env: Env, bound: number): number {
  try {
    return writeQuorum(env);
  } catch {
    return bound;
  }
}

/** Runs a probe. @returns false if it fails or takes too long. */
export async function answersInTime(probe: () => Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const late = new Promise<false>((resolve) => setTimeout(() => resolve(false), timeoutMs));
  return Promise.race([
    probe().then(
      () => true,
      () => false,
    ),
    late,
  ]);
}
