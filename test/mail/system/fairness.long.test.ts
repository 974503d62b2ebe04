/**
 * Measures how long an account waits while another floods the server, in one isolate with one thread. The quiet account's median must
 * be at most three times its own without the flood or 100 ms, and the slowest hundredth at most a second: the median of five rounds.
 */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { importWhole, type MailUser, registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import type { Credentials } from '../../support/storage/s3-client.ts';
import { sendRaw } from '../../support/storage/s3-raw.ts';
import { signRequest } from '../../support/storage/sigv4-signer.ts';

const ROUNDS = 5;
const READS = 100;
const MESSAGES = 20;
const OBJECTS = 300;
const CAPABILITIES = ['urn:ietf:params:jmap:core', 'urn:ietf:params:jmap:mail'];
let server: TestServer;
let quiet: MailUser;
let loud: MailUser;
let key: Credentials;

beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open', REQUESTS_PER_USER: '100000' } });
  [quiet, loud] = [await registerUser(server, 'quiet'), await registerUser(server, 'loud')];
  const letters = Array.from({ length: MESSAGES }, (_, at) => toLetter('first', at));
  expect(await importWhole(server, loud.token, toMbox(letters))).toMatchObject({ imported: MESSAGES });
  key = await server.createAccessKey('loud');
  expect((await storage('PUT', '/fair', {})).status).toBe(200);
  for (let at = 0; at < OBJECTS; at += 1) expect((await storage('PUT', `/fair/object-${at}`, {})).status).toBe(200);
});
afterAll(() => server[Symbol.asyncDispose]());

const toLetter = (mark: string, at: number): string =>
  `From: a@far.test\nTo: ${loud.email}\nSubject: ${mark} ${at}\n\nA short text.\n`;
const toMbox = (letters: readonly string[]): string =>
  letters.map((raw) => `From x@y.test Sat Jan 10 10:00:00 2026\n${raw}\n`).join('');

/** Names of objects that do not exist, with as many characters to escape as a name can have. */
const KEYS = `<Delete><Quiet>true</Quiet>${Array.from({ length: 1_000 }, (_, at) => `<Object><Key>${'&amp;'.repeat(900)}${at}</Key></Object>`).join('')}</Delete>`;
let imports = 0;

/** Sends a signed S3 request. */
function storage(method: string, path: string, query: Record<string, string>, body = '') {
  const headers = {
    'content-length': String(Buffer.byteLength(body)),
    'content-md5': createHash('md5').update(body).digest('base64'),
  };
  const signed = signRequest({ url: server.url, credentials: key, method, path, query, headers });
  return sendRaw(server.url, method, signed.target, signed.headers, body);
}

const callJmap = (user: MailUser, methodCalls: unknown[]) =>
  server.call('POST', '/v1/jmap/api', { using: CAPABILITIES, methodCalls }, user.token);

/** The floods, each of them one request of many that run at once. */
const FLOODS: Readonly<Record<string, () => Promise<unknown>>> = {
  'JMAP reads of all bodies': () => {
    const args = { accountId: loud.userId, ids: null, fetchAllBodyValues: true, fetchTextBodyValues: true };
    return callJmap(
      loud,
      Array.from({ length: 32 }, (_, at) => ['Email/get', args, `c${at}`]),
    );
  },
  'JMAP searches': () => {
    const args = { accountId: loud.userId, filter: { text: 'short' } };
    return callJmap(
      loud,
      Array.from({ length: 32 }, (_, at) => ['Email/query', args, `c${at}`]),
    );
  },
  imports: () => {
    imports += 1;
    const letters = Array.from({ length: 25 }, (_, at) => toLetter(`import ${imports}`, at));
    return importWhole(server, loud.token, toMbox(letters));
  },
  'lists of objects': () => storage('GET', '/fair', { 'list-type': '2' }),
  'XML of keys to delete': () => storage('POST', '/fair', { delete: '' }, KEYS),
  'searches in JSON': () => server.call('GET', '/v1/messages?q=short%20text&limit=100', undefined, loud.token),
};

const quantile = (sorted: readonly number[], share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
const median = (values: readonly number[]) =>
  quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );

/** Times the quiet account's reads of its inbox. @returns median and slowest hundredth in milliseconds. */
async function time(): Promise<{ p50: number; p99: number }> {
  const times: number[] = [];
  for (let read = 0; read < READS; read += 1) {
    const start = performance.now();
    expect((await server.call('GET', '/v1/folders', undefined, quiet.token)).status).toBe(200);
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}

it.each(Object.keys(FLOODS))(
  'a quiet account is served while another floods with %s',
  async (kind) => {
    const flood = FLOODS[kind];
    if (!flood) throw new Error('no such flood');
    const rounds: { alone: number; p50: number; p99: number }[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const alone = (await time()).p50;
      let isFlooding = true;
      const keepOn = async () => {
        while (isFlooding) await flood();
      };
      const floods = Array.from({ length: 8 }, keepOn);
      const { p50, p99 } = await time();
      isFlooding = false;
      await Promise.all(floods);
      rounds.push({ alone, p50, p99 });
    }
    console.log(kind, rounds.map(({ alone, p50, p99 }) => [alone, p50, p99].map(Math.round).join('/')).join(' '));
    const alone = median(rounds.map((round) => round.alone));
    expect(median(rounds.map(({ p50 }) => p50))).toBeLessThanOrEqual(Math.max(3 * alone, 100));
    expect(median(rounds.map(({ p99 }) => p99))).toBeLessThanOrEqual(1_000);
  },
  600_000,
);
