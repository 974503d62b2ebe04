/** Small objects in every location that are only replaced by later ones, also if several runs write them at the same time. */
import { countLocations, type Locations, settleQuorum } from './quorum.ts';

/** Maximum number of attempts to write an object that another run writes at the same time. */
const PUTS_MAX = 5;

/** @returns false if other runs kept writing the object. */
async function putForward<T>(
  bucket: R2Bucket,
  key: string,
  value: T,
  isLater: (present: T) => boolean,
): Promise<boolean> {
  for (let attempt = 0; attempt < PUTS_MAX; attempt++) {
    const object = await bucket.get(key);
    if (object !== null && isLater(await object.json<T>())) return true;
    const onlyIf = object === null ? { etagDoesNotMatch: '*' } : { etagMatches: object.etag };
    if ((await bucket.put(key, JSON.stringify(value), { onlyIf })) !== null) return true;
  }
  return false;
}

/**
 * Writes an object to every location, except where the present one is as late or later.
 * @throws if fewer locations than the quorum have it then.
 */
export async function putForwardInQuorum<T>(
  { locations, quorum, lateMs }: Omit<Locations, 'timeoutMs'>,
  key: string,
  value: T,
  isLater: (present: T) => boolean,
): Promise<void> {
  let failure: unknown = new Error(`other runs keep writing ${key}`);
  const writes = locations.map((bucket) =>
    putForward(bucket, key, value, isLater).catch((error: unknown) => {
      failure = error;
      return false;
    }),
  );
  const { held } = await settleQuorum(locations, writes, quorum, lateMs);
  if (countLocations(held) < quorum) throw failure;
}
