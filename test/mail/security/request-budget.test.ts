/**
 * Finding S1 of the second audit: a short JMAP request must not have a huge answer. Doubles everything that a client can repeat or
 * nest, and tests that each answer stays within the budget.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { JmapClient, type Json, USING } from '../../support/mail/jmap.ts';
import { type MailUser, registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

/** The limit of docs/jmap.md, and room for the envelope. */
const ANSWER_BYTES_MAX = 10_000_000 + 1_000;
const CALLS_MAX = 32;

let server: TestServer;
let user: MailUser;
let client: JmapClient;
/** Messages with a header field of 31 KB and a text of 180 KB. All texts together exceed the budget. */
const MESSAGES = 64;
const TEXT = `${'text '.repeat(12)}\r\n`.repeat(2_900);
let inbox = '';
let ids: string[] = [];

type Call = [name: string, args: Record<string, unknown>, id: string];

async function send(body: string): Promise<{ status: number; bytes: number; json: Json }> {
  const response = await client.fetch('/v1/jmap/api', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  const text = await response.text();
  return { status: response.status, bytes: Buffer.byteLength(text), json: JSON.parse(text) };
}
const run = (methodCalls: readonly Call[], more: Record<string, unknown> = {}) =>
  send(JSON.stringify({ using: USING, methodCalls, ...more }));
const repeat = (count: number, make: (at: number) => Call): Call[] =>
  Array.from({ length: count }, (_, at) => make(at));
const typesOf = (json: Json): string[] =>
  json.methodResponses.map(([name, args]: [string, Json]) => (name === 'error' ? args.type : name));

/** Each call echoes the answer of the call before, as often as `width` says. */
const multiply = (calls: number, width: number): Call[] =>
  repeat(calls, (at) => {
    const reference = { resultOf: `c${at - 1}`, name: 'Core/echo', path: '' };
    const args =
      at === 0
        ? { x: 'aaaaaaaaaa' }
        : Object.fromEntries(Array.from({ length: width }, (_, n) => [`#m${n}`, reference]));
    return ['Core/echo', args, `c${at}`];
  });

const LONG_FIELD = `X-Long: ${Array.from({ length: 500 }, () => 'a'.repeat(60)).join('\r\n ')}`;
/** Names of one header field that differ in case only. */
const namesOf = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => {
    const bits = n.toString(2).padStart(10, '0');
    return `header:${[...'xlongxlong'].map((char, at) => (bits[at] === '1' ? char.toUpperCase() : char)).join('')}`;
  });

beforeAll(async () => {
  server = await startServer();
  user = await registerUser(server, 'multiplier');
  client = new JmapClient(server, user.userId, `Bearer ${user.token}`);
  inbox = (await client.roles()).inbox ?? '';
  const emails: Record<string, unknown> = {};
  for (let at = 0; at < MESSAGES; at += 1) {
    const raw = ['From: a@elsewhere.test', `Message-ID: <${at}@elsewhere.test>`, LONG_FIELD, '', TEXT].join('\r\n');
    const { blobId } = await client.upload(raw, 'message/rfc822');
    emails[`m${at}`] = { blobId, mailboxIds: { [inbox]: true } };
  }
  const { created } = await client.call('Email/import', { emails });
  ids = Object.values<Json>(created).map(({ id }) => id);
});
afterAll(() => server[Symbol.asyncDispose]());

describe('references to answers', () => {
  it('that multiply them are refused as soon as they exceed the budget', async () => {
    const answer = await run(multiply(12, 4));
    expect(answer.status).toBe(200);
    expect(answer.bytes).toBeLessThan(ANSWER_BYTES_MAX);
    const types = typesOf(answer.json);
    expect(types.slice(0, 9)).toEqual(Array.from({ length: 9 }, () => 'Core/echo'));
    // RFC 8620 §3.6.2 has no requestTooLarge for Core/echo.
    expect(types).toContain('serverFail');
    expect(answer.json.methodResponses[types.indexOf('serverFail')][1].description).toContain('at most 10000000 bytes');
    // The calls after it refer to an answer that does not exist.
    expect(types.at(-1)).toBe('invalidResultReference');
  });

  it.each([1, 2, 4, 8, 16])(
    'stay within the budget with %i references per call and as many calls as allowed',
    async (width) => {
      const answer = await run(multiply(CALLS_MAX, width));
      expect(answer.status).toBe(200);
      expect(answer.bytes).toBeLessThan(ANSWER_BYTES_MAX);
    },
  );

  it('stay within the budget if every call refers to the same large answer, or to each item of it', async () => {
    const list = Array.from({ length: 20_000 }, () => ({ a: 'b'.repeat(20), none: [] }));
    for (const path of ['', '/list', '/list/*/a', '/list/*', '/list/*/none']) {
      const reference = { resultOf: 'c0', name: 'Core/echo', path };
      const calls = repeat(CALLS_MAX, (at) => [
        'Core/echo',
        at === 0 ? { list } : Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`#r${n}`, reference])),
        `c${at}`,
      ]);
      const answer = await run(calls);
      expect([path, answer.status]).toEqual([path, 200]);
      expect(answer.bytes).toBeLessThan(ANSWER_BYTES_MAX);
      expect([path, typesOf(answer.json).at(-1)]).toEqual([path, 'serverFail']);
    }
  });

  it('are limited in number', async () => {
    const [, refused] = (await run(multiply(2, 17))).json.methodResponses;
    expect([refused[0], refused[1].type]).toEqual(['error', 'invalidResultReference']);
  });
});

describe('what one request may nest', () => {
  it('is limited before the JSON is parsed', async () => {
    for (const depth of [62, 1_000, 200_000]) {
      const nested = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
      const answer = await send(`{"using":${JSON.stringify(USING)},"methodCalls":[["Core/echo",${nested},"c"]]}`);
      expect([depth, answer.status, answer.json.type]).toEqual([depth, 400, 'urn:ietf:params:jmap:error:notJSON']);
    }
  });

  it('and repeat as values is limited too', async () => {
    const answer = await run([['Core/echo', { list: Array.from({ length: 300_000 }, () => []) }, 'c']]);
    expect([answer.status, answer.json.limit]).toEqual([400, 'maxSizeRequest']);
  });

  it('as a filter is refused by its method', async () => {
    for (const depth of [11, 20]) {
      let filter: Json = { inMailbox: inbox };
      for (let level = 0; level < depth; level += 1)
        filter = { operator: 'AND', conditions: [filter, filter].slice(level % 2) };
      const refused = await client.call('Email/query', { filter });
      expect([depth, refused.type]).toEqual([depth, 'unsupportedFilter']);
    }
    const inMailboxOtherThan = Array.from({ length: 100_000 }, (_, n) => `${n}`);
    expect(await client.call('Email/query', { filter: { inMailboxOtherThan } })).toMatchObject({
      type: 'invalidArguments',
    });
  });
});

describe('what one call may repeat', () => {
  const double = async (name: string, args: (count: number) => Record<string, unknown>) => {
    for (const count of [100, 1_000, 10_000, 100_000]) {
      const answer = await run([[name, { accountId: user.userId, ...args(count) }, 'c']]);
      expect([200, 400]).toContain(answer.status);
      expect(answer.bytes).toBeLessThan(ANSWER_BYTES_MAX);
      if (answer.status === 200) expect(typesOf(answer.json)).not.toContain('serverFail');
      else expect(answer.json.limit).toBe('maxSizeRequest');
    }
  };
  const many = (count: number, value: string) => Array.from({ length: count }, () => value);

  it('are ids', () =>
    double('Email/get', (count) => ({ ids: Array.from({ length: count }, (_, n) => ids[n % ids.length]) })));
  it('are ids that do not exist', () => double('Mailbox/get', (count) => ({ ids: many(count, 'i'.repeat(80)) })));
  it('are properties', () => double('Email/get', (count) => ({ ids, properties: many(count, 'preview') })));
  it('are properties of parts', () =>
    double('Email/get', (count) => ({ ids, properties: ['bodyStructure'], bodyProperties: many(count, 'headers') })));
  it('are properties of blobs', () =>
    double('Blob/get', (count) => ({ ids: [ids[0]], properties: many(count, 'digest:sha-512') })));
  it('are sort properties', () =>
    double('Email/query', (count) => ({ sort: Array.from({ length: count }, () => ({ property: 'size' })) })));
  it('are names that an error quotes', () =>
    double('Email/get', (count) => Object.fromEntries(many(count, 'x').map((name, n) => [`${name}${n}`, 1]))));
  it('are changes', () =>
    double('Email/set', (count) => ({ destroy: Array.from({ length: count }, (_, n) => `none${n}`) })));
});

describe('the answers of many calls', () => {
  const getAll = (at: number, args: Record<string, unknown>): Call => [
    'Email/get',
    { accountId: user.userId, ids, ...args },
    `c${at}`,
  ];

  it('stay within the budget, each with the messages of the same mailbox', async () => {
    for (const args of [
      { properties: namesOf(100) },
      { properties: ['headers', 'bodyStructure'], bodyProperties: ['headers', ...namesOf(90)] },
      { fetchAllBodyValues: true },
      {},
    ]) {
      const answer = await run(repeat(CALLS_MAX, (at) => getAll(at, args)));
      expect(answer.status).toBe(200);
      expect(answer.bytes).toBeLessThan(ANSWER_BYTES_MAX);
    }
  });

  it('that exceed it leave what was changed before as it is, and change nothing afterwards', async () => {
    const change = (at: number): Call => [
      'Email/set',
      { accountId: user.userId, update: { [ids[0] ?? '']: { [`keywords/k${at}`]: true } } },
      `set${at}`,
    ];
    const answer = await run([change(1), getAll(0, { fetchAllBodyValues: true }), change(2)]);
    expect(typesOf(answer.json)).toEqual(['Email/set', 'requestTooLarge', 'requestTooLarge']);
    const { list } = await client.call('Email/get', { ids: ids.slice(0, 1), properties: ['keywords'] });
    expect(list[0].keywords).toEqual({ k1: true });
  });

  it('count created ids too', async () => {
    const createdIds = Object.fromEntries(Array.from({ length: 30_000 }, (_, n) => [`k${n}`, 'i'.repeat(200)]));
    const text = 'a'.repeat(1_800_000);
    const answer = await run(
      [
        ['Core/echo', { text }, 'a'],
        ['Core/echo', { '#text': { resultOf: 'a', name: 'Core/echo', path: '/text' } }, 'b'],
      ],
      { createdIds },
    );
    expect(answer.bytes).toBeLessThan(ANSWER_BYTES_MAX);
    expect(typesOf(answer.json)).toEqual(['Core/echo', 'serverFail']);
  });
});

describe('what clients do', () => {
  it('still works: a query, all its messages by reference with the properties of a list, and their threads', async () => {
    const accountId = user.userId;
    const answer = await run([
      ['Email/query', { accountId, filter: { inMailbox: inbox }, limit: 500 }, 'q'],
      ['Email/get', { accountId, '#ids': { resultOf: 'q', name: 'Email/query', path: '/ids' } }, 'g'],
      ['Thread/get', { accountId, '#ids': { resultOf: 'g', name: 'Email/get', path: '/list/*/threadId' } }, 't'],
    ]);
    expect(typesOf(answer.json)).toEqual(['Email/query', 'Email/get', 'Thread/get']);
    expect(answer.json.methodResponses[1][1].list).toHaveLength(ids.length);
  });

  it('still works: the bodies of 32 messages of 180 KB, and one text of 7 MB', async () => {
    const { list } = await client.call('Email/get', { ids: ids.slice(0, 32), fetchAllBodyValues: true });
    expect(list).toHaveLength(32);
    const raw = `From: a@elsewhere.test\r\nSubject: large\r\n\r\n${`${'a'.repeat(68)}\r\n`.repeat(100_000)}`;
    const { blobId } = await client.upload(raw, 'message/rfc822');
    const { created } = await client.call('Email/import', { emails: { m: { blobId, mailboxIds: { [inbox]: true } } } });
    const large = await client.call('Email/get', { ids: [created.m.id], fetchTextBodyValues: true });
    const [value] = Object.values<Json>(large.list[0].bodyValues);
    expect([value.value.length, value.isTruncated]).toEqual([6_900_000, false]);
  });
});
