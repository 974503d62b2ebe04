/**
 * Detects whether a user database was lost and is empty, or is being rebuilt. From the first snapshot on, the database
 * (`collector`, row `directory`) and each location (`owners/directory`) hold an owner id.
 */

import { MisconfiguredError } from '../settings/settings.ts';
import { blobLocations } from '../stores/bindings.ts';
import { databaseOf } from '../stores/directories.ts';
import { readFirst, statement } from '../stores/statement.ts';

/** Owner id of a database while a rebuild fills it. It differs from the id in every location, so no snapshot is taken meanwhile. */
export const REBUILDING = 'rebuilding';

/** Name of a user database in the keys of its snapshots and its owner ids. @param number 0 for `DIRECTORY`. */
export const directoryKeyOf = (number: number): string => (number === 0 ? 'directory' : `directory-${number}`);

/** Name of the binding of a user database. */
export const directoryNameOf = (number: number): string => (number === 0 ? 'DIRECTORY' : `DIRECTORY_${number}`);

export const ownerKeyOf = (number: number): string => `owners/${directoryKeyOf(number)}`;

/** SQL column: the owner id of the queried database. NULL if the database is new or was lost. */
export const OWNER_COLUMN = "(SELECT owner FROM collector WHERE name = 'directory') AS owner";

/**
 * Whether a user database was lost or is being rebuilt.
 * @param owner its owner id, as `OWNER_COLUMN` returns it. @param number the number of the database.
 */
export async function isLost(owner: string | null, number: number, locations: readonly R2Bucket[]): Promise<boolean> {
  if (owner !== null) return owner === REBUILDING;
  const stored = await Promise.all(locations.map((location) => location.head(ownerKeyOf(number))));
  return stored.some((object) => object !== null);
}

/**
 * Called before an answer says that a row does not exist, because the row may have been lost with its database.
 * @throws MisconfiguredError if the database was lost and has not been rebuilt.
 */
export async function refuseIfLost(env: Env, owner: string | null, number: number): Promise<void> {
  if (!(await isLost(owner, number, blobLocations(env)))) return;
  throw new MisconfiguredError({ name: directoryNameOf(number), message: 'was lost and has not been rebuilt' });
}

const selectOwner = statement<Record<never, never>, { owner: string | null }>(`SELECT ${OWNER_COLUMN}`);

/** Like `refuseIfLost`, for several databases. Reads their owner ids first. */
export async function refuseIfAnyLost(env: Env, numbers: readonly number[]): Promise<void> {
  const check = async (number: number) =>
    refuseIfLost(env, (await readFirst(databaseOf(env, number), selectOwner, {}))?.owner ?? null, number);
  await Promise.all(numbers.map(check));
}
