/**
 * Decides whether this installation may write to the S3 location. The location and each R2 bucket have the same random id, written once
 * when the location is added. A location with another id, or with objects and no id, belongs to another installation, or to this one
 * before it was lost. It is only read then.
 */
import { createCollectorStore } from '../collectors/store.ts';
import { blobLocations } from '../stores/bindings.ts';
import { OWN_PREFIX, type S3Location } from './client.ts';

/** Key of the id in R2. */
export const OWNER_KEY = 'owners/s3-location';
const OWNER_KEY_OUTSIDE = `${OWN_PREFIX}owner`;

async function readHere(env: Env): Promise<string | null> {
  for (const bucket of blobLocations(env)) {
    const object = await bucket.get(OWNER_KEY);
    if (object !== null) return object.text();
  }
  return null;
}

/** Writes the id to the R2 buckets that have none. */
const writeHere = (env: Env, id: string): Promise<unknown> =>
  Promise.all(blobLocations(env).map((bucket) => bucket.put(OWNER_KEY, id, { onlyIf: { etagDoesNotMatch: '*' } })));

/** Reads the id of the S3 location; null if it has none. */
const readOutside = (location: S3Location): Promise<string | null> => location.getText(OWNER_KEY_OUTSIDE);

const isEmpty = async (location: S3Location): Promise<boolean> => (await location.list('', '', 1)).objects.length === 0;

/**
 * Claims the S3 location if it is empty.
 * @returns the reason why nothing may be written to it, or null. @throws if a store does not answer.
 */
export async function findForeignOwner(env: Env, location: S3Location): Promise<string | null> {
  const [here, outside] = [await readHere(env), await readOutside(location)];
  if (outside !== null) {
    if (here === outside) return null;
    return here === null
      ? 'the S3 location has the data of an installation that was lost or is another one: rescue it, or name another prefix'
      : 'the S3 location belongs to another installation: name another prefix';
  }
  if (!(await isEmpty(location)))
    return 'the S3 location has objects, but not those of an installation: name another prefix';
  const id = here ?? crypto.randomUUID();
  if (here === null) await writeHere(env, id);
  await location.put(OWNER_KEY_OUTSIDE, id, { onlyIfNew: true });
  return (await readOutside(location)) === (await readHere(env))
    ? null
    : 'another installation claimed the S3 location at the same time: name another prefix';
}

const isNew = async (env: Env): Promise<boolean> =>
  (await createCollectorStore(env.DIRECTORY, 'directory').findOwner()) === null;

/** Whether an installation is empty, and not a part of the one whose data the S3 location has. Only then it is rescued. */
export const mayRescue = async (env: Env): Promise<boolean> => (await isNew(env)) && (await readHere(env)) === null;

/**
 * Whether this installation is empty and the S3 location has one, so that it waits for `npm run rescue`. Of a new installation, a location
 * that does not answer may have the data.
 */
export async function awaitsRescue(env: Env, location: S3Location): Promise<boolean> {
  if (!(await isNew(env).catch(() => false))) return false;
  const isForeign = async () => (await readHere(env)) === null && (await readOutside(location)) !== null;
  return isForeign().catch(() => true);
}

/**
 * Ends a rescue. @param isTakenOver whether the S3 location is this installation's from now on. If not, it gets an id of its own, so that it
 * never writes to the location that it came from.
 * @returns false if the S3 location has no id.
 */
export async function endRescue(env: Env, location: S3Location, isTakenOver: boolean): Promise<boolean> {
  const outside = await readOutside(location);
  if (outside === null) return false;
  await writeHere(env, isTakenOver ? outside : crypto.randomUUID());
  return true;
}
