/** Tests the recovery of an account: links of the operator, links to the recovery address, and which credentials they end. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { totp } from '../../mail/browser/mail-page.ts';
import { awaitMail, codeIn, linkIn, resetTokenIn, setRecoveryAddress } from '../../support/mail/account-mail.ts';
import { type MailUser, readSink, registerUser } from '../../support/mail/mail.ts';
import { createOperator } from '../../support/operators.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const PASSWORD = 'correct horse battery';
const NEW_PASSWORD = 'staple of the horse';
const HOUR_SECONDS = 3_600;
let server: TestServer;

beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open', MAIL_HOLD_SECONDS: '0' } });
});
afterAll(() => server[Symbol.asyncDispose]());

const login = (email: string, password: string, more: object = {}) =>
  server.call('POST', '/v1/auth/login', { email, password, ...more }, null);
const forgot = (email: string) => server.call('POST', '/v1/auth/forgot', { email }, null);
const reset = (token: string, password = NEW_PASSWORD) =>
  server.call('POST', '/v1/auth/reset', { token, password }, null);
async function operatorLink(user: MailUser): Promise<string> {
  const { status, body } = await server.call('POST', `/v1/accounts/${user.userId}/password-reset`);
  expect([status, body.code]).toEqual([201, undefined]);
  return resetTokenIn(body.url);
}

const readMail = (to: string, subject: string, count = 1) => awaitMail(server, to, subject, count);
const setRecovery = (user: MailUser, email: string) => setRecoveryAddress(server, user.token, email, PASSWORD);

describe("an operator's link", () => {
  it('sets a password once, and ends sessions, app tokens and sockets', async () => {
    const user = await registerUser(server, 'walter');
    const app = await server.call('POST', '/v1/me/tokens', { name: 'phone', password: PASSWORD }, user.token);
    const appToken: string = app.body.token;
    expect((await server.call('GET', '/v1/folders', undefined, appToken)).status).toBe(200);
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/v1/events`, {
      headers: { authorization: `Bearer ${user.token}` },
    } as unknown as string[]);
    await new Promise((resolve, reject) => Object.assign(socket, { onopen: resolve, onerror: reject }));
    const closed = new Promise((resolve) => Object.assign(socket, { onclose: resolve }));
    const token = await operatorLink(user);
    expect((await reset(token)).status).toBe(204);
    await closed;
    expect((await server.call('GET', '/v1/folders', undefined, user.token)).status).toBe(401);
    expect((await server.call('GET', '/v1/folders', undefined, appToken)).status).toBe(401);
    expect((await login(user.email, PASSWORD)).status).toBe(401);
    expect((await login(user.email, NEW_PASSWORD)).status).toBe(200);
    const again = await reset(token, 'yet another password');
    expect([again.status, again.body.code]).toEqual([400, 'invalid_reset_token']);
    expect((await login(user.email, NEW_PASSWORD)).status).toBe(200);
  });

  it('is mailed to the recovery address if the operator may not read mail', async () => {
    const user = await registerUser(server, 'helped');
    const support = await createOperator(server, 'support');
    const ask = () => server.call('POST', `/v1/accounts/${user.userId}/password-reset`, undefined, support.token);
    const without = await ask();
    expect([without.status, without.body.code, without.body.url]).toEqual([409, 'no_recovery_address', undefined]);
    await setRecovery(user, 'helped@recovery.example');
    const mailed = await ask();
    expect([mailed.status, Object.keys(mailed.body)]).toEqual([202, ['expires_at']]);
    const mail = await readMail('helped@recovery.example', 'Set a new password');
    expect((await reset(resetTokenIn(linkIn(mail)))).status).toBe(204);
    const admin = await createOperator(server, 'admin');
    const link = await server.call('POST', `/v1/accounts/${user.userId}/password-reset`, undefined, admin.token);
    expect([link.status, typeof link.body.url]).toEqual([201, 'string']);
  });

  it('is used by one of two concurrent requests', async () => {
    const user = await registerUser(server, 'race');
    const token = await operatorLink(user);
    const passwords = ['first of two passwords', 'second of two passwords'];
    const answers = await Promise.all(passwords.map((password) => reset(token, password)));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 400]);
    const winner = answers[0]?.status === 204 ? 0 : 1;
    expect((await login(user.email, passwords[winner] ?? '')).status).toBe(200);
    expect((await login(user.email, passwords[1 - winner] ?? '')).status).toBe(401);
  });

  it('is replaced by a newer one', async () => {
    const user = await registerUser(server, 'twice');
    const [older, newer] = [await operatorLink(user), await operatorLink(user)];
    expect((await reset(older)).status).toBe(400);
    expect((await reset(newer)).status).toBe(204);
  });

  it('refuses common passwords and stays valid', async () => {
    const user = await registerUser(server, 'common');
    const token = await operatorLink(user);
    for (const password of ['password123', 'short']) {
      const refused = await reset(token, password);
      expect([refused.status, refused.body.errors?.[0]?.path]).toEqual([400, 'password']);
    }
    expect((await reset(token)).status).toBe(204);
  });

  it('needs an operator and an account', async () => {
    const user = await registerUser(server, 'plain');
    const path = `/v1/accounts/${user.userId}/password-reset`;
    expect((await server.call('POST', path, undefined, user.token)).status).toBe(403);
    expect((await server.call('POST', path, undefined, null)).status).toBe(401);
    const missing = await server.call('POST', '/v1/accounts/nobody/password-reset');
    expect([missing.status, missing.body.code]).toEqual([404, 'no_such_account']);
  });

  it('does not replace the second factor', async () => {
    const user = await registerUser(server, 'careful');
    const { body: setup } = await server.call('POST', '/v1/me/totp', { password: PASSWORD }, user.token);
    const first = { totp: totp(setup.secret, Date.now()) };
    const { body } = await server.call('POST', '/v1/me/totp/confirm', first, user.token);
    expect((await reset(await operatorLink(user))).status).toBe(204);
    const without = await login(user.email, NEW_PASSWORD);
    expect([without.status, without.body.code]).toEqual([401, 'second_factor_required']);
    const recovered = await login(user.email, NEW_PASSWORD, { recovery_code: body.recovery_codes[0] });
    expect([recovered.status, recovered.body.user?.recovery_codes_left]).toEqual([200, 9]);
    // New recovery codes must invalidate the old ones.
    const { token } = recovered.body;
    const unconfirmed = await server.call('POST', '/v1/me/totp/recovery-codes', {}, token);
    expect([unconfirmed.status, unconfirmed.body.code]).toEqual([403, 'confirmation_required']);
    const confirmation = { password: NEW_PASSWORD, totp: totp(setup.secret, Date.now() + 30_000) };
    const renewed = await server.call('POST', '/v1/me/totp/recovery-codes', confirmation, token);
    expect(renewed.body.recovery_codes).toHaveLength(10);
    expect((await login(user.email, NEW_PASSWORD, { recovery_code: body.recovery_codes[1] })).status).toBe(401);
    const [fresh] = renewed.body.recovery_codes;
    expect((await login(user.email, NEW_PASSWORD, { recovery_code: fresh })).status).toBe(200);
  });
});

describe('a recovery address', () => {
  it('needs the password and a code that was mailed to it', async () => {
    const user = await registerUser(server, 'rita');
    const path = '/v1/me/recovery-address';
    const email = 'rita@outside.test';
    const unconfirmed = await server.call('PUT', path, { email }, user.token);
    expect([unconfirmed.status, unconfirmed.body.code]).toEqual([403, 'confirmation_required']);
    const wrong = await server.call('PUT', path, { email, password: 'not the password' }, user.token);
    expect([wrong.status, wrong.body.code]).toEqual([403, 'wrong_password']);
    expect((await server.call('PUT', path, { email: user.email, password: PASSWORD }, user.token)).status).toBe(400);
    expect((await server.call('PUT', path, { email, password: PASSWORD }, user.token)).status).toBe(202);
    expect((await server.call('GET', path, undefined, user.token)).body).toMatchObject({
      email: null,
      pending_email: email,
    });
    expect((await server.call('GET', '/v1/me', undefined, user.token)).body.recovery_address).toBeNull();
    const bad = await server.call('POST', `${path}/confirm`, { code: 'aaaaa-aaaaa' }, user.token);
    expect([bad.status, bad.body.code]).toEqual([400, 'wrong_code']);
    const code = codeIn(await readMail(email, 'Confirm your recovery address'));
    const other = await registerUser(server, 'stranger');
    expect((await server.call('POST', `${path}/confirm`, { code }, other.token)).status).toBe(400);
    expect((await server.call('POST', `${path}/confirm`, { code }, user.token)).status).toBe(204);
    expect((await server.call('POST', `${path}/confirm`, { code }, user.token)).status).toBe(400);
    expect((await server.call('GET', '/v1/me', undefined, user.token)).body.recovery_address).toBe(email);
  });

  it('receives a notice when it is replaced or removed', async () => {
    const user = await registerUser(server, 'mover');
    await setRecovery(user, 'old@outside.test');
    await setRecovery(user, 'new@outside.test');
    expect(await readMail('old@outside.test', 'Recovery address removed')).toContain('mover@example.test');
    const path = '/v1/me/recovery-address';
    expect((await server.call('DELETE', path, {}, user.token)).status).toBe(403);
    expect((await server.call('DELETE', path, { password: PASSWORD }, user.token)).status).toBe(204);
    // The new address never counted. Until 72 hours have passed the old one does.
    await readMail('old@outside.test', 'Recovery address removed', 2);
    expect((await server.call('GET', path, undefined, user.token)).body).toMatchObject({
      email: null,
      former_email: 'old@outside.test',
    });
    expect((await forgot(user.email)).status).toBe(202);
    await readMail('old@outside.test', 'Set a new password');
    const links = readSink(server).filter(({ raw }) => raw.includes('Subject: Set a new password'));
    expect(links.flatMap(({ envelope }) => envelope.to)).not.toContain('new@outside.test');
  });

  it('cannot be used to send codes to strangers without end', async () => {
    const user = await registerUser(server, 'bomber');
    const statuses: number[] = [];
    for (let n = 0; n < 7; n++) {
      const body = { email: 'victim@outside.test', password: PASSWORD };
      statuses.push((await server.call('PUT', '/v1/me/recovery-address', body, user.token)).status);
    }
    expect(statuses).toEqual([202, 202, 202, 202, 202, 429, 429]);
  });
});

describe('a forgotten password', () => {
  it('gets a link at the recovery address only, and the newest link works once', async () => {
    const user = await registerUser(server, 'fiona');
    await setRecovery(user, 'fiona@outside.test');
    expect((await forgot('Fiona@Example.test ')).status).toBe(202);
    const first = linkIn(await readMail('fiona@outside.test', 'Set a new password'));
    expect(first.startsWith(`${server.url}/_/mail#/reset/`)).toBe(true);
    expect((await forgot(user.email)).status).toBe(202);
    const second = linkIn(await readMail('fiona@outside.test', 'Set a new password', 2));
    expect((await reset(resetTokenIn(first))).status).toBe(400);
    expect((await reset(resetTokenIn(second))).status).toBe(204);
    expect((await reset(resetTokenIn(second))).status).toBe(400);
    expect((await login(user.email, NEW_PASSWORD)).status).toBe(200);
    expect(readSink(server).filter(({ envelope }) => envelope.to.includes(user.email))).toEqual([]);
  });

  it('answers unknown addresses, addresses without recovery and known ones alike, with the same limit', async () => {
    await registerUser(server, 'lonely');
    const known = await registerUser(server, 'known');
    await setRecovery(known, 'known@outside.test');
    const answers: unknown[] = [];
    for (const email of ['nobody@example.test', 'lonely@example.test', known.email, 'x@elsewhere.test', 'no address']) {
      const statuses: unknown[] = [];
      for (let n = 0; n < 4; n++) {
        const { status, body, headers } = await forgot(email);
        statuses.push([status, body.code, body.detail, headers.has('retry-after')]);
      }
      answers.push(statuses);
    }
    const refused = [429, 'too_many_guesses', 'Too many attempts. Wait, then retry.', true];
    for (const statuses of answers) {
      expect(statuses).toEqual([...new Array(3).fill([202, undefined, undefined, false]), refused]);
    }
  });

  it('has a link that expires within an hour, and an operator link stays valid beside it', async () => {
    const user = await registerUser(server, 'slow');
    await setRecovery(user, 'slow@outside.test');
    await forgot(user.email);
    const token = resetTokenIn(linkIn(await readMail('slow@outside.test', 'Set a new password')));
    await server.stop();
    await server.start({ CLOCK_OFFSET_SECONDS: String(HOUR_SECONDS - 120) });
    const given = await operatorLink(user);
    await forgot(user.email);
    await server.stop();
    await server.start({ CLOCK_OFFSET_SECONDS: String(HOUR_SECONDS + 1) });
    expect((await reset(token)).status).toBe(400);
    expect((await reset(given)).status).toBe(204);
    await server.stop();
    await server.start({ CLOCK_OFFSET_SECONDS: '0' });
  });
});
