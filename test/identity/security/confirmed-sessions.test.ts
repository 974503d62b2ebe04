/** Findings 5 and 6 of the security review: a stolen session or app token alone cannot take over an account. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toCode } from '../../../workers/identity/secrets/totp.ts';
import { confirmSession, type MailUser, registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const PASSWORD = 'correct horse battery';
const MINUTE_MS = 60_000;
let server: TestServer;

beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open', MAIL_HOLD_SECONDS: '0' } });
});
afterAll(() => server[Symbol.asyncDispose]());

type Step = readonly [method: string, path: string, body?: Record<string, unknown>];
/** All sensitive actions, each as a request. The last one erases the account. */
const SENSITIVE: readonly Step[] = [
  ['POST', '/v1/me/tokens', { name: 'x' }],
  ['POST', '/v1/me/totp'],
  ['DELETE', '/v1/me/totp'],
  ['POST', '/v1/me/forward-targets', { email: 'thief@evil.test' }],
  ['POST', '/v1/me/forward-targets/confirm', { email: 'thief@evil.test', code: '00000000' }],
  ['POST', '/v1/me/addresses', { email: 'NAME-more@example.test' }],
  ['DELETE', '/v1/me/addresses/NAME-more@example.test'],
  ['POST', '/v1/me/password', { new_password: 'another long password' }],
  ['GET', '/v1/export'],
  ['DELETE', '/v1/me'],
];
const nameOf = ([method, path]: Step) => `${method} ${path}`;
const take = ([method, path, body]: Step, user: MailUser, more: Record<string, unknown> = {}, token = user.token) => {
  const name = user.email.replace('@example.test', '');
  const given = { ...body, ...more, ...(body?.email ? { email: String(body.email).replace('NAME', name) } : {}) };
  return server.call(method, path.replace('NAME', name), Object.keys(given).length > 0 ? given : undefined, token);
};

describe('a sensitive action', () => {
  it('needs a confirmed session', async () => {
    const user = await registerUser(server, 'walter');
    const answers: unknown[] = [];
    for (const step of SENSITIVE) {
      const { status, body } = await take(step, user);
      answers.push([nameOf(step), status, body.code]);
    }
    expect(answers).toEqual(SENSITIVE.map((step) => [nameOf(step), 403, 'confirmation_required']));
    await confirmSession(server, user.token);
    const codes: unknown[] = [];
    for (const step of SENSITIVE) codes.push((await take(step, user)).status);
    expect(codes).toEqual([201, 201, 204, 202, 400, 201, 204, 204, 200, 204]);
  });

  it('can be confirmed in the request itself, for that request only', async () => {
    const user = await registerUser(server, 'inline');
    const [token] = SENSITIVE;
    if (!token) throw new Error('no step');
    expect((await take(token, user, { password: 'wrong' })).body.code).toBe('wrong_password');
    expect((await take(token, user, { password: PASSWORD })).status).toBe(201);
    expect((await take(token, user)).body.code).toBe('confirmation_required');
    const change = { current_password: PASSWORD, new_password: 'another long password' };
    expect((await server.call('POST', '/v1/me/password', change, user.token)).status).toBe(204);
  });

  it('is refused to app tokens, whatever password they send', async () => {
    const user = await registerUser(server, 'phone');
    await confirmSession(server, user.token);
    const app = (await server.call('POST', '/v1/me/tokens', { name: 'phone' }, user.token)).body.token;
    const answers: unknown[] = [];
    for (const step of SENSITIVE) {
      const more = step[0] === 'GET' ? {} : { password: PASSWORD };
      answers.push((await take(step, user, more, app)).body.code);
    }
    expect(answers).toEqual(SENSITIVE.map(() => 'session_only'));
    expect((await server.call('POST', '/v1/auth/confirm', { password: PASSWORD }, app)).body.code).toBe('session_only');
  });

  it('needs the second factor too, if one is enabled', async () => {
    const user = await registerUser(server, 'factor');
    const { secret } = (await server.call('POST', '/v1/me/totp', { password: PASSWORD }, user.token)).body;
    const codeAt = (off: number) => toCode(secret, Math.floor(Date.now() / 30_000) + off);
    const enabled = await server.call('POST', '/v1/me/totp/confirm', { totp: codeAt(-1) }, user.token);
    const confirm = (more: object) =>
      server.call('POST', '/v1/auth/confirm', { password: PASSWORD, ...more }, user.token);
    const missing = await confirm({});
    expect([missing.status, missing.body.code]).toEqual([403, 'second_factor_required']);
    const wrong = await confirm({ totp: codeAt(5) });
    expect([wrong.status, wrong.body.code]).toEqual([403, 'wrong_second_factor']);
    const token = { name: 'x' };
    expect((await server.call('POST', '/v1/me/tokens', token, user.token)).body.code).toBe('confirmation_required');
    expect((await confirm({ totp: codeAt(1) })).status).toBe(204);
    expect((await server.call('POST', '/v1/me/tokens', token, user.token)).status).toBe(201);
    const [recovery] = enabled.body.recovery_codes;
    expect((await confirm({ recovery_code: recovery })).status).toBe(204);
    expect((await confirm({ recovery_code: recovery })).body.code).toBe('wrong_second_factor');
    const failed = (await server.call('GET', `/v1/audit?target=${user.userId}&action=login.second_factor_failed`)).body;
    expect(failed.data).toHaveLength(2);
  });
});

it('guesses at a confirmation are limited', async () => {
  const user = await registerUser(server, 'guessed');
  const statuses: number[] = [];
  for (let n = 0; n < 12; n++) {
    statuses.push((await server.call('POST', '/v1/auth/confirm', { password: `guess ${n}` }, user.token)).status);
  }
  expect(statuses).toEqual([...new Array(10).fill(403), 429, 429]);
});

it('a confirmation holds for ten minutes, in its own session only', async () => {
  const user = await registerUser(server, 'timed');
  const login = { email: user.email, password: PASSWORD };
  const other = (await server.call('POST', '/v1/auth/login', login, null)).body.token;
  await confirmSession(server, user.token);
  const make = (token: string) => server.call('POST', '/v1/me/tokens', { name: 'x' }, token);
  expect((await make(user.token)).status).toBe(201);
  expect((await make(other)).body.code).toBe('confirmation_required');
  await server.stop();
  await server.start({ CLOCK_OFFSET_SECONDS: String((9 * MINUTE_MS) / 1000) });
  expect((await make(user.token)).status).toBe(201);
  await server.stop();
  await server.start({ CLOCK_OFFSET_SECONDS: String((11 * MINUTE_MS) / 1000) });
  expect((await make(user.token)).body.code).toBe('confirmation_required');
});

describe('a change of the password', () => {
  it('ends all other sessions and revokes all app tokens', async () => {
    const user = await registerUser(server, 'robbed');
    const login = { email: user.email, password: PASSWORD };
    const stolen = (await server.call('POST', '/v1/auth/login', login, null)).body.token;
    await confirmSession(server, user.token);
    const app = (await server.call('POST', '/v1/me/tokens', { name: 'x' }, user.token)).body.token;
    const scores = { name: 'game', user_id: user.userId, scopes: ['scores:write'] };
    await server.call('POST', '/v1/iam/tokens', scores);
    const change = { new_password: 'another long password' };
    expect((await server.call('POST', '/v1/me/password', change, user.token)).status).toBe(204);
    const reads = [];
    for (const token of [user.token, stolen, app]) {
      reads.push((await server.call('GET', '/v1/folders', undefined, token)).status);
    }
    expect(reads).toEqual([200, 401, 401]);
    // A token that does not open the mailbox must stay.
    const left = (await server.call('GET', `/v1/iam/tokens?user_id=${user.userId}`)).body.data;
    expect(left.map(({ name }: { name: string }) => name)).toEqual(['game']);
  });

  it('keeps app tokens with keep_tokens', async () => {
    const user = await registerUser(server, 'keeper');
    await confirmSession(server, user.token);
    const app = (await server.call('POST', '/v1/me/tokens', { name: 'x' }, user.token)).body.token;
    const change = { new_password: 'another long password', keep_tokens: true };
    expect((await server.call('POST', '/v1/me/password', change, user.token)).status).toBe(204);
    expect((await server.call('GET', '/v1/folders', undefined, app)).status).toBe(200);
  });
});
