/** Attacks on logins, sessions, cookies, second factors and account recovery. */

import { codeAt } from '../../../support/totp.ts';
import { type Attack, parsed, type Reply, send, sendJson } from './attack.ts';
import { cookieOf, PASSWORD, registerPerson, type World } from './world.ts';

const FOREIGN_ORIGINS = ['https://evil.test', 'null', 'http://127.0.0.1', 'http://127.0.0.1.evil.test', ''];

const login = (world: World, email: string, more: object = {}) =>
  sendJson(world, 'POST', '/v1/auth/login', null, { email, password: PASSWORD, ...more });

/** A cross-site request that writes with the victim's cookie (CSRF). */
const forged = (
  name: string,
  headers: Record<string, string>,
  method = 'PATCH',
  path = '/v1/me',
  body = '{"name":"forged"}',
): Attack => ({
  name: `with the cookie, ${name}`,
  attempt: (world) =>
    send(world, method, path, {
      headers: { 'content-type': 'application/json', ...headers, cookie: world.victim.cookie },
      ...(body ? { body } : {}),
    }),
  refusal: [400, 401, 403, 415],
  gotThrough: async (_, { server, victim }) => {
    const { body: me } = await server.call('GET', '/v1/me', undefined, victim.token);
    return me.name === 'victim' ? null : `the name is now ${me.name}`;
  },
});

/** Sensitive actions with a session that was never confirmed. They must be refused. */
const SENSITIVE: readonly (readonly [string, string, object?])[] = [
  ['POST', '/v1/me/tokens', { name: 'x' }],
  ['POST', '/v1/me/totp', {}],
  ['DELETE', '/v1/me/totp', {}],
  ['POST', '/v1/me/totp/recovery-codes', {}],
  ['POST', '/v1/me/passkeys/options', {}],
  ['DELETE', '/v1/me/passkeys/cGFzc2tleQ', {}],
  ['PUT', '/v1/me/password/rule', { needs_passkey: true }],
  ['POST', '/v1/me/password', { new_password: 'another long password' }],
  ['DELETE', '/v1/me/password', {}],
  ['PUT', '/v1/me/recovery-address', { email: 'thief@evil.test' }],
  ['DELETE', '/v1/me/recovery-address', {}],
  ['POST', '/v1/me/addresses', { email: 'eve2@example.test' }],
  ['POST', '/v1/me/access-keys', {}],
  ['POST', '/v1/me/forward-targets', { email: 'thief@evil.test' }],
  ['GET', '/v1/export'],
  ['DELETE', '/v1/me', {}],
];

/** Logs in again to get an unconfirmed session, because set-up may have confirmed the first one. */
const freshSession = async (world: World): Promise<string> => parsed(await login(world, world.eve.email)).token;

/** Sends two requests, for an existing and for an unknown account. The answers must not differ. */
const sameAnswer = (
  name: string,
  ask: (world: World, email: string) => Promise<Reply>,
  refusal: readonly number[],
): Attack => ({
  name: `accounts enumerated by ${name}`,
  attempt: (world) => ask(world, 'nobody-at-all@example.test'),
  refusal,
  gotThrough: async (unknown, world) => {
    const known = await ask(world, world.victim.email);
    const bare = (reply: Reply) => reply.text.replace(/"request_id":"[^"]*"/, '');
    const same = known.status === unknown.status && bare(known) === bare(unknown);
    return same ? null : `${known.status} ${known.text} for an account, ${unknown.status} ${unknown.text} for none`;
  },
});

let people = 0;
/** Creates a person with a second factor. The code of the present 30-second step is used up. */
async function withSecondFactor(
  world: World,
): Promise<{ email: string; secret: string; used: string; token: string; recovery: string[] }> {
  const person = await registerPerson(world, `totp${++people}`);
  const begun = parsed(await sendJson(world, 'POST', '/v1/me/totp', person.token, { password: PASSWORD }));
  const { secret } = begun;
  const used = codeAt(secret);
  const confirmed = await sendJson(world, 'POST', '/v1/me/totp/confirm', person.token, { totp: used });
  if (confirmed.status !== 200) throw new Error(`second factor: ${confirmed.status} ${confirmed.text}`);
  return { email: person.email, token: person.token, secret, used, recovery: parsed(confirmed).recovery_codes };
}

async function resetToken(world: World, userId: string): Promise<string> {
  const { body } = await world.server.call('POST', `/v1/accounts/${userId}/password-reset`);
  return /(rst_[\w-]+)/.exec(body.url)?.[1] ?? '';
}
const reset = (world: World, token: string, password = 'a wholly new password') =>
  sendJson(world, 'POST', '/v1/auth/reset', null, { token, password });

const SECOND_FACTOR: readonly Attack[] = [
  {
    name: 'a login without the second factor',
    attempt: async (world) => login(world, (await withSecondFactor(world)).email),
    refusal: [401, 403],
  },
  {
    name: 'a code that was used to confirm the second factor, used to log in',
    attempt: async (world) => {
      const { email, used } = await withSecondFactor(world);
      return login(world, email, { totp: used });
    },
    refusal: [401, 403],
  },
  {
    name: 'a code that logged in, used again',
    attempt: async (world) => {
      const { email, secret } = await withSecondFactor(world);
      const totp = codeAt(secret, 1);
      const first = await login(world, email, { totp });
      if (first.status !== 200) throw new Error(`the first login: ${first.status} ${first.text}`);
      return login(world, email, { totp });
    },
    refusal: [401, 403],
  },
  {
    name: 'a code of five minutes ago',
    attempt: async (world) => {
      const { email, secret } = await withSecondFactor(world);
      return login(world, email, { totp: codeAt(secret, -10) });
    },
    refusal: [401, 403],
  },
  {
    name: 'an empty code',
    attempt: async (world) => login(world, (await withSecondFactor(world)).email, { totp: '' }),
    refusal: [400, 401, 403],
  },
  {
    name: 'a recovery code used twice',
    attempt: async (world) => {
      const { email, recovery } = await withSecondFactor(world);
      const first = await login(world, email, { recovery_code: recovery[0] });
      if (first.status !== 200) throw new Error(`the first login: ${first.status} ${first.text}`);
      return login(world, email, { recovery_code: recovery[0] });
    },
    refusal: [401, 403],
  },
  {
    name: 'the recovery code of another account',
    attempt: async (world) => {
      const [one, other] = [await withSecondFactor(world), await withSecondFactor(world)];
      return login(world, one.email, { recovery_code: other.recovery[0] });
    },
    refusal: [401, 403],
  },
  {
    name: 'a password reset that skips the second factor',
    attempt: async (world) => {
      const { email, token } = await withSecondFactor(world);
      const { body } = await world.server.call('GET', '/v1/me', undefined, token);
      await reset(world, await resetToken(world, body.user_id));
      return login(world, email, { password: 'a wholly new password' });
    },
    refusal: [401, 403],
  },
];

const RECOVERY: readonly Attack[] = [
  {
    name: 'a reset link used twice',
    attempt: async (world) => {
      const person = await registerPerson(world, `reset${++people}`);
      const token = await resetToken(world, person.userId);
      const first = await reset(world, token);
      if (first.status !== 204) throw new Error(`the first reset: ${first.status} ${first.text}`);
      return reset(world, token, 'yet another password');
    },
    refusal: [400, 401, 403, 404, 410],
  },
  {
    name: 'an older reset link after a newer one was used',
    attempt: async (world) => {
      const person = await registerPerson(world, `reset${++people}`);
      const older = await resetToken(world, person.userId);
      await reset(world, await resetToken(world, person.userId));
      return reset(world, older, 'yet another password');
    },
    refusal: [400, 401, 403, 404, 410],
  },
  {
    name: 'a session that outlives a password reset',
    attempt: async (world) => {
      const person = await registerPerson(world, `reset${++people}`);
      await reset(world, await resetToken(world, person.userId));
      return sendJson(world, 'GET', '/v1/me', person.token);
    },
    refusal: [401],
  },
  ...['', 'rst_', `rst_${'A'.repeat(43)}`, '%', "' OR 1=1"].map(
    (token): Attack => ({
      name: `the made-up reset token "${token}"`,
      attempt: (world) => reset(world, token),
      refusal: [400, 401, 403, 404, 410],
    }),
  ),
  {
    name: 'a made-up mailed code instead of the password',
    attempt: (world) => login(world, world.victim.email, { password: 'wrong password', mailed_code: 'aaaaa-aaaaa' }),
    refusal: [400, 401, 403],
  },
  {
    name: 'a made-up passkey instead of the password',
    attempt: (world) =>
      sendJson(world, 'POST', '/v1/auth/passkey/login', null, {
        response: {
          id: 'AA',
          rawId: 'AA',
          type: 'public-key',
          clientExtensionResults: {},
          response: { clientDataJSON: 'e30', authenticatorData: 'AA', signature: 'AA' },
        },
      }),
    refusal: [400, 401, 403],
  },
];

/** Attacks with credentials of a thief, which must stop working when the person changes the password. */
const OUTLIVING: readonly Attack[] = (['session', 'app token'] as const).map((kind) => ({
  name: `a stolen ${kind} after the owner changed the password`,
  attempt: async (world) => {
    const person = await registerPerson(world, `outlive${++people}`);
    const app = await sendJson(world, 'POST', '/v1/me/tokens', person.token, { name: 'a', password: PASSWORD });
    const stolen = kind === 'session' ? parsed(await login(world, person.email)).token : parsed(app).token;
    const was = await sendJson(world, 'GET', '/v1/folders', stolen);
    const body = { password: PASSWORD, current_password: PASSWORD, new_password: 'a wholly new password' };
    const changed = await sendJson(world, 'POST', '/v1/me/password', person.token, body);
    if (was.status !== 200 || changed.status !== 204)
      throw new Error(`${was.status} ${changed.status} ${changed.text}`);
    return sendJson(world, 'GET', '/v1/folders', stolen);
  },
  refusal: [401],
}));

export const SESSION_ATTACKS: readonly Attack[] = [
  ...FOREIGN_ORIGINS.map((origin) => forged(`a write from the origin "${origin}"`, { origin })),
  forged('a write without an origin', {}),
  forged('a write with a forged Referer only', { referer: 'http://127.0.0.1/' }),
  forged('a form from another site', { origin: 'https://evil.test', 'content-type': 'text/plain' }),
  forged('a logout from another site', { origin: 'https://evil.test' }, 'POST', '/v1/auth/logout', ''),
  forged(
    'a message sent from another site',
    { origin: 'https://evil.test' },
    'POST',
    '/v1/messages',
    '{"to":[{"email":"a@b.test"}],"subject":"x"}',
  ),
  forged('a wrong bearer token beside it', { authorization: 'Bearer ses_wrong', origin: 'https://evil.test' }),
  {
    name: 'a wrong Authorization header with a good cookie on a read',
    attempt: (world) =>
      send(world, 'GET', '/v1/me', { headers: { cookie: world.victim.cookie, authorization: 'Bearer ses_wrong' } }),
    refusal: [401],
  },
  ...['/v1/iam/users', '/v1/audit', '/v1/storage/stats', '/v1/domains'].map(
    (path): Attack => ({
      name: `the session cookie on ${path}`,
      attempt: (world) => send(world, 'GET', path, { headers: { cookie: world.victim.cookie } }),
      refusal: [401, 403],
    }),
  ),
  {
    name: 'a WebSocket of mail from another site',
    attempt: (world) =>
      send(world, 'GET', '/v1/events', {
        headers: {
          cookie: world.victim.cookie,
          origin: 'https://evil.test',
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-version': '13',
          'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        },
      }),
    refusal: [401, 403],
  },
  {
    name: 'a session identifier fixed before the login',
    attempt: (world) =>
      sendJson(
        world,
        'POST',
        '/v1/auth/login',
        null,
        { email: world.eve.email, password: PASSWORD },
        { cookie: 'session=ses_fixed' },
      ),
    refusal: [200],
    gotThrough: (reply) => (cookieOf(reply).includes('fixed') || cookieOf(reply) === '' ? cookieOf(reply) : null),
  },
  {
    name: 'a session cookie that scripts or other sites may use',
    attempt: (world) => login(world, world.eve.email),
    refusal: [200],
    gotThrough: ({ headers }) => {
      const cookie = String(headers['set-cookie']);
      return /HttpOnly/i.test(cookie) && /SameSite=Strict/i.test(cookie) && !/Domain=/i.test(cookie) ? null : cookie;
    },
  },
  {
    name: 'a session used after its logout',
    attempt: async (world) => {
      const token = await freshSession(world);
      await sendJson(world, 'POST', '/v1/auth/logout', token);
      return sendJson(world, 'GET', '/v1/me', token);
    },
    refusal: [401],
  },
  {
    name: 'a token in the query of a request',
    attempt: (world) => send(world, 'GET', `/v1/me?access_token=${world.victim.token}`),
    refusal: [400, 401],
  },
  ...SENSITIVE.map(
    ([method, path, body]): Attack => ({
      name: `${method} ${path} with a session that is not confirmed`,
      attempt: async (world) => sendJson(world, method, path, await freshSession(world), body),
      refusal: [403],
    }),
  ),
  {
    name: 'a confirmation with a wrong password',
    attempt: async (world) =>
      sendJson(world, 'POST', '/v1/auth/confirm', await freshSession(world), { password: 'wrong password' }),
    refusal: [401, 403],
  },
  {
    name: 'a confirmation with nothing',
    attempt: async (world) => sendJson(world, 'POST', '/v1/auth/confirm', await freshSession(world), {}),
    refusal: [400, 401, 403],
  },
  sameAnswer('a wrong password', (world, email) => login(world, email, { password: 'wrong password' }), [401]),
  sameAnswer(
    'a forgotten password',
    (world, email) => sendJson(world, 'POST', '/v1/auth/forgot', null, { email }),
    [202],
  ),
  sameAnswer(
    'a code for the login',
    (world, email) => sendJson(world, 'POST', '/v1/auth/login-code', null, { email }),
    [202],
  ),
  ...['password1', '1234567890', 'short', ' ', 'x'.repeat(5_000)].map(
    (password): Attack => ({
      name: `a registration with the password "${password.slice(0, 12)}"`,
      attempt: (world) =>
        sendJson(world, 'POST', '/v1/auth/register', null, {
          email: `weak${password.length}@example.test`,
          password,
          name: 'x',
        }),
      refusal: [400, 413],
    }),
  ),
  ...[
    'postmaster',
    'abuse',
    'admin',
    'security',
    'webmaster',
    'hostmaster',
    'ADMIN',
    'victim',
    'Victim',
    'noc',
    'ssladmin',
    'mailer-daemon',
  ].map(
    (name): Attack => ({
      name: `a registration of the address ${name}@`,
      attempt: (world) =>
        sendJson(world, 'POST', '/v1/auth/register', null, {
          email: `${name}@example.test`,
          password: PASSWORD,
          name: 'x',
        }),
      refusal: [400, 403, 409],
    }),
  ),
  {
    name: 'a registration at a domain that is not hosted',
    attempt: (world) =>
      sendJson(world, 'POST', '/v1/auth/register', null, {
        email: 'eve@elsewhere.test',
        password: PASSWORD,
        name: 'x',
      }),
    refusal: [400, 403],
  },
  {
    name: 'a registration with a homograph of an address',
    attempt: (world) =>
      sendJson(world, 'POST', '/v1/auth/register', null, {
        email: 'v\u0456ctim@example.test',
        password: PASSWORD,
        name: 'x',
      }),
    refusal: [400],
  },
  ...SECOND_FACTOR,
  ...RECOVERY,
  ...OUTLIVING,
];
