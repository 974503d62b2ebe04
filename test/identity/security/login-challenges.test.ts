/**
 * Finding 10 of the security review: a stranger cannot stop an owner from using new devices. Past the limit of guesses, a challenge
 * admits the owner.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { totp } from '../../mail/browser/mail-page.ts';
import { awaitMail, codeIn, listMails, setRecoveryAddress } from '../../support/mail/account-mail.ts';
import { type MailUser, registerUser } from '../../support/mail/mail.ts';
import { solveProof } from '../../support/proof-of-work.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { startTurnstile, type TurnstileStandIn } from '../../support/turnstile.ts';

const PASSWORD = 'correct horse battery';
const GUESSES_PER_ADDRESS_MAX = 100;
const HOST = '127.0.0.1';
const SUBJECT = 'Code for your login';
let server: TestServer;
let olga: MailUser;
let nextClient = 0;

beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open', MAIL_HOLD_SECONDS: '0' } });
  olga = await registerUser(server, 'olga');
  await setRecoveryAddress(server, olga.token, 'olga@outside.test', PASSWORD);
});
afterAll(() => server[Symbol.asyncDispose]());

const newClient = () => `203.0.${Math.floor(nextClient / 250)}.${1 + (nextClient++ % 250)}`;
async function post(path: string, body: object, client = newClient(), more: Record<string, string> = {}) {
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'cf-connecting-ip': client, ...more },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : JSON.parse(text), headers: response.headers };
}
const login = (email: string, more: object = {}, client = newClient(), headers: Record<string, string> = {}) =>
  post('/v1/auth/login', { email, password: PASSWORD, ...more }, client, headers);
const requestCode = (email: string) => post('/v1/auth/login-code', { email }).then(({ status }) => status);

/** Makes a stranger's guesses, each from another client, until the limit by address is reached. */
async function flood(email: string): Promise<void> {
  for (let done = 0; done <= GUESSES_PER_ADDRESS_MAX; ) {
    const guesses = Array.from({ length: 10 }, () => login(email, { password: 'Summer2026!' }));
    done += (await Promise.all(guesses)).filter(({ status }) => status !== 503).length;
  }
}

describe('past the limit of guesses', () => {
  let codes: string[] = [];

  it('a code to the recovery address admits the right password from a new place, once', async () => {
    const place = newClient();
    const known = await login(olga.email, {}, place);
    const device = /device=[^;]+/.exec(known.headers.get('set-cookie') ?? '')?.[0] ?? '';
    await flood(olga.email);
    const refused = await login(olga.email);
    expect([refused.status, refused.body.code, refused.body.challenges]).toEqual([
      403,
      'challenge_required',
      ['proof_of_work', 'recovery_code_mail'],
    ]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    // A wrong password must get the same answer: the challenge comes before the check of the password.
    expect((await login(olga.email, { password: 'another guess' })).body.code).toBe('challenge_required');
    // Networks and devices from which the owner logged in before need no challenge.
    expect((await login(olga.email, {}, place)).status).toBe(200);
    expect((await login(olga.email, {}, newClient(), { cookie: device })).status).toBe(200);

    // A stranger who uses up the limit must cause at most three messages, and invalidate none of their codes.
    const statuses: number[] = [];
    for (let n = 0; n < 5; n++) statuses.push(await requestCode(olga.email));
    expect(statuses).toEqual([202, 202, 202, 429, 429]);
    await awaitMail(server, 'olga@outside.test', SUBJECT, 3);
    codes = listMails(server, 'olga@outside.test', SUBJECT).map(codeIn);
    expect(new Set(codes).size).toBe(3);
    const wrong = await login(olga.email, { mailed_code: 'aaaaa-aaaaa' });
    expect([wrong.status, wrong.body.code]).toEqual([403, 'challenge_failed']);
    // The code does not replace the password. After a mistyped password, no second code is needed.
    const newPlace = newClient();
    const mistyped = await login(olga.email, { password: 'a wrong one', mailed_code: codes[0] }, newPlace);
    expect([mistyped.status, mistyped.body.code]).toEqual([401, 'wrong_login']);
    expect((await login(olga.email, {}, newPlace)).status).toBe(200);
    const reused = await login(olga.email, { mailed_code: codes[0] });
    expect([reused.status, reused.body.code]).toEqual([403, 'challenge_failed']);
    const spelled = ` ${codes[1]?.toUpperCase().replace('-', ' ')}`;
    expect((await login(olga.email, { mailed_code: spelled })).status).toBe(200);
  });

  it('a proof of work admits the right password of an account without a recovery address, once', async () => {
    const pia = await registerUser(server, 'pia');
    await flood(pia.email);
    expect((await login(pia.email)).body.code).toBe('challenge_required');
    const proof = solveProof(pia.email);
    const place = newClient();
    const mistyped = await login(pia.email, { password: 'a wrong one', proof }, place);
    expect([mistyped.status, mistyped.body.code]).toEqual([401, 'wrong_login']);
    expect((await login(pia.email, {}, place)).status).toBe(200);
    const others = [proof, solveProof(olga.email), solveProof(pia.email, Date.now() - 3_600_000), '1.1', 'x'];
    for (const other of others) {
      const refused = await login(pia.email, { proof: other });
      expect([other, refused.status, refused.body.code]).toEqual([other, 403, 'challenge_failed']);
    }
  });

  it('an operator at a new place solves one too, and wrong guesses from elsewhere lock nobody out', async () => {
    const password = 'a long operator password';
    const made = await server.call('POST', '/v1/operators', { login: 'Opal', name: 'Opal', role: 'read', password });
    const enter = (more: object, client = newClient()) =>
      post('/v1/operators/login', { login: 'opal', password, ...more }, client);
    const code = (stepsAhead: number) => ({ totp: totp(made.body.totp.secret, Date.now() + stepsAhead * 30_000) });
    const known = newClient();
    expect((await enter(code(-1), known)).status).toBe(200);
    for (let done = 0; done <= GUESSES_PER_ADDRESS_MAX; ) {
      const guesses = Array.from({ length: 10 }, () => enter({ password: 'Summer2026!' }));
      done += (await Promise.all(guesses)).filter(({ status }) => status !== 503).length;
    }
    const refused = await enter(code(0));
    expect([refused.status, refused.body.code, refused.body.challenges]).toEqual([
      403,
      'challenge_required',
      ['proof_of_work'],
    ]);
    expect((await enter(code(0), known)).status).toBe(200);
    expect((await enter({ ...code(1), proof: solveProof('operator opal') })).status).toBe(200);
  });

  it('a code works for its account only, and an unknown address can request as many codes as a known one', async () => {
    const mallory = await registerUser(server, 'mallory');
    await setRecoveryAddress(server, mallory.token, 'mallory@outside.test', PASSWORD);
    expect(await requestCode(mallory.email)).toBe(202);
    const code = codeIn(await awaitMail(server, 'mallory@outside.test', SUBJECT));
    const stolen = await login(olga.email, { mailed_code: code });
    expect([stolen.status, stolen.body.code]).toEqual([403, 'challenge_failed']);
    const statuses: number[] = [];
    for (let n = 0; n < 4; n++) statuses.push(await requestCode('nobody@example.test'));
    expect(statuses).toEqual([202, 202, 202, 429]);
  });

  describe('with Turnstile', () => {
    let turnstile: TurnstileStandIn;
    const SECRET = '0x4AAAAAAA-secret-of-the-test';
    const issue = (token: string, action: string, hostname = HOST) => {
      turnstile.tokens.set(token, { action, hostname });
      return token;
    };
    const register = (name: string, more: object = {}) =>
      post('/v1/auth/register', { email: `${name}@example.test`, password: PASSWORD, name, ...more });

    beforeAll(async () => {
      turnstile = await startTurnstile(SECRET);
      await server.stop();
      await server.start({
        TURNSTILE_SITE_KEY: '0x4AAAAAAAsite',
        TURNSTILE_SECRET: SECRET,
        TURNSTILE_VERIFY_URL: turnstile.url,
      });
    });
    beforeEach(() => {
      turnstile.mode = 'normal';
    });
    afterAll(() => turnstile[Symbol.asyncDispose]());

    it('registration needs a token for this page and form, once', async () => {
      const missing = await register('ada');
      expect([missing.status, missing.body.code, missing.body.challenges]).toEqual([
        403,
        'challenge_required',
        ['turnstile'],
      ]);
      for (const token of ['unknown', issue('1', 'login'), issue('2', 'register', 'evil.test')]) {
        const { status, body } = await register('ada', { turnstile: token });
        expect([token, status, body.code]).toEqual([token, 403, 'challenge_failed']);
      }
      expect((await register('ada', { turnstile: issue('good', 'register') })).status).toBe(201);
      expect((await register('bert', { turnstile: 'good' })).body.code).toBe('challenge_failed');
      expect(turnstile.requests.at(-1)).toMatchObject({ secret: SECRET, response: 'good' });
    });

    it('registration fails closed when Turnstile is slow or has a fault, and survives a lost answer', async () => {
      for (const mode of ['hang', 'fault'] as const) {
        turnstile.mode = mode;
        const { status, body, headers } = await register('carl', { turnstile: issue(mode, 'register') });
        expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'challenge_unavailable', '10']);
      }
      turnstile.mode = 'lose';
      expect((await register('carl', { turnstile: issue('lost', 'register') })).status).toBe(201);
      const [first, second] = turnstile.requests.slice(-2).map(({ idempotency_key }) => idempotency_key);
      expect(second).toBe(first);
    });

    it('a token admits a login and its second step; a mailed code does if Turnstile is down', async () => {
      const { body: setup } = await server.call('POST', '/v1/me/totp', { password: PASSWORD }, olga.token);
      const first = { totp: totp(setup.secret, Date.now() - 30_000) };
      expect((await server.call('POST', '/v1/me/totp/confirm', first, olga.token)).status).toBe(200);
      const refused = await login(olga.email);
      expect([refused.status, refused.body.challenges]).toEqual([403, ['turnstile', 'recovery_code_mail']]);
      const failed = await login(olga.email, { turnstile: issue('3', 'register') });
      expect([failed.status, failed.body.code]).toEqual([403, 'challenge_failed']);
      const place = newClient();
      const admitted = await login(olga.email, { turnstile: issue('4', 'login') }, place);
      expect([admitted.status, admitted.body.code]).toEqual([401, 'second_factor_required']);
      expect((await login(olga.email, { totp: totp(setup.secret, Date.now()) }, place)).status).toBe(200);

      turnstile.mode = 'fault';
      const down = await login(olga.email, { turnstile: issue('5', 'login') });
      expect([down.status, down.body.code, down.body.challenges]).toEqual([
        403,
        'challenge_required',
        ['recovery_code_mail'],
      ]);
      expect((await login(olga.email, { mailed_code: codes[2] })).body.code).toBe('second_factor_required');
    });
  });
});
