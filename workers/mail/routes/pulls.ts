/** `/v1/import/pulls`: fetches mail from another mailbox by IMAP until the user has moved. */

import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Pull } from '../../../durable-objects/mail/contract/pulls.ts';

import { sealSecret } from '../../identity/index.ts';
import { recordAudit } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { isAllowedHost, pullContext } from '../inbound/pull/pull-rules.ts';
import { toBadRequest } from '../schemas/errors.ts';
import { SESSION_ROUTE } from './confirmed.ts';
import { openOwnMailbox, toTime } from './route.ts';

const SECRET_LENGTH_MAX = 8_000;
const requestSchema = z
  .strictObject({
    host: z.string().min(1).max(253).toLowerCase().openapi({ description: 'Public name of the IMAP server.' }),
    port: z
      .union([z.literal(993), z.literal(143)])
      .default(993)
      .openapi({ description: '993: TLS from the first byte. 143: STARTTLS, which is required.' }),
    user_name: z.string().min(1).max(320),
    password: z.string().min(1).max(SECRET_LENGTH_MAX).optional(),
    oauth_token: z.string().min(1).max(SECRET_LENGTH_MAX).optional().openapi({
      description:
        'An OAuth access token for IMAP (XOAUTH2), instead of a password. Providers let it expire, often after an hour.',
    }),
  })
  .openapi('PullRequest', {
    example: { host: 'imap.example.com', port: 993, user_name: 'me@example.com', password: 'an app password' },
  });
const faultSchema = z.enum([
  'login_refused',
  'host_not_allowed',
  'secret_lost',
  'tls_failed',
  'unreachable',
  'interrupted',
  'over_quota',
]);
const answerSchema = z
  .object({
    id: z.string(),
    host: z.string(),
    port: z.int(),
    user_name: z.string(),
    state: z.enum(['connected', 'waiting', 'ended']).openapi({
      description:
        'waiting: the next connection begins at `next_at`. ended: the secret is erased; POST again to continue.',
    }),
    fault: faultSchema.nullable().openapi({
      description:
        'Why the last connection failed. login_refused, host_not_allowed (not a public host) and secret_lost (MASTER_KEY changed) end the pull.',
    }),
    imported: z.int(),
    duplicates: z.int().openapi({ description: 'Messages that the mailbox had, by their bytes.' }),
    failed: z.int().openapi({ description: 'Messages larger than 40 MB, or that the server does not deliver.' }),
    remaining: z.int().openapi({ description: 'Messages not read yet, of the folders that were opened.' }),
    folders: z.int().openapi({ description: 'Folders that were opened.' }),
    passes: z.int().openapi({ description: 'How often all folders were read to their ends.' }),
    started_at: z.string(),
    next_at: z.string().nullable(),
    ends_at: z.string().openapi({ description: 'The pull ends then at the latest: 30 days after it was started.' }),
  })
  .openapi('Pull');

const toJson = (pull: Pull) => {
  const { secretSealed, connectedAt, nextAt } = pull;
  const state = secretSealed === null ? 'ended' : connectedAt === null ? 'waiting' : 'connected';
  const folders = Object.values(pull.folders);
  return {
    id: pull.pullId,
    host: pull.host,
    port: pull.port,
    user_name: pull.userName,
    state,
    fault: pull.fault,
    imported: pull.imported,
    duplicates: pull.duplicates,
    failed: pull.failed,
    remaining: folders.reduce((sum, { remaining }) => sum + remaining, 0),
    folders: folders.length,
    passes: pull.passes,
    started_at: toTime(pull.startedAt),
    next_at: state === 'waiting' ? toTime(nextAt) : null,
    ends_at: toTime(pull.endsAt),
  } as const;
};

export function addPulls(api: OpenAPIHono<JsonApiEnv>): void {
  addList(api);
  addStart(api);
  addEnd(api);
}

function addList(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'get',
      path: '/v1/import/pulls',
      operationId: 'listPulls',
      summary: 'List pulls from other mailboxes, with their progress',
      responses: {
        200: jsonContent(z.object({ items: z.array(answerSchema) }), 'The pulls'),
        ...problemResponses(400, 401, 403, 503),
      },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const pulls = await own.value.ask((mailbox) => mailbox.listPulls());
      return pulls.ok ? c.json({ items: pulls.value.map(toJson) }, 200) : sendProblem(c, pulls.error);
    },
  );
}

function addStart(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'post',
      path: '/v1/import/pulls',
      operationId: 'startPull',
      summary: 'Pull mail from another mailbox by IMAP',
      description:
        'Fetches all folders, then what is new every 15 minutes, with at most one log-in a minute. A pull of the same host and user name continues where it was, with the new secret. The secret is sealed, and erased when the pull ends.',
      request: jsonBody(requestSchema),
      responses: { 201: jsonContent(answerSchema, 'The pull'), ...problemResponses(400, 401, 403, 409, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { host, port, user_name: userName, password, oauth_token } = c.req.valid('json');
      const secret = password ?? oauth_token;
      if (secret === undefined || (password !== undefined && oauth_token !== undefined))
        return sendProblem(c, toBadRequest('password', 'Send either password or oauth_token.'));
      const server = { host, port, userName };
      if (!isAllowedHost(c.env, server))
        return sendProblem(c, toBadRequest('host', 'Not a public host name, such as imap.example.com.'));
      const { userId } = own.value.user;
      const pullId = crypto.randomUUID();
      const secretSealed = sealSecret(secret, pullContext(userId, pullId), c.env);
      const secretKind = password === undefined ? 'oauth_token' : 'password';
      const started = await own.value.ask((mailbox) =>
        mailbox.startPull({ ...server, pullId, secretKind, secretSealed }),
      );
      if (!started.ok) return sendProblem(c, started.error);
      await recordAudit(c, 'pull.start', { type: 'user', id: userId }, { host });
      return c.json(toJson(started.value), 201);
    },
  );
}

function addEnd(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'delete',
      path: '/v1/import/pulls/{pull_id}',
      operationId: 'deletePull',
      summary: 'End a pull, and erase its secret',
      description:
        'Messages that were pulled stay. Starting it again later reads everything again, but adds nothing twice.',
      request: { params: z.object({ pull_id: z.string().max(100) }) },
      responses: { 204: { description: 'Ended' }, ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const gone = await own.value.ask((mailbox) => mailbox.deletePull(c.req.valid('param').pull_id));
      if (!gone.ok) return sendProblem(c, gone.error);
      await recordAudit(c, 'pull.end', { type: 'user', id: own.value.user.userId });
      return c.body(null, 204);
    },
  );
}
