/** Attacks that repeat or nest what a request costs: JMAP references and calls, JSON, XML, lists and queries. */
import { createHash } from 'node:crypto';
import { MULTIPLIED_JSON, multiplyXml, XML_DOCUMENTS } from '../request-budgets.ts';
import { type Attack, parsed, type Reply, send, sendJson, sendSigned } from './attack.ts';
import type { World } from './world.ts';

const ANSWER_BYTES_MAX = 10_010_000;
const REFUSAL_BYTES_MAX = 16_384;
const USING = ['urn:ietf:params:jmap:core', 'urn:ietf:params:jmap:mail', 'urn:ietf:params:jmap:blob'];

const isWithin =
  (bytesMax: number) =>
  ({ text }: Reply): string | null =>
    Buffer.byteLength(text) > bytesMax ? `the answer has ${Buffer.byteLength(text)} bytes` : null;

type Call = readonly [name: string, args: object, id: string];
const jmap = (
  name: string,
  calls: (world: World) => readonly Call[],
  refusal: readonly number[] = [200, 400],
): Attack => ({
  name: `JMAP: ${name}`,
  attempt: (world) =>
    sendJson(world, 'POST', '/v1/jmap/api', world.tokens.mailApp, { using: USING, methodCalls: calls(world) }),
  refusal,
  isByOwner: true,
  gotThrough: isWithin(ANSWER_BYTES_MAX),
});
const calls = (count: number, make: (at: number) => readonly [string, object]): Call[] =>
  Array.from({ length: count }, (_, at) => [...make(at), `c${at}`]);
const references = (count: number, at: number, name: string, path: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`#r${n}`, { resultOf: `c${at}`, name, path }]));

const JMAP_ATTACKS: readonly Attack[] = [
  ...[2, 4, 8, 16, 64].map((width) =>
    jmap(`${width} references to the call before, in each of 32 calls`, () =>
      calls(32, (at) => [
        'Core/echo',
        at === 0 ? { x: 'a'.repeat(1_000) } : references(width, at - 1, 'Core/echo', ''),
      ]),
    ),
  ),
  ...['', '/list', '/list/*', '/list/*/a', '/list/*/*', '/list/0/a', '/'.repeat(900)].map((path) =>
    jmap(`the path ${path.slice(0, 12) || '(empty)'} to a long list, in each of 31 calls`, () =>
      calls(32, (at) => [
        'Core/echo',
        at === 0 ? { list: Array.from({ length: 5_000 }, () => ({ a: ['b'] })) } : references(16, 0, 'Core/echo', path),
      ]),
    ),
  ),
  jmap('33 calls', () => calls(33, () => ['Core/echo', {}]), [400]),
  jmap('100,000 calls', () => calls(100_000, () => ['Core/echo', {}]), [400]),
  ...['Email/get', 'Thread/get', 'Mailbox/get', 'Identity/get', 'EmailSubmission/get', 'Blob/get'].map((name) =>
    jmap(`${name} of one id, 20,000 times, in each of 32 calls`, ({ victim, ids }) =>
      calls(32, () => [name, { accountId: victim.userId, ids: Array.from({ length: 5_000 }, () => ids.message_id) }]),
    ),
  ),
  ...['Email/query', 'Mailbox/query', 'EmailSubmission/query'].map((name) =>
    jmap(`${name} with 5,000 sorts and a filter 500 deep`, ({ victim }) => {
      let filter: object = { text: 'a' };
      for (let level = 0; level < 40; level += 1) filter = { operator: 'AND', conditions: [filter] };
      const sort = Array.from({ length: 5_000 }, () => ({ property: 'receivedAt' }));
      return calls(32, () => [name, { accountId: victim.userId, sort, filter }]);
    }),
  ),
  jmap('Blob/upload of 5 MB from 1,000 copies of one blob', ({ victim, ids }) =>
    calls(1, () => [
      'Blob/upload',
      {
        accountId: victim.userId,
        create: { a: { data: Array.from({ length: 1_000 }, () => ({ blobId: ids.blob_id })) } },
      },
    ]),
  ),
  jmap('SearchSnippet/get of 20,000 messages', ({ victim, ids }) =>
    calls(1, () => [
      'SearchSnippet/get',
      {
        accountId: victim.userId,
        filter: { text: 'a' },
        emailIds: Array.from({ length: 20_000 }, () => ids.message_id),
      },
    ]),
  ),
];

/** Routes of each kind: without a credential, of a user, of an operator, with large bodies. */
const JSON_ROUTES: readonly (readonly [string, string, 'none' | 'user' | 'root'])[] = [
  ['POST', '/v1/auth/login', 'none'],
  ['POST', '/v1/auth/reset', 'none'],
  ['POST', '/v1/operators/login', 'none'],
  ['PATCH', '/v1/me', 'user'],
  ['POST', '/v1/messages', 'user'],
  ['POST', '/v1/messages/batch', 'user'],
  ['POST', '/v1/drafts', 'user'],
  ['POST', '/v1/filters', 'user'],
  ['POST', '/v1/push-subscriptions', 'user'],
  ['POST', '/v1/scores/batch', 'root'],
  ['POST', '/v1/storage/jobs', 'root'],
  ['POST', '/v1/iam/tokens', 'root'],
];
const JSON_ATTACKS: readonly Attack[] = JSON_ROUTES.flatMap(([method, path, caller]) =>
  MULTIPLIED_JSON.map(
    ({ what, body }): Attack => ({
      name: `${method} ${path} with many ${what}`,
      attempt: (world) =>
        sendJson(
          world,
          method,
          path,
          { none: null, user: world.eve.token, root: world.server.rootToken }[caller],
          body,
        ),
      refusal: [400, 403, 413],
      gotThrough: isWithin(REFUSAL_BYTES_MAX),
    }),
  ),
);

const XML_ATTACKS: readonly Attack[] = XML_DOCUMENTS.flatMap(([method, path, query, root]) =>
  multiplyXml(root, method === 'POST' ? 8_000_000 : 500_000).map(({ what, body }): Attack => {
    const [name = '', value = ''] = query.split('=');
    return {
      name: `${method} ${path || '/'}?${query} with many ${what}`,
      attempt: (world) =>
        sendSigned(world, world.mallory, method, `/mallory-own${path.replace('secret', 'mine')}`, {
          query: { [name]: value },
          headers: { 'content-md5': createHash('md5').update(body).digest('base64') },
          body,
        }),
      refusal: [400],
      gotThrough: isWithin(REFUSAL_BYTES_MAX),
    };
  }),
);

const QUERIES = [
  ...['q=', 'sort=', 'cursor=', 'limit='].map((name) => `/v1/messages?${name}${'a'.repeat(12_000)}`),
  `/v1/messages?q=${'('.repeat(900)}`,
  `/v1/messages?q=${'a OR '.repeat(190)}a`,
  `/v1/messages?q=${'-'.repeat(900)}a`,
  `/v1/messages?${'q=a&'.repeat(2_000)}`,
  `/v1/contacts?q=${'a'.repeat(12_000)}`,
  `/v1/events?since=${'9'.repeat(12_000)}`,
  `/v1/scores?user_ids=${'a,'.repeat(6_000)}a`,
  `/v1/scores?among=${'a,'.repeat(6_000)}a`,
  `/v1/scores?limit=${'9'.repeat(400)}`,
];
const QUERY_ATTACKS: readonly Attack[] = QUERIES.map((path) => ({
  name: `a query that repeats: ${path.slice(0, 32)} (${path.length} characters)`,
  attempt: (world) => sendJson(world, 'GET', path.replaceAll(' ', '%20'), world.eve.token),
  refusal: [200, 400, 413, 414, 431],
  gotThrough: isWithin(REFUSAL_BYTES_MAX),
}));

const FLOODED: Attack = {
  name: 'afterwards the list of folders is served to somebody else',
  attempt: (world) => sendJson(world, 'GET', '/v1/folders', world.eve.token),
  refusal: [200],
  gotThrough: (reply) => (Array.isArray(parsed(reply)) ? null : 'there is no list'),
};

const IMPORTS: readonly Attack[] = [
  ['100,000 separators', 'From a@b.test Sat Jan 10 10:00:00 2026\n\n'.repeat(100_000)],
  [
    '100,000 levels of multipart',
    `Content-Type: multipart/mixed; boundary=b\n\n${'--b\nContent-Type: multipart/mixed; boundary=b\n\n'.repeat(100_000)}`,
  ],
  ['100,000 header fields', `${'X: y\n'.repeat(100_000)}\nx`],
  ['an address list of 2 MB', `To: ${'a@b.test,'.repeat(220_000)}\n\nx`],
].map(([what, body]) => ({
  name: `an import of ${what}`,
  attempt: (world) =>
    send(world, 'POST', '/v1/import', {
      headers: {
        authorization: `Bearer ${world.eve.token}`,
        'content-type': what?.includes('separators') ? 'application/mbox' : 'message/rfc822',
      },
      body: body ?? '',
    }),
  refusal: [200, 202, 400, 413],
  gotThrough: isWithin(REFUSAL_BYTES_MAX),
}));

export const BUDGET_ATTACKS: readonly Attack[] = [
  ...JMAP_ATTACKS,
  ...JSON_ATTACKS,
  ...XML_ATTACKS,
  ...QUERY_ATTACKS,
  ...IMPORTS,
  FLOODED,
];
