/**
 * fsck of the S3 location: compares its keys with those of R2, and reads its bytes again. It changes nothing, unless damaged copies are to
 * be removed. The next pass then copies them from R2.
 */
import { createHash } from 'node:crypto';
import { runInParallel } from '../concurrency/parallel.ts';
import { blobLocations } from '../stores/bindings.ts';
import { type ListedObject, type S3Location, S3LocationError } from './client.ts';
import { listDeletions, listR2 } from './pass.ts';
import { compareKeys } from './pass-plan.ts';

const READS_AT_ONCE = 6;
const EXAMPLES_MAX = 20;

export interface CheckReport {
  scanned: number;
  /** Keys that R2 has had for longer than the last whole pass, and the S3 location lacks or has in another size. */
  missing: number;
  /** Keys that R2 has no more, and whose deletion is not recorded. */
  unrecorded: number;
  /** Objects whose bytes do not match their MD5, or that have no description. Only if bytes are read. */
  damaged: number;
  read_bytes: number;
  removed: number;
  /** `missing mail/…`, `damaged blobs/…`: the first twenty. */
  examples: string[];
  /** Cursor of the next call; null at the end. */
  next_cursor: string | null;
}

export interface CheckOptions {
  /** Last key of an earlier report; '' at the start. */
  readonly cursor: string;
  readonly readsBytes: boolean;
  readonly removesDamaged: boolean;
  /** The S3 location has all that is older, in milliseconds since 1970 UTC; null before the first whole pass. */
  readonly through: number | null;
  readonly keysPerPage?: number;
}

/** Checks until the end or until `mayContinue` returns false. */
export async function checkS3Location(
  env: Env,
  location: S3Location,
  mayContinue: () => boolean,
  options: CheckOptions,
): Promise<CheckReport> {
  const report: CheckReport = {
    scanned: 0,
    missing: 0,
    unrecorded: 0,
    damaged: 0,
    read_bytes: 0,
    removed: 0,
    examples: [],
    next_cursor: null,
  };
  const { keysPerPage = 1_000, through } = options;
  const add = (what: 'missing' | 'unrecorded' | 'damaged', key: string) => {
    report[what]++;
    if (report.examples.length < EXAMPLES_MAX) report.examples.push(`${what} ${key}`);
  };
  for (let after = options.cursor === '' ? '.tessera0' : options.cursor; ; ) {
    const lists = await Promise.all(blobLocations(env).map((bucket) => listR2(bucket, after, keysPerPage)));
    const outside = await location.list(after, '', keysPerPage);
    const deletions = await listDeletions(location, after, keysPerPage);
    const page = compareKeys(lists, outside, deletions, through ?? 0);
    report.scanned += page.there.length;
    for (const { key } of page.missing) add('missing', key);
    for (const { key } of page.unrecorded) add('unrecorded', key);
    if (options.readsBytes)
      await runInParallel(page.there, READS_AT_ONCE, async (object) => {
        const size = await readIntact(location, object);
        if (size !== null) {
          report.read_bytes += size;
          return;
        }
        add('damaged', object.key);
        // A deleted object has no source, so its damaged copy stays.
        if (!options.removesDamaged || !page.here.has(object.key)) return;
        await location.delete(object.key);
        report.removed++;
      });
    if (page.last === null) return report;
    after = page.last;
    if (!mayContinue()) return { ...report, next_cursor: after };
  }
}

/** Reads an object. @returns its size; null if its bytes do not match its description. @throws if the location does not answer. */
async function readIntact(location: S3Location, { key }: ListedObject): Promise<number | null> {
  const answer = await location.get(key);
  if (answer?.body === null || answer === null) return null;
  const description = await location.readDescription(key, answer).catch((error: unknown) => {
    if (error instanceof S3LocationError) throw error;
    return null;
  });
  const [md5, sha256] = [createHash('md5'), createHash('sha256')];
  let size = 0;
  for await (const chunk of answer.body) {
    md5.update(chunk);
    if (description?.sha256 !== undefined) sha256.update(chunk);
    size += chunk.length;
  }
  if (description === null) return null;
  if (description.sha256 !== undefined) return sha256.digest('hex') === description.sha256 ? size : null;
  return description.md5 === null || md5.digest('hex') === description.md5 ? size : null;
}
