/**
 * The numbered bindings: databases `DIRECTORY`, `DIRECTORY_1`, … and `OBJECTS_0`, `OBJECTS_1`, …, and buckets `BLOBS`, `BLOBS_2`, …
 */

import { MisconfiguredError, type SettingProblem, settingProblemsOf, settingsOf } from '../settings/settings.ts';
import { LATE_LOCATION_MS, LOCATION_TIMEOUT_MS, type Locations } from './quorum.ts';

interface NumberedBindings {
  readonly directories: readonly D1Database[];
  /** Problem of the user databases; null if there is none. Unlike `problem`, it does not depend on shards and locations. */
  readonly directoryProblem: SettingProblem | null;
  readonly shards: readonly D1Database[];
  readonly locations: readonly R2Bucket[];
  readonly problem: SettingProblem | null;
}

const found = new WeakMap<object, NumberedBindings>();

/**
 * The bound databases `DIRECTORY`, `DIRECTORY_1`, … in the order of their numbers.
 * @throws MisconfiguredError if a number is missing, because the order would change once it is added.
 */
export function boundDirectories(env: Env): readonly D1Database[] {
  const { directories, directoryProblem } = bindingsOf(env);
  if (directoryProblem) throw new MisconfiguredError(directoryProblem);
  return directories;
}

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
    if (/^(?:DIRECTORY|OBJECTS)_\d+$/.test(name) && isDatabase(binding)) databases.set(name, binding);
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
  const directories = inOrder(only(databases, 'DIRECTORY'), (n) => (n === 0 ? 'DIRECTORY' : `DIRECTORY_${n}`));
  const shards = inOrder(only(databases, 'OBJECTS_'), (n) => `OBJECTS_${n}`);
  const locations = inOrder(buckets, (n) => (n === 0 ? 'BLOBS' : `BLOBS_${n + 1}`));
  const directoryProblem = findGap(directories.missing) ?? findGroupProblem(directories.bindings.length);
  const problem =
    directoryProblem ??
    findGap(shards.missing ?? locations.missing) ??
    findQuorumProblem(env, locations.bindings.length);
  return {
    directories: directories.bindings,
    directoryProblem,
    shards: shards.bindings,
    locations: locations.bindings,
    problem,
  };
}

const findGap = (missing: string | null): SettingProblem | null =>
  missing === null ? null : { name: missing, message: 'is not bound, but a later number is' };

const only = <T>(named: ReadonlyMap<string, T>, prefix: string): Map<string, T> =>
  new Map([...named].filter(([name]) => name.startsWith(prefix)));

/** Number of databases in each group. The sizes must never change, because they determine which database has a name. */
export const SET_SIZES: readonly number[] = [1, 4, 16, 64];

/** Valid numbers of bound user databases, which are whole groups: 1, 5, 21 and 85. */
const DIRECTORY_COUNTS = SET_SIZES.map((_, group) =>
  SET_SIZES.slice(0, group + 1).reduce((sum, size) => sum + size, 0),
);

/** In an incomplete group, some names would select a database that is not bound. */
function findGroupProblem(bound: number): SettingProblem | null {
  if (DIRECTORY_COUNTS.includes(bound)) return null;
  const wanted = DIRECTORY_COUNTS.find((count) => count > bound) ?? DIRECTORY_COUNTS.at(-1);
  return {
    name: `DIRECTORY_${bound}`,
    message: `is not bound, so its group is incomplete: bind ${wanted} databases in all`,
  };
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
