/**
 * `/v1/shared/{secret}`: what a share link opens, for anybody who has it. The link reads with the present rights of the user who made
 * it. Its path is a secret: answers are not stored, send no referrer, and no log has it.
 */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import {
  INVALID_CURSOR,
  type JsonApiEnv,
  jsonContent,
  problemResponses,
  rawBody,
  sendProblem,
  unchecked,
} from '../../shared/json/json-api.ts';
import { readLimited } from '../../shared/json/limited-body.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { decodeCursor, encodeCursor } from '../../shared/pure/cursor.ts';
import { err, ok } from '../../shared/pure/result.ts';
import { goneLinkPage, LINK_HEADERS, listPage, passwordPage } from './link-page.ts';
import { checkPassword, isUnlocked, NEEDS_PASSWORD, unlock, WRONG_PASSWORD } from './link-password.ts';
import { countOpening, download, findOpened, listShared, NO_LINK } from './link-reads.ts';

const PASSWORD_BYTES_MAX = 4_096;
const TOO_LARGE = problem(413, 'request_too_large', `A password has at most ${PASSWORD_BYTES_MAX} bytes.`);

const params = z.object({ secret: z.string().max(80) });
const listSchema = z
  .object({
    data: z.array(z.object({ key: z.string(), size: z.int(), last_modified: z.string() })),
    next_cursor: z.string().nullable(),
  })
  .openapi('SharedObjects');

const wantsPage = (c: Context<JsonApiEnv>): boolean => /\btext\/html\b/.test(c.req.header('accept') ?? '');

export function addOpenedLinkRoutes(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      tags: ['storage'],
      security: [],
      method: 'get',
      path: '/v1/shared/{secret}',
      operationId: 'openShareLink',
      summary: 'Open a share link: the object as a download, or the objects of a prefix',
      description:
        'A browser gets a page that lists a prefix, and one that asks for the password. Programs send the password by Basic ' +
        'authentication, with any user name, and get the list as JSON.',
      request: {
        params,
        query: z.strictObject({
          key: z.string().max(1_024).optional().openapi({ description: 'Of a prefix: the object to download' }),
          cursor: z.string().max(2_000).optional(),
        }),
      },
      responses: {
        200: jsonContent(listSchema, 'The objects of a prefix. For an object: its bytes, with ranges and conditions'),
        ...problemResponses(400, 401, 403, 404, 429, 503),
      },
    }),
    async (c) => {
      const opened = await findOpened(c, c.req.valid('param').secret);
      if (!opened.ok) return refuse(c, opened.error);
      const { link } = opened.value;
      const unlocked = await isUnlocked(c, link);
      if (!unlocked.ok) return refuse(c, unlocked.error);
      const { key, cursor } = c.req.valid('query');
      if (!link.isPrefix || key !== undefined) {
        const isInside = !link.isPrefix || (key ?? '').startsWith(link.name);
        const read = isInside ? await download(c, opened.value, link.isPrefix ? (key ?? '') : link.name) : err(NO_LINK);
        return read.ok ? unchecked(read.value) : refuse(c, read.error);
      }
      const from = cursor === undefined ? link.name : decodeCursor(cursor)?.[0];
      const page = typeof from !== 'string' ? err(INVALID_CURSOR) : await listShared(c, opened.value, from);
      if (!page.ok) return refuse(c, page.error);
      countOpening(c, link);
      const { objects, next } = page.value;
      const nextCursor = next === null ? null : encodeCursor([next]);
      if (wantsPage(c)) return unchecked(listPage(link.name, objects, nextCursor));
      const data = objects.map((object) => ({
        key: object.key,
        size: object.sizeBytes,
        last_modified: object.modifiedAt,
      }));
      return c.json({ data, next_cursor: nextCursor }, 200, LINK_HEADERS);
    },
  );
  addUnlocking(api);
}

function addUnlocking(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      tags: ['storage'],
      security: [],
      method: 'post',
      path: '/v1/shared/{secret}',
      operationId: 'unlockShareLink',
      summary: 'Send the password of a share link, as the page for it does',
      request: { params, ...rawBody('application/x-www-form-urlencoded') },
      responses: {
        303: { description: 'Right. A cookie of an hour opens the link in this browser' },
        ...problemResponses(400, 401, 403, 404, 413, 429, 503),
      },
    }),
    async (c) => {
      const body = await readLimited(c.req.raw.body, PASSWORD_BYTES_MAX);
      if (body.length > PASSWORD_BYTES_MAX) return refuse(c, TOO_LARGE);
      const opened = await findOpened(c, c.req.valid('param').secret);
      if (!opened.ok) return refuse(c, opened.error);
      const { link } = opened.value;
      const password = new URLSearchParams(body.toString()).get('password') ?? '';
      const right = link.passwordHash === null ? ok(null) : await checkPassword(c, link, password);
      if (!right.ok) return refuse(c, right.error);
      const path = unlock(c, link);
      for (const [name, value] of Object.entries(LINK_HEADERS)) c.header(name, value);
      return unchecked(c.redirect(path, 303));
    },
  );
}

/** Answers with a problem, or a browser with a page. */
function refuse(c: Context<JsonApiEnv>, error: Problem) {
  for (const [name, value] of Object.entries(LINK_HEADERS)) c.header(name, value);
  if (!wantsPage(c)) return sendProblem(c, error);
  if (error === NEEDS_PASSWORD) return unchecked(passwordPage(401, null));
  if (error === NO_LINK) return unchecked(goneLinkPage());
  return unchecked(
    passwordPage(error.status, error === WRONG_PASSWORD ? 'That is not the password.' : (error.detail ?? error.title)),
  );
}
