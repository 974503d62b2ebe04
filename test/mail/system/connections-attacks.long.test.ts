/** Attacks on agents that connect by OAuth: hostile documents, addresses of others, and codes and tokens that are used again. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeAgentToken } from '../../support/mail/agent-client.ts';
import { Connector, newVerifier, REFUSED_DOCUMENTS, startHostileClient } from '../../support/mail/hostile-client.ts';
import { confirmSession, type MailUser, registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const PASSWORD = 'correct horse battery';
const SCOPES = ['mail:read', 'mail:draft'];

let server: TestServer;
let client: Awaited<ReturnType<typeof startHostileClient>>;
let connector: Connector;
const secrets: string[] = [];

beforeAll(async () => {
  server = await startServer({ vars: { MAIL_HOLD_SECONDS: '0' } });
  client = await startHostileClient();
  connector = new Connector(server, client.origin);
});
afterAll(async () => {
  await client.stop();
  await server[Symbol.asyncDispose]();
});

const newPerson = (): Promise<MailUser> => registerUser(server, `p${crypto.randomUUID()}`);
const keep = <T extends { access: string; refresh: string; code: string }>(made: T): T => {
  secrets.push(made.access, made.refresh, made.code);
  return made;
};
const codeOf = async (user: MailUser, more: Record<string, string | null>): Promise<string> => {
  const { status, body } = await connector.ask(user, connector.toQuery(newVerifier(), more));
  return status === 200 ? (body.consent === null ? 'told the client' : 'asks the person') : `${status} ${body.code}`;
};

it('fetches no address that is not public', async () => {
  const user = await newPerson();
  const { port } = new URL(client.origin);
  const before = client.asked.length;
  for (const id of [
    'https://[::1]/c.json',
    'https://[::ffff:127.0.0.1]/c.json',
    'https://[::ffff:7f00:1]/c.json',
    'https://[fd00::1]/c.json',
    'https://[64:ff9b::7f00:1]/c.json',
    'https://127.0.0.1/c.json',
    'https://127.1/c.json',
    'https://2130706433/c.json',
    'https://0x7f000001/c.json',
    'https://017700000001/c.json',
    'https://１２７.0.0.1/c.json',
    'https://169.254.169.254/latest/meta-data',
    'https://0.0.0.0/c.json',
    'https://localhost/c.json',
    'https://LOCALHOST/c.json',
    'https://localhost./c.json',
    'https://a.localhost/c.json',
    'https://metadata.google.internal/c.json',
    'https://printer.local/c.json',
    'https://intranet/c.json',
    'https://client.far.test:22/c.json',
    'https://client.far.test:6379/c.json',
    'https://u@client.far.test/c.json',
    'https://client.far.test',
    'https://client.far.test/c.json#a',
    `http://localhost:${port}/good.json`,
    `http://[::1]:${port}/good.json`,
    `http://127.0.0.1:${port}/x/../good.json`,
    `http://127.0.0.1:${port}/good.json#`,
    `http://u:p@127.0.0.1:${port}/good.json`,
    `http://127.0.0.1:${port}\\good.json`,
    ` http://127.0.0.1:${port}/good.json`,
    `http://127.0.0.1:${port}/go\nod.json`,
    `HTTP://127.0.0.1:${port}/good.json`,
    'file:///etc/passwd',
    'data:application/json,{}',
    'ftp://client.far.test/c.json',
    `https://client.far.test/${'a'.repeat(2_100)}`,
    '',
  ])
    expect(await codeOf(user, { client_id: id }), id).toBe('400 connection_refused');
  expect(client.asked.slice(before)).toEqual([]);
});

it('refuses hostile documents, and follows no redirect of them', async () => {
  const user = await newPerson();
  for (const path of REFUSED_DOCUMENTS)
    expect(await codeOf(user, { client_id: `${client.origin}${path}` }), path).toBe('400 connection_refused');
  expect(client.asked).not.toContain('GET /secret');
  expect(client.asked.filter((line) => !line.startsWith('GET '))).toEqual([]);
  const named = await connector.ask(
    user,
    connector.toQuery(newVerifier(), { client_id: `${client.origin}/named.json` }),
  );
  expect(named.body.consent.client_name).toMatch(/^[\x20-\x7e]{1,80}$/);
}, 120_000);

it('answers only at an address that the document lists', async () => {
  const user = await newPerson();
  for (const uri of [
    'https://client.far.test/cb/',
    'https://client.far.test/CB',
    'https://client.far.test/cb?',
    'https://client.far.test/cb?a=1',
    'https://client.far.test/cb#a',
    'https://client.far.test/%63b',
    'https://client.far.test/x/../cb',
    'https://client.far.test:8443/cb',
    'https://client.far.test.evil.test/cb',
    'https://evil.client.far.test/cb',
    'https://client.far.test@evil.test/cb',
    'https://evil.test/https://client.far.test/cb',
    'https://client.far.test\\@evil.test/cb',
    'http://client.far.test/cb',
    'HTTPS://client.far.test/cb',
    '//client.far.test/cb',
    ' https://client.far.test/cb',
    'https://client.far.test/cb\n',
    'http://127.0.0.1@evil.test/cb',
    'http://127.0.0.1:80@evil.test/cb',
    'http://127.0.0.1.evil.test/cb',
    'http://127.0.0.1/cb/x',
    'http://127.0.0.1/cb?x=1',
    'http://localhost:3000/cb',
    'http://localhost/cb?x=2',
    'http://[::1]/cb',
    'http://127.0.0.2/cb',
    'com.far.app:/cb',
    'javascript:alert(1)//https://client.far.test/cb',
    'data:text/html,x',
    '',
  ])
    expect(await codeOf(user, { redirect_uri: uri }), uri).toBe('400 connection_refused');
  expect(await codeOf(user, { redirect_uri: 'http://127.0.0.1:65535/cb' })).toBe('asks the person');
});

it('answers a port that does not exist as any other wrong address', async () => {
  const user = await newPerson();
  expect(await codeOf(user, { redirect_uri: 'http://127.0.0.1:99999/cb' })).toBe('400 connection_refused');
});

it('refuses requests that are doubled or lack what is needed', async () => {
  const user = await newPerson();
  for (const name of ['client_id', 'redirect_uri', 'state', 'code_challenge', 'scope', 'resource', 'response_type']) {
    const query = `${connector.toQuery(newVerifier(), { scope: 'mail:read' })}&${name}=x&${name}=y`;
    expect((await connector.ask(user, query)).body.code, name).toBe('connection_refused');
  }
  const told: Record<string, string | null>[] = [
    { response_type: 'token' },
    { response_type: null },
    { response_type: 'code token' },
    { code_challenge_method: 'plain' },
    { code_challenge_method: null },
    { code_challenge: null },
    { code_challenge: 'A'.repeat(42) },
    { code_challenge: `${'A'.repeat(43)}=` },
    { resource: 'https://evil.test/v1/mcp' },
    { resource: `${server.url}/v1/mcp/` },
    { resource: `${server.url}/v1/me` },
    { scope: 'mail' },
    { scope: 'admin objects:read' },
  ];
  for (const more of told) expect(await codeOf(user, more), JSON.stringify(more)).toBe('told the client');
  expect(await codeOf(user, { state: 'x'.repeat(2_001) })).toBe('400 connection_refused');
  const wide = await connector.ask(
    user,
    connector.toQuery(newVerifier(), { scope: 'mail:read admin mail objects:read' }),
  );
  expect(wide.body.consent.scopes).toEqual(['mail:read']);
});

it('is approved only by the person, in a confirmed session of our own page', async () => {
  const user = await newPerson();
  const thief = await newPerson();
  const { request } = (await connector.ask(user, connector.toQuery(newVerifier()))).body.consent;
  const approve = async (token: string, body: object) =>
    (await server.call('POST', '/v1/me/connections', body, token)).body.code;
  expect(await approve(user.token, { request, scopes: SCOPES })).toBe('confirmation_required');
  for (const each of [user, thief]) await confirmSession(server, each.token);
  expect(await approve(thief.token, { request, scopes: SCOPES })).toBe('connection_refused');
  for (const changed of [request.slice(2), `A${request.slice(1)}`, 'x', ''])
    expect(await approve(user.token, { request: changed, scopes: SCOPES })).toBe('connection_refused');
  for (const scopes of [[], ['mail'], ['admin'], ['mail:read', 'objects:read'], 'mail:read'])
    expect(await approve(user.token, { request, scopes })).toBe('invalid_request');
  expect(await approve(user.token, { request, scopes: SCOPES, user_id: thief.userId })).toBe('invalid_request');
  const app = (await server.call('POST', '/v1/me/tokens', { name: 'phone' }, user.token)).body.token;
  expect(await approve(app, { request, scopes: SCOPES })).toBe('session_only');
  expect(await approve(await makeAgentToken(server, user, SCOPES), { request, scopes: SCOPES })).toBe('missing_scope');
  for (const origin of ['https://evil.test', 'null', undefined])
    for (const path of ['/v1/me/connections', '/v1/me/connection-requests'])
      for (const type of ['application/json', 'text/plain']) {
        const { status } = await fetch(`${server.url}${path}`, {
          method: 'POST',
          headers: { 'content-type': type, cookie: `session=${user.token}`, ...(origin ? { origin } : {}) },
          body: JSON.stringify({ request, scopes: SCOPES }),
        });
        expect([path, origin, type, status]).toEqual([path, origin, type, 403]);
      }
  const tokens = (await server.call('GET', '/v1/me/tokens', undefined, user.token)).body.data;
  expect(tokens.map(({ client_id }: { client_id: string }) => client_id)).toEqual([null, null]);
});

it('leads to a page that no other page can frame, whatever the query says', async () => {
  const evil = `a=%0d%0aset-cookie:x=1&client_id=${encodeURIComponent('https://evil.test/"><script>')}#x`;
  const answer = await fetch(`${server.url}/v1/oauth/authorize?${evil}`, { redirect: 'manual' });
  expect([answer.status, answer.headers.get('set-cookie')]).toEqual([303, null]);
  expect(answer.headers.get('location')).toMatch(/^\/_\/mail#\/connect\?/);
  const page = await fetch(`${server.url}/_/mail`);
  expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
});

it('exchanges a code once, for its client, its address and its verifier', async () => {
  const user = await newPerson();
  const verifier = newVerifier();
  const code = await connector.approve(user, verifier);
  secrets.push(code, verifier);
  const wrong: Record<string, string | null>[] = [
    { code_verifier: newVerifier() },
    { code_verifier: null },
    { code_verifier: '' },
    { redirect_uri: 'http://127.0.0.1/cb' },
    { redirect_uri: null },
    { client_id: `${client.origin}/named.json` },
    { client_id: null },
    { code: `${code}x` },
    { code: code.slice(0, -1) },
    { code: null },
    { grant_type: 'refresh_token', refresh_token: code },
    { grant_type: 'password' },
    { grant_type: null },
    { resource: 'https://evil.test/' },
  ];
  for (const more of wrong) {
    const { status, body } = await connector.redeem(code, verifier, more);
    expect([JSON.stringify(more), status]).toEqual([JSON.stringify(more), 400]);
    expect(Object.keys(body)).toEqual(['error']);
  }
  const { body } = await connector.redeem(code, verifier);
  keep({ access: body.access_token, refresh: body.refresh_token, code });
  expect(await connector.opens(body.access_token)).toBe(200);
  expect((await connector.redeem(code, verifier)).body.error).toBe('invalid_grant');
  expect(await connector.opens(body.access_token)).toBe(401);
  expect((await connector.refresh(body.refresh_token)).body.error).toBe('invalid_grant');
});

it('gives tokens to at most one of ten that bring a code or a refresh token at once', async () => {
  const user = await newPerson();
  const verifier = newVerifier();
  const code = await connector.approve(user, verifier);
  const answers = await Promise.all(Array.from({ length: 10 }, () => connector.redeem(code, verifier)));
  expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
  const first = keep(await connector.connect(user));
  const rotated = await Promise.all(Array.from({ length: 10 }, () => connector.refresh(first.refresh)));
  expect(rotated.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
  for (const { body } of [...answers, ...rotated])
    if (body.access_token) expect(await connector.opens(body.access_token)).toBe(401);
});

it('takes each refresh token once, and ends the connection when an earlier one comes', async () => {
  const user = await newPerson();
  const first = keep(await connector.connect(user));
  const foreign = keep(await connector.connect(await newPerson()));
  const [family] = first.refresh.split('.');
  for (const token of [first.access, first.code, `${family}`, '.', `.${first.refresh}`, 'ref_x.y', ''])
    expect((await connector.refresh(token)).body.error, token).toBe('invalid_grant');
  expect((await connector.refresh(first.refresh, { client_id: `${client.origin}/named.json` })).status).toBe(400);
  expect((await connector.refresh(first.refresh, { resource: 'https://evil.test/' })).body.error).toBe(
    'invalid_target',
  );
  const second = await connector.refresh(first.refresh, { scope: 'mail:read mail:codes mail:send admin' });
  expect(second.body.scope).toBe('mail:read mail:draft');
  secrets.push(second.body.access_token, second.body.refresh_token);
  expect(await connector.opens(first.access)).toBe(401);
  expect(await connector.opens(second.body.access_token)).toBe(200);
  expect((await connector.refresh(first.refresh)).body.error).toBe('invalid_grant');
  expect(await connector.opens(second.body.access_token)).toBe(401);
  expect((await connector.refresh(second.body.refresh_token)).body.error).toBe('invalid_grant');
  expect(await connector.opens(foreign.access)).toBe(200);
});

it('opens /v1/mcp only with an access token, and nothing else with any of them', async () => {
  const user = await newPerson();
  const { access, refresh, code } = keep(await connector.connect(user, [...SCOPES, 'mail:send', 'mail:codes']));
  for (const secret of [refresh, code, refresh.split('.')[0] ?? '']) expect(await connector.opens(secret)).toBe(401);
  const routes: [string, string][] = [
    ['GET', '/v1/me'],
    ['GET', '/v1/messages'],
    ['GET', '/v1/folders'],
    ['POST', '/v1/messages'],
    ['GET', '/v1/events'],
    ['GET', '/v1/export'],
    ['POST', '/v1/import'],
    ['GET', '/v1/me/tokens'],
    ['POST', '/v1/me/tokens'],
    ['GET', '/v1/me/waiting-messages'],
    ['PUT', '/v1/me/agent-recipients'],
    ['GET', '/v1/me/masked-addresses'],
    ['POST', '/v1/me/masked-addresses'],
    ['POST', '/v1/me/connection-requests'],
    ['POST', '/v1/me/access-keys'],
    ['GET', '/v1/jmap/session'],
    ['POST', '/v1/jmap/api'],
    ['GET', '/v1/iam/users'],
    ['GET', '/v1/quarantine'],
    ['GET', '/v1/outbound'],
    ['POST', '/v1/inbound'],
  ];
  const basic = `Basic ${Buffer.from(`${user.email}:${access}`).toString('base64')}`;
  for (const [method, path] of routes)
    for (const headers of [
      { authorization: `Bearer ${access}` },
      { authorization: basic },
      { cookie: `session=${access}` },
    ]) {
      const body = method === 'GET' ? undefined : '{}';
      const { status } = await fetch(`${server.url}${path}`, {
        method,
        headers: { ...headers, origin: server.url, 'content-type': 'application/json' } as Record<string, string>,
        ...(body ? { body } : {}),
      });
      expect([401, 403], `${method} ${path} ${Object.keys(headers)} ${status}`).toContain(status);
    }
});

it('ends with the connection, with a new password, with a suspension and with the account', async () => {
  const isDead = async ({ access, refresh }: { access: string; refresh: string }, what: string) => {
    expect([what, await connector.opens(access)]).not.toEqual([what, 200]);
    expect([what, (await connector.refresh(refresh)).status]).toEqual([what, 400]);
    expect([what, await connector.opens(access)]).not.toEqual([what, 200]);
  };
  const user = await newPerson();
  const ended = keep(await connector.connect(user));
  const [row] = (await server.call('GET', '/v1/me/tokens', undefined, user.token)).body.data;
  await Promise.all([
    server.call('DELETE', `/v1/me/tokens/${row.token_id}`, undefined, user.token),
    connector.refresh(ended.refresh).then(({ body }) => body.access_token && secrets.push(body.access_token)),
  ]);
  await isDead(ended, 'ended');
  expect((await server.call('GET', '/v1/me/tokens', undefined, user.token)).body.data).toEqual([]);

  const changed = keep(await connector.connect(user));
  const verifier = newVerifier();
  const pending = await connector.approve(user, verifier);
  await confirmSession(server, user.token);
  const change = { password: PASSWORD, new_password: 'a wholly other long phrase' };
  const answer = await server.call('POST', '/v1/me/password', change, user.token);
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  await isDead(changed, 'password');
  expect((await connector.redeem(pending, verifier)).body.error).toBe('invalid_grant');

  const other = await newPerson();
  const paused = keep(await connector.connect(other));
  const path = `/v1/accounts/${other.userId}/suspension`;
  const suspended = await server.call('PUT', path, { reason: 'test' });
  expect(suspended.status, JSON.stringify(suspended.body)).toBeLessThan(300);
  await isDead(paused, 'suspended');
  expect((await server.call('DELETE', path)).status).toBeLessThan(300);
  expect(await connector.opens(paused.access)).toBe(200);
  await confirmSession(server, other.token).catch(() => undefined);
  const again = await server.call('POST', '/v1/auth/login', { email: other.email, password: PASSWORD }, null);
  const erased = await server.call('DELETE', '/v1/me', { password: PASSWORD }, again.body.token);
  expect(erased.status, JSON.stringify(erased.body)).toBeLessThan(300);
  await isDead(paused, 'deleted');
});

it('writes no code, token or verifier into the log', () => {
  const log = readFileSync(join(server.directory, 'server.log'), 'utf8');
  const found = secrets.filter((secret) => secret.length > 12 && log.includes(secret));
  expect(secrets.length).toBeGreaterThan(20);
  expect(found).toEqual([]);
  expect(log).not.toContain('secret-state-of-the-client');
});
