/**
 * OAuth 2.1 for agents: metadata (RFC 9728, RFC 8414), the authorization endpoint, which leads to the page that asks the person, and
 * the token endpoint. Clients are public: PKCE binds a code to its client, and rotation a refresh token.
 */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import {
  ACCESS_AGE_MS,
  AGENT_SCOPES,
  admitClient,
  DEFAULT_SCOPES,
  type IssuedTokens,
  readClient,
  redeemCode,
  refreshConnection,
  type Service,
} from '../../identity/index.ts';
import {
  admitToRoute,
  type JsonApiEnv,
  jsonContent,
  problemResponses,
  rateLimited,
  sendProblem,
} from '../../shared/json/json-api.ts';
import { readLimited } from '../../shared/json/limited-body.ts';
import { problem } from '../../shared/json/problem.ts';
import { appOrigin } from '../../shared/settings/app-origin.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { MCP_PATH, RESOURCE_METADATA_PATH, SERVER_METADATA_PATH } from '../domain/oauth-paths.ts';
import { OPEN_ROUTE } from '../routes/route.ts';

const AUTHORIZE_PATH = '/v1/oauth/authorize';
const TOKEN_PATH = '/v1/oauth/token';

export function toService(c: Context<JsonApiEnv>): Service {
  const issuer = appOrigin(c.env, c.req.url);
  return { issuer, resource: `${issuer}${MCP_PATH}` };
}

export function addOAuth(api: OpenAPIHono<JsonApiEnv>): void {
  addMetadata(api);
  addAuthorize(api);
  addToken(api);
}

const metadataSchema = z
  .record(z.string(), z.union([z.string(), z.boolean(), z.array(z.string())]))
  .openapi('OAuthMetadata');

function addMetadata(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPEN_ROUTE,
      method: 'get',
      path: RESOURCE_METADATA_PATH,
      operationId: 'getMcpMetadata',
      summary: 'Where agents get a token for /v1/mcp (RFC 9728)',
      responses: { 200: jsonContent(metadataSchema, 'The metadata') },
    }),
    (c) => {
      const { issuer, resource } = toService(c);
      const metadata = {
        resource,
        authorization_servers: [issuer],
        scopes_supported: [...DEFAULT_SCOPES],
        bearer_methods_supported: ['header'],
      };
      return c.json(metadata, 200);
    },
  );
  api.openapi(
    createRoute({
      ...OPEN_ROUTE,
      method: 'get',
      path: SERVER_METADATA_PATH,
      operationId: 'getOAuthMetadata',
      summary: 'How agents get a token (RFC 8414)',
      responses: { 200: jsonContent(metadataSchema, 'The metadata') },
    }),
    (c) => {
      const { issuer } = toService(c);
      const metadata = {
        issuer,
        authorization_endpoint: `${issuer}${AUTHORIZE_PATH}`,
        token_endpoint: `${issuer}${TOKEN_PATH}`,
        response_types_supported: ['code'],
        response_modes_supported: ['query'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_methods_supported: ['none'],
        code_challenge_methods_supported: ['S256'],
        scopes_supported: [...AGENT_SCOPES],
        client_id_metadata_document_supported: true,
        authorization_response_iss_parameter_supported: true,
      };
      return c.json(metadata, 200);
    },
  );
}

function addAuthorize(api: OpenAPIHono<JsonApiEnv>): void {
  // A server must ignore parameters that it does not know (RFC 6749 §3.1), so this route is not declared with a strict query.
  api.openAPIRegistry.registerPath({
    ...OPEN_ROUTE,
    method: 'get',
    path: AUTHORIZE_PATH,
    operationId: 'authorizeAgent',
    summary: 'Authorization endpoint of OAuth: leads to the page that asks the person',
    request: { query: z.object({ client_id: z.string().optional() }) },
    responses: { 303: { description: 'The page, with the parameters after `#`' } },
  });
  // Nothing is decided here: the page sends the parameters to /v1/me/connection-requests in the person's session.
  api.get(AUTHORIZE_PATH, (c) => {
    c.header('cache-control', 'no-store');
    c.header('referrer-policy', 'no-referrer');
    return c.redirect(`/_/mail#/connect${new URL(c.req.url).search}`, 303);
  });
}

const FORM_BYTES_MAX = 16 * 1024;
const TOO_LARGE = problem(413, 'request_too_large', `The form exceeds ${FORM_BYTES_MAX} bytes.`);
/** A plain schema: the form is read here with its own limit, because anybody may send it. */
const TOKEN_FORM = {
  type: 'object' as const,
  properties: {
    grant_type: { type: 'string' as const },
    client_id: { type: 'string' as const },
    code: { type: 'string' as const },
    code_verifier: { type: 'string' as const },
    redirect_uri: { type: 'string' as const },
    refresh_token: { type: 'string' as const },
    resource: { type: 'string' as const },
  },
  required: ['grant_type', 'client_id'],
};
const tokensSchema = z
  .object({
    access_token: z.string(),
    token_type: z.literal('Bearer'),
    expires_in: z.int(),
    refresh_token: z.string(),
    scope: z.string(),
  })
  .openapi('OAuthTokens');
const errorSchema = z.object({ error: z.string() }).openapi('OAuthError');

function addToken(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPEN_ROUTE,
      method: 'post',
      path: TOKEN_PATH,
      operationId: 'issueAgentToken',
      summary: 'Token endpoint of OAuth: exchanges a code or a refresh token, each once',
      request: { body: { required: true, content: { 'application/x-www-form-urlencoded': { schema: TOKEN_FORM } } } },
      responses: {
        200: jsonContent(tokensSchema, 'An access token of an hour, and the next refresh token'),
        400: jsonContent(errorSchema, 'The error of RFC 6749 §5.2'),
        ...problemResponses(413, 429, 503),
      },
    }),
    async (c) => {
      c.header('cache-control', 'no-store');
      // The rate holds before a database is asked, also for codes that somebody invents.
      const client = readClient(c.req.raw.headers);
      if (!(await admitToRoute(c, 'client', client))) return sendProblem(c, rateLimited('client'));
      const bytes = await readLimited(c.req.raw.body, FORM_BYTES_MAX);
      if (bytes.length > FORM_BYTES_MAX) return sendProblem(c, TOO_LARGE);
      const issued = await issueTokens(c, new URLSearchParams(bytes.toString('utf8')));
      if (typeof issued !== 'string') {
        const { accessToken, refreshToken, scopes } = issued;
        const expires_in = ACCESS_AGE_MS / 1000;
        const tokens = { access_token: accessToken, token_type: 'Bearer' as const, expires_in };
        return c.json({ ...tokens, refresh_token: refreshToken, scope: scopes.join(' ') }, 200);
      }
      // Only requests that fail count as guesses: the service of an assistant sends those of all its people from a few addresses.
      const admitted = await admitClient(c.env, client);
      return admitted.ok ? c.json({ error: issued }, 400) : sendProblem(c, admitted.error);
    },
  );
}

type OAuthErrorCode = 'invalid_grant' | 'invalid_request' | 'invalid_target' | 'unsupported_grant_type';

async function issueTokens(c: Context<JsonApiEnv>, form: URLSearchParams): Promise<IssuedTokens | OAuthErrorCode> {
  const { resource } = toService(c);
  // No parameter may occur twice (RFC 6749 §3.2).
  if (new Set(form.keys()).size < form.size) return 'invalid_request';
  if ((form.get('resource') ?? resource) !== resource) return 'invalid_target';
  const read = (name: string): string => form.get(name) ?? '';
  const clientId = read('client_id');
  const now = createClock(c.env)();
  switch (form.get('grant_type')) {
    case 'authorization_code': {
      const sent = { clientId, code: read('code'), redirectUri: read('redirect_uri'), verifier: read('code_verifier') };
      return (await redeemCode(c.env, sent, now)) ?? 'invalid_grant';
    }
    case 'refresh_token':
      return (await refreshConnection(c.env, read('refresh_token'), clientId, now)) ?? 'invalid_grant';
    default:
      return 'unsupported_grant_type';
  }
}
