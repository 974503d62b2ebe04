/**
 * Serves public objects from the cache of the data centre, without a look-up. The bucket's owner opts in by the bucket tag
 * `tessera:public-cache-seconds`. For that many seconds after a read, other anonymous clients near it may get the same answer,
 * regardless of changes to the object, its ACL, the bucket or the tag. docs/design/replicas.md, "Public objects from a cache".
 */

import { err, ok, type Result } from '../../shared/pure/result.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { type S3Failure, s3Failure } from '../domain/failure.ts';
import type { Tag } from '../domain/tagging.ts';
import { inTime } from '../engine/model/context.ts';
import type { Bucket } from '../engine/model/contract.ts';
import { policyOf, tagsOf } from './access/bucket-configuration.ts';
import { acceptsCompression } from './objects/object-headers.ts';
import { answer } from './protocol/answer.ts';
import type { VersionContext } from './protocol/operation.ts';
import type { S3Request } from './protocol/request.ts';

const TAG = 'tessera:public-cache-seconds';
const SECONDS_MAX = 3_600;
/** Maximum size of a body in this cache. Objects with larger bodies are looked up, and their bytes come from the cache of blobs. */
const BYTES_MAX = 1024 ** 2;
const MATCH_TIMEOUT_MS = 250;

const READ_AT = 'x-tessera-read-at';
const UNTIL = 'x-tessera-until';
const CACHE_CONTROL = 'x-tessera-cache-control';

/**
 * Headers of requests that bypass this cache: headers that affect the answer although the Cache API ignores them, and headers that
 * identify the client.
 */
const UNCACHED =
  /^(?:authorization|cookie|origin|range|if-match|if-range|if-unmodified-since|if-modified-since|x-amz-.*)$/;

/** Whether the answer to a request may be stored: only that of an anonymous `GET` without parameters. */
const isPublicGet = ({ method, rawQuery, key, headerNames }: S3Request): boolean =>
  method === 'GET' && rawQuery === '' && key !== '' && !headerNames.some((name) => UNCACHED.test(name));

/**
 * Key of an answer in the cache. It includes whether the edge may compress the answer, because the bytes on the wire and
 * Cache-Control depend on it.
 */
const toUrl = ({ bucket, key, acceptedEncodings }: S3Request): string =>
  `https://public.invalid/${acceptsCompression(acceptedEncodings) ? 'compressed' : 'plain'}/${bucket}/${encodeURIComponent(key)}`;

export function checkPublicCacheTag(tags: readonly Tag[]): Result<null, S3Failure> {
  const tag = tags.find(({ key }) => key === TAG);
  if (!tag || (/^[1-9]\d{0,3}$/.test(tag.value) && Number(tag.value) <= SECONDS_MAX)) return ok(null);
  const message = `The value of ${TAG} must be a number of seconds from 1 to ${SECONDS_MAX}.`;
  return err(s3Failure('InvalidTag', message, { details: { TagKey: TAG, TagValue: tag.value } }));
}

/**
 * Seconds for which answers are stored, as the owner set it; 0 if they are not stored. If the policy has conditions, nothing is
 * stored, because the answer depends on the request.
 */
function secondsOf(bucket: Bucket): number {
  const tag = tagsOf(bucket)?.find(({ key }) => key === TAG);
  if (!tag || policyOf(bucket)?.statements.some(({ conditions }) => conditions.length > 0)) return 0;
  return Math.min(SECONDS_MAX, Number(tag.value));
}

/**
 * Finds a stored answer.
 * @returns null if the cache has no unexpired answer, or if the request's `If-None-Match` has another ETag.
 */
export async function findPublicAnswer(cache: Cache, request: S3Request, now: number): Promise<Response | null> {
  if (!isPublicGet(request)) return null;
  let found: Response | null | undefined;
  try {
    found = await inTime(cache.match(toUrl(request)), MATCH_TIMEOUT_MS, null);
  } catch (error) {
    logError('public_cache_failed', error);
  }
  if (!found) return null;
  const etag = request.headers.get('if-none-match');
  if (now >= Number(found.headers.get(UNTIL)) || (etag !== null && etag !== found.headers.get('etag'))) {
    await found.body?.cancel();
    return null;
  }
  const headers = new Headers(found.headers);
  const cacheControl = headers.get(CACHE_CONTROL);
  headers.set('age', String(Math.max(0, Math.floor((now - Number(headers.get(READ_AT))) / 1000))));
  for (const name of ['cache-control', 'cf-cache-status', READ_AT, UNTIL, CACHE_CONTROL]) headers.delete(name);
  if (cacheControl !== null) headers.set('cache-control', cacheControl);
  if (etag === null) return answer(found.body, 200, headers);
  await found.body?.cancel();
  headers.delete('content-length');
  return answer(null, 304, headers);
}

interface Storing {
  readonly cache: Cache;
  readonly now: number;
  readonly waitUntil: (work: Promise<unknown>) => void;
}

/** Stores the answer to a public read. @param now time before the look-up of the version. @returns the answer to send. */
export async function storePublicAnswer(
  { cache, now, waitUntil }: Storing,
  request: S3Request,
  outcome: Result<Response, S3Failure>,
  { bucket, found }: Pick<VersionContext, 'bucket' | 'found'>,
): Promise<Result<Response, S3Failure>> {
  if (!outcome.ok || !found.ok || found.value.isMarker) return outcome;
  const response = outcome.value;
  const isStored =
    response.status === 200 && found.value.size <= BYTES_MAX && !response.headers.has('content-encoding');
  const seconds = isStored && isPublicGet(request) ? secondsOf(bucket) : 0;
  if (seconds === 0) return outcome;
  const bytes = await response.arrayBuffer();
  const headers = new Headers(response.headers);
  const cacheControl = headers.get('cache-control');
  if (cacheControl !== null) headers.set(CACHE_CONTROL, cacheControl);
  headers.set('cache-control', `public, max-age=${seconds}`);
  headers.set(READ_AT, String(now));
  headers.set(UNTIL, String(now + seconds * 1000));
  const storing = (async () => cache.put(toUrl(request), answer(bytes, 200, headers)))();
  waitUntil(storing.catch((error: unknown) => logError('public_cache_failed', error)));
  return ok(answer(bytes, 200, response.headers));
}
