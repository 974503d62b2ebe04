/**
 * Fills the R2 buckets of an empty installation from the S3 location. `npm run rescue` calls it, then the rebuilds that exist. It copies into
 * the first bucket, and from there into the others, so that the other provider sends each byte once. The refill makes copies that a cut left out.
 *
 * Keys whose deletion is recorded are left out: of mail always, because a mailbox is rebuilt from all of its bytes; others if they were
 * deleted longer ago than a snapshot that may name them.
 */
import { blobLocations } from '../stores/bindings.ts';
import { logError } from '../telemetry/log.ts';
import type { ListedObject, S3Location } from './client.ts';
import { listDeletions } from './pass.ts';

/** Each copy holds two of the six connections of an invocation. */
const COPIES_AT_ONCE = 3;
/** Age of a deletion from which no snapshot in use names the bytes. Snapshots of a shard are taken once a day. */
const NAMED_MS = 3 * 86_400_000;

export interface RescueReport {
  scanned: number;
  copied: number;
  copied_bytes: number;
  /** Objects that arrived with other bytes than their MD5 says, or that did not arrive. The log has their keys. */
  failed: number;
  /** Objects that were left out because they had been deleted, or were written after `until`. */
  left_out: number;
  /** Cursor of the next call; null at the end. */
  next_cursor: string | null;
}

export interface RescueOptions {
  /** Last key of an earlier report; '' at the start. */
  readonly cursor: string;
  /** Rescues the state at this time: deletions and journals after it do not count. Infinity: the newest state. */
  readonly until: number;
  readonly now: number;
  /** Copies only keys before this one; '' is the end. Calls for several ranges may run at the same time. */
  readonly before: string;
  readonly keysPerPage?: number;
}

/** Copies until the end or until `mayContinue` returns false. */
export async function fillFromS3Location(
  env: Env,
  location: S3Location,
  mayContinue: () => boolean,
  { cursor, until, now, before, keysPerPage = 1_000 }: RescueOptions,
): Promise<RescueReport> {
  const [target, ...others] = blobLocations(env);
  if (target === undefined) throw new Error('no R2 bucket is bound');
  const report = { scanned: 0, copied: 0, copied_bytes: 0, failed: 0, left_out: 0 };
  let after = cursor === '' ? '.tessera0' : cursor;
  for (;;) {
    const page = await location.list(after, '', keysPerPage);
    const objects = page.objects.filter(({ key }) => before === '' || key < before);
    const isLast = page.isLast || objects.length < page.objects.length;
    const last = objects.at(-1)?.key;
    if (last === undefined) return { ...report, next_cursor: null };
    const deletions = await readDeletions(location, after, last, keysPerPage);
    const present = await listPresent(target, after, last, keysPerPage);
    const wanted = objects.filter((object) => isWanted(object, deletions.get(object.key), { until, now }));
    const missing = wanted.filter((object) => !isSame(object, present.get(object.key)));
    report.scanned += objects.length;
    report.left_out += objects.length - wanted.length;
    for (let at = 0; at < missing.length; at += COPIES_AT_ONCE) {
      const copies = missing
        .slice(at, at + COPIES_AT_ONCE)
        .map(({ key }) => copyIn(location, [target, ...others], key));
      for (const size of await Promise.all(copies)) {
        if (size === null) report.failed++;
        else {
          report.copied++;
          report.copied_bytes += size;
        }
      }
    }
    after = last;
    if (isLast) return { ...report, next_cursor: null };
    if (!mayContinue()) return { ...report, next_cursor: after };
  }
}

async function readDeletions(location: S3Location, after: string, last: string, limit: number) {
  const found = new Map<string, number>();
  for (let from = after; ; ) {
    const { objects, isLast } = await listDeletions(location, from, limit);
    for (const { key, storedAt } of objects) found.set(key, storedAt);
    from = objects.at(-1)?.key ?? last;
    if (isLast || from >= last) return found;
  }
}

async function listPresent(bucket: R2Bucket, after: string, last: string, limit: number) {
  const found = new Map<string, R2Object>();
  for (let startAfter = after; ; ) {
    const page: R2Objects = await bucket.list({ limit, startAfter });
    for (const object of page.objects) found.set(object.key, object);
    startAfter = page.objects.at(-1)?.key ?? last;
    if (!page.truncated || startAfter >= last) return found;
  }
}

/** Owner ids and numbers of restores are written again and again under the same key, so their newest state is always wanted. */
const IS_STATE = /^(?:owners|ages)\//;

function isWanted(
  { key, storedAt }: ListedObject,
  deletedAt: number | undefined,
  { until, now }: Pick<RescueOptions, 'until' | 'now'>,
): boolean {
  if (storedAt > until && !IS_STATE.test(key) && !key.startsWith('blobs/')) return false;
  if (deletedAt === undefined || deletedAt > until) return true;
  return !key.startsWith('mail/') && deletedAt > Math.min(until, now) - NAMED_MS;
}

/** Blobs never change, so their size is enough for one that an earlier call copied. */
const isSame = ({ key, size, etag }: ListedObject, present: R2Object | undefined): boolean =>
  present !== undefined && present.size === size && (present.etag === etag || key.startsWith('blobs/'));

/** Copies an object. R2 compares the bytes that arrive with the checksum that it had recorded. @returns its size; null if it failed. */
async function copyIn(location: S3Location, targets: readonly R2Bucket[], key: string): Promise<number | null> {
  try {
    const [target, ...others] = targets as readonly [R2Bucket, ...R2Bucket[]];
    const answer = await location.get(key);
    if (answer?.body === undefined || answer.body === null) throw new Error('the S3 location lost the object');
    const { http, custom, md5, sha256 } = await location.readDescription(key, answer);
    // R2 takes one checksum and computes the MD5 itself.
    const expected = sha256 === undefined ? (md5 === null ? {} : { md5 }) : { sha256 };
    const options = { httpMetadata: http, customMetadata: custom, ...expected };
    const stored = await target.put(key, answer.body, options);
    for (const other of others) {
      const copy = await target.get(key);
      if (copy !== null) await other.put(key, copy.body, options);
    }
    return stored.size;
  } catch (error) {
    logError('rescue_copy_failed', error, { key });
    return null;
  }
}
