/** Finding 17 of the security review: common passwords are refused wherever a password is set, and the account stays as it was. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const PASSWORD = 'correct horse battery';
const MESSAGE = 'is too common: choose another one';
let server: TestServer;

beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open' } });
});
afterAll(() => server[Symbol.asyncDispose]());

it.each(['12345678', 'password123', 'PassWord123', 'qwertyuiop'])('registration refuses %s', async (password) => {
  const account = { email: 'new@example.test', password, name: 'New' };
  const { status, body } = await server.call('POST', '/v1/auth/register', account, null);
  expect([status, body.code, body.errors]).toEqual([400, 'invalid_request', [{ path: 'password', message: MESSAGE }]]);
});

it('registration takes the same address with another password afterwards', async () => {
  const account = { email: 'new@example.test', password: PASSWORD, name: 'New' };
  expect((await server.call('POST', '/v1/auth/register', account, null)).status).toBe(201);
});

it('a change of password refuses a common one and keeps the old one', async () => {
  const { token } = await registerUser(server, 'walter');
  const change = { current_password: PASSWORD, new_password: 'iloveyou' };
  const { status, body } = await server.call('POST', '/v1/me/password', change, token);
  expect([status, body.errors]).toEqual([400, [{ path: 'new_password', message: MESSAGE }]]);
  const login = { email: 'walter@example.test', password: PASSWORD };
  expect((await server.call('POST', '/v1/auth/login', login, null)).status).toBe(200);
});
