/**
 * `POST /v1/mcp`: mail for agents, by the Model Context Protocol. An agent has a token of its own, whose scopes open this route and no
 * other. What it reads goes through `reading.ts`; what it sends waits for the person (`waiting.ts`).
 */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import { authorizeFirst, DEFAULT_SCOPES, requireAgent, type UserPrincipal } from '../../identity/index.ts';
import { recordHourlyAudit } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonContent, problemResponses, sendProblem, unchecked } from '../../shared/json/json-api.ts';
import { readLimited } from '../../shared/json/limited-body.ts';
import { problem } from '../../shared/json/problem.ts';
import { appOrigin } from '../../shared/settings/app-origin.ts';
import { noticeOwner } from '../accounts/security-notices.ts';
import { RESOURCE_METADATA_PATH } from '../domain/oauth-paths.ts';
import { createAgent } from './agent.ts';

const REQUEST_BYTES_MAX = 256 * 1024;
const TOO_LARGE = problem(413, 'too_large', `A request has at most ${REQUEST_BYTES_MAX} bytes.`);
const BAD_JSON = problem(400, 'invalid_request', 'The body is not JSON.');
/** Calls are limited by request, so one request makes one call. The protocol has no batches since June 2025. */
const BATCH = problem(400, 'invalid_request', 'A request has one message. Batches are not answered.');

export function addMcp(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      tags: ['mail'],
      security: [{ bearer: [] }],
      middleware: [challenge, authorizeFirst(requireAgent)],
      method: 'post',
      path: '/v1/mcp',
      operationId: 'callMcp',
      summary: 'Mail for agents: the Model Context Protocol, stateless',
      description:
        'Requires the token of an agent (scopes mail:read, mail:draft, mail:send, mail:codes). Sessions and app tokens are refused.',
      request: {
        body: { required: true, content: { 'application/json': { schema: { type: 'object' as const } } } },
      },
      responses: {
        200: jsonContent(z.looseObject({}).openapi('McpAnswer'), 'A JSON-RPC answer'),
        202: { description: 'A notification was accepted' },
        ...problemResponses(400, 401, 403, 413),
      },
    }),
    async (c) => {
      const caller = await requireAgent(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const bytes = await readLimited(c.req.raw.body, REQUEST_BYTES_MAX);
      if (bytes.length > REQUEST_BYTES_MAX) return sendProblem(c, TOO_LARGE);
      const body = parse(bytes);
      if (body === undefined) return sendProblem(c, BAD_JSON);
      if (Array.isArray(body)) return sendProblem(c, BATCH);
      return unchecked(await answer(c, caller.value, body));
    },
  );
}

/** Tells a client without a valid token where it gets one (RFC 9728 §5.1, RFC 6750 §3). */
const challenge: MiddlewareHandler<JsonApiEnv> = async (c, next) => {
  await next();
  if (c.res.status !== 401) return;
  const metadata = `resource_metadata="${appOrigin(c.env, c.req.url)}${RESOURCE_METADATA_PATH}"`;
  const error = c.req.header('authorization') === undefined ? '' : ', error="invalid_token"';
  c.res.headers.set('www-authenticate', `Bearer ${metadata}, scope="${DEFAULT_SCOPES.join(' ')}"${error}`);
};

async function answer(c: Context<JsonApiEnv>, user: UserPrincipal, body: unknown): Promise<Response> {
  const { answerMcp } = await import('./server.ts');
  const agent = createAgent(c.env, user, {
    waitUntil: (work) => c.executionCtx.waitUntil(work),
    noticeWaiting: () => noticeOwner(c, user.userId, 'agent_waits'),
  });
  const request = new Request(c.req.url, { method: 'POST', headers: c.req.raw.headers });
  return answerMcp(request, body, agent, (name) =>
    recordHourlyAudit(c, 'agent.call', { type: 'user', id: user.userId }, { tool: name }),
  );
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
