/**
 * The storage engine: versions refer to extents of immutable blobs.
 *
 * A write stores its bytes in every location first and then commits in one guarded batch of one database. Nothing is
 * visible before the commit; a crash before it leaves an orphan, which is collected later. Objects of at most 16 KiB
 * are committed together with their bytes, and packed into volumes in the background. `model/contract.ts` describes the
 * calls, `store/schema.ts` the tables.
 *
 * By design: no call throws for an expected failure; each class of failure is a `kind`. State in an isolate's memory is
 * never trusted: the shard checks the map of a bucket's slots on every read and commit.
 */
import { deriveSecret, openSecret } from '../../identity/index.ts';
import { toWebhookSecret } from '../../shared/json/webhook.ts';
import { orderLocations } from '../../shared/pure/nearest-locations.ts';
import type { Clock } from '../../shared/settings/clock.ts';
import { isPublicUrl } from '../../shared/settings/public-url.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { toPullContext } from '../domain/pulls.ts';
import {
  createBucket,
  deleteBucket,
  getBucketRecord,
  listBuckets,
  setConfiguration,
  setObjectLock,
  setVersioning,
} from './actions/buckets.ts';
import { deleteObjects } from './actions/deleting.ts';
import { type BegunListing, beginListing, listObjects, listUploads, listVersions } from './actions/listing.ts';
import { putObject } from './actions/put-object.ts';
import { getQuota } from './actions/quotas.ts';
import { beginRead, findPart, getVersion, listObjectParts, readVersion } from './actions/reading.ts';
import { completeUpload } from './actions/upload-completion.ts';
import { copyPart, putPart } from './actions/upload-parts.ts';
import { abortUpload, createUpload, getUpload, listParts } from './actions/uploads.ts';
import { copyObject, setAttribute, setLock } from './actions/writing.ts';
import { createEdgeBytes } from './blobs/edge-bytes.ts';
import {
  createIsolateMemory,
  DEFAULT_LIMITS,
  type EngineContext,
  type EngineLimits,
  findBindings,
  type IsolateMemory,
  type Origin,
} from './model/context.ts';
import type { Engine } from './model/contract.ts';

export { nameAfter, nameAfterPrefix } from '../domain/name-order.ts';
export type * from './model/contract.ts';

const isolateMemory = createIsolateMemory();

const DAY_MS = 86_400_000;
/** Origin in event notifications of changes by lifecycle rules and other background work. */
const SERVICE: Origin = { requestId: '', sourceIp: '127.0.0.1', principalId: 's3.amazonaws.com' };

export interface EngineOptions {
  readonly limits?: Partial<EngineLimits>;
  /** State of the isolate. Tests set it to simulate several isolates in one process. */
  readonly memory?: IsolateMemory;
  /** Cache of the data centre. Reads of objects try it first and store bytes in it. */
  readonly cache?: Cache;
  /** The client's coordinates (from `request.cf`), by which the nearest location is chosen. */
  readonly client?: { readonly latitude?: unknown; readonly longitude?: unknown } | undefined;
  /** Origin of the changes, for event notifications. Default: the service itself. */
  readonly origin?: Origin;
}

/**
 * Creates the context of the engine for one request or one event.
 * @param ctx keeps background work alive after the answer.
 * @throws MisconfiguredError if a setting of storage has a bad value.
 */
export function createEngineContext(
  env: Env,
  now: Clock,
  ctx: Pick<ExecutionContext, 'waitUntil'>,
  options: EngineOptions = {},
): EngineContext {
  const settings = settingsOf(env);
  const bucketsPerUserMax = settings.MAX_BUCKETS_PER_USER;
  const scrubCycleMs = settings.SCRUB_DAYS * DAY_MS;
  const lifecycleDayMs = settings.LOCAL === '1' ? settings.LIFECYCLE_DAY_SECONDS * 1_000 : DAY_MS;
  const maxAgeSeconds = settings.EDGE_CACHE_SECONDS;
  const waitUntil = (work: Promise<unknown>) => ctx.waitUntil(work);
  const bindings = findBindings(env);
  return {
    ...bindings,
    nearest: orderLocations(bindings.locations.length, settings.LOCATION_REGIONS, options.client),
    events: {
      queue: env.STORAGE_EVENTS ?? null,
      mayCall: (url) => isPublicUrl(env, url),
      secretOf: (bucketId) => deriveSecret(`storage webhook ${bucketId}`, settings),
    },
    pulls: {
      mayCall: (url) => isPublicUrl(env, url),
      openSecret: (sealed, jobId) => {
        const opened = openSecret(sealed, toPullContext(jobId), settings);
        return opened.ok ? opened.value : null;
      },
    },
    origin: options.origin ?? SERVICE,
    now,
    limits: { ...DEFAULT_LIMITS, bucketsPerUserMax, scrubCycleMs, lifecycleDayMs, ...options.limits },
    memory: options.memory ?? isolateMemory,
    edge: options.cache && maxAgeSeconds > 0 ? createEdgeBytes(options.cache, maxAgeSeconds, waitUntil) : null,
    waitUntil,
  };
}

export function createEngine(
  env: Env,
  now: Clock,
  ctx: Pick<ExecutionContext, 'waitUntil'>,
  options: EngineOptions = {},
): Engine {
  return engineOf(createEngineContext(env, now, ctx, options));
}

/** @param earlier a listing that was begun for the same request. */
export function engineOf(context: EngineContext, earlier: BegunListing | null = null): Engine {
  let begun = earlier;
  return {
    actingFor: (principalId) => engineOf({ ...context, origin: { ...context.origin, principalId } }, begun),
    createBucket: (request) => createBucket(context, request),
    getBucket: (name, source) => getBucketRecord(context, name, source),
    listBuckets: (request) => listBuckets(context, request),
    deleteBucket: (bucket) => deleteBucket(context, bucket),
    setVersioning: (bucket, versioning) => setVersioning(context, bucket, versioning),
    setObjectLock: (bucket, document) => setObjectLock(context, bucket, document),
    getQuota: ({ bucketId }) => getQuota(context, { kind: 'bucket', subject: bucketId }),
    mayNotify: context.events.mayCall,
    webhookSecretOf: (bucket) => toWebhookSecret(context.events.secretOf(bucket.bucketId)),
    setConfiguration: (bucket, kind, document) => setConfiguration(context, bucket, kind, document),
    beginRead: (bucketName, name, choice) => beginRead(context, bucketName, name, choice),
    getVersion: (bucket, name, choice) => getVersion(context, bucket, name, choice),
    readVersion: (version, range) => readVersion(context, version, range),
    findPart: (version, partNumber) => findPart(context, version, partNumber),
    listObjectParts: (version, request) => listObjectParts(context, version, request),
    putObject: (request) => putObject(context, request),
    copyObject: (request) => copyObject(context, request),
    async deleteObject(bucket, item) {
      const [outcome] = await deleteObjects(context, bucket, [item]);
      if (!outcome) throw new Error('a delete gave no outcome');
      return outcome;
    },
    deleteObjects: (bucket, items) => deleteObjects(context, bucket, items),
    setTags: (version, tags, bucket) =>
      setAttribute(context, version, 'tags', tags === null ? null : JSON.stringify(tags), bucket),
    setAcl: (version, acl, bucket) => setAttribute(context, version, 'acl', acl, bucket),
    setLock: (version, change) => setLock(context, version, change),
    setTakenDown: (version, isTakenDown) => setAttribute(context, version, 'taken_down', isTakenDown ? '1' : null),
    createUpload: (request) => createUpload(context, request),
    getUpload: (bucket, name, uploadId) => getUpload(context, bucket, name, uploadId),
    putPart: (request) => putPart(context, request),
    copyPart: (request) => copyPart(context, request),
    completeUpload: (request) => completeUpload(context, request),
    abortUpload: (bucket, name, uploadId) => abortUpload(context, bucket, name, uploadId),
    listParts: (bucket, name, uploadId, request) => listParts(context, bucket, name, uploadId, request),
    listUploads: (request) => listUploads(context, request),
    beginListing(bucketName, names) {
      begun = beginListing(context, bucketName, names);
    },
    listObjects: (request) => listObjects(context, request, begun),
    listVersions: (request) => listVersions(context, request),
  };
}
