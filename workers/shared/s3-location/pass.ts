/**
 * Copies what the S3 location lacks. Cron runs it each minute. A pass compares the sorted keys of R2 and of the S3 location, so it also
 * finds what a lost request left out, and the first one fills an empty location.
 *
 * Whatever names bytes is copied after them: manifests and journals only if they are older than the pass, after all other keys. So at
 * any moment the S3 location has an installation that can be rebuilt, as of the beginning of the last whole pass.
 *
 * A key that the R2 locations deleted gets a record of the deletion (`.tessera/deleted/<key>`). The bytes follow it days later. If too
 * many keys are gone at once, the pass stops until an operator acknowledges it.
 *
 * Large objects stream from R2 to the S3 location. Small ones are read whole first, six at a time.
 */
import { createCollectorStore } from '../collectors/store.ts';
import { runInParallel } from '../concurrency/parallel.ts';
import { createClock } from '../settings/clock.ts';
import { settingsOf } from '../settings/settings.ts';
import { blobLocations } from '../stores/bindings.ts';
import { logError, logInfo } from '../telemetry/log.ts';
import { type ListedObject, OWN_PREFIX, S3Location, s3LocationAddressOf } from './client.ts';
import { awaitsRescue, findForeignOwner, OWNER_KEY } from './owner.ts';
import { advancePass, beginPass, decidePage, findTooManyDeletions, type Pass, parsePass, RANGES } from './pass-plan.ts';

/** A streamed copy holds two of the six connections of an invocation. */
const STREAMS_AT_ONCE = 3;
/** Objects up to this size are read whole before they are sent, so that a copy holds one connection. */
const WHOLE_BYTES_MAX = 1_000_000;
const WHOLE_AT_ONCE = 6;
const RUN_MS_MAX = 50_000;
/** Time after which another run continues a pass whose run died. Longer transfers only repeat work. */
const LEASE_MS = 180_000;
const DAY_MS = 86_400_000;
export const DELETED_PREFIX = `${OWN_PREFIX}deleted/`;

/** Opens the S3 location of the settings; null if there is none. */
export function openS3Location(env: Env): S3Location | null {
  const address = s3LocationAddressOf(env);
  return address === null ? null : new S3Location(address);
}

/** Runs a part of a pass. Called by cron. */
export async function runS3LocationPass({ cron }: Pick<ScheduledController, 'cron'>, env: Env): Promise<void> {
  const location = openS3Location(env);
  if (location === null || cron !== '* * * * *') return;
  const until = Date.now() + RUN_MS_MAX;
  await continuePass(env, location, () => Date.now() < until);
}

/** Continues the pass until its end or until `mayContinue` returns false. @returns the pass; null if another run has it. */
export async function continuePass(
  env: Env,
  location: S3Location,
  mayContinue: () => boolean,
  keysPerPage = 1_000,
): Promise<Pass | null> {
  const store = createCollectorStore(env.DIRECTORY, 's3-location');
  let row = await store.read();
  let pass = parsePass(row.cursor);
  if (pass.leaseUntil > Date.now()) return null;
  /** Stores the progress. @returns false if another run stored its own meanwhile. */
  const keep = async (next: Pass, scanned = 0): Promise<boolean> => {
    const cursor = JSON.stringify(next);
    if (!(await store.advance(row, cursor, scanned, 0))) return false;
    row = { ...row, cursor };
    pass = next;
    return true;
  };
  const begun = pass.range === null ? beginPass(pass, Date.now()) : pass;
  if (!(await keep({ ...begun, leaseUntil: Date.now() + LEASE_MS }))) return null;
  try {
    const doubt = await findForeignOwner(env, location);
    if (doubt !== null) {
      await store.raiseAlarm(doubt, { scanned: 0, found: 0 }, Date.now());
      return pass;
    }
    while (pass.range !== null) {
      const next = await runPage(env, location, pass, { keysPerPage, approved: row.approved, mayContinue });
      if (next.alarm !== null) {
        await store.raiseAlarm(next.alarm, { scanned: next.pass.scanned, found: next.pass.deletions }, Date.now());
        // The pass begins again, so that an acknowledgement covers all of its deletions.
        await keep({ ...pass, range: null });
        return pass;
      }
      if (!(await keep({ ...next.pass, leaseUntil: Date.now() + LEASE_MS }, next.scanned))) return null;
      if (!mayContinue()) return pass;
    }
    await store.finishRound(row.round, Date.now());
    row = await store.read();
    if (row.alarm !== null) await store.clearAlarm();
    if (pass.copied > 0) logInfo('s3_location_filled', { copies: pass.copied, bytes: pass.bytes, failed: pass.failed });
    return pass;
  } finally {
    await keep({ ...pass, leaseUntil: 0 }).catch(() => false);
  }
}

interface PageOutcome {
  readonly pass: Pass;
  readonly scanned: number;
  /** The reason why the pass stops; null if it goes on. */
  readonly alarm: string | null;
}

interface PageOptions {
  readonly keysPerPage: number;
  readonly approved: number;
  /** Asked before each copy: a page may have 1,000 objects of 1 GiB. */
  readonly mayContinue: () => boolean;
}

/** Compares and copies one page of keys. */
async function runPage(
  env: Env,
  location: S3Location,
  pass: Pass,
  { keysPerPage, approved, mayContinue }: PageOptions,
): Promise<PageOutcome> {
  const sources = blobLocations(env);
  const [from = ''] = RANGES[pass.range ?? 0] ?? [];
  const after = pass.after === '' ? from : pass.after;
  const lists = await Promise.all(sources.map((bucket) => listR2(bucket, after, keysPerPage)));
  const [outside, deletions] = [
    await location.list(after, '', keysPerPage),
    await listDeletions(location, after, keysPerPage),
  ];
  const page = decidePage(pass, lists, outside, deletions);
  const counts = await copyPage(sources, location, page.copies, mayContinue);
  const { copied, bytes, failed } = counts;
  const sums = { copied: pass.copied + copied, bytes: pass.bytes + bytes, failed: pass.failed + failed };
  // The next run lists the page again, and finds what this one copied.
  if (counts.isCut) return { pass: { ...pass, ...sums }, scanned: 0, alarm: null };
  const gone = await withoutPresent(sources, page.gone);
  const newly = gone.filter(({ deletedAt }) => deletedAt === null).length;
  const [scanned, recorded] = [pass.scanned + page.scanned, pass.deletions + newly];
  const counted = { ...pass, ...sums, scanned, deletions: recorded };
  const alarm = findTooManyDeletions(counted, approved);
  if (alarm !== null) return { pass: counted, scanned: page.scanned, alarm };
  await recordDeletions(env, location, gone, page.returned);
  return { pass: advancePass(counted, page.last), scanned: page.scanned, alarm: null };
}

/** Copies objects, the large ones after the small ones. @returns how many, and whether `mayContinue` ended it. */
async function copyPage(
  sources: readonly R2Bucket[],
  location: S3Location,
  objects: readonly ListedObject[],
  mayContinue: () => boolean,
) {
  let [copied, bytes, failed, isCut] = [0, 0, 0, false];
  const copy = async ({ key }: ListedObject) => {
    if (!mayContinue()) {
      isCut = true;
      return;
    }
    const size = await copyOut(sources, location, key);
    if (size === 'failed') failed++;
    if (typeof size !== 'number') return;
    copied++;
    bytes += size;
  };
  const isSmall = ({ size }: ListedObject) => size <= WHOLE_BYTES_MAX;
  await runInParallel(objects.filter(isSmall), WHOLE_AT_ONCE, copy);
  await runInParallel(
    objects.filter((object) => !isSmall(object)),
    STREAMS_AT_ONCE,
    copy,
  );
  return { copied, bytes, failed, isCut };
}

/** Lists keys of an R2 location, without the id of the S3 location. */
export async function listR2(bucket: R2Bucket, after: string, limit: number) {
  const page: R2Objects = await bucket.list({ limit, ...(after === '' ? {} : { startAfter: after }) });
  const objects = page.objects.map(
    ({ key, size, etag, uploaded }): ListedObject => ({ key, size, etag, storedAt: uploaded.getTime() }),
  );
  return { objects: objects.filter(({ key }) => key !== OWNER_KEY), isLast: !page.truncated };
}

/** Lists the recorded deletions of keys after `after`. */
export async function listDeletions(location: S3Location, after: string, limit: number) {
  const { objects, isLast } = await location.list(DELETED_PREFIX + after, DELETED_PREFIX, limit);
  const keys = objects.map((object) => ({ ...object, key: object.key.slice(DELETED_PREFIX.length) }));
  return { objects: keys, isLast };
}

/** Copies an object from the first R2 location with intact bytes. @returns its size; null if no location has it any more. */
async function copyOut(
  sources: readonly R2Bucket[],
  location: S3Location,
  key: string,
): Promise<number | 'failed' | null> {
  let isFailed = false;
  for (const source of sources) {
    try {
      const object = await source.get(key);
      if (object === null) continue;
      const { httpMetadata: http = {}, customMetadata: custom = {}, checksums } = object;
      const { md5 = null, sha256 } = checksums.toJSON();
      const body = object.size <= WHOLE_BYTES_MAX ? await object.arrayBuffer() : object.body;
      await location.putDescribed(key, body, { http, custom, md5, ...(sha256 ? { sha256 } : {}) });
      return object.size;
    } catch (error) {
      isFailed = true;
      logError('s3_location_copy_failed', error, { key });
    }
  }
  return isFailed ? 'failed' : null;
}

/** Removes keys that an R2 location has from the list. @throws if a location does not answer: then nothing is known about a key. */
async function withoutPresent<T extends { readonly key: string }>(
  sources: readonly R2Bucket[],
  keys: readonly T[],
): Promise<T[]> {
  const absent: T[] = [];
  await runInParallel(keys, STREAMS_AT_ONCE, async (each) => {
    const found = await Promise.all(sources.map((bucket) => bucket.head(each.key)));
    if (found.every((object) => object === null)) absent.push(each);
  });
  return absent;
}

/** Records deletions, and deletes what was recorded long enough ago. @param returned keys that exist again. */
async function recordDeletions(
  env: Env,
  location: S3Location,
  gone: readonly { readonly key: string; readonly deletedAt: number | null }[],
  returned: readonly string[],
): Promise<void> {
  const before = createClock(env)() - settingsOf(env).S3_LOCATION_DELETE_DAYS * DAY_MS;
  await runInParallel(gone, WHOLE_AT_ONCE, async ({ key, deletedAt }) => {
    if (deletedAt === null) await location.put(DELETED_PREFIX + key, '');
    else if (deletedAt < before) {
      await location.delete(key);
      await location.delete(`${OWN_PREFIX}description/${key}`);
      await location.delete(DELETED_PREFIX + key);
    }
  });
  await runInParallel(returned, WHOLE_AT_ONCE, (key) => location.delete(DELETED_PREFIX + key));
}

/** Whether cron must leave this installation alone, because it is empty and waits for `npm run rescue`. */
export async function isAwaitingRescue(env: Env): Promise<boolean> {
  const location = openS3Location(env);
  return location !== null && awaitsRescue(env, location);
}
