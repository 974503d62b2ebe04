/** Small gzipped JSON objects that describe the databases, in every location: snapshots and journals. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { putInQuorum } from '../../../shared/quorum.ts';
import { askEach, type EngineContext, locationCall, toLocations } from '../model/context.ts';

/** Writes an object to a quorum of the locations at least. @throws if fewer locations have it; some may have it nevertheless. */
export async function writeMetadata(context: EngineContext, key: string, value: unknown): Promise<number> {
  const bytes = gzipSync(JSON.stringify(value));
  await putInQuorum(toLocations(context), key, bytes);
  return bytes.length;
}

/**
 * Reads a metadata object from the first location that has it intact; gzip's checksum detects damage.
 * @returns null when no location has it.
 */
export async function readMetadata<T>(context: EngineContext, key: string): Promise<T | null> {
  for (const bucket of context.locations) {
    try {
      const object = await locationCall(context, bucket.get(key));
      if (object) return JSON.parse(gunzipSync(Buffer.from(await object.arrayBuffer())).toString()) as T;
    } catch {
      // The copy is damaged or the location unreachable, so the next location is tried.
    }
  }
  return null;
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
