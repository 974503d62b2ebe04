/**
 * Finds out whether a database of people was lost and is empty, or is being rebuilt. The database (`collector`, row `directory`) and
 * each location (`owners/directory`) hold an owner id from the first snapshot on.
 */
import { blobLocations } from '../shared/bindings.ts';
import { databaseOf } from '../shared/directories.ts';
import { MisconfiguredError } from '../shared/settings.ts';
import { readFirst, statement } from '../shared/statement.ts';

/** Owner id of a database while a rebuild fills it. It differs from the id in every location, so no snapshot is taken meanwhile. */
export const REBUILDING = 'rebuilding';

/** Name of a database of people in the keys of its snapshots and its owner ids. @param number 0 for `DIRECTORY`. */
export const directoryKeyOf = (number: number): string => (number === 0 ? 'directory' : `directory-${number}`);

/** Name of the binding of a database of people. */
export const directoryNameOf = (number: number): string => (number === 0 ? 'DIRECTORY' : `DIRECTORY_${number}`);

export const ownerKeyOf = (number: number): string => `owners/${directoryKeyOf(number)}`;

/** SQL of the owner id of the database that is asked; NULL in a new or lost one. */
export const OWNER_COLUMN = "(SELECT owner FROM collector WHERE name = 'directory') AS owner";

/** @param owner of `OWNER_COLUMN`. @param number of the database. */
export async function isLost(owner: string | null, number: number, locations: readonly R2Bucket[]): Promise<boolean> {
  if (owner !== null) return owner === REBUILDING;
  const stored = await Promise.all(locations.map((location) => location.head(ownerKeyOf(number))));
  return stored.some((object) => object !== null);
}

/**
 * Called before a caller is told that a database lacks a row, if the row may have been lost with the database.
 * @throws MisconfiguredError if the database was lost and has not been rebuilt.
 */
export async function refuseIfLost(env: Env, owner: string | null, number: number): Promise<void> {
  if (!(await isLost(owner, number, blobLocations(env)))) return;
  throw new MisconfiguredError({ name: directoryNameOf(number), message: 'was lost and has not been rebuilt' });
}

const selectOwner = statement<Record<never, never>, { owner: string | null }>(`SELECT ${OWNER_COLUMN}`);

/** Like `refuseIfLost`, for several databases that were not asked for their owner id yet. */
export async function refuseIfAnyLost(env: Env, numbers: readonly number[]): Promise<void> {
  const check = async (number: number) =>
    refuseIfLost(env, (await readFirst(databaseOf(env, number), selectOwner, {}))?.owner ?? null, number);
  await Promise.all(numbers.map(check));
}
