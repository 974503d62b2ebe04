/**
 * Tests connections of agents by OAuth 2.1: the metadata, what a request must say, and codes and refresh tokens that work once.
 * `test/mail/system/connections.long.test.ts` connects real clients.
 */

import { createExecutionContext, env } from 'cloudflare:test';
import { createHash, randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { pruneConnections } from '../../../workers/identity/connections/connections.ts';
import worker from '../../../workers/index.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of many routes; each test asserts the members it needs
type Json = any;
const ORIGIN = 'http://localhost';
const RESOURCE = `${ORIGIN}/v1/mcp`;
const PASSWORD = 'correct horse battery';
const CLIENT = 'https://agent.example/client.json';
const REDIRECT = 'https://agent.example/callback';
const DEFAULT_SCOPES = ['mail:read', 'mail:draft'];

const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64url');
const newVerifier = (): string => randomBytes(32).toString('base64url');

async function send(method: string, path: string, init: { headers?: Record<string, string>; body?: string } = {}) {
  const request = new Request(`${ORIGIN}${path}`, { method, redirect: 'manual', ...init });
  const answer = await worker.fetch(
    request as Request<unknown, IncomingRequestCfProperties>,
    env as Env,
    createExecutionContext(),
  );
  const text = await answer.text();
  return {
    status: answer.status,
    headers: answer.headers,
    body: (text.startsWith('{') ? JSON.parse(text) : text) as Json,
  };
}
const call = (method: string, path: string, token: string | null, body?: unknown) =>
  send(method, path, {
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'cf-connecting-ip': `10.${[1, 2, 3].map(() => Math.floor(Math.random() * 256)).join('.')}`,
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
const callMcp = (token: string) => call('POST', '/v1/mcp', token, { jsonrpc: '2.0', id: 1, method: 'ping' });
/** Sends a form to the token endpoint, as clients do. */
const requestToken = (form: Record<string, string> | URLSearchParams) =>
  send('POST', '/v1/oauth/token', {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(form).toString(),
  });

let clientDocument: Json;
let documentInit: ResponseInit;
let fetched: string[];
beforeEach(() => {
  clientDocument = { client_id: CLIENT, client_name: 'Agent', redirect_uris: [REDIRECT, 'http://localhost/callback'] };
  documentInit = { headers: { 'content-type': 'application/json' } };
  fetched = [];
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input) => {
    fetched.push(String(input));
    return new Response(JSON.stringify(clientDocument), documentInit);
  });
});
afterEach(() => vi.restoreAllMocks());

async function register() {
  const email = `p${crypto.randomUUID()}@example.test`;
  const { status, body } = await call('POST', '/v1/auth/register', null, { email, password: PASSWORD, name: 'Person' });
  expect(status).toBe(201);
  return { session: body.token as string, userId: body.user.user_id as string };
}
type Person = Awaited<ReturnType<typeof register>>;

const toQuery = (verifier: string, more: Record<string, string | undefined> = {}): string => {
  const parameters = {
    response_type: 'code',
    client_id: CLIENT,
    redirect_uri: REDIRECT,
    code_challenge: sha256(verifier),
    code_challenge_method: 'S256',
    resource: RESOURCE,
    state: 'state of the client',
    ...more,
  };
  return new URLSearchParams(
    Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined),
  ).toString();
};
const ask = ({ session }: Person, query: string) => call('POST', '/v1/me/connection-requests', session, { query });
/** Asks and approves. @returns the parameters with which the browser comes back to the client. */
async function approve(person: Person, verifier: string, scopes = DEFAULT_SCOPES) {
  const asked = await ask(person, toQuery(verifier));
  expect(asked.status, JSON.stringify(asked.body)).toBe(200);
  const { request } = asked.body.consent;
  const approved = await call('POST', '/v1/me/connections', person.session, { request, scopes, password: PASSWORD });
  expect(approved.status, JSON.stringify(approved.body)).toBe(201);
  return new URL(approved.body.redirect_to).searchParams;
}
const toCodeForm = (code: string, verifier: string) => ({
  grant_type: 'authorization_code',
  code,
  code_verifier: verifier,
  client_id: CLIENT,
  redirect_uri: REDIRECT,
  resource: RESOURCE,
});
async function connect(person: Person, scopes = DEFAULT_SCOPES) {
  const verifier = newVerifier();
  const { status, body } = await requestToken(
    toCodeForm((await approve(person, verifier, scopes)).get('code') ?? '', verifier),
  );
  expect(status, JSON.stringify(body)).toBe(200);
  return body as { access_token: string; refresh_token: string; expires_in: number; scope: string; token_type: string };
}
const refresh = (refresh_token: string, more = {}) =>
  requestToken({ grant_type: 'refresh_token', refresh_token, client_id: CLIENT, ...more });

it('an agent finds the way in from the 401 of /v1/mcp', async () => {
  const refused = await call('POST', '/v1/mcp', null, {});
  expect(refused.status).toBe(401);
  const metadataUrl = /^Bearer resource_metadata="([^"]+)", scope="mail:read mail:draft"$/.exec(
    refused.headers.get('www-authenticate') ?? '',
  )?.[1];
  const resource = await send('GET', new URL(metadataUrl ?? '').pathname);
  expect(resource.body).toEqual({
    resource: RESOURCE,
    authorization_servers: [ORIGIN],
    scopes_supported: DEFAULT_SCOPES,
    bearer_methods_supported: ['header'],
  });
  expect((await callMcp('tok_wrong')).headers.get('www-authenticate')).toContain('error="invalid_token"');
  const server = (await send('GET', '/.well-known/oauth-authorization-server')).body;
  expect(server).toMatchObject({
    issuer: ORIGIN,
    authorization_endpoint: `${ORIGIN}/v1/oauth/authorize`,
    token_endpoint: `${ORIGIN}/v1/oauth/token`,
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
  });
  const page = await send('GET', `/v1/oauth/authorize?${toQuery(newVerifier())}&unknown=1`);
  expect(page.status).toBe(303);
  expect(page.headers.get('location')).toMatch(/^\/_\/mail#\/connect\?response_type=code&client_id=https%3A/);
});

it('a person connects an agent, sees it, and ends it', async () => {
  const person = await register();
  const verifier = newVerifier();
  const asked = await ask(person, toQuery(verifier, { scope: 'mail:read mail:send offline_access' }));
  expect(fetched).toEqual([CLIENT]);
  expect(asked.body.consent).toMatchObject({
    client_name: 'Agent',
    client_host: 'agent.example',
    redirect_host: 'agent.example',
    is_local: false,
    scopes: ['mail:read', 'mail:send'],
  });
  const declined = new URL(asked.body.redirect_to);
  expect(Object.fromEntries(declined.searchParams)).toEqual({
    error: 'access_denied',
    state: 'state of the client',
    iss: ORIGIN,
  });
  const { request } = asked.body.consent;
  const unconfirmed = await call('POST', '/v1/me/connections', person.session, { request, scopes: DEFAULT_SCOPES });
  expect(unconfirmed.body.code).toBe('confirmation_required');
  const other = await register();
  const stolen = await call('POST', '/v1/me/connections', other.session, {
    request,
    scopes: DEFAULT_SCOPES,
    password: PASSWORD,
  });
  expect(stolen.body.code).toBe('connection_refused');

  const back = await approve(person, verifier);
  expect([back.get('iss'), back.get('state')]).toEqual([ORIGIN, 'state of the client']);
  const tokens = await requestToken(toCodeForm(back.get('code') ?? '', verifier));
  expect(tokens.body).toMatchObject({ token_type: 'Bearer', scope: 'mail:read mail:draft', expires_in: 3600 });
  expect((await callMcp(tokens.body.access_token)).status).toBe(200);
  for (const path of ['/v1/messages', '/v1/me', '/v1/jmap/session'])
    expect((await call('GET', path, tokens.body.access_token)).status, path).toBe(403);
  const [shown] = (await call('GET', '/v1/me/tokens', person.session)).body.data;
  expect(shown).toMatchObject({ name: 'Agent', client_id: CLIENT, scopes: DEFAULT_SCOPES });
  expect((await call('DELETE', `/v1/me/tokens/${shown.token_id}`, person.session)).status).toBe(204);
  expect((await callMcp(tokens.body.access_token)).status).toBe(401);
  expect((await refresh(tokens.body.refresh_token)).body.error).toBe('invalid_grant');
});

it('refuses documents that do not name themselves, and addresses of other clients', async () => {
  const person = await register();
  const codeOf = async (more: Record<string, string> = {}) =>
    (await ask(person, toQuery(newVerifier(), more))).body.code as string;
  for (const client_id of [
    'http://agent.example/client.json',
    'https://agent.example/',
    'https://agent.example/a/../client.json',
    'https://agent.example/client.json#x',
    'https://u:p@agent.example/client.json',
    'https://10.0.0.1/client.json',
    'https://router.local/client.json',
    'https://agent.example:22/client.json',
    'agent',
  ])
    expect(await codeOf({ client_id }), client_id).toBe('connection_refused');
  expect(fetched).toEqual([]);
  for (const redirect_uri of [
    'https://evil.example/callback',
    'https://agent.example/callback/',
    'https://agent.example/callback?x=1',
    'http://localhost:1@evil.example/callback',
    'http://localhost.evil.example/callback',
    'http://127.0.0.1:8080/callback',
    'javascript:alert(1)',
  ])
    expect(await codeOf({ redirect_uri }), redirect_uri).toBe('connection_refused');
  expect(await codeOf({ redirect_uri: 'http://localhost:49152/callback' })).toBeUndefined();
  clientDocument.redirect_uris.push('javascript:alert(1)');
  expect(await codeOf({ redirect_uri: 'javascript:alert(1)' })).toBe('connection_refused');
  documentInit = { status: 302, headers: { location: 'https://agent.example/other' } };
  expect(await codeOf()).toBe('connection_refused');
  documentInit = { headers: { 'content-type': 'text/html' } };
  expect(await codeOf()).toBe('connection_refused');
  documentInit = { headers: { 'content-type': 'application/json' } };
  clientDocument.token_endpoint_auth_method = 'client_secret_post';
  expect(await codeOf()).toBe('connection_refused');
  clientDocument.token_endpoint_auth_methods_supported = ['none', 'private_key_jwt'];
  clientDocument.token_endpoint_auth_method = 'private_key_jwt';
  expect(await codeOf()).toBeUndefined();
  clientDocument.padding = 'x'.repeat(6_000);
  expect(await codeOf()).toBe('connection_refused');
  clientDocument = { ...clientDocument, padding: '', client_id: 'https://agent.example/other.json' };
  expect(await codeOf()).toBe('connection_refused');
  expect((await ask(person, `${toQuery(newVerifier())}&client_id=x`)).body.code).toBe('connection_refused');
});

it('asks the person nothing for a request without S256, of another resource or of another kind', async () => {
  const person = await register();
  for (const [more, error] of [
    [{ code_challenge: undefined }, 'invalid_request'],
    [{ code_challenge_method: 'plain' }, 'invalid_request'],
    [{ code_challenge_method: undefined }, 'invalid_request'],
    [{ response_type: 'token' }, 'unsupported_response_type'],
    [{ resource: 'https://elsewhere.example/v1/mcp' }, 'invalid_target'],
    [{ scope: 'admin' }, 'invalid_scope'],
  ] as const) {
    const { body } = await ask(person, toQuery(newVerifier(), more));
    expect(body.consent, error).toBeNull();
    expect(new URL(body.redirect_to).searchParams.get('error')).toBe(error);
  }
});

it('takes a code once, from its client, with its verifier; a second time ends the connection', async () => {
  const person = await register();
  const verifier = newVerifier();
  const code = (await approve(person, verifier)).get('code') ?? '';
  const form = toCodeForm(code, verifier);
  for (const wrong of [
    { code_verifier: newVerifier() },
    { client_id: 'https://other.example/client.json' },
    { redirect_uri: 'http://localhost/callback' },
    { code: `cod_${'A'.repeat(43)}` },
  ])
    expect((await requestToken({ ...form, ...wrong })).body.error).toBe('invalid_grant');
  expect((await requestToken({ ...form, resource: 'https://elsewhere.example' })).body.error).toBe('invalid_target');
  expect((await requestToken({ ...form, grant_type: 'password' })).body.error).toBe('unsupported_grant_type');
  for (const name of ['code', 'client_id', 'state']) {
    const doubled = new URLSearchParams([...Object.entries(form), [name, 'x'], [name, 'x']]);
    expect((await requestToken(doubled)).body.error, name).toBe('invalid_request');
  }
  const { body } = await requestToken(form);
  expect((await callMcp(body.access_token)).status).toBe(200);
  expect((await requestToken({ ...form, code_verifier: newVerifier() })).body.error).toBe('invalid_grant');
  expect((await callMcp(body.access_token)).status).toBe(200);
  expect((await requestToken(form)).body.error).toBe('invalid_grant');
  expect((await callMcp(body.access_token)).status).toBe(401);
  expect((await refresh(body.refresh_token)).body.error).toBe('invalid_grant');
});

it('a code used twice at once gives at most one answer, and leaves no connection', async () => {
  const person = await register();
  const verifier = newVerifier();
  const form = toCodeForm((await approve(person, verifier)).get('code') ?? '', verifier);
  const answers = await Promise.all([1, 2, 3].map(() => requestToken(form)));
  const given = answers.filter(({ status }) => status === 200);
  expect(given.length).toBeLessThanOrEqual(1);
  for (const { body } of given) expect((await callMcp(body.access_token)).status).toBe(401);
  expect((await call('GET', '/v1/me/tokens', person.session)).body.data).toEqual([]);
});

it('a refresh token works once: its second use ends the connection, also at once', async () => {
  const person = await register();
  const first = await connect(person);
  expect((await refresh(first.refresh_token, { client_id: 'https://other.example/client.json' })).status).toBe(400);
  const second = (await refresh(first.refresh_token)).body;
  expect((await callMcp(first.access_token)).status).toBe(401);
  expect((await callMcp(second.access_token)).status).toBe(200);
  // Half of a token proves nothing: only somebody who had a token of this connection can end it.
  expect((await refresh(`ref_${'A'.repeat(43)}.${second.refresh_token.split('.')[1]}`)).status).toBe(400);
  expect((await callMcp(second.access_token)).status).toBe(200);
  expect((await refresh(first.refresh_token)).body.error).toBe('invalid_grant');
  expect((await callMcp(second.access_token)).status).toBe(401);
  expect((await refresh(second.refresh_token)).body.error).toBe('invalid_grant');

  const other = await connect(person);
  const answers = await Promise.all([1, 2].map(() => refresh(other.refresh_token)));
  const given = answers.filter(({ status }) => status === 200);
  expect(given.length).toBeLessThanOrEqual(1);
  for (const { body } of given) expect((await callMcp(body.access_token)).status).toBe(401);
  expect((await call('GET', '/v1/me/tokens', person.session)).body.data).toEqual([]);
});

it('a connection and an open code end with a new password, and pause with the account', async () => {
  const person = await register();
  const tokens = await connect(person);
  const suspension = `/v1/accounts/${person.userId}/suspension`;
  expect((await call('PUT', suspension, (env as Env).ROOT_TOKEN, { reason: 'spam' })).status).toBe(200);
  expect((await callMcp(tokens.access_token)).status).toBe(401);
  expect((await refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
  expect((await call('DELETE', suspension, (env as Env).ROOT_TOKEN)).status).toBe(204);
  const renewed = (await refresh(tokens.refresh_token)).body;
  expect((await callMcp(renewed.access_token)).status).toBe(200);

  const verifier = newVerifier();
  const open = (await approve(person, verifier)).get('code') ?? '';
  const change = { current_password: PASSWORD, new_password: 'another horse battery' };
  expect((await call('POST', '/v1/me/password', person.session, change)).status).toBeLessThan(300);
  expect((await callMcp(renewed.access_token)).status).toBe(401);
  expect((await refresh(renewed.refresh_token)).body.error).toBe('invalid_grant');
  expect((await requestToken(toCodeForm(open, verifier))).body.error).toBe('invalid_grant');
});

it('codes and connections that nobody uses expire', async () => {
  const person = await register();
  const verifier = newVerifier();
  const code = (await approve(person, verifier)).get('code') ?? '';
  const kept = await connect(person);
  const { data } = (await call('GET', '/v1/me/tokens', person.session)).body;
  expect(data.map((one: Json) => one.name)).toEqual(['Agent', 'Agent']);
  await pruneConnections(env as Env, Date.now() + 61_000);
  expect((await requestToken(toCodeForm(code, verifier))).body.error).toBe('invalid_grant');
  expect((await call('GET', '/v1/me/tokens', person.session)).body.data.length).toBe(1);
  await pruneConnections(env as Env, Date.now() + 91 * 86_400_000);
  expect((await refresh(kept.refresh_token)).body.error).toBe('invalid_grant');
  expect((await call('GET', '/v1/me/tokens', person.session)).body.data).toEqual([]);
});
