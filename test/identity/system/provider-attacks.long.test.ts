/** Attacks on the sign-in with a provider that `provider-sign-in.test.ts` does not make: races, odd claims, old proofs, and what must end. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { CLIENT_SECRET, startProvider, type TestProvider, Visitor } from '../../support/identity/provider.ts';
import { connectAgent } from '../../support/mail/agent-client.ts';
import { confirmSession, registerUser, until } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const FAILED = '/_/mail#/sign-in-failed/sign_in_failed';
const DONE = '/_/mail#/signed-in/mail';

let server: TestServer;
let provider: TestProvider;
const secrets: string[] = [];

beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open', MAIL_HOLD_SECONDS: '0' } });
  provider = await startProvider(server.url);
  await server.stop();
  await server.start({
    ...provider.vars,
    OIDC_NEW_ACCOUNTS: 'verified',
    OIDC_ROLES: 'tessera-admins=admin,helpdesk=support',
  });
}, 120_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await provider.stop();
});
afterEach(() => {
  provider.falsify = null;
});

let people = 0;
function addAccount(claims: Record<string, unknown> = {}): string {
  const name = `person${++people}`;
  provider.accounts.set(`sub-${name}`, { name, email: `${name}@example.test`, email_verified: true, ...claims });
  return `sub-${name}`;
}
/** Sends a request with the cookies of a visitor as they are now, so that several may carry the same ones. */
const copyOf = (visitor: Visitor, ...names: string[]): Visitor => {
  const copy = new Visitor(server);
  for (const name of names) copy.setCookie(name, visitor.cookie(name) ?? '');
  return copy;
};
const takeSession = (visitor: Visitor) => visitor.post('/v1/auth/oidc/session');

it('a proof that ten requests bring at once makes one session, and a new subject one account', async () => {
  const visitor = new Visitor(server);
  await visitor.signIn('mail', addAccount());
  secrets.push(visitor.cookie('sign-in-proof') ?? '');
  const copies = Array.from({ length: 10 }, () => copyOf(visitor, 'sign-in-proof'));
  const answers = await Promise.all(copies.map(takeSession));
  expect(answers.map(({ status }) => status).filter((status) => status === 200)).toEqual([200]);

  const subject = addAccount();
  const rivals = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const rival = new Visitor(server);
      await rival.signIn('mail', subject);
      return rival;
    }),
  );
  const made = await Promise.all(rivals.map(takeSession));
  const users = new Set(made.flatMap(({ body }) => body.user?.user_id ?? []));
  expect(users.size).toBe(1);
}, 60_000);

it('a callback that is opened at once in copies of a browser gives one proof', async () => {
  const visitor = new Visitor(server);
  const callback = await visitor.authorize(await visitor.begin('mail'), addAccount());
  secrets.push(new URL(callback).searchParams.get('code') ?? '', visitor.cookie('sign-in') ?? '');
  const copies = Array.from({ length: 5 }, () => copyOf(visitor, 'sign-in'));
  const pages = await Promise.all(copies.map((copy) => copy.callback(callback)));
  expect(pages.filter((page) => page === DONE).length).toBeLessThanOrEqual(1);
});

it('odd callbacks lead to our own pages and give no proof', async () => {
  for (const change of [
    (url: URL) => url.searchParams.append('code', 'x'),
    (url: URL) => url.searchParams.append('state', 'x'),
    (url: URL) => url.searchParams.append('iss', 'https://evil.test'),
    (url: URL) => url.searchParams.delete('state'),
    (url: URL) => url.searchParams.delete('iss'),
    (url: URL) => url.searchParams.set('error', 'access_denied'),
    (url: URL) => url.searchParams.set('response', 'e30.e30.'),
    (url: URL) => url.searchParams.set('state', `${url.searchParams.get('state')} `),
  ]) {
    const visitor = new Visitor(server);
    const url = new URL(await visitor.authorize(await visitor.begin('mail'), addAccount()));
    change(url);
    expect(await visitor.callback(url.href), url.search).toMatch(/^\/_\/mail#\/sign-in-failed\/\w+$/);
    expect(visitor.cookie('sign-in-proof')).toBeUndefined();
  }
}, 60_000);

it('odd ID tokens are refused: algorithms, audiences, nonces and subjects of other types', async () => {
  const now = Math.floor(Date.now() / 1000);
  const subject = addAccount();
  for (const claims of [
    { iss: `${provider.issuer}/` },
    { iss: [provider.issuer] },
    { aud: [] },
    { aud: ['tessera', 'another'] },
    { nonce: [] },
    { sub: 1 },
    { sub: 'x'.repeat(256) },
    { sub: { toString: 'x' } },
    { iat: 'now' },
    { iat: undefined },
    { exp: undefined },
    { exp: String(now + 600) },
  ] as Record<string, unknown>[]) {
    provider.falsify = (own) => ({ ...own, ...claims });
    expect(await new Visitor(server).signIn('mail', subject), JSON.stringify(claims)).toBe(FAILED);
  }
  provider.falsify = null;
  const forged = await new SignJWT({
    sub: subject,
    iss: provider.issuer,
    aud: 'tessera',
    jti: 'x',
    events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
  })
    .setProtectedHeader({ alg: 'HS256', typ: 'logout+jwt' })
    .setIssuedAt()
    .setExpirationTime('2m')
    .sign(new TextEncoder().encode(CLIENT_SECRET));
  const body = new URLSearchParams({ logout_token: forged });
  expect((await fetch(`${server.url}/v1/auth/oidc/logout`, { method: 'POST', body })).status).toBe(400);
}, 90_000);

it('a confirmation needs a new proof of the person', async () => {
  const subject = addAccount();
  const visitor = new Visitor(server);
  await visitor.signIn('mail', subject);
  await takeSession(visitor);
  const now = Math.floor(Date.now() / 1000);
  for (const auth_time of [now - 3_600, undefined, '9999999999', null, -1, now - 60]) {
    provider.falsify = (own) => ({ ...own, auth_time });
    expect(await visitor.signIn('confirm', subject), String(auth_time)).toMatch(/sign-in-failed/);
  }
  provider.falsify = null;
  await visitor.signIn('mail', subject);
  expect((await visitor.post('/v1/auth/oidc/confirm')).body.code).toBe('sign_in_expired');
  const stranger = copyOf(visitor, 'session');
  await stranger.signIn('confirm', addAccount());
  expect((await stranger.post('/v1/auth/oidc/confirm')).body.code).toBe('sign_in_unknown');
  expect((await visitor.post('/v1/me/tokens', { name: 'x' })).body.code).toBe('confirmation_required');
}, 90_000);

it('a claimed address makes no account under an address that exists in another spelling', async () => {
  const victim = await registerUser(server, `victim${crypto.randomUUID().slice(0, 8)}`);
  const [local = ''] = victim.email.split('@');
  const attempt = async (email: unknown) => {
    const visitor = new Visitor(server);
    await visitor.signIn('mail', addAccount({ email }));
    return takeSession(visitor);
  };
  for (const email of [
    victim.email.toUpperCase(),
    ` ${victim.email}`,
    `${victim.email} `,
    `${local}+tag@example.test`,
    `"${local}"@example.test`,
    `${local}@example.test.`,
    `${local}@EXAMPLE.TEST`,
    `${local}@example.test\r\nbcc: x@evil.test`,
    `${local}@example.test,x@evil.test`,
    `<${victim.email}>`,
    `${local.replace('v', 'ѵ')}@example.test`,
    'postmaster@example.test',
    'abuse@example.test',
    'no-reply@example.test',
    'admin@example.test',
    '*@example.test',
    '@example.test',
  ]) {
    const { status, body } = await attempt(email);
    expect([email, status, body.user?.user_id ?? null]).toEqual([email, 403, null]);
  }
}, 120_000);

it('two people cannot connect the same account of the provider at once', async () => {
  const subject = addAccount();
  const outcomes = await Promise.all(
    [0, 1, 2].map(async (n) => {
      const user = await registerUser(server, `binder${n}${crypto.randomUUID().slice(0, 8)}`);
      await confirmSession(server, user.token);
      const visitor = new Visitor(server);
      visitor.setCookie('session', user.token);
      await visitor.signIn('bind', subject);
      return (await visitor.post('/v1/me/sign-ins')).status;
    }),
  );
  expect(outcomes.sort()).toEqual([201, 409, 409]);
}, 60_000);

it('forms of log-out that are too large, doubled or of another kind end nothing', async () => {
  const subject = addAccount();
  const visitor = new Visitor(server);
  await visitor.signIn('mail', subject);
  const { token } = (await takeSession(visitor)).body;
  const good = await provider.logOutToken({ sub: subject });
  const send = async (init: RequestInit) =>
    (await fetch(`${server.url}/v1/auth/oidc/logout`, { method: 'POST', ...init })).status;
  const form = (text: string) => ({ body: text, headers: { 'content-type': 'application/x-www-form-urlencoded' } });
  expect(await send(form(`logout_token=${'x'.repeat(20_000)}`))).toBe(413);
  expect(await send(form(`logout_token=x&logout_token=${good}`))).toBe(400);
  expect(
    await send({ body: JSON.stringify({ logout_token: good }), headers: { 'content-type': 'application/json' } }),
  ).toBeGreaterThanOrEqual(400);
  expect((await fetch(`${server.url}/v1/auth/oidc/logout?logout_token=${good}`)).status).toBeGreaterThanOrEqual(400);
  expect((await server.call('GET', '/v1/me', undefined, token)).status).toBe(200);
}, 60_000);

it('an account that ended at the provider takes the tokens of agents with it', async () => {
  const subject = addAccount();
  const visitor = new Visitor(server);
  await visitor.signIn('mail', subject);
  const { token } = (await takeSession(visitor)).body;
  await visitor.signIn('confirm', subject);
  expect((await visitor.post('/v1/auth/oidc/confirm')).status).toBe(204);
  const made = await server.call(
    'POST',
    '/v1/me/tokens',
    { name: 'agent', scopes: ['mail:read', 'mail:draft'] },
    token,
  );
  secrets.push(token, made.body.token);
  {
    await using agent = await connectAgent(server, made.body.token);
    expect(await agent.call('whoami')).toContain('address:');
  }
  const claims = provider.accounts.get(subject) ?? {};
  provider.accounts.delete(subject);
  const body = new URLSearchParams({ logout_token: await provider.logOutToken({ sub: subject }) });
  expect((await fetch(`${server.url}/v1/auth/oidc/logout`, { method: 'POST', body })).status).toBe(200);
  const ask = () => server.call('POST', '/v1/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }, made.body.token);
  await until('the end', async () => (await ask()).status === 401 || undefined);
  // No other way in opens the account meanwhile.
  expect((await server.call('GET', '/v1/me', undefined, token)).status).toBe(401);
  const forgot = await server.call('POST', '/v1/auth/forgot', { email: `${claims.email}` }, null);
  expect(forgot.status).toBe(202);
}, 90_000);

it('writes no code, cookie or token into the log', () => {
  const log = readFileSync(join(server.directory, 'server.log'), 'utf8');
  expect(secrets.length).toBeGreaterThan(3);
  expect(secrets.filter((secret) => secret.length > 12 && log.includes(secret))).toEqual([]);
});
