/** Finding 21 of the security review: limits on app tokens and `send_at`, and the metadata key `__proto__`. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { confirmSession, registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const DAY_MS = 24 * 3_600_000;
let server: TestServer;

beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open' } });
});
afterAll(() => server[Symbol.asyncDispose]());

it('an account has at most 100 app tokens, and gets another after one is revoked', async () => {
  const { token } = await registerUser(server, 'tokens');
  await confirmSession(server, token);
  const make = () => server.call('POST', '/v1/me/tokens', { name: 'x' }, token);
  let first = '';
  for (let n = 0; n < 100; n++) {
    const { status, body } = await make();
    expect(status).toBe(201);
    first ||= body.token_id;
  }
  const refused = await make();
  expect([refused.status, refused.body.code]).toEqual([409, 'too_many']);
  expect((await server.call('DELETE', `/v1/me/tokens/${first}`, undefined, token)).status).toBe(204);
  expect((await make()).status).toBe(201);
});

it('send_at is accepted up to one year ahead', async () => {
  const { token } = await registerUser(server, 'later');
  const send = (sendAt: string) =>
    server.call('POST', '/v1/messages', { to: [{ email: 'a@third.test' }], body: 'x', send_at: sendAt }, token);
  for (const sendAt of ['9999-12-31T00:00:00Z', new Date(Date.now() + 367 * DAY_MS).toISOString()]) {
    const { status, body } = await send(sendAt);
    expect([sendAt, status, body.errors?.[0]?.path]).toEqual([sendAt, 400, 'send_at']);
  }
  expect((await send(new Date(Date.now() + 365 * DAY_MS).toISOString())).status).toBe(202);
});

it('the metadata key __proto__ is stored like any other', async () => {
  const { body: user } = await server.call('POST', '/v1/iam/users', { name: 'owner' });
  const scopes = ['objects:read', 'objects:write'];
  const made = await server.call('POST', '/v1/iam/tokens', { name: 's3', user_id: user.user_id, scopes });
  const authorization = `Bearer ${made.body.token}`;
  const metadata = { 'x-amz-meta-__proto__': 'one', 'x-amz-meta-constructor': 'two', 'x-meta-other': 'three' };
  expect((await fetch(`${server.url}/metadata`, { method: 'PUT', headers: { authorization } })).status).toBe(200);
  const put = await fetch(`${server.url}/metadata/x`, {
    method: 'PUT',
    headers: { authorization, ...metadata },
    body: 'x',
  });
  expect(put.status).toBe(200);
  const copied = await fetch(`${server.url}/metadata/y`, {
    method: 'PUT',
    headers: { authorization, 'x-amz-copy-source': '/metadata/x' },
  });
  expect(copied.status).toBe(200);
  for (const name of ['x', 'y']) {
    const { headers } = await fetch(`${server.url}/metadata/${name}`, { method: 'HEAD', headers: { authorization } });
    const shown = ['__proto__', 'constructor', 'other'].map((key) => headers.get(`x-amz-meta-${key}`));
    expect([name, ...shown]).toEqual([name, 'one', 'two', 'three']);
  }
});
