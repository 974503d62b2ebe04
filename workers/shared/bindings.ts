/** The numbered bindings: databases `OBJECTS_0`, `OBJECTS_1`, … and buckets `BLOBS`, `BLOBS_2`, `BLOBS_3`, … */
import { LATE_LOCATION_MS, LOCATION_TIMEOUT_MS, type Locations } from './quorum.ts';
import { MisconfiguredError, type SettingProblem, settingProblemsOf, settingsOf } from './settings.ts';

interface NumberedBindings {
  readonly shards: readonly D1Database[];
  readonly locations: readonly R2Bucket[];
  readonly problem: SettingProblem | null;
}

const found = new WeakMap<object, NumberedBindings>();

/**
 * The bound databases `OBJECTS_n` in the order of their numbers.
 * @throws MisconfiguredError if a number is missing, because the order would change once it is added.
 */
export const shardDatabases = (env: Env): readonly D1Database[] => complete(env).shards;

/**
 * The bound buckets `BLOBS`, `BLOBS_2`, … in the order of their numbers.
 * @throws MisconfiguredError if a number is missing, because the order would change once it is added.
 */
export const blobLocations = (env: Env): readonly R2Bucket[] => complete(env).locations;

/** Number of locations that must have a byte before it is acknowledged. @throws MisconfiguredError if WRITE_QUORUM is bad. */
export const writeQuorum = (env: Env): number => settingsOf(env).WRITE_QUORUM ?? blobLocations(env).length;

/** All locations, with the quorum and time limits of writes. Used by mail. */
export const locationsOf = (env: Env): Locations => ({
  locations: blobLocations(env),
  quorum: writeQuorum(env),
  timeoutMs: LOCATION_TIMEOUT_MS,
  lateMs: LATE_LOCATION_MS,
});

export const bindingProblemOf = (env: Env): SettingProblem | null => bindingsOf(env).problem;

/** Every database and bucket that the health check probes, by name. Includes those after a gap in the numbers. */
export function listStores(env: Env): { databases: Map<string, D1Database>; buckets: Map<string, R2Bucket> } {
  const databases = new Map<string, D1Database>([['DIRECTORY', env.DIRECTORY]]);
  const buckets = new Map<string, R2Bucket>();
  for (const [name, binding] of listBindings(env)) {
    if (/^OBJECTS_\d+$/.test(name) && isDatabase(binding)) databases.set(name, binding);
    if (/^BLOBS(?:_\d+)?$/.test(name) && isBucket(binding)) buckets.set(name, binding);
  }
  return { databases, buckets };
}

function complete(env: Env): NumberedBindings {
  const bindings = bindingsOf(env);
  if (bindings.problem) throw new MisconfiguredError(bindings.problem);
  return bindings;
}

function bindingsOf(env: Env): NumberedBindings {
  const known = found.get(env) ?? findBindings(env);
  found.set(env, known);
  return known;
}

function findBindings(env: Env): NumberedBindings {
  const { databases, buckets } = listStores(env);
  databases.delete('DIRECTORY');
  const shards = inOrder(databases, (n) => `OBJECTS_${n}`);
  const locations = inOrder(buckets, (n) => (n === 0 ? 'BLOBS' : `BLOBS_${n + 1}`));
  const missing = shards.missing ?? locations.missing;
  const problem =
    missing === null
      ? findQuorumProblem(env, locations.bindings.length)
      : { name: missing, message: 'is not bound, but a later number is' };
  return { shards: shards.bindings, locations: locations.bindings, problem };
}

function findQuorumProblem(env: Env, bound: number): SettingProblem | null {
  const name = 'WRITE_QUORUM';
  if (settingProblemsOf(env).some((problem) => problem.name === name)) return null;
  const isMore = (settingsOf(env).WRITE_QUORUM ?? 0) > bound;
  return isMore ? { name, message: `is more than the ${bound} locations that are bound` } : null;
}

function inOrder<T>(
  named: ReadonlyMap<string, T>,
  nameOf: (n: number) => string,
): { bindings: readonly T[]; missing: string | null } {
  const bindings: T[] = [];
  for (let n = 0; n < named.size; n++) {
    const binding = named.get(nameOf(n));
    if (binding === undefined) return { bindings, missing: nameOf(n) };
    bindings.push(binding);
  }
  return { bindings, missing: null };
}

const listBindings = (env: Env): [string, unknown][] => Object.entries(env);

const isDatabase = (binding: unknown): binding is D1Database =>
  typeof binding === 'object' && binding !== null && 'prepare' in binding;
const isBucket = (binding: unknown): binding is R2Bucket =>
  typeof binding === 'object' && binding !== null && 'put' in binding && 'head' in binding;
