/** Small gzipped JSON objects that describe the databases, the same in every location: snapshots and journals. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { type EngineContext, inTime } from '../model/context.ts';

/** Writes an object to every location. @throws if one location fails; the others may have it nevertheless. */
export async function writeMetadata(context: EngineContext, key: string, value: unknown): Promise<number> {
  const bytes = gzipSync(JSON.stringify(value));
  const outcomes = await Promise.allSettled(
    context.locations.map((bucket) =>
      inTime(bucket.put(key, bytes), context.limits.locationTimeoutMs, 'late' as const),
    ),
  );
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') throw outcome.reason;
    if (outcome.value === 'late') throw new Error(`a location did not take ${key} in time`);
  }
  return bytes.length;
}

/** Reads an object from the first location that has it intact; gzip has a checksum. @returns null when none has. */
export async function readMetadata<T>(context: EngineContext, key: string): Promise<T | null> {
  for (const bucket of context.locations) {
    try {
      const object = await bucket.get(key);
      if (object) return JSON.parse(gunzipSync(Buffer.from(await object.arrayBuffer())).toString()) as T;
    } catch {
      // Damaged or unreachable: try the next location.
    }
  }
  return null;
}

/** Keys under a prefix in any location, in order. With `delimiter`, the folders instead of the keys. */
export async function listMetadata(context: EngineContext, prefix: string, delimiter?: string): Promise<string[]> {
  const found = new Set<string>();
  for (const bucket of context.locations) {
    for (let cursor: string | undefined; ; ) {
      const page = await bucket.list({
        prefix,
        ...(delimiter === undefined ? {} : { delimiter }),
        ...(cursor ? { cursor } : {}),
      });
      for (const key of delimiter === undefined ? page.objects.map((object) => object.key) : page.delimitedPrefixes) {
        found.add(key);
      }
      if (!page.truncated) break;
      cursor = page.cursor;
    }
  }
  return [...found].sort();
}

/** Removes everything under a prefix, in every location. */
export async function removeMetadata(context: EngineContext, prefix: string): Promise<void> {
  for (const bucket of context.locations) {
    for (;;) {
      const page = await bucket.list({ prefix, limit: 1000 });
      if (page.objects.length > 0) await bucket.delete(page.objects.map((object) => object.key));
      if (!page.truncated) break;
    }
  }
}
