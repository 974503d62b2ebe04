/** Tests that the owner of an account gets mail about security events. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { toCode } from '../../../workers/identity/secrets/totp.ts';
import { awaitMessage, awaitSunk, confirmSession, listFolder, registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const PASSWORD = 'correct horse battery';
let server: TestServer;

beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open', MAIL_HOLD_SECONDS: '0' } });
});
afterAll(() => server[Symbol.asyncDispose]());

const login = (email: string, ip: string, userAgent: string) =>
  fetch(`${server.url}/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'cf-connecting-ip': ip, 'user-agent': userAgent },
    body: JSON.stringify({ email, password: PASSWORD }),
  });

it('a login from a new place, a token, a forward, a second factor and a new password are announced', async () => {
  const user = await registerUser(server, 'watched');
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await server.call(method, path, body, user.token);
    expect([path, answer.status < 300, answer.body.code]).toEqual([path, true, undefined]);
    return answer.body;
  };
  expect((await login(user.email, '198.51.100.7', 'Browser\u00e9/1')).status).toBe(200);
  const notice = await awaitMessage(server, user, 'inbox', 'Security notice: New login');
  expect(notice.from).toMatchObject({ email: 'postmaster@example.test' });
  expect(notice.body).toContain('Network: 198.51.100.0/24\nProgram: Browser?/1\n');
  await confirmSession(server, user.token);
  await call('POST', '/v1/me/tokens', { name: 'x' });
  await awaitMessage(server, user, 'inbox', 'Security notice: New app token');
  await call('POST', '/v1/me/forward-targets', { email: 'archive@third.test' });
  const invitation = await awaitSunk(server, 'the code', ({ envelope }) => envelope.to.includes('archive@third.test'));
  const code = /code: (\d{8})/.exec(invitation.raw.toString())?.[1];
  await call('POST', '/v1/me/forward-targets/confirm', { email: 'archive@third.test', code });
  await awaitMessage(server, user, 'inbox', 'Security notice: New forward target');
  const conditions = [{ field: 'subject', operator: 'contains', value: 'invoice' }];
  const rule = { name: 'x', conditions, actions: [{ type: 'forward', to: 'archive@third.test' }] };
  await call('POST', '/v1/filters', rule);
  await awaitMessage(server, user, 'inbox', 'Security notice: New forward');
  const { secret } = await call('POST', '/v1/me/totp');
  await call('POST', '/v1/me/totp/confirm', { totp: toCode(secret, Math.floor(Date.now() / 30_000)) });
  await awaitMessage(server, user, 'inbox', 'Security notice: Second factor enabled');
  await call('DELETE', '/v1/me/totp');
  await awaitMessage(server, user, 'inbox', 'Security notice: Second factor disabled');
  await call('POST', '/v1/me/password', { new_password: 'another long password' });
  await awaitMessage(server, user, 'inbox', 'Security notice: Password changed');
});

it('at most three notices of a kind are sent per hour, and other kinds are still sent', async () => {
  const user = await registerUser(server, 'flooded');
  await confirmSession(server, user.token);
  for (let n = 0; n < 6; n++) {
    expect((await server.call('POST', '/v1/me/tokens', { name: `t${n}` }, user.token)).status).toBe(201);
  }
  const change = { new_password: 'another long password' };
  expect((await server.call('POST', '/v1/me/password', change, user.token)).status).toBe(204);
  await awaitMessage(server, user, 'inbox', 'Security notice: Password changed');
  const subjects = (await listFolder(server, user, 'inbox')).map(({ subject }) => subject);
  expect(subjects.filter((subject) => subject.endsWith('New app token'))).toHaveLength(3);
});

it('an app token cannot set up a forward target, so no forward depends on a token that may be revoked', async () => {
  const user = await registerUser(server, 'relay');
  await confirmSession(server, user.token);
  const app = (await server.call('POST', '/v1/me/tokens', { name: 'x' }, user.token)).body.token;
  const refused = await server.call('POST', '/v1/me/forward-targets', { email: 'thief@third.test' }, app);
  expect([refused.status, refused.body.code]).toEqual([403, 'session_only']);
  const rule = { name: 'x', conditions: [], actions: [{ type: 'forward', to: 'thief@third.test' }] };
  const filter = await server.call('POST', '/v1/filters', rule, app);
  expect(filter.status).toBeGreaterThanOrEqual(400);
});
