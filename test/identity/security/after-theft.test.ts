/** Tests what a new password ends of what a thief's session set up, and what it shows to the owner. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { awaitMail, listMails, resetTokenIn, setRecoveryAddress } from '../../support/mail/account-mail.ts';
import { confirmSession, type MailUser, registerUser } from '../../support/mail/mail.ts';
import { hasFido2, withSecurityKey } from '../../support/security-key.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const PASSWORD = 'correct horse battery';
const NEW_PASSWORD = 'staple of the horse';
const HOUR_SECONDS = 3_600;
const VARS = { REGISTRATION: 'open', OWN_ACCESS_KEYS: 'true', MAIL_HOLD_SECONDS: '0' };
let server: TestServer;

beforeAll(async () => {
  server = await startServer({ vars: VARS });
});
afterAll(() => server[Symbol.asyncDispose]());

const call = (method: string, path: string, body: unknown, token: string | null) =>
  server.call(method, path, body, token);
const login = (email: string, password = PASSWORD) => call('POST', '/v1/auth/login', { email, password }, null);
const review = async (token: string) => (await call('GET', '/v1/me/security-review', undefined, token)).body;
const listKeys = async (token: string): Promise<string[]> =>
  (await call('GET', '/v1/me/access-keys', undefined, token)).body.data.map(
    ({ access_key_id }: { access_key_id: string }) => access_key_id,
  );

/** Makes an access key and an app token in a session. */
async function setUp(token: string): Promise<{ keyId: string; appToken: string }> {
  const key = await call('POST', '/v1/me/access-keys', { password: PASSWORD }, token);
  const app = await call('POST', '/v1/me/tokens', { name: 'program', password: PASSWORD }, token);
  expect([key.status, app.status]).toEqual([201, 201]);
  return { keyId: key.body.access_key_id, appToken: app.body.token };
}

/** Leads the mail of a user elsewhere, in a session of a thief. */
async function forward(user: MailUser, thief: string, to: string): Promise<void> {
  await confirmSession(server, thief);
  const asked = await call('POST', '/v1/me/forward-targets', { email: to, password: PASSWORD }, thief);
  expect([asked.status, asked.body.code]).toEqual([202, undefined]);
  const mail = await awaitMail(server, to, `${user.email} asks to forward mail to you`);
  const code = /\b\d{8}\b/.exec(mail)?.[0];
  expect((await call('POST', '/v1/me/forward-targets/confirm', { email: to, code }, thief)).status).toBe(204);
  const filter = { name: 'quiet', conditions: [], actions: [{ type: 'forward', to }] };
  await confirmSession(server, thief);
  expect((await call('POST', '/v1/filters', filter, thief)).status).toBe(201);
}

describe('a new password', () => {
  it('ends the keys that other sessions made, and keeps those of its own session', async () => {
    const owner = await registerUser(server, 'victim');
    const own = await setUp(owner.token);
    const thief = (await login(owner.email)).body.token;
    const stolen = await setUp(thief);
    const changed = await call(
      'POST',
      '/v1/me/password',
      { password: PASSWORD, new_password: NEW_PASSWORD },
      owner.token,
    );
    expect(changed.status).toBe(204);
    expect(await listKeys(owner.token)).toEqual([own.keyId]);
    expect((await call('GET', '/v1/folders', undefined, stolen.appToken)).status).toBe(401);
    const { pending, ended } = await review(owner.token);
    expect(pending).toBe(true);
    expect(ended.map(({ kind, name }: { kind: string; name: string }) => [kind, name]).sort()).toEqual([
      ['access_key', stolen.keyId],
      ['token', 'program'],
      ['token', 'program'],
    ]);
  });

  it('keeps what was made before the given time', async () => {
    const owner = await registerUser(server, 'patient');
    const other = (await login(owner.email)).body.token;
    const { keyId } = await setUp(other);
    const since = new Date(Date.now() + 60_000).toISOString();
    const body = { password: PASSWORD, new_password: NEW_PASSWORD, since, keep_tokens: true };
    expect((await call('POST', '/v1/me/password', body, owner.token)).status).toBe(204);
    expect(await listKeys(owner.token)).toEqual([keyId]);
    expect((await review(owner.token)).ended).toEqual([]);
  });

  it('shows what leads mail or the account elsewhere, until the owner has seen it', async () => {
    const owner = await registerUser(server, 'shown');
    const thief = (await login(owner.email)).body.token;
    await forward(owner, thief, 'thief@outside.test');
    await setRecoveryAddress(server, thief, 'thief@outside.test', PASSWORD);
    expect((await call('GET', '/v1/me', undefined, owner.token)).body.security_review).toBe(false);
    const body = { password: PASSWORD, new_password: NEW_PASSWORD };
    expect((await call('POST', '/v1/me/password', body, owner.token)).status).toBe(204);
    expect((await call('GET', '/v1/me', undefined, owner.token)).body.security_review).toBe(true);
    const { open } = await review(owner.token);
    expect(open.map(({ kind, name }: { kind: string; name: string }) => [kind, name])).toEqual([
      ['recovery_address', 'thief@outside.test'],
      ['forward_target', 'thief@outside.test'],
      ['filter', 'quiet'],
    ]);
    for (const { remove } of open) {
      const removed = await call('DELETE', remove, { password: NEW_PASSWORD }, owner.token);
      expect([remove, removed.status]).toEqual([remove, 204]);
    }
    expect((await review(owner.token)).open).toEqual([]);
    expect((await call('POST', '/v1/me/security-review/done', undefined, owner.token)).status).toBe(204);
    expect((await call('GET', '/v1/me', undefined, owner.token)).body.security_review).toBe(false);
  });

  it('by a link ends what every session made', async () => {
    const owner = await registerUser(server, 'locked-out');
    const { appToken } = await setUp((await login(owner.email)).body.token);
    await setUp(owner.token);
    const link = await server.call('POST', `/v1/accounts/${owner.userId}/password-reset`);
    const reset = { token: resetTokenIn(link.body.url), password: NEW_PASSWORD };
    expect((await call('POST', '/v1/auth/reset', reset, null)).status).toBe(204);
    const { token } = (await login(owner.email, NEW_PASSWORD)).body;
    expect(await listKeys(token)).toEqual([]);
    expect((await call('GET', '/v1/folders', undefined, appToken)).status).toBe(401);
    expect((await review(token)).ended).toHaveLength(4);
  });

  it.skipIf(!hasFido2)('ends the passkey of a thief, and does not lock the owner out with it', async () => {
    const base = server.url.replace('127.0.0.1', 'localhost');
    const ask = async (method: string, path: string, body: unknown, token: string | null) => {
      const headers = { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) };
      const response = await fetch(base + path, { method, headers, body: JSON.stringify(body) });
      return { status: response.status, body: JSON.parse((await response.text()) || '{}') };
    };
    await withSecurityKey(base, async (key) => {
      const owner = await registerUser(server, 'passkeyed');
      const thief = (await login(owner.email)).body.token;
      const options = (await ask('POST', '/v1/me/passkeys/options', { password: PASSWORD }, thief)).body;
      const added = await ask('POST', '/v1/me/passkeys', { name: 'Mine', response: await key.create(options) }, thief);
      expect(added.status).toBe(201);
      const rule = { needs_passkey: true, password: PASSWORD };
      expect((await ask('PUT', '/v1/me/password/rule', rule, thief)).status).toBe(204);
      const link = await server.call('POST', `/v1/accounts/${owner.userId}/password-reset`);
      const reset = { token: resetTokenIn(link.body.url), password: NEW_PASSWORD };
      expect((await call('POST', '/v1/auth/reset', reset, null)).status).toBe(204);
      const challenge = (await ask('POST', '/v1/auth/passkey/options', {}, null)).body;
      const entered = await ask('POST', '/v1/auth/passkey/login', { response: await key.get(challenge) }, null);
      expect(entered.body.code).toBe('wrong_passkey');
      expect((await login(owner.email, NEW_PASSWORD)).status).toBe(200);
    });
  });
});

it('a new recovery address works after 72 hours, and the former one until then', async () => {
  const user = await registerUser(server, 'mover');
  const [old, stolen] = ['old@outside.test', 'stolen@outside.test'];
  await setRecoveryAddress(server, user.token, old, PASSWORD);
  await setRecoveryAddress(server, user.token, stolen, PASSWORD);
  expect(await awaitMail(server, old, 'Recovery address removed')).toContain('mover@example.test');
  // The former owner hears of further changes, because the thief reads and deletes notices in the mailbox.
  const notice = Buffer.from('Security notice: Recovery address changed').toString('base64');
  await awaitMail(server, old, `=?utf-8?B?${notice}?=`, 2);
  const { body } = await call('GET', '/v1/me/recovery-address', undefined, user.token);
  expect([body.email, body.former_email, Date.parse(body.works_from) > Date.now() + 71 * HOUR_SECONDS * 1000]).toEqual([
    stolen,
    old,
    true,
  ]);
  const forgot = () => call('POST', '/v1/auth/forgot', { email: user.email }, null);
  expect((await forgot()).status).toBe(202);
  await awaitMail(server, old, 'Set a new password');
  expect(listMails(server, stolen, 'Set a new password')).toEqual([]);
  await server.stop();
  await server.start({ CLOCK_OFFSET_SECONDS: String(73 * HOUR_SECONDS) });
  expect((await forgot()).status).toBe(202);
  await awaitMail(server, stolen, 'Set a new password');
  expect(listMails(server, old, 'Set a new password')).toHaveLength(1);
});
