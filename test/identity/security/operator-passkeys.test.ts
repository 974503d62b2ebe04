/** Tests passkeys of operators, with a security key in software that shares no code with the server. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { totp } from '../../mail/browser/mail-page.ts';
import { registerUser } from '../../support/mail/mail.ts';
import { hasFido2, type SecurityKey, withSecurityKey } from '../../support/security-key.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const PASSWORD = 'a long operator password';
const USER_PASSWORD = 'correct horse battery';

let server: TestServer;
let base = '';

beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open' } });
  base = server.url.replace('127.0.0.1', 'localhost');
});
afterAll(() => server[Symbol.asyncDispose]());

// biome-ignore lint/suspicious/noExplicitAny: responses of the API; each test asserts the members it needs
type Json = any;

async function call(method: string, path: string, body?: unknown, token: string | null = null) {
  const response = await fetch(base + path, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Json };
}

const beginUse = async () => (await call('POST', '/v1/operators/passkey/options')).body;
const loginWith = (response: Json) => call('POST', '/v1/operators/passkey/login', { response });
const withKey = <T>(work: (key: SecurityKey) => Promise<T>): Promise<T> => withSecurityKey(base, work);

interface Operator {
  readonly id: string;
  readonly login: string;
  readonly token: string;
  /** Makes the next TOTP code. Each code works once, and codes of the neighbouring 30-second steps are accepted. */
  readonly secret: string;
}

async function enter(login: string): Promise<Operator> {
  const operator = { login, name: login, role: 'support', password: PASSWORD };
  const { body } = await server.call('POST', '/v1/operators', operator);
  const totpCode = totp(body.totp.secret, Date.now() - 30_000);
  const entered = await call('POST', '/v1/operators/login', { login, password: PASSWORD, totp: totpCode });
  expect([entered.status, entered.body.code]).toEqual([200, undefined]);
  return { id: body.operator_id, login, token: entered.body.token, secret: body.totp.secret };
}

/** Adds a passkey. `factor` confirms the action. */
async function add(key: SecurityKey, operator: Operator, factor: object): Promise<string> {
  const confirmation = { password: PASSWORD, ...factor };
  const options = await call('POST', '/v1/operators/me/passkeys/options', confirmation, operator.token);
  expect([options.status, options.body.code]).toEqual([200, undefined]);
  const response = await key.create(options.body);
  const added = await call('POST', '/v1/operators/me/passkeys', { name: 'Key', response }, operator.token);
  expect([added.status, added.body.code]).toEqual([201, undefined]);
  return added.body.passkey_id;
}

describe.skipIf(!hasFido2)('a passkey of an operator', () => {
  it('is added after password and second factor, logs in alone, and confirms beside the password', () =>
    withKey(async (key) => {
      const ada = await enter('ada');
      const begin = (body: object) => call('POST', '/v1/operators/me/passkeys/options', body, ada.token);
      expect((await begin({ password: PASSWORD })).body.code).toBe('second_factor_required');
      expect((await begin({ password: 'wrong', totp: '000000' })).body.code).toBe('wrong_password');
      expect((await begin({ password: PASSWORD, totp: '000000' })).body.code).toBe('wrong_second_factor');
      const id = await add(key, ada, { totp: totp(ada.secret, Date.now() + 30_000) });
      const entered = await loginWith(await key.get(await beginUse()));
      expect([entered.status, entered.body.operator?.login]).toEqual([200, 'ada']);
      const { token } = entered.body;
      const { data } = (await call('GET', '/v1/operators/me/passkeys', undefined, token)).body;
      const time = expect.stringMatching(/^\d{4}-/);
      expect(data).toEqual([{ passkey_id: id, name: 'Key', created_at: time, last_used_at: time }]);
      const byPassword = (passkey: Json, password = PASSWORD) =>
        call('POST', '/v1/operators/login', { login: 'ada', password, passkey });
      const passkey = await key.get(await beginUse());
      expect((await byPassword(passkey, 'wrong')).body.code).toBe('wrong_login');
      expect((await byPassword(passkey)).status).toBe(200);
      expect((await byPassword(passkey)).body.code).toBe('wrong_second_factor');
      const remove = (confirmation: object) =>
        call('DELETE', `/v1/operators/me/passkeys/${id}`, { password: PASSWORD, ...confirmation }, token);
      expect((await remove({})).body.code).toBe('second_factor_required');
      expect((await remove({ passkey: await key.get(await beginUse()) })).status).toBe(204);
      expect((await loginWith(await key.get(await beginUse()))).body.code).toBe('wrong_passkey');
      const audit = (await server.call('GET', `/v1/audit?target=${ada.id}`)).body.data;
      const actions = audit.map((entry: Json) => entry.action);
      expect(actions).toEqual(expect.arrayContaining(['passkey.create', 'passkey.delete', 'operator.login']));
    }));

  it('opens no account of a user or of another operator, and a passkey of a user opens no operator', () =>
    withKey(async (key) => {
      const [grace, mallory] = [await enter('grace'), await enter('mallory')];
      await add(key, grace, { totp: totp(grace.secret, Date.now() + 30_000) });
      const asUser = await call('POST', '/v1/auth/passkey/login', { response: await key.get(await beginUse()) });
      expect([asUser.status, asUser.body.code]).toEqual([401, 'wrong_passkey']);
      const passkey = await key.get(await beginUse());
      const asMallory = await call('POST', '/v1/operators/login', { login: 'mallory', password: PASSWORD, passkey });
      expect(asMallory.body.code).toBe('wrong_second_factor');
      // The options of one operator must not work for another operator, with any session.
      const code = totp(mallory.secret, Date.now() + 30_000);
      const options = await call(
        'POST',
        '/v1/operators/me/passkeys/options',
        { password: PASSWORD, totp: code },
        mallory.token,
      );
      await withKey(async (other) => {
        const response = await other.create(options.body);
        const crossed = await call('POST', '/v1/operators/me/passkeys', { name: 'Key', response }, grace.token);
        expect([crossed.status, crossed.body.code]).toEqual([400, 'invalid_passkey']);
      });
      await withKey(async (theirs) => {
        const user = await registerUser(server, 'ulla');
        const begun = await call('POST', '/v1/me/passkeys/options', { password: USER_PASSWORD }, user.token);
        const response = await theirs.create(begun.body);
        expect((await call('POST', '/v1/me/passkeys', { name: 'Key', response }, user.token)).status).toBe(201);
        const asOperator = await loginWith(await theirs.get(await beginUse()));
        expect([asOperator.status, asOperator.body.code]).toEqual([401, 'wrong_passkey']);
      });
    }));

  it('is removed by root when its device was lost, which ends the sessions', () =>
    withKey(async (key) => {
      const eve = await enter('eve');
      await add(key, eve, { totp: totp(eve.secret, Date.now() + 30_000) });
      const { token } = (await loginWith(await key.get(await beginUse()))).body;
      const reset = await server.call('PATCH', `/v1/operators/${eve.id}`, { reset_passkeys: true });
      expect(reset.status).toBe(200);
      expect((await loginWith(await key.get(await beginUse()))).body.code).toBe('wrong_passkey');
      expect((await call('GET', '/v1/operators/me', undefined, token)).status).toBe(401);
    }));
});
