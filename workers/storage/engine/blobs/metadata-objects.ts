/** Small gzipped JSON objects that describe the databases, in every location: snapshots and journals. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { putInQuorum } from '../../../shared/stores/quorum.ts';
import { askEach, type EngineContext, locationCall, toLocations } from '../model/context.ts';

/** Writes an object to a quorum of the locations at least. @throws if fewer locations have it; some may have it nevertheless. */
export async function writeMetadata(context: EngineContext, key: string, value: unknown): Promise<number> {
  const bytes = gzipSync(JSON.stringify(value));
  await putInQuorum(toLocations(context), key, bytes);
  return bytes.length;
}

export interface FoundMetadata<T> {
  /** Null if no location has the object intact. */
  readonly value: T | null;
  /** Whether every location answered. If not, a location that did not answer may have the object. */
  readonly isSure: boolean;
}

/** Reads a metadata object from the first location that has it intact; gzip's checksum detects damage. */
export async function findMetadata<T>(context: EngineContext, key: string): Promise<FoundMetadata<T>> {
  let isSure = true;
  for (const bucket of context.locations) {
    let bytes: Buffer;
    try {
      const object = await locationCall(context, bucket.get(key));
      if (object === null) continue;
      bytes = Buffer.from(await object.arrayBuffer());
    } catch {
      isSure = false;
      continue;
    }
    try {
      return { value: JSON.parse(gunzipSync(bytes).toString()) as T, isSure };
    } catch {
      // This copy is damaged, so the next location is tried.
    }
  }
  return { value: null, isSure };
}

/** Reads a metadata object. @returns null when no location has it intact, or when those that have it do not answer. */
export const readMetadata = async <T>(context: EngineContext, key: string): Promise<T | null> =>
  (await findMetadata<T>(context, key)).value;

/**
 * Lists at most `limit` keys under a prefix that follow the key `after`, in order, in any location.
 * @returns the keys, and whether every location answered.
 */
export async function listMetadataAfter(
  context: EngineContext,
  prefix: string,
  after: string,
  limit: number,
): Promise<{ readonly keys: string[]; readonly isSure: boolean }> {
  const lists = await Promise.allSettled(
    context.locations.map((bucket) => locationCall(context, bucket.list({ prefix, startAfter: after, limit }))),
  );
  const keys = lists.flatMap((list) => (list.status === 'fulfilled' ? list.value.objects.map(({ key }) => key) : []));
  const isSure = lists.every(({ status }) => status === 'fulfilled');
  return { keys: [...new Set(keys)].sort().slice(0, limit), isSure };
}

/** Lists the keys under a prefix in any location, in order. With `delimiter`, it lists the folders instead of the keys. */
export async function listMetadata(context: EngineContext, prefix: string, delimiter?: string): Promise<string[]> {
  const lists = await askEach(context, async (bucket) => {
    const found: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const options = { prefix, ...(delimiter === undefined ? {} : { delimiter }), ...(cursor ? { cursor } : {}) };
      const page: R2Objects = await locationCall(context, bucket.list(options));
      found.push(...(delimiter === undefined ? page.objects.map((object) => object.key) : page.delimitedPrefixes));
      if (!page.truncated) return found;
      cursor = page.cursor;
    }
  });
  return [...new Set(lists.flatMap(({ answer }) => answer))].sort();
}

/** Removes all keys under a prefix. If a location does not answer, its keys stay until the next removal. */
export async function removeMetadata(context: EngineContext, prefix: string): Promise<void> {
  await askEach(context, async (bucket) => {
    for (;;) {
      const page = await locationCall(context, bucket.list({ prefix, limit: 1000 }));
      if (page.objects.length > 0) await bucket.delete(page.objects.map((object) => object.key));
      if (!page.truncated) break;
    }
  });
}
