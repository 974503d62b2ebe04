/** `/v1/storage/links`: links by which people without a credential read an object or a prefix. `opened-links.ts` answers them. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { v7 as mintTimeOrderedId } from 'uuid';
import { authorizeFirst, hashPassword, hashToken, mintSecret } from '../../identity/index.ts';
import { toAuditRow } from '../../shared/audit/audit.ts';
import {
  type JsonApiEnv,
  jsonBody,
  jsonContent,
  pageQuerySchema,
  pageSchema,
  problemResponses,
  sendPage,
  sendProblem,
} from '../../shared/json/json-api.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { boundDirectories } from '../../shared/stores/bindings.ts';
import { compareText, databaseNumberOf, readMerged, userDatabaseOf } from '../../shared/stores/directories.ts';
import { engineOf } from '../engine/index.ts';
import type { Bucket } from '../engine/model/contract.ts';
import {
  insertShareLink,
  LINKS_PER_USER_MAX,
  listShareLinks,
  removeShareLink,
  type ShareLink,
} from '../engine/store/share-link-store.ts';
import { mayList, rightsOf } from '../maintenance/job-rights.ts';
import { type JobCaller, requireJobCaller } from './job-caller.ts';
import { contextOf, NO_BUCKET, UNAVAILABLE } from './route.ts';

const ROUTE = { tags: ['storage'], security: [{ bearer: [] }], middleware: authorizeFirst(requireJobCaller) };
const DAY_MS = 86_400_000;
const USUAL_MS = 7 * DAY_MS;
const LONGEST_MS = 366 * DAY_MS;

const requestSchema = z
  .strictObject({
    bucket: z.string().min(3).max(63),
    key: z.string().min(1).max(1_024).optional().openapi({ description: 'The object that the link opens' }),
    prefix: z.string().max(1_024).optional().openapi({ description: 'Or: the objects whose keys begin with it' }),
    version_id: z.uuid().optional().openapi({ description: 'Of `key`: this version; without it, the newest one' }),
    expires_at: z.iso.datetime({ offset: true }).optional().openapi({ description: 'At most a year. Default: 7 days' }),
    password: z.string().min(1).max(200).optional().openapi({ description: 'The link opens only with it' }),
  })
  .refine(({ key, prefix }) => (key === undefined) !== (prefix === undefined), {
    path: ['key'],
    message: 'must be sent without prefix; one of both is required',
  })
  .refine(({ key, version_id }) => version_id === undefined || key !== undefined, {
    path: ['version_id'],
    message: 'must be sent with key',
  });

const linkMembers = {
  link_id: z.string(),
  bucket: z.string(),
  key: z.string().nullable(),
  prefix: z.string().nullable(),
  version_id: z.string().nullable(),
  has_password: z.boolean(),
  created_at: z.string(),
  expires_at: z.string(),
  openings: z.int().openapi({ description: 'Approximate beyond a hundred' }),
  last_opened_at: z.string().nullable(),
};
const linkSchema = z.object(linkMembers).openapi('ShareLink');
const newLinkSchema = z
  .object({ ...linkMembers, url: z.string().openapi({ description: 'Shown only here' }) })
  .openapi('NewShareLink');

const toTime = (ms: number): string => new Date(ms).toISOString();
const toJson = (link: ShareLink): z.infer<typeof linkSchema> => ({
  link_id: link.linkId,
  bucket: link.bucket,
  key: link.isPrefix ? null : link.name,
  prefix: link.isPrefix ? link.name : null,
  version_id: link.versionId,
  has_password: link.passwordHash !== null,
  created_at: toTime(link.createdAt),
  expires_at: toTime(link.expiresAt),
  openings: link.openings,
  last_opened_at: link.lastOpenedAt === null ? null : toTime(link.lastOpenedAt),
});

const NO_LINK = problem(404, 'no_such_link', 'No such link.');
const PEOPLE_ONLY = problem(
  403,
  'links_of_users',
  'Links have the rights of a user. Use an access key or a token of one.',
);
const badTime = (message: string) =>
  problem(400, 'invalid_request', 'The request is not valid.', { errors: [{ path: 'expires_at', message }] });

/** Finds the bucket, if the caller may read what the link opens. */
async function findShared(
  c: Context<JsonApiEnv>,
  { user, origin }: JobCaller,
  name: string,
  prefix: string,
): Promise<Result<Bucket, Problem>> {
  const context = contextOf(c);
  const found = await engineOf(context).getBucket(name);
  if (!found.ok) {
    const isMissing = found.error.kind === 'no_such_bucket';
    return err(isMissing ? NO_BUCKET : UNAVAILABLE);
  }
  const rights = rightsOf(user, origin, prefix, context.now());
  // Whoever may list the names may share them. What the link then reads is decided for each object, with the user's rights.
  if (mayList(rights, found.value, 'ListBucket')) return ok(found.value);
  return err(problem(403, 'access_denied', 'You may not list these objects, so you cannot share them.'));
}

export function addShareLinkRoutes(api: OpenAPIHono<JsonApiEnv>): void {
  addCreation(api);
  api.openapi(
    createRoute({
      ...ROUTE,
      method: 'get',
      path: '/v1/storage/links',
      operationId: 'listShareLinks',
      summary: 'List your share links, the newest first; an operator sees all',
      request: { query: pageQuerySchema.extend({ bucket: z.string().max(63).optional() }) },
      responses: { 200: jsonContent(pageSchema(linkSchema), 'A page of links'), ...problemResponses(400, 401, 403) },
    }),
    async (c) => {
      const caller = await requireJobCaller(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { bucket = null, ...page } = c.req.valid('query');
      const userId = caller.value.user?.userId ?? null;
      return sendPage(c, page, {
        read: (before, limit) => {
          const query = { userId, bucket, before, limit };
          if (userId !== null) return listShareLinks(userDatabaseOf(c.env, userId), query);
          const newestFirst = (a: ShareLink, b: ShareLink) => compareText(b.linkId, a.linkId);
          return readMerged(c.env, (database) => listShareLinks(database, query), newestFirst, limit);
        },
        keyOf: ({ linkId }) => linkId,
        toItem: toJson,
      });
    },
  );
  api.openapi(
    createRoute({
      ...ROUTE,
      method: 'delete',
      path: '/v1/storage/links/{link_id}',
      operationId: 'deleteShareLink',
      summary: 'End a share link at once',
      request: { params: z.object({ link_id: z.string().max(100) }) },
      responses: { 204: { description: 'Ended' }, ...problemResponses(401, 403, 404) },
    }),
    async (c) => {
      const caller = await requireJobCaller(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { link_id: id } = c.req.valid('param');
      const userId = caller.value.user?.userId ?? null;
      const audit = toAuditRow(c, 'share_link.delete', { type: 'share_link', id });
      const databases = userId === null ? boundDirectories(c.env) : [userDatabaseOf(c.env, userId)];
      for (const database of databases) {
        if (await removeShareLink(database, id, userId, audit)) return c.body(null, 204);
      }
      return sendProblem(c, NO_LINK);
    },
  );
}

function addCreation(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...ROUTE,
      method: 'post',
      path: '/v1/storage/links',
      operationId: 'createShareLink',
      summary: 'Make a link by which anybody who has it reads an object or a prefix',
      request: jsonBody(requestSchema),
      responses: {
        201: jsonContent(newLinkSchema, 'The link. Its address is shown only here'),
        ...problemResponses(400, 401, 403, 404, 409, 503),
      },
    }),
    async (c) => {
      const caller = await requireJobCaller(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { user } = caller.value;
      if (user === null) return sendProblem(c, PEOPLE_ONLY);
      const wish = c.req.valid('json');
      const now = createClock(c.env)();
      const expiresAt = wish.expires_at === undefined ? now + USUAL_MS : Date.parse(wish.expires_at);
      if (expiresAt <= now) return sendProblem(c, badTime('Must be in the future.'));
      if (expiresAt > now + LONGEST_MS) return sendProblem(c, badTime('Must be within a year.'));
      const name = wish.key ?? wish.prefix ?? '';
      const bucket = await findShared(c, caller.value, wish.bucket, name);
      if (!bucket.ok) return sendProblem(c, bucket.error);
      const hash = wish.password === undefined ? ok(null) : await hashPassword(wish.password, 'known');
      if (!hash.ok) return sendProblem(c, hash.error);
      const secret = mintSecret('shr', databaseNumberOf(user.userId));
      const link = {
        linkId: mintTimeOrderedId(),
        userId: user.userId,
        bucket: bucket.value.name,
        bucketId: bucket.value.bucketId,
        name,
        isPrefix: wish.prefix !== undefined,
        versionId: wish.version_id ?? null,
        passwordHash: hash.value,
        createdAt: now,
        expiresAt,
      };
      const details = { link_id: link.linkId, is_prefix: link.isPrefix, expires_at: toTime(expiresAt) };
      const audit = toAuditRow(c, 'share_link.create', { type: 'bucket', id: link.bucketId }, details);
      const stored = { ...link, secretSha256: hashToken(secret), madeWith: user.credentialId };
      if (!(await insertShareLink(userDatabaseOf(c.env, user.userId), stored, audit))) {
        return sendProblem(c, problem(409, 'too_many', `You have ${LINKS_PER_USER_MAX} links. End one first.`));
      }
      const url = `${new URL(c.req.url).origin}/v1/shared/${secret}`;
      return c.json({ ...toJson({ ...link, openings: 0, lastOpenedAt: null }), url }, 201);
    },
  );
}
