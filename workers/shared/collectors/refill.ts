/**
 * Refills a location after its bucket was lost and created again: copies the objects that it lacks from another location. Mail,
 * archives, snapshots and owner ids have no other repair. For blobs of object storage, scrub checks the checksums.
 */
import { blobLocations } from '../stores/bindings.ts';
import { logError } from '../telemetry/log.ts';
import { listBetween } from './orphan-rounds.ts';

/**
 * Number of copies at the same time. A copy holds one connection for the read and one for the write, and an invocation may have
 * six.
 */
const COPIES_AT_ONCE = 2;

export interface RefillReport {
  scanned: number;
  copied: number;
  copied_bytes: number;
  /** Number of objects whose bytes do not match their checksum, or that a location did not accept. The log has their keys. */
  failed: number;
  /** Cursor of the next call; null at the end. */
  next_cursor: string | null;
}

/**
 * Copies missing objects until the end or until `mayContinue` returns false.
 * @param cursor `<location> <last key>` from an earlier report; '' at the start.
 */
export async function refillLocations(
  env: Env,
  cursor: string,
  mayContinue: () => boolean,
  keysPerPage = 1_000,
): Promise<RefillReport> {
  const locations = blobLocations(env);
  const report: RefillReport = { scanned: 0, copied: 0, copied_bytes: 0, failed: 0, next_cursor: cursor };
  while (report.next_cursor !== null) {
    const [, number = '0', after = ''] = /^(\d+) (.*)$/s.exec(report.next_cursor) ?? [];
    const source = locations[Number(number)];
    if (!source) return { ...report, next_cursor: null };
    const page: R2Objects = await source.list({ limit: keysPerPage, ...(after === '' ? {} : { startAfter: after }) });
    const keys = page.objects.map(({ key }) => key);
    const last = keys.at(-1);
    report.scanned += keys.length;
    for (const target of locations) {
      if (target === source || last === undefined) continue;
      const present = await listBetween(target, after, last, keysPerPage);
      const missing = keys.filter((key) => !present.has(key));
      for (let at = 0; at < missing.length; at += COPIES_AT_ONCE) {
        const copies = missing.slice(at, at + COPIES_AT_ONCE).map((key) => copyObject(source, target, key));
        for (const bytes of await Promise.all(copies)) {
          if (bytes === 'failed') report.failed++;
          if (typeof bytes !== 'number') continue;
          report.copied++;
          report.copied_bytes += bytes;
        }
      }
    }
    const isEnd = !page.truncated || last === undefined;
    report.next_cursor = isEnd ? `${Number(number) + 1} ` : `${number} ${last}`;
    if (Number(number) + 1 >= locations.length && isEnd) report.next_cursor = null;
    else if (!mayContinue()) break;
  }
  return report;
}

/** Copies one object into a location. @returns its size, or null if the object was deleted or written meanwhile. */
export async function copyObject(source: R2Bucket, target: R2Bucket, key: string): Promise<number | 'failed' | null> {
  try {
    const object = await source.get(key);
    if (object === null) return null;
    const { httpMetadata = {}, customMetadata = {} } = object;
    const { sha256, md5 } = object.checksums;
    // The target compares the bytes that arrive. R2 records an MD5 for each object that it stores in one piece.
    const expected = sha256 ? { sha256 } : md5 ? { md5 } : {};
    const options = { httpMetadata, customMetadata, onlyIf: { etagDoesNotMatch: '*' }, ...expected };
    return (await target.put(key, object.body, options)) ? object.size : null;
  } catch (error) {
    logError('refill_failed', error, { key });
    return 'failed';
  }
}
