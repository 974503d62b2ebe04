/**
 * `/v1/me/connection-requests` and `/v1/me/connections`: what a person is asked when an agent wants to connect by OAuth, and the
 * answer. `/v1/me/tokens` lists and ends connections.
 */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import {
  AGENT_SCOPES,
  admitAction,
  approveConnection,
  openConnectionRequest,
  readConnectionRequest,
  toAnswerUrl,
} from '../../identity/index.ts';
import { toAuditRow } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { noticeOwner } from '../accounts/security-notices.ts';
import { CONFIRMATION, requireConfirmed, requireSession, SESSION_ROUTE } from '../routes/confirmed.ts';
import { type AskedAgent, askedAgentSchema } from '../schemas/agent.ts';
import { toService } from './oauth-routes.ts';

/** Requests of a user for which a document is fetched. */
const REQUEST_LIMIT = { max: 60, windowMs: 3_600_000 };

const refused = (detail: string) => problem(400, 'connection_refused', detail);

export function addConnections(api: OpenAPIHono<JsonApiEnv>): void {
  addRequest(api);
  addApproval(api);
}

function addRequest(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'post',
      path: '/v1/me/connection-requests',
      operationId: 'readConnectionRequest',
      summary: 'Check the request of an agent that wants to connect, and say what to ask the person',
      description:
        'Fetches the metadata document of the client. `consent` is null if the request is wrong in a way that the client may know.',
      request: jsonBody(z.strictObject({ query: z.string().max(8_000) })),
      responses: {
        200: jsonContent(askedAgentSchema, 'Who asks, and for what'),
        ...problemResponses(400, 401, 403, 429),
      },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { userId } = caller.value;
      const now = createClock(c.env)();
      const admitted = await admitAction(c.env, 'connection_request', userId, REQUEST_LIMIT, now);
      if (!admitted.ok) return sendProblem(c, admitted.error);
      const at = { service: toService(c), now };
      const asked = await readConnectionRequest(c.env, userId, c.req.valid('json').query, at);
      if (!asked.ok) return sendProblem(c, refused(asked.error));
      const { refusedAt, consent } = asked.value;
      const shown: AskedAgent['consent'] = consent && {
        request: consent.sealed,
        client_name: consent.request.clientName,
        client_host: consent.clientHost,
        redirect_host: consent.redirectHost,
        is_local: consent.isLocal,
        scopes: [...consent.scopes],
      };
      return c.json({ redirect_to: refusedAt, consent: shown }, 200);
    },
  );
}

function addApproval(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'post',
      path: '/v1/me/connections',
      operationId: 'approveConnection',
      summary: 'Connect an agent, with the scopes that the person chose',
      request: jsonBody(
        z.strictObject({
          ...CONFIRMATION,
          request: z
            .string()
            .max(20_000)
            .openapi({ description: '`consent.request` of POST /v1/me/connection-requests, at most ten minutes old.' }),
          scopes: z.array(z.enum(AGENT_SCOPES)).min(1),
        }),
      ),
      responses: {
        201: jsonContent(
          z.object({ redirect_to: z.string() }),
          'The address of the client, with a code that works once within a minute',
        ),
        ...problemResponses(400, 401, 403, 409, 429, 503),
      },
    }),
    async (c) => {
      const { request: sealed, scopes: chosen, ...given } = c.req.valid('json');
      const caller = await requireConfirmed(c, given);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { userId } = caller.value;
      const now = createClock(c.env)();
      const request = openConnectionRequest(c.env, userId, sealed, now);
      if (request === null) return sendProblem(c, refused('The request expired. Start again in the program.'));
      const scopes = AGENT_SCOPES.filter((scope) => chosen.includes(scope));
      const details = { scopes: scopes.join(' '), client_id: request.clientId };
      const toAudit = (id: string) => toAuditRow(c, 'token.create', { type: 'token', id }, details);
      const code = await approveConnection(c.env, request, scopes, { now, toAudit });
      if (!code.ok) return sendProblem(c, code.error);
      noticeOwner(c, userId, 'agent');
      return c.json({ redirect_to: toAnswerUrl(request, { code: code.value }, toService(c).issuer) }, 201);
    },
  );
}
