/**
 * Raises the number of DIRECTORY, or of another user database, each minute: in the database first, then in every location. If the
 * database is put back to an earlier state, its number is lower than the one outside (`shared/stores/store-age.ts`).
 */
import { directoryNameOf } from '../../shared/collectors/owner-store.ts';
import { levelNumber, raiseNumber } from '../../shared/stores/age-store.ts';
import { putForwardInQuorum } from '../../shared/stores/forward-object.ts';
import { ageKeyOf, readOutside } from '../../shared/stores/store-age.ts';
import { askEach, type EngineContext, locationCall, toLocations } from '../engine/model/context.ts';

export const nameOf = ({ directoryNumber }: EngineContext): string => directoryNameOf(directoryNumber);

/** Reads the greatest number of the locations; 0 if they have none. @throws if too many locations do not answer. */
export async function readDirectoryAge(context: EngineContext): Promise<number> {
  const answers = await askEach(context, (bucket) => locationCall(context, readOutside(bucket, nameOf(context))));
  return Math.max(0, ...answers.map(({ answer }) => answer.number));
}

const record = (context: EngineContext, number: number): Promise<void> =>
  putForwardInQuorum(
    toLocations(context),
    ageKeyOf(nameOf(context)),
    { number },
    (present) => present.number >= number,
  );

/** Raises the number. @returns the new number; null if the database is older than the locations say, or empty. */
export async function raiseDirectoryAge(context: EngineContext): Promise<number | null> {
  const number = await raiseNumber(context.directory, await readDirectoryAge(context));
  if (number !== null) await record(context, number);
  return number;
}

/** Raises the number above that of the locations, once the database has what it lacked or the operator gave that up. */
export async function levelDirectoryAge(context: EngineContext): Promise<number> {
  const number = (await readDirectoryAge(context)) + 1;
  await levelNumber(context.directory, number).run();
  await record(context, number);
  return number;
}
