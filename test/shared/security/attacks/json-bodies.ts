/** Attacks with the form of a JSON request: size, depth, members, types and encodings. */
import { type Attack, parsed, type Reply, send, sendJson } from './attack.ts';
import type { World } from './world.ts';

const LOGIN = { email: 'victim@example.test', password: 'guess guess' };
const SMALL_ANSWER_BYTES = 16_384;

const isSmall = ({ text }: Reply) =>
  text.length > SMALL_ANSWER_BYTES ? `the answer has ${text.length} characters` : null;

/** A login attempt, whose body needs no credential. */
const login = (name: string, body: unknown, refusal: readonly number[] = [400]): Attack => ({
  name: `a login with ${name}`,
  attempt: (world) => sendJson(world, 'POST', '/v1/auth/login', null, body),
  refusal,
  gotThrough: isSmall,
});
const asEve = (
  name: string,
  method: string,
  path: string,
  body: unknown,
  refusal: readonly number[] = [400],
): Attack => ({
  name,
  attempt: (world) => sendJson(world, method, path, world.eve.token, body),
  refusal,
  gotThrough: isSmall,
});
const nested = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth);

const CONTENT_TYPES = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=b',
  'application/xml',
  'text/json',
  '',
];

/** Member names that may reach a prototype, or grant a right if a body is merged into a record. */
const MEMBERS = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'user_id',
  'role',
  'account_type',
  'scopes',
  'quota',
  'created_at',
];

const NAMES: Readonly<Record<string, string>> = {
  'a right-to-left override': 'eve\u202Etxt.exe',
  'an isolate of direction': '\u2066admin\u2069',
  'only zero-width characters': '\u200B\u200B',
  'a line break': 'eve\r\nBcc: x@evil.test',
  'a NUL': 'eve\u0000',
  'an escape sequence': '\u001b[2Jeve',
  nothing: '',
  'spaces only': '   ',
};

const isUnchanged = async (_: Reply, { server, victim }: World): Promise<string | null> => {
  const { status, body } = await server.call('GET', '/v1/me', undefined, victim.token);
  return status === 200 && body.email === victim.email ? null : `the account is now ${status}`;
};

const LISTS = [
  'limit=0',
  'limit=-1',
  'limit=201',
  'limit=1e9',
  'limit=NaN',
  'limit=',
  'limit=1&limit=2',
  'cursor=../../x',
  `cursor=${'A'.repeat(4_000)}`,
  "cursor='%20OR%201=1--",
];

export const JSON_BODY_ATTACKS: readonly Attack[] = [
  login('17 KB', { ...LOGIN, more: 'x'.repeat(17_000) }, [400, 413]),
  login('4 MB', { ...LOGIN, password: 'x'.repeat(4_000_000) }, [400, 413]),
  login('a password of 15 KB', { ...LOGIN, password: 'x'.repeat(15_000) }, [400, 401, 413]),
  login('1,500 unknown members', Object.fromEntries(Array.from({ length: 1_500 }, (_, i) => [`k${i}`, 1])), [400, 413]),
  login('arrays 7,000 deep', nested(7_000, '[', ']'), [400, 413]),
  login('objects 2,000 deep', `${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}`, [400, 413]),
  login('arrays deep in a member', `{"email":${nested(5_000, '[', ']')},"password":"x"}`, [400, 413]),
  login('an object for the address', { ...LOGIN, email: { $ne: null } }),
  login('an array for the password', { ...LOGIN, password: ['a', 'b'] }),
  login('true for the password', { ...LOGIN, password: true }),
  login('SQL in the address', { ...LOGIN, email: "' OR 1=1 --@example.test" }, [400, 401]),
  login('a NUL in the address', { ...LOGIN, email: 'victim@example.test\u0000' }, [400, 401]),
  login('half a surrogate pair', '{"email":"\\ud800@example.test","password":"guess guess"}', [400, 401]),
  login('null', 'null'),
  login('an array', '[]'),
  login('a number with 10,000 digits', `{"email":${'9'.repeat(10_000)},"password":"x"}`),
  login('NaN', '{"email":NaN}'),
  login('a comment', '{/* */"email":"victim@example.test","password":"guess guess"}'),
  login('a byte that is not UTF-8', Buffer.from('7b22656d61696c223a22ff227d', 'hex').toString('latin1')),
  login('half of a body', '{"email":"victim@example.test"'),
  login(
    'the same member twice',
    '{"email":"eve@example.test","email":"victim@example.test","password":"guess guess"}',
    [400, 401],
  ),
  ...MEMBERS.map((member) =>
    asEve(`the member ${member} in a profile`, 'PATCH', '/v1/me', `{"name":"eve","${member}":{"admin":true}}`),
  ),
  ...MEMBERS.slice(0, 3).map((member) =>
    login(
      `the member ${member}`,
      `{"email":"victim@example.test","password":"guess guess","${member}":{"totp_enabled":false}}`,
    ),
  ),
  ...Object.entries(NAMES).map(([what, name]) => asEve(`a display name with ${what}`, 'PATCH', '/v1/me', { name })),
  asEve('a folder named with a line break', 'POST', '/v1/folders', { name: 'a\r\nb' }),
  asEve('a contact whose address has a line break', 'POST', '/v1/contacts', { email: 'a@b.test\r\nBcc: c@d.test' }),
  asEve('a batch of more messages than allowed', 'POST', '/v1/messages/batch', {
    ids: Array.from({ length: 5_000 }, () => 'x'),
    is_read: true,
  }),
  asEve('a filter with a catastrophic pattern of the victim', 'POST', '/v1/filters', {
    name: 'x',
    conditions: [{ field: 'header', operator: 'matches', value: '(a+)+$' }],
    actions: [],
  }),
  ...CONTENT_TYPES.map(
    (type): Attack => ({
      name: `the content type "${type}" for a JSON body`,
      attempt: (world) =>
        send(world, 'PATCH', '/v1/me', {
          headers: { authorization: `Bearer ${world.victim.token}`, ...(type ? { 'content-type': type } : {}) },
          body: '{"name":"changed"}',
        }),
      refusal: [400, 415],
    }),
  ),
  ...['x-http-method-override', 'x-method-override', 'x-http-method'].map(
    (header): Attack => ({
      name: `${header}: DELETE on a GET`,
      attempt: (world) => sendJson(world, 'GET', '/v1/me', world.victim.token, undefined, { [header]: 'DELETE' }),
      refusal: [200, 400],
      gotThrough: isUnchanged,
    }),
  ),
  {
    name: '_method=DELETE in the query of a GET',
    attempt: (world) => sendJson(world, 'GET', '/v1/me?_method=DELETE', world.victim.token),
    refusal: [400],
    gotThrough: isUnchanged,
  },
  ...['TRACE', 'PROPFIND', 'LINK'].map(
    (method): Attack => ({
      name: `the method ${method} on a route`,
      attempt: (world) => send(world, method, '/v1/me', { headers: { authorization: `Bearer ${world.eve.token}` } }),
      refusal: [400, 403, 404, 405, 501],
    }),
  ),
  ...LISTS.map((query) => asEve(`a list with ${query.slice(0, 24)}`, 'GET', `/v1/messages?q=a&${query}`, undefined)),
  ...[
    '/v1/me/../iam/users',
    '/v1//iam/users',
    '/v1/iam/users/',
    '/v1/%69am/users',
    '/V1/iam/users',
    '/v1/iam/users;a=b',
    '/v1/me%2f..%2fiam/users',
    '/v1/iam%2fusers',
  ].map(
    (path): Attack => ({
      name: `the path ${path} by a user of mail`,
      attempt: (world) => sendJson(world, 'GET', path, world.eve.token),
      refusal: [400, 401, 403, 404],
    }),
  ),
  {
    name: 'the header x-forwarded-host in the link of a password reset',
    attempt: ({ server, ids }) =>
      sendJson({ server } as World, 'POST', `/v1/accounts/${ids.user_id}/password-reset`, server.rootToken, undefined, {
        'x-forwarded-host': 'evil.test',
        forwarded: 'host=evil.test',
      }),
    refusal: [201],
    gotThrough: (reply) => (parsed(reply).url.includes('evil.test') ? `the link is ${parsed(reply).url}` : null),
  },
];
