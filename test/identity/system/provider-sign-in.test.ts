/** Tests the sign-in with a real OpenID Connect provider, and attacks on it. */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { startProvider, type TestProvider, Visitor } from '../../support/identity/provider.ts';
import { confirmSession, registerUser, until } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

/** The event of a log-out token. */
const LOG_OUT = { 'http://schemas.openid.net/event/backchannel-logout': {} };

let server: TestServer;
let provider: TestProvider;

beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open', MAIL_HOLD_SECONDS: '0', LIFECYCLE_DAY_SECONDS: '10' } });
  provider = await startProvider(server.url);
  await server.stop();
  await server.start({
    ...provider.vars,
    OIDC_NEW_ACCOUNTS: 'verified',
    OIDC_ROLES: 'tessera-admins=admin,helpdesk=support',
    OIDC_RECHECK_MINUTES: '60',
    ACCESS_ISSUER: provider.issuer,
    ACCESS_AUDIENCE: 'a'.repeat(64),
  });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await provider.stop();
});
afterEach(() => {
  provider.falsify = null;
  provider.signWith = 'own';
});

/** Sends a log-out token, as the provider does. */
const logOut = (token: string) =>
  fetch(`${server.url}/v1/auth/oidc/logout`, { method: 'POST', body: new URLSearchParams({ logout_token: token }) });

/** Adds an account at the provider. @returns its subject. */
function addAccount(name: string, claims: Record<string, unknown> = {}): string {
  const subject = `sub-${name}`;
  const address = { email: `${name}@example.test`, email_verified: true };
  provider.accounts.set(subject, { name: `${name} of Example`, ...address, ...claims });
  return subject;
}

/** Signs in to mail. @returns the session's token, the visitor and the subject. */
async function signInToMail(name: string, claims: Record<string, unknown> = {}) {
  const subject = addAccount(name, claims);
  const visitor = new Visitor(server);
  expect(await visitor.signIn('mail', subject)).toBe('/_/mail#/signed-in/mail');
  const session = await visitor.post('/v1/auth/oidc/session');
  expect([session.status, session.body.code]).toEqual([200, undefined]);
  return { visitor, subject, token: session.body.token as string, userId: session.body.user.user_id as string };
}

it('a person signs in without a password, confirms with the provider, and an app token reads mail', async () => {
  const { visitor, subject, token, userId } = await signInToMail('ada');
  expect((await server.call('GET', '/v1/me', undefined, token)).body).toMatchObject({ email: 'ada@example.test' });
  expect((await server.call('POST', '/v1/me/tokens', { name: 'phone' }, token)).body.code).toBe(
    'confirmation_required',
  );
  expect(await visitor.signIn('confirm', subject)).toBe('/_/mail#/signed-in/confirm');
  expect((await visitor.post('/v1/auth/oidc/confirm')).status).toBe(204);
  const app = await server.call('POST', '/v1/me/tokens', { name: 'phone' }, token);
  expect(app.status).toBe(201);
  expect((await server.call('GET', '/.well-known/jmap', undefined, app.body.token)).status).toBe(200);
  const again = await signInToMail('ada');
  expect(again.userId).toBe(userId);
  // The address that the provider claims may change. The account is the same one.
  provider.accounts.set(subject, { email: 'other@example.test', email_verified: true });
  expect(await visitor.signIn('mail', subject)).toBe('/_/mail#/signed-in/mail');
  expect((await visitor.post('/v1/auth/oidc/session')).body.user).toMatchObject({ user_id: userId });
});

it('wrong issuer, audience, nonce, key, subject and time are refused, and a rotated key is accepted', async () => {
  const subject = addAccount('grace');
  const now = Math.floor(Date.now() / 1000);
  const attempt = async (claims: Record<string, unknown>, signWith: TestProvider['signWith'] = 'own') => {
    provider.falsify = (own) => ({ ...own, ...claims });
    provider.signWith = signWith;
    return new Visitor(server).signIn('mail', subject);
  };
  const failed = '/_/mail#/sign-in-failed/sign_in_failed';
  expect(await attempt({ iss: 'https://evil.test' })).toBe(failed);
  expect(await attempt({ aud: 'another-client' })).toBe(failed);
  expect(await attempt({ aud: ['tessera', 'another'], azp: 'another' })).toBe(failed);
  expect(await attempt({ nonce: 'of another sign-in' })).toBe(failed);
  expect(await attempt({ nonce: undefined })).toBe(failed);
  expect(await attempt({ sub: undefined })).toBe(failed);
  expect(await attempt({ sub: '' })).toBe(failed);
  expect(await attempt({ exp: now - 120 })).toBe(failed);
  expect(await attempt({ exp: now + 60, nbf: now + 600 })).toBe(failed);
  expect(await attempt({ iat: now + 3600, exp: now + 7200 })).toBe(failed);
  expect(await attempt({}, 'foreign')).toBe(failed);
  expect(await attempt({ exp: now - 5 })).toBe('/_/mail#/signed-in/mail');
  // A new key is loaded by the first token that names it, some seconds after the keys were loaded.
  expect(await attempt({}, 'rotated')).toBe(failed);
  provider.isRotated = true;
  const signedAnew = { iss: provider.issuer, aud: 'tessera', iat: now, exp: now + 120, sub: 'nobody', events: LOG_OUT };
  await until('the new key', async () => {
    const token = await provider.sign({ ...signedAnew, jti: crypto.randomUUID() }, 'logout+jwt', 'rotated');
    return (await logOut(token)).status === 200 || undefined;
  });
  expect(await attempt({}, 'rotated')).toBe('/_/mail#/signed-in/mail');
});

it('a callback of another browser, an old state, another code and another issuer are refused', async () => {
  const subject = addAccount('mallory');
  const thief = new Visitor(server);
  const victim = new Visitor(server);
  // Log-in CSRF: the thief's callback is opened in the victim's browser.
  const callback = await thief.authorize(await thief.begin('mail'), subject);
  expect(await victim.callback(callback)).toBe('/_/mail#/sign-in-failed/sign_in_expired');
  await victim.begin('mail');
  expect(await victim.callback(callback)).toBe('/_/mail#/sign-in-failed/sign_in_failed');
  // The same with the victim's state (code injection): the code belongs to another PKCE challenge.
  const own = new URL(await victim.authorize(await victim.begin('mail'), addAccount('victim')));
  own.searchParams.set('code', new URL(callback).searchParams.get('code') ?? '');
  expect(await victim.callback(own.href)).toBe('/_/mail#/sign-in-failed/sign_in_failed');
  // Mix-up: an answer of another issuer (RFC 9207).
  const mixed = new URL(await thief.authorize(await thief.begin('mail'), subject));
  mixed.searchParams.set('iss', 'https://evil.test');
  expect(await thief.callback(mixed.href)).toBe('/_/mail#/sign-in-failed/sign_in_failed');
  // A callback works once, with unknown parameters too.
  const good = `${await thief.authorize(await thief.begin('mail'), subject)}&session_state=x&authuser=0`;
  const cookie = thief.cookie('sign-in') ?? '';
  expect(await thief.callback(good)).toBe('/_/mail#/signed-in/mail');
  thief.setCookie('sign-in', cookie);
  expect(await thief.callback(good)).toBe('/_/mail#/sign-in-failed/sign_in_failed');
  thief.setCookie('sign-in', `${cookie.slice(0, -2)}AA`);
  expect(await thief.callback(good)).toBe('/_/mail#/sign-in-failed/sign_in_expired');
});

it('a proof is taken once, by our own page, and only for what it was begun for', async () => {
  const subject = addAccount('eve', { groups: ['tessera-admins'] });
  const visitor = new Visitor(server);
  await visitor.signIn('mail', subject);
  const proof = visitor.cookie('sign-in-proof') ?? '';
  const foreign = await visitor.post('/v1/auth/oidc/session', undefined, { origin: 'https://evil.test' });
  expect([foreign.status, foreign.body.code]).toEqual([403, 'foreign_origin']);
  // A proof for mail gives no operator, and is spent by the attempt.
  expect((await visitor.post('/v1/operators/oidc')).body.code).toBe('sign_in_expired');
  visitor.setCookie('sign-in-proof', proof);
  expect((await visitor.post('/v1/auth/oidc/session')).body.code).toBe('sign_in_expired');
  // Session fixation: a cookie that an attacker planted is no session, and the sign-in makes a new one.
  visitor.setCookie('session', 'ses_planted');
  await visitor.signIn('mail', subject);
  const session = await visitor.post('/v1/auth/oidc/session');
  expect(visitor.cookie('session')).toBe(session.body.token);
  // The callback leads to our own pages, whatever its parameters say.
  const bent = `${server.url}/v1/auth/oidc/callback?code=x&state=y&redirect_uri=https://evil.test&next=//evil.test`;
  expect(await visitor.callback(bent)).toBe('/_/mail#/sign-in-failed/sign_in_expired');
  expect((await visitor.post('/v1/auth/oidc', { purpose: 'mail' }, { origin: 'null' })).body.code).toBe(
    'foreign_origin',
  );
});

it('a claimed address opens no account that exists, and only confirmed sessions and operators connect one', async () => {
  const victim = await registerUser(server, 'owner');
  const forged = new Visitor(server);
  await forged.signIn('mail', addAccount('forger', { email: victim.email }));
  expect((await forged.post('/v1/auth/oidc/session')).body.code).toBe('sign_in_unknown');
  const refuse = async (name: string, claims: Record<string, unknown>) => {
    const visitor = new Visitor(server);
    await visitor.signIn('mail', addAccount(name, claims));
    return (await visitor.post('/v1/auth/oidc/session')).body.code;
  };
  expect(await refuse('unverified', { email_verified: false })).toBe('sign_in_unknown');
  expect(await refuse('texted', { email_verified: 'true' })).toBe('sign_in_unknown');
  expect(await refuse('elsewhere', { email: 'x@elsewhere.test' })).toBe('sign_in_unknown');
  expect(await refuse('postmaster', {})).toBe('sign_in_unknown');
  expect(await refuse('listed', { email: ['owner@example.test'] })).toBe('sign_in_unknown');

  // The owner connects an account of the provider: not without a confirmed session, and no other one afterwards.
  const visitor = new Visitor(server);
  visitor.setCookie('session', victim.token);
  const subject = addAccount('owner-at-provider', { email: 'elsewhere@corp.test' });
  await visitor.signIn('bind', subject);
  expect((await visitor.post('/v1/me/sign-ins')).body.code).toBe('confirmation_required');
  await confirmSession(server, victim.token);
  await visitor.signIn('bind', subject);
  expect((await visitor.post('/v1/me/sign-ins')).status).toBe(201);
  await visitor.signIn('bind', addAccount('second'));
  expect((await visitor.post('/v1/me/sign-ins')).body.code).toBe('sign_in_taken');
  const signedIn = new Visitor(server);
  await signedIn.signIn('mail', subject);
  expect((await signedIn.post('/v1/auth/oidc/session')).body.user).toMatchObject({ user_id: victim.userId });
  const list = await server.call('GET', '/v1/me/sign-ins', undefined, victim.token);
  expect(list.body.data).toMatchObject([{ issuer: provider.issuer, subject }]);

  // Another account cannot confirm with its provider's account a session that is not its own.
  const stranger = await signInToMail('stranger');
  stranger.visitor.setCookie('session', victim.token);
  await stranger.visitor.signIn('confirm', stranger.subject);
  expect((await stranger.visitor.post('/v1/auth/oidc/confirm')).body.code).toBe('sign_in_unknown');

  // The operator connects an account before its first sign-in, and disconnects it.
  const member = await registerUser(server, 'member');
  const path = `/v1/accounts/${member.userId}/sign-ins`;
  const bound = await server.call('POST', path, { subject: addAccount('member-sub', { email: 'm@corp.test' }) });
  expect(bound.status).toBe(201);
  const first = new Visitor(server);
  await first.signIn('mail', 'sub-member-sub');
  expect((await first.post('/v1/auth/oidc/session')).body.user).toMatchObject({ user_id: member.userId });
  expect((await server.call('DELETE', `${path}/${bound.body.sign_in_id}`)).status).toBe(204);
  await first.signIn('mail', 'sub-member-sub');
  expect((await first.post('/v1/auth/oidc/session')).body.code).toBe('sign_in_unknown');
});

it('roles of operators come from a claim, and end with it', async () => {
  const subject = addAccount('root-at-corp', { groups: ['staff', 'helpdesk', 'tessera-admins'] });
  const visitor = new Visitor(server);
  expect(await visitor.signIn('operator', subject)).toBe('/_/operator#/signed-in/operator');
  const session = await visitor.post('/v1/operators/oidc');
  expect(session.body.operator).toMatchObject({ role: 'admin', name: 'root-at-corp of Example' });
  const { token } = session.body;
  const made = await server.call('POST', '/v1/iam/tokens', { name: 'x', scopes: ['admin'] }, token);
  expect(made.status).toBe(201);
  // No password logs this operator in.
  const login = { login: session.body.operator.login, password: '', totp: '000000' };
  expect((await server.call('POST', '/v1/operators/login', login, null)).status).toBe(401);
  provider.accounts.set(subject, { groups: ['staff'] });
  await visitor.signIn('operator', subject);
  expect((await visitor.post('/v1/operators/oidc')).body.code).toBe('no_role');
  expect((await server.call('GET', '/v1/operators/me', undefined, token)).status).toBe(401);
  expect((await server.call('GET', '/v1/iam/users', undefined, made.body.token)).status).toBe(401);
  provider.accounts.set(subject, { groups: 'helpdesk' });
  await visitor.signIn('operator', subject);
  expect((await visitor.post('/v1/operators/oidc')).body.operator).toMatchObject({
    role: 'support',
    operator_id: session.body.operator.operator_id,
  });
});

it('a token of Cloudflare Access signs in, and only a valid one', async () => {
  const now = Math.floor(Date.now() / 1000);
  const audience = 'a'.repeat(64);
  const claims = { iss: provider.issuer, aud: [audience], iat: now, exp: now + 600, sub: 'access-user', type: 'app' };
  const attempt = async (path: string, given: Record<string, unknown>, key: 'own' | 'foreign' = 'own') => {
    const token = await provider.sign({ ...claims, ...given }, 'JWT', key);
    const { body } = await new Visitor(server).post(path, undefined, { 'cf-access-jwt-assertion': token });
    return body.operator?.role ?? body.code;
  };
  const role = { custom: { groups: ['helpdesk'] } };
  const path = '/v1/operators/access';
  expect(await attempt(path, role)).toBe('support');
  expect(await attempt(path, { ...role, aud: ['b'.repeat(64)] })).toBe('sign_in_failed');
  expect(await attempt(path, { ...role, iss: 'https://evil.test' })).toBe('sign_in_failed');
  expect(await attempt(path, { ...role, exp: now - 60 })).toBe('sign_in_failed');
  expect(await attempt(path, role, 'foreign')).toBe('sign_in_failed');
  expect(await attempt(path, { ...role, sub: '' })).toBe('sign_in_failed');
  expect(await attempt(path, {})).toBe('no_role');
  expect(await attempt('/v1/auth/access', { email: 'who@example.test' })).toBe('sign_in_unknown');
  expect((await new Visitor(server).post('/v1/auth/access')).body.code).toBe('sign_in_failed');
  expect((await logOut(await provider.sign(claims))).status).toBe(400);
});

it('a log-out ends sessions, an ended account stops app tokens, and forged or repeated log-outs do nothing', async () => {
  const { visitor, subject, token } = await signInToMail('leaver', { groups: ['tessera-admins'] });
  await visitor.signIn('confirm', subject);
  expect((await visitor.post('/v1/auth/oidc/confirm')).status).toBe(204);
  const app = (await server.call('POST', '/v1/me/tokens', { name: 'phone' }, token)).body.token;
  const isOpen = async (secret: string) => (await server.call('GET', '/v1/me', undefined, secret)).status;
  const now = Math.floor(Date.now() / 1000);
  const bad: [string, Promise<string>][] = [
    ['nonce', provider.logOutToken({ sub: subject, nonce: 'x' })],
    ['no event', provider.logOutToken({ sub: subject, events: {} })],
    ['issuer', provider.logOutToken({ sub: subject, iss: 'https://evil.test' })],
    ['audience', provider.logOutToken({ sub: subject, aud: 'another' })],
    ['no subject', provider.logOutToken({})],
    ['no id', provider.logOutToken({ sub: subject, jti: undefined })],
    ['old', provider.logOutToken({ sub: subject, iat: now - 600, exp: now + 600 })],
    ['expired', provider.logOutToken({ sub: subject, exp: now - 120 })],
    ['key', provider.sign({ iss: provider.issuer, aud: 'tessera', sub: subject }, 'logout+jwt', 'foreign')],
    ['none', Promise.resolve(`${Buffer.from('{"alg":"none"}').toString('base64url')}.e30.`)],
  ];
  for (const [what, made] of bad) expect([what, (await logOut(await made)).status]).toEqual([what, 400]);
  expect(await isOpen(token)).toBe(200);

  // The person only logged out: the session ends, the app token goes on.
  const logOutToken = await provider.logOutToken({ sub: subject });
  expect((await logOut(logOutToken)).status).toBe(200);
  expect(await isOpen(token)).toBe(401);
  expect(await isOpen(app)).toBe(200);
  const next = await signInToMail('leaver');
  expect((await logOut(logOutToken)).status).toBe(400);
  expect(await isOpen(next.token)).toBe(200);

  // The account ended: the app token stops too, and a sign-in of the account that came back starts it again.
  const claims = provider.accounts.get(subject) ?? {};
  provider.accounts.delete(subject);
  expect((await logOut(await provider.logOutToken({ sub: subject }))).status).toBe(200);
  await until('the app token stops', async () => (await isOpen(app)) === 401 || undefined);
  provider.accounts.set(subject, claims);
  const back = await signInToMail('leaver');
  expect(await isOpen(app)).toBe(200);

  // Without a log-out, the check of the refresh token finds the end.
  await visitor.signIn('operator', subject);
  provider.accounts.set(subject, { ...claims, groups: ['tessera-admins'] });
  await visitor.signIn('operator', subject);
  const operator = (await visitor.post('/v1/operators/oidc')).body.token;
  await server.stop();
  await server.start({
    ...provider.vars,
    OIDC_ROLES: 'tessera-admins=admin',
    CLOCK_OFFSET_SECONDS: '3700',
  });
  const isOperator = async () => (await server.call('GET', '/v1/operators/me', undefined, operator)).status;
  await until('the checks', async () => ((await isOpen(app)) === 200 && (await isOperator()) === 200) || undefined);
  provider.accounts.delete(subject);
  await server.stop();
  await server.start({ ...provider.vars, PASSWORDS: 'off', CLOCK_OFFSET_SECONDS: '7400' });
  await until('the end', async () => ((await isOpen(app)) === 401 && (await isOperator()) === 401) || undefined);
  expect(await isOpen(back.token)).toBe(401);

  // Passwords are off now. The way back in is ROOT_TOKEN.
  const refused = async (path: string, body: unknown) => (await server.call('POST', path, body, null)).body.code;
  const login = { email: 'leaver@example.test', password: 'correct horse battery' };
  expect(await refused('/v1/auth/login', login)).toBe('passwords_off');
  expect(await refused('/v1/auth/register', { ...login, name: 'x' })).toBe('passwords_off');
  expect(await refused('/v1/auth/forgot', { email: login.email })).toBe('passwords_off');
  expect(await refused('/v1/auth/reset', { token: 'rst_x', password: login.password })).toBe('passwords_off');
  expect(await refused('/v1/operators/login', { login: 'x', password: 'x' })).toBe('passwords_off');
  expect((await server.call('GET', '/v1/operators')).status).toBe(200);
});
