/** Data for the measured operations: a bucket of 1,000 objects, a board of 20,000 players, two mailboxes, and the floor's copies of them. */
import { randomBytes, randomUUID } from 'node:crypto';
import { signRequest } from '../../test/support/storage/sigv4-signer.ts';
import { fillMailbox } from '../mail/fill-mailbox.ts';
import { createRandom, makeWords } from '../mail/mailbox-text.ts';
import { BENCH_ROOT_TOKEN, type BenchServer } from '../shared/servers.ts';
import type { Call } from './client.ts';

export const SMALL = randomBytes(4 * 1024);
const LARGE = randomBytes(1024 ** 2);
const LISTED = 1_000;
export const PLAYERS = 20_000;
const MESSAGES = 1_000;
const BATCH = 1_000;
const JSON_TYPE = { 'content-type': 'application/json' };

export type Product = 'storage' | 'leaderboard' | 'mail';

export interface Storage {
  /** Makes a signed request for a key of the bucket, or with a query for the bucket itself. The signature is valid for 15 minutes. */
  readonly sign: (method: string, key: string, query?: Readonly<Record<string, string>>) => Call;
}

export interface Person {
  readonly email: string;
  readonly userId: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly inbox: string;
}

/** Accounts and data for the calls of operations. A product that was not filled has none. */
export interface World {
  readonly storage?: Storage;
  /** Headers of a post of scores. */
  readonly poster?: Readonly<Record<string, string>>;
  readonly reader?: Person;
  readonly receiver?: Person;
}

async function ask<T>(server: BenchServer, { method, target, headers = {}, body }: Call): Promise<T> {
  const response = await fetch(server.url + target, {
    method,
    headers: { authorization: `Bearer ${BENCH_ROOT_TOKEN}`, ...headers },
    ...(body === undefined ? {} : { body: body as BodyInit }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${target}: ${response.status} ${text}`);
  return (text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : null) as T;
}

const post = <T>(server: BenchServer, target: string, body: object, headers = {}): Promise<T> =>
  ask(server, { method: 'POST', target, headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(body) });

async function fillStorage(server: BenchServer): Promise<Storage> {
  const user = await post<{ user_id: string }>(server, '/v1/iam/users', { name: 'bench' });
  const keysPath = `/v1/iam/users/${user.user_id}/access-keys`;
  const made = await post<{ access_key_id: string; secret_access_key: string }>(server, keysPath, {});
  const credentials = { accessKeyId: made.access_key_id, secretAccessKey: made.secret_access_key };
  const sign: Storage['sign'] = (method, key, query = {}) => {
    const path = key === '' ? '/bench' : `/bench/${key}`;
    return { method, ...signRequest({ url: server.url, credentials, method, path, query }) };
  };
  await ask(server, sign('PUT', ''));
  await ask(server, { ...sign('PUT', 'a-small'), body: SMALL });
  await ask(server, { ...sign('PUT', 'a-large'), body: LARGE });
  const names = Array.from({ length: LISTED }, (_, at) => `listed/${String(at).padStart(5, '0')}`);
  const putAll = async () => {
    for (let name = names.pop(); name; name = names.pop()) await ask(server, { ...sign('PUT', name), body: SMALL });
  };
  await Promise.all(Array.from({ length: 8 }, putAll));
  return { sign };
}

const playerOf = (at: number): string => `player-${at}`;
export const anyPlayer = (): string => playerOf(Math.floor(Math.random() * PLAYERS));

async function fillBoard(server: BenchServer): Promise<NonNullable<World['poster']>> {
  const body = { name: 'bench', scopes: ['scores:write'] };
  const { token } = await post<{ token: string }>(server, '/v1/iam/tokens', body);
  const headers = { authorization: `Bearer ${token}`, ...JSON_TYPE };
  const random = createRandom(3);
  for (let at = 0; at < PLAYERS; at += BATCH) {
    const updates = Array.from({ length: BATCH }, (_, n) => ({
      user_id: playerOf(at + n),
      points: 1 + Math.floor(1_000 * random() ** 3),
    }));
    await post(server, '/v1/scores/batch', { updates }, headers);
  }
  return headers;
}

async function fillMail(server: BenchServer, name: string): Promise<Person> {
  const { token, userId } = await fillMailbox(server, name, MESSAGES);
  const headers = { authorization: `Bearer ${token}` };
  const folders = await ask<{ id: string; role: string }[]>(server, { method: 'GET', target: '/v1/folders', headers });
  const inbox = folders.find(({ role }) => role === 'inbox')?.id ?? '';
  return { email: `${name}@example.test`, userId, headers, inbox };
}

export async function fillWorld(server: BenchServer, products: ReadonlySet<Product>): Promise<World> {
  return {
    ...(products.has('storage') ? { storage: await fillStorage(server) } : {}),
    ...(products.has('leaderboard') ? { poster: await fillBoard(server) } : {}),
    ...(products.has('mail')
      ? { reader: await fillMail(server, 'reader'), receiver: await fillMail(server, 'receiver') }
      : {}),
  };
}

/** A message of the floor: the values of its columns in their order, then its text. */
function makeFloorMessage(at: number, random: () => number): (string | number | null)[] {
  const time = Date.UTC(2016, 0, 1) + at * 120_000;
  const text = makeWords(random, 80);
  const flags = [random() < 0.95 ? 1 : 0, 0, 0, 0, 0];
  const people = [
    '{"name":"Person 7","email":"person7@elsewhere.test"}',
    '[{"name":"","email":"me@example.test"}]',
    '[]',
  ];
  const times = [null, 3_000, time, null];
  const subject = makeWords(random, 6);
  return [
    time * 1_000,
    randomUUID(),
    at % 5 < 3 ? 1 : 2,
    time * 1_000,
    'received',
    ...flags,
    ...times,
    ...people,
    subject,
    text.slice(0, 200),
    '[]',
    text,
  ];
}

export async function fillFloor(server: BenchServer): Promise<void> {
  const random = createRandom(7);
  await post(server, '/setup', {
    small: SMALL.toString('base64'),
    listed: LISTED + 1,
    players: Array.from({ length: PLAYERS }, (_, at) => [playerOf(at), 1 + Math.floor(1_000 * random() ** 3)]),
    messages: Array.from({ length: MESSAGES }, (_, at) => makeFloorMessage(at, random)),
  });
}

/** Waits until accepted mail is delivered. */
export async function waitForDelivery(server: BenchServer): Promise<void> {
  for (;;) {
    const { pending } = await ask<{ pending: number }>(server, { method: 'GET', target: '/v1/inbound' });
    if (pending === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
