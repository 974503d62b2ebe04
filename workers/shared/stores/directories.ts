/**
 * The user databases. `DIRECTORY` is number 0 and also has everything that does not grow with people. `DIRECTORY_1`,
 * `DIRECTORY_2`, … come in sets of 4, 16 and 64. All people who register after a set was added are stored in that set, and
 * nothing moves. docs/design/user-databases.md has the argument.
 */
import { randomUUID } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { MisconfiguredError } from '../settings/settings.ts';
import { boundDirectories, SET_SIZES } from './bindings.ts';

/** Number of databases if all sets are bound. */
const DATABASES_MAX = SET_SIZES.reduce((sum, size) => sum + size, 0);

/** Number of sets that are bound. */
export const countSets = (env: Env): number => possibleDatabaseNumbersOf(env, '').length;

/**
 * The databases that may have a name: one of each set, the oldest set first. The last one takes a new name.
 * @param name an address or another text, normalised as for a comparison.
 */
export const possibleDatabasesOf = (env: Env, name: string): readonly D1Database[] =>
  possibleDatabaseNumbersOf(env, name).map((number) => databaseOf(env, number));

/**
 * The database for a row that is looked up only by this name. Once a set is added, the row is no longer found, so it must be
 * dispensable.
 */
export const newestDatabaseOf = (env: Env, name: string): D1Database =>
  databaseOf(env, possibleDatabaseNumbersOf(env, name).at(-1) ?? 0);

/** The numbers of the databases of `possibleDatabasesOf`. */
export function possibleDatabaseNumbersOf(env: Env, name: string): number[] {
  // The wildcards of a domain are together, because mail to an address looks for up to 40 of them.
  const key = name.includes('*') ? name.slice(name.lastIndexOf('@')) : name;
  const bound = boundDirectories(env).length;
  const numbers: number[] = [];
  let first = 0;
  for (const size of SET_SIZES) {
    if (first < bound) numbers.push(first + (crc32(key) % size));
    first += size;
  }
  return numbers;
}

/** Creates the id of a user who registers with this address. The id contains the number of the user's database. */
export function mintUserId(env: Env, email: string): string {
  const number = possibleDatabaseNumbersOf(env, email).at(-1) ?? 0;
  const id = randomUUID();
  return number === 0 ? id : `${id.slice(0, 14)}8${id.slice(15, -4)}${number.toString(16).padStart(4, '0')}`;
}

/**
 * Number of the database that has a user's rows. In a UUID of version 8, whose bits an application may define (RFC 9562, section
 * 5.8), the last two bytes are the number. Users with any other id are in `DIRECTORY`.
 */
export function databaseNumberOf(userId: string): number {
  const number = userId.length === 36 && userId[14] === '8' ? Number(`0x${userId.slice(-4)}`) : 0;
  return number < DATABASES_MAX ? number : 0;
}

/** The database that has a user's rows. @throws MisconfiguredError if it is not bound. */
export const userDatabaseOf = (env: Env, userId: string): D1Database => databaseOf(env, databaseNumberOf(userId));

/**
 * The database with a number that a caller sent, such as in a credential.
 * @returns null if it is not bound. The caller may have invented the number.
 */
export const findDatabase = (env: Env, number: number): D1Database | null =>
  number === 0 ? env.DIRECTORY : (boundDirectories(env)[number] ?? null);

/** Whether a user id that a caller sent names a database that is bound. If not, the caller invented it: nobody has it. */
export const isPossibleUserId = (env: Env, userId: string): boolean =>
  findDatabase(env, databaseNumberOf(userId)) !== null;

/** @throws MisconfiguredError if no database with this number is bound. */
export function databaseOf(env: Env, number: number): D1Database {
  const database = findDatabase(env, number);
  if (database) return database;
  throw new MisconfiguredError({ name: `DIRECTORY_${number}`, message: 'is not bound, but users may be in it' });
}

/** The numbers of all databases. */
export const allDatabaseNumbers = (env: Env): number[] => [...boundDirectories(env).keys()];

/** Groups users by the database that has their rows. */
export function byDirectory(env: Env, userIds: readonly string[]): ReadonlyMap<D1Database, string[]> {
  const groups = new Map<D1Database, string[]>();
  for (const userId of userIds) {
    const database = userDatabaseOf(env, userId);
    groups.set(database, [...(groups.get(database) ?? []), userId]);
  }
  return groups;
}

/** Order of texts in a list of `readMerged`: by code units, as SQLite orders ASCII. */
export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The lower of two numbers. A null is ignored; null if both are null. */
export const minOrNull = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b);

/**
 * Queries every user database and merges the rows.
 * @param read returns at most `limit` rows of one database, in the order of `compare`.
 */
export async function readMerged<Row>(
  env: Env,
  read: (database: D1Database) => Promise<readonly Row[]>,
  compare: (a: Row, b: Row) => number,
  limit: number,
): Promise<Row[]> {
  const pages = await Promise.all(boundDirectories(env).map(read));
  return pages.length === 1 ? [...(pages[0] ?? [])] : pages.flat().sort(compare).slice(0, limit);
}

/** Queries every user database. @returns the first answer that is not null, in the order of the databases. */
export async function findInAny<T>(env: Env, find: (database: D1Database) => Promise<T | null>): Promise<T | null> {
  return (await Promise.all(boundDirectories(env).map(find))).find((found) => found !== null) ?? null;
}
