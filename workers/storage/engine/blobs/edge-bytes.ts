/**
 * Bytes of blobs in the cache of the data centre that answers (Cache API). A blob is written once under a fresh UUID, so a
 * key has one content for ever, and the version's row decides on every read which blob is read. Cached bytes are checked
 * like those of a location. If the cache fails in any way, the read continues from R2.
 *
 * An entry is a chunk of a blob or, for a small object of a volume, its extent. It is stored as one complete answer: the
 * Cache API stores no partial ones, and answers ranges of complete ones.
 */
import { logError } from '../../../shared/telemetry/log.ts';
import { type BlobRange, type EdgeBytes, inTime } from '../model/context.ts';
import type { Extent } from '../model/contract.ts';
import { InProgress } from './in-progress.ts';

const CHUNK_BYTES = 8 * 1024 ** 2;
/**
 * Maximum number of cached chunks per range. Longer ranges are read from R2: they would fill the cache, and its lower latency
 * matters less for them.
 */
const CACHED_CHUNKS_MAX = 8;
const MATCH_TIMEOUT_MS = 250;
/** Cache writes in progress in this isolate. Each may hold the bytes of its entry in memory while the cache is slower than R2. */
const stores = new InProgress(2);

/**
 * Finds the cache entries of a range of an extent's blob.
 * @returns the cache entries that contain a range of the extent's blob, in order; empty if the range needs too many.
 */
export function entriesOf(extent: Extent, { start, length }: Pick<BlobRange, 'start' | 'length'>): BlobRange[] {
  const { blobId, blobSize } = extent;
  if (extent.crc32 !== null) return [{ blobId, start: extent.blobStart, length: extent.length }];
  const first = Math.floor(start / CHUNK_BYTES);
  const count = Math.ceil((start + length) / CHUNK_BYTES) - first;
  if (count > CACHED_CHUNKS_MAX) return [];
  return Array.from({ length: count }, (_, at) => {
    const chunkStart = (first + at) * CHUNK_BYTES;
    return { blobId, start: chunkStart, length: Math.min(CHUNK_BYTES, blobSize - chunkStart) };
  });
}

const toUrl = ({ blobId, start, length }: BlobRange): string => `https://bytes.invalid/${blobId}/${start}-${length}`;

/**
 * Creates the access to cached bytes of blobs.
 * @param maxAgeSeconds time to live of the entries. It bounds how long the bytes of an erased object stay in caches, where nothing
 * refers to them.
 */
export function createEdgeBytes(
  cache: Cache,
  maxAgeSeconds: number,
  waitUntil: (work: Promise<unknown>) => void,
): EdgeBytes {
  const report = (error: unknown) => logError('edge_cache_failed', error);
  return {
    async match(entry, { start, length }) {
      const first = start - entry.start;
      const headers: Record<string, string> =
        length === entry.length ? {} : { range: `bytes=${first}-${first + length - 1}` };
      try {
        const matching = cache.match(new Request(toUrl(entry), { headers }));
        const response = await inTime(matching, MATCH_TIMEOUT_MS, 'late' as const);
        if (response === 'late') {
          waitUntil(matching.then((late) => late?.body?.cancel()).catch(() => {}));
          return null;
        }
        if (!response?.body) return null;
        if (response.headers.get('content-length') === String(length)) return response.body;
        await response.body.cancel();
      } catch (error) {
        report(error);
      }
      return null;
    },

    store(entry) {
      const endStore = stores.begin();
      if (endStore === null) return null;
      const { readable, writable } = new FixedLengthStream(entry.length);
      const writer = writable.getWriter();
      const headers = { 'cache-control': `public, max-age=${maxAgeSeconds}` };
      let isAborted = false;
      const storing = (async () => cache.put(toUrl(entry), new Response(readable, { headers })))()
        .catch((error: unknown) => {
          if (!isAborted) report(error);
        })
        .finally(endStore);
      waitUntil(storing);
      return {
        // The write into the cache is not awaited, because the reader of the object must not wait for it. At most one entry's bytes
        // are buffered.
        write: (bytes) => void writer.write(bytes).catch(() => {}),
        end(isWhole) {
          isAborted = !isWhole;
          void (isWhole ? writer.close() : writer.abort('incomplete')).catch(() => {});
        },
      };
    },

    remove(entry) {
      waitUntil((async () => cache.delete(toUrl(entry)))().catch(report));
    },
  };
}
