/** Reads what a share link opens, with the present rights of the user who made it. */
import type { Context } from 'hono';
import { findActingUser, hashToken, homeOfSecret, readClient, type UserPrincipal } from '../../identity/index.ts';
import { admitToRoute, type JsonApiEnv, rateLimited } from '../../shared/json/json-api.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { findDatabase, userDatabaseOf } from '../../shared/stores/directories.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { S3_ERRORS } from '../domain/error-codes.ts';
import { addLinkOpenings, findShareLink, type ShareLink } from '../engine/store/share-link-store.ts';
import { mayList, rightsOf, toOrigin } from '../maintenance/job-rights.ts';
import { answerAs } from '../s3/pipeline.ts';
import type { S3Request } from '../s3/protocol/request.ts';
import { createWire } from '../s3/wire.ts';
import { LINK_HEADERS, type SharedObject } from './link-page.ts';
import { UNAVAILABLE } from './route.ts';

const OBJECTS_PER_PAGE = 200;
/** Headers of an object that the holder of a link sees. */
const SHOWN = [
  'accept-ranges',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'etag',
  'last-modified',
];
const SENT = [
  'cf-connecting-ip',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'range',
  'user-agent',
];

export const NO_LINK = problem(404, 'no_such_link', 'This link has ended, or what it opened is gone.');

export interface Opened {
  readonly link: ShareLink;
  readonly maker: UserPrincipal;
}

/** Finds the link and its maker. The maker's token scope lets it read only. */
export async function findOpened(c: Context<JsonApiEnv>, secret: string): Promise<Result<Opened, Problem>> {
  if (!(await admitToRoute(c, 'client', readClient(c.req.raw.headers)))) return err(rateLimited('client'));
  const now = createClock(c.env)();
  const database = /^shr_[\w-]{43,50}$/.test(secret) ? findDatabase(c.env, homeOfSecret(secret)) : null;
  const link = database && (await findShareLink(database, hashToken(secret), now));
  if (!database || !link) return err(NO_LINK);
  const maker = await findActingUser(database, link.userId, ['objects:read']);
  return maker ? ok({ link, maker: { ...maker, lastUsedAt: now } }) : err(NO_LINK);
}

/** The request that reads an object or lists a prefix for the link. Conditions of the maker's policies see the reader's network. */
function toRequest(c: Context<JsonApiEnv>, link: ShareLink, key: string, query: Record<string, string>): S3Request {
  const headers = new Headers();
  for (const name of key === '' ? [] : SENT) {
    const value = c.req.header(name);
    if (value !== undefined) headers.set(name, value);
  }
  return {
    method: 'GET',
    rawPath: '/',
    rawQuery: '',
    query: new Map(Object.entries(query)),
    headers,
    headerNames: [...headers.keys()],
    bucket: link.bucket,
    hostBucket: null,
    key,
    resource: `/${link.bucket}/${key}`,
    acceptedEncodings: 'identity',
    isSecure: c.req.url.startsWith('https:'),
    tlsVersion: null,
    body: null,
  };
}

/** Reads an object as a download. A page that somebody stored never runs here. */
export async function download(
  c: Context<JsonApiEnv>,
  { link, maker }: Opened,
  key: string,
): Promise<Result<Response, Problem>> {
  const wire = createWire(c.req.raw, c.env, c.executionCtx, c.get('requestId'));
  const bucket = await wire.engine.getBucket(link.bucket);
  if (!bucket.ok || bucket.value.bucketId !== link.bucketId) return err(NO_LINK);
  const query = link.versionId === null ? {} : { versionId: link.versionId };
  const read = await answerAs(maker, toRequest(c, link, key, query), c.req.raw, wire);
  if (!read.ok) {
    const status = read.error.status ?? S3_ERRORS[read.error.code][0];
    if (status === 304 || status === 412 || status === 416)
      return ok(new Response(null, { status, headers: LINK_HEADERS }));
    return err(status >= 500 ? UNAVAILABLE : NO_LINK);
  }
  countOpening(c, link);
  const { body, status, headers } = read.value;
  const shown = new Headers(LINK_HEADERS);
  for (const name of SHOWN) {
    const value = headers.get(name);
    if (value !== null) shown.set(name, value);
  }
  const name = key.slice(key.lastIndexOf('/') + 1) || 'file';
  shown.set(
    'content-disposition',
    `attachment; filename*=UTF-8''${encodeURIComponent(name).replace(/['()*]/g, escape)}`,
  );
  shown.set('content-security-policy', "default-src 'none'; sandbox");
  return ok(new Response(body, { status, headers: shown, encodeBody: 'manual' }));
}

/** Number of openings up to which each is counted. Later, one of `SAMPLE` is, as that many. */
const EXACT_MAX = 100;
const SAMPLE = 10;

/** Counts an opening in the background. */
export function countOpening(c: Context<JsonApiEnv>, link: ShareLink): void {
  const count = link.openings < EXACT_MAX ? 1 : Math.random() < 1 / SAMPLE ? SAMPLE : 0;
  if (count === 0) return;
  const adding = addLinkOpenings(userDatabaseOf(c.env, link.userId), link.linkId, count, createClock(c.env)());
  c.executionCtx.waitUntil(adding.catch((error: unknown) => logError('link_opening_not_counted', error)));
}

interface Page {
  readonly objects: readonly SharedObject[];
  readonly next: string | null;
}

export async function listShared(
  c: Context<JsonApiEnv>,
  { link, maker }: Opened,
  from: string,
): Promise<Result<Page, Problem>> {
  const wire = createWire(c.req.raw, c.env, c.executionCtx, c.get('requestId'));
  const bucket = await wire.engine.getBucket(link.bucket);
  if (!bucket.ok || bucket.value.bucketId !== link.bucketId) return err(NO_LINK);
  const origin = toOrigin(toRequest(c, link, '', {}), null);
  if (!mayList(rightsOf(maker, origin, link.name, wire.now), bucket.value, 'ListBucket')) return err(NO_LINK);
  const asked = { bucket: bucket.value, prefix: link.name, delimiter: '', from, limit: OBJECTS_PER_PAGE };
  const page = await wire.engine.listObjects(asked);
  if (!page.ok) return err(UNAVAILABLE);
  const objects = page.value.entries.flatMap((entry) =>
    entry.kind === 'item'
      ? [
          {
            key: entry.item.name,
            sizeBytes: entry.item.size,
            modifiedAt: new Date(entry.item.modifiedAt).toISOString(),
          },
        ]
      : [],
  );
  return ok({ objects, next: page.value.next });
}
