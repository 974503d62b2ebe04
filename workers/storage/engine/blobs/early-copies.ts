/**
 * Early copies: the bytes of small objects in the locations, from the upload until the volume that has them is verified
 * (`SMALL_COPIES=now`). The key has the order of the version. Each copy describes its version, as a blob does.
 */
import type { Result } from '../../../shared/pure/result.ts';
import { logError } from '../../../shared/telemetry/log.ts';
import { toVersionOrder } from '../../domain/version-order.ts';
import { type EngineContext, locationCall } from '../model/context.ts';
import type { Unavailable } from '../model/contract.ts';
import { type BlobDescription, type Copies, putCopiesAt } from './locations.ts';

export const EARLY_PREFIX = 'small/';
/** Maximum number of keys per delete call of R2. */
const KEYS_PER_DELETE_MAX = 1_000;

/** @param order order of a version, in hex of any case. */
export const toEarlyKey = (order: string): string => `${EARLY_PREFIX}${order.toLowerCase()}`;

/** Writes the early copies of a version. Repeating it changes nothing. */
export const putEarlyCopies = (
  context: EngineContext,
  versionId: string,
  {
    bytes,
    md5,
    description,
  }: { readonly bytes: Uint8Array; readonly md5: string; readonly description: BlobDescription },
): Promise<Result<Copies, Unavailable>> =>
  putCopiesAt(context, { id: versionId, key: toEarlyKey(toVersionOrder(versionId)), description }, bytes, () => md5);

/**
 * Finds the early copy of a version that `isIntact` accepts.
 * @returns its bytes in Base64, or null; and whether every location answered.
 */
export async function findEarlyCopy(
  context: EngineContext,
  order: string,
  isIntact: (data: string) => boolean,
): Promise<{ readonly data: string | null; readonly isSure: boolean }> {
  let isSure = true;
  for (const bucket of context.locations) {
    try {
      const object = await locationCall(context, bucket.get(toEarlyKey(order)));
      const data = object === null ? null : Buffer.from(await object.arrayBuffer()).toString('base64');
      if (data !== null && isIntact(data)) return { data, isSure };
    } catch {
      isSure = false;
    }
  }
  return { data: null, isSure };
}

/** Removes early copies from every location. The orphan rounds remove those that a location keeps. */
export async function removeEarlyCopies(context: EngineContext, orders: readonly string[]): Promise<void> {
  const keys = orders.map(toEarlyKey);
  const removals = context.locations.map(async (bucket) => {
    for (let at = 0; at < keys.length; at += KEYS_PER_DELETE_MAX)
      await locationCall(context, bucket.delete(keys.slice(at, at + KEYS_PER_DELETE_MAX)));
  });
  for (const outcome of await Promise.allSettled(removals))
    if (outcome.status === 'rejected') logError('early_copies_not_removed', outcome.reason);
}
