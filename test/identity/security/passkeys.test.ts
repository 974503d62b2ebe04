/** Tests passkeys, with a security key in software on Debian's python3-fido2, which shares no code with the server. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { totp } from '../../mail/browser/mail-page.ts';
import { resetTokenIn } from '../../support/mail/account-mail.ts';
import { type MailUser, registerUser } from '../../support/mail/mail.ts';
import { hasFido2, SecurityKey, withSecurityKey } from '../../support/security-key.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const PASSWORD = 'correct horse battery';

let server: TestServer;
let base = '';

beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open' } });
  // Host of the page. Passkeys belong to a domain: `localhost` is a domain, an IP address is not.
  base = server.url.replace('127.0.0.1', 'localhost');
});
afterAll(() => server[Symbol.asyncDispose]());

// biome-ignore lint/suspicious/noExplicitAny: responses of the API and of the device; each test asserts the members it needs
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

const beginAdding = async (token: string, confirmation: object = { password: PASSWORD }) =>
  (await call('POST', '/v1/me/passkeys/options', confirmation, token)).body;
const add = (token: string, response: Json, name = 'Key') => call('POST', '/v1/me/passkeys', { name, response }, token);
const beginLogin = async () => (await call('POST', '/v1/auth/passkey/options')).body;
const login = (response: Json) => call('POST', '/v1/auth/passkey/login', { response });
const loginByPassword = (email: string, more: object = {}) =>
  call('POST', '/v1/auth/login', { email, password: PASSWORD, ...more });
const remove = (token: string, id: string, confirmation: object = { password: PASSWORD }) =>
  call('DELETE', `/v1/me/passkeys/${id}`, confirmation, token);

const withKey = <T>(work: (key: SecurityKey) => Promise<T>): Promise<T> => withSecurityKey(base, work);
async function addKey(key: SecurityKey, user: MailUser, name = 'Key'): Promise<string> {
  const added = await add(user.token, await key.create(await beginAdding(user.token)), name);
  expect([added.status, added.body.code]).toEqual([201, undefined]);
  return added.body.passkey_id;
}

describe.skipIf(!hasFido2)('a passkey', () => {
  it('is added by a confirmed session, listed with its last use, renamed and removed', () =>
    withKey(async (key) => {
      const user = await registerUser(server, 'ada');
      const unconfirmed = await call('POST', '/v1/me/passkeys/options', {}, user.token);
      expect([unconfirmed.status, unconfirmed.body.code]).toEqual([403, 'confirmation_required']);
      const id = await addKey(key, user, 'Blue key');
      const second = await withKey((other) => addKey(other, user, 'Spare'));
      expect((await login(await key.get(await beginLogin()))).status).toBe(200);
      expect((await call('PATCH', `/v1/me/passkeys/${id}`, { name: 'Red key' }, user.token)).status).toBe(200);
      const { data } = (await call('GET', '/v1/me/passkeys', undefined, user.token)).body;
      const used = expect.stringMatching(/^\d{4}-/);
      expect(data).toEqual([
        { passkey_id: id, name: 'Red key', created_at: used, last_used_at: used },
        { passkey_id: second, name: 'Spare', created_at: used, last_used_at: null },
      ]);
      const other = await registerUser(server, 'bob');
      expect((await remove(other.token, id)).status).toBe(404);
      expect((await call('PATCH', `/v1/me/passkeys/${id}`, { name: 'Mine' }, other.token)).status).toBe(404);
      expect((await remove(user.token, id, {})).status).toBe(403);
      expect((await remove(user.token, id)).status).toBe(204);
      expect((await login(await key.get(await beginLogin()))).body.code).toBe('wrong_passkey');
    }));

  it('logs in alone, also with a second factor on, and names its own user', () =>
    withKey(async (key) => {
      const user = await registerUser(server, 'carol');
      await addKey(key, user);
      const { body: setup } = await call('POST', '/v1/me/totp', { password: PASSWORD }, user.token);
      await call('POST', '/v1/me/totp/confirm', { totp: totp(setup.secret, Date.now()) }, user.token);
      const { status, body } = await login(await key.get(await beginLogin()));
      expect([status, body.user?.email]).toEqual([200, user.email]);
      expect((await call('GET', '/v1/folders', undefined, body.token)).status).toBe(200);
    }));

  it('opens no session while its user is suspended', () =>
    withKey(async (key) => {
      const user = await registerUser(server, `eve-${crypto.randomUUID().slice(0, 8)}`);
      await addKey(key, user);
      const path = `/v1/accounts/${user.userId}/suspension`;
      expect((await call('PUT', path, { reason: 'abuse' }, server.rootToken)).status).toBe(200);
      const refused = await login(await key.get(await beginLogin()));
      expect([refused.status, refused.body.code]).toEqual([403, 'account_suspended']);
      expect((await call('DELETE', path, undefined, server.rootToken)).status).toBe(204);
      expect((await login(await key.get(await beginLogin()))).status).toBe(200);
    }));

  it('replaces the code of the second factor after the password', () =>
    withKey(async (key) => {
      const user = await registerUser(server, 'dave');
      await addKey(key, user);
      expect((await loginByPassword(user.email)).status).toBe(200);
      const rule = { needs_passkey: true, password: PASSWORD };
      expect((await call('PUT', '/v1/me/password/rule', rule, user.token)).status).toBe(204);
      const asked = await loginByPassword(user.email);
      expect([asked.status, asked.body.code]).toEqual([401, 'second_factor_required']);
      const passkey = await key.get(await beginLogin());
      expect((await loginByPassword(user.email, { password: 'not it', passkey })).body.code).toBe('wrong_login');
      expect((await loginByPassword(user.email, { passkey })).status).toBe(200);
      expect((await loginByPassword(user.email, { passkey })).body.code).toBe('wrong_second_factor');
      // A passkey of another account must not count as a second factor.
      const other = await registerUser(server, 'erin');
      const foreign = await withKey(async (theirs) => {
        await addKey(theirs, other);
        return theirs.get(await beginLogin());
      });
      expect((await loginByPassword(user.email, { passkey: foreign })).body.code).toBe('wrong_second_factor');
    }));

  it('can be the only factor, and the last way in cannot be removed', () =>
    withKey(async (key) => {
      const user = await registerUser(server, 'frank');
      expect((await call('DELETE', '/v1/me/password', { password: PASSWORD }, user.token)).body.code).toBe(
        'no_passkey',
      );
      const id = await addKey(key, user);
      expect((await call('DELETE', '/v1/me/password', { password: PASSWORD }, user.token)).status).toBe(204);
      expect((await loginByPassword(user.email)).body.code).toBe('wrong_login');
      const profile = (await call('GET', '/v1/me', undefined, user.token)).body;
      expect([profile.has_password, profile.password_needs_passkey]).toEqual([false, false]);
      const { body } = await login(await key.get(await beginLogin()));
      const confirm = async () => ({ passkey: await key.get(await beginLogin()) });
      const refused = await remove(body.token, id, await confirm());
      expect([refused.status, refused.body.code]).toEqual([409, 'last_way_in']);
      // With a spare passkey, one of the two can be removed. Two removals at once must leave one of them.
      const spare = new SecurityKey(base);
      const options = await beginAdding(body.token, await confirm());
      const spareId = (await add(body.token, await spare.create(options))).body.passkey_id;
      const [first, second] = [await confirm(), { passkey: await spare.get(await beginLogin()) }];
      spare.stop();
      const removals = await Promise.all([remove(body.token, id, first), remove(body.token, spareId, second)]);
      expect(removals.map(({ status }) => status).sort()).toEqual([204, 409]);
      // A reset link of the operator gives the account a password again.
      const link = await server.call('POST', `/v1/accounts/${user.userId}/password-reset`);
      const reset = { token: resetTokenIn(link.body.url), password: PASSWORD };
      expect((await call('POST', '/v1/auth/reset', reset)).status).toBe(204);
      expect((await loginByPassword(user.email)).status).toBe(200);
    }));

  it('is not the last way in while the password logs in alone', () =>
    withKey(async (key) => {
      const user = await registerUser(server, 'grace');
      const id = await addKey(key, user);
      const rule = (needs_passkey: boolean, confirmation: object) =>
        call('PUT', '/v1/me/password/rule', { needs_passkey, ...confirmation }, user.token);
      const confirm = async () => ({ passkey: await key.get(await beginLogin()) });
      expect((await rule(true, { password: PASSWORD })).status).toBe(204);
      // Now the password alone must no longer confirm an action either.
      expect((await remove(user.token, id)).body.code).toBe('second_factor_required');
      expect((await remove(user.token, id, await confirm())).body.code).toBe('last_way_in');
      expect((await rule(false, await confirm())).status).toBe(204);
      expect((await remove(user.token, id)).status).toBe(204);
      expect((await rule(true, { password: PASSWORD })).body.code).toBe('no_passkey');
    }));
});

describe.skipIf(!hasFido2)('a confirmed session', () => {
  it('is confirmed by a passkey of its own user, once, and cannot prolong itself', () =>
    withKey(async (key) => {
      const [user, other] = [await registerUser(server, 'kim'), await registerUser(server, 'lea')];
      await addKey(key, user);
      const confirm = (token: string, body: object) => call('POST', '/v1/auth/confirm', body, token);
      expect((await confirm(other.token, { passkey: await key.get(await beginLogin()) })).body.code).toBe(
        'wrong_passkey',
      );
      const passkey = await key.get(await beginLogin());
      expect((await confirm(user.token, { passkey })).status).toBe(204);
      expect((await confirm(user.token, { passkey })).body.code).toBe('wrong_passkey');
      expect((await call('POST', '/v1/me/passkeys/options', undefined, user.token)).status).toBe(200);
      const empty = await confirm(user.token, {});
      expect([empty.status, empty.body.errors?.[0]?.path]).toEqual([400, 'password']);
    }));
});

describe.skipIf(!hasFido2)('a ceremony', () => {
  it('fails for another origin, without user verification, and for a replayed or foreign challenge', () =>
    withKey(async (key) => {
      const [user, other] = [await registerUser(server, 'heidi'), await registerUser(server, 'ivan')];
      const bad = [
        { origin: 'https://evil.test' },
        { origin: base.replace(/:\d+$/, ':1') },
        { uv: false },
        { attestation: 'packed', certificate: true },
      ];
      for (const more of bad) {
        const { status, body } = await add(user.token, await key.create(await beginAdding(user.token), more));
        expect([more, status, body.code]).toEqual([more, 400, 'invalid_passkey']);
      }
      const options = await beginAdding(user.token);
      const elsewhere = await key.create({ ...options, rp: { ...options.rp, id: 'evil.test' } });
      expect((await add(user.token, elsewhere)).status).toBe(400);
      // New options must invalidate earlier ones, and work only for the account that requested them.
      const [old, current] = [await beginAdding(user.token), await beginAdding(user.token)];
      expect((await add(user.token, await key.create(old))).status).toBe(400);
      const answer = await key.create(current);
      expect((await add(other.token, answer)).status).toBe(400);
      expect((await add(user.token, answer)).status).toBe(201);
      expect((await add(user.token, answer)).status).toBe(400);
      expect((await key.create(await beginAdding(user.token))).error).toBeDefined();

      for (const more of [{ origin: 'https://evil.test' }, { uv: false }]) {
        const { status, body } = await login(await key.get(await beginLogin(), more));
        expect([more, status, body.code]).toEqual([more, 401, 'wrong_passkey']);
      }
      const assertion = await key.get(await beginLogin());
      const tampered = { ...assertion.response, userHandle: Buffer.from(other.userId).toString('base64url') };
      expect((await login({ ...assertion, response: tampered })).status).toBe(401);
      const invented = await key.get({ ...(await beginLogin()), challenge: 'A'.repeat(43) });
      expect((await login(invented)).status).toBe(401);
      // Options for adding a passkey must not work for a login.
      const crossed = await key.get({ ...(await beginLogin()), challenge: (await beginAdding(user.token)).challenge });
      expect((await login(crossed)).status).toBe(401);
      expect((await login(assertion)).status).toBe(200);
      expect((await login(assertion)).status).toBe(401);
    }));

  it('fails when the counter does not increase, and when its options expired', () =>
    withKey(async (key) => {
      const user = await registerUser(server, 'judy');
      const added = await key.create(await beginAdding(user.token), { attestation: 'packed' });
      expect((await add(user.token, added)).status).toBe(201);
      expect((await login(await key.get(await beginLogin(), { counter: 7 }))).status).toBe(200);
      // A stolen copy of the device would sign with an old counter, so such counters must be refused.
      for (const counter of [7, 3]) {
        expect((await login(await key.get(await beginLogin(), { counter }))).body.code).toBe('wrong_passkey');
      }
      const concurrent = [
        await key.get(await beginLogin(), { counter: 9 }),
        await key.get(await beginLogin(), { counter: 9 }),
      ];
      const answers = await Promise.all(concurrent.map(login));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 401]);
      const late = await key.get(await beginLogin(), { counter: 20 });
      await server.stop();
      await server.start({ CLOCK_OFFSET_SECONDS: '301' });
      expect((await login(late)).body.code).toBe('wrong_passkey');
      expect((await login(await key.get(await beginLogin(), { counter: 21 }))).status).toBe(200);
    }));
});
