/** The measured operations. Each makes its calls for Tessera and for the floor. */

import { randomUUID } from 'node:crypto';
import { toFirstScreen } from '../mail/first-screen.ts';
import { createRandom, makeWords, wordOfRank } from '../mail/mailbox-text.ts';
import { BENCH_ROOT_TOKEN, type BenchServer } from '../shared/servers.ts';
import type { Call } from './client.ts';
import { anyPlayer, type Person, type Product, SMALL, type Storage, type World, waitForDelivery } from './world.ts';

export interface Operation {
  readonly name: string;
  readonly product: Product;
  readonly connections: number;
  /** Ratio to the floor that Tessera promises, if any. */
  readonly target?: number;
  /** Makes the source of the calls of one round. */
  readonly ours: (world: World) => () => Call;
  readonly floor: () => Call;
  /** Waits for the work that the calls began and that goes on after their answers. */
  readonly settle?: (server: BenchServer) => Promise<void>;
}

const needed = <T>(part: T | undefined): T => {
  if (part === undefined) throw new Error('the product of this operation was not filled');
  return part;
};

const get = (target: string): (() => Call) => {
  const call: Call = { method: 'GET', target };
  return () => call;
};

/** Keys of a round of writes. With one key, all connections would write the same row. */
const WRITTEN = 64;

const storage = (
  name: string,
  {
    connections = 16,
    target,
    floor,
    calls,
  }: Pick<Operation, 'floor'> & Partial<Operation> & { calls: (storage: Storage) => Call[] },
): Operation => ({
  name,
  product: 'storage',
  connections,
  ...(target === undefined ? {} : { target }),
  floor,
  ours(world) {
    const all = calls(needed(world.storage));
    let at = 0;
    return () => all[at++ % all.length] as Call;
  },
});

const postScore = (target: string, headers: Readonly<Record<string, string>>) => (): Call => ({
  method: 'POST',
  target,
  headers,
  body: JSON.stringify({ user_id: anyPlayer(), points: 1, event_id: randomUUID() }),
});

const score = (connections: number): Operation => ({
  name: `score-${connections}`,
  product: 'leaderboard',
  connections,
  floor: postScore('/score', {}),
  ours: (world) => postScore('/v1/scores', needed(world.poster)),
});

const boardRead = (name: string, ours: () => Call, floor: () => Call): Operation => ({
  name,
  product: 'leaderboard',
  connections: 16,
  target: 1.7,
  floor,
  ours: () => ours,
});

const mailRead = (name: string, target: number, floor: () => Call, toCall: (person: Person) => Call): Operation => ({
  name,
  product: 'mail',
  connections: 8,
  target,
  floor,
  ours(world) {
    const call = toCall(needed(world.reader));
    return () => call;
  },
});

/** One JMAP request: the folders, and the newest messages of the inbox. */
const firstScreen = ({ userId: accountId, headers, inbox }: Person): Call => ({
  method: 'POST',
  target: '/v1/jmap/api',
  headers: { ...headers, 'content-type': 'application/json' },
  body: toFirstScreen(accountId, inbox),
});

const find =
  (query: string) =>
  ({ headers }: Person): Call => ({ method: 'GET', target: `/v1/messages?q=${encodeURIComponent(query)}`, headers });

const COMMON = wordOfRank(0);
const random = createRandom(11);

/** A message of about 1 KB without a parent. */
function makeMail(email: string): string {
  return [
    'From: Far <far@elsewhere.test>',
    `To: ${email}`,
    `Subject: ${makeWords(random, 6)}`,
    `Message-ID: <${randomUUID()}@elsewhere.test>`,
    `Date: ${new Date().toUTCString().replace('GMT', '+0000')}`,
    '',
    makeWords(random, 110),
    '',
  ].join('\r\n');
}

const mailIn: Operation = {
  name: 'mail-in',
  product: 'mail',
  connections: 4,
  target: 3,
  floor: () => ({ method: 'POST', target: '/mail-in', body: makeMail('floor@example.test') }),
  ours(world) {
    const { email } = needed(world.receiver);
    const headers = {
      authorization: `Bearer ${BENCH_ROOT_TOKEN}`,
      'x-envelope-from': 'far@elsewhere.test',
      'x-envelope-to': email,
      'x-client-ip': '192.0.2.1',
      'x-helo': 'far.elsewhere.test',
    };
    return () => ({ method: 'POST', target: '/v1/inbound', headers, body: makeMail(email) });
  },
  settle: waitForDelivery,
};

export const OPERATIONS: readonly Operation[] = [
  storage('get-4k', { target: 1.4, floor: get('/get-4k'), calls: ({ sign }) => [sign('GET', 'a-small')] }),
  storage('head', {
    floor: () => ({ method: 'HEAD', target: '/head' }),
    calls: ({ sign }) => [sign('HEAD', 'a-small')],
  }),
  storage('get-1m', { connections: 8, floor: get('/get-1m'), calls: ({ sign }) => [sign('GET', 'a-large')] }),
  storage('put-4k', {
    target: 1.6,
    floor: () => ({ method: 'PUT', target: '/put-4k', body: SMALL }),
    calls: ({ sign }) => Array.from({ length: WRITTEN }, (_, at) => ({ ...sign('PUT', `written/${at}`), body: SMALL })),
  }),
  storage('list', {
    connections: 4,
    target: 1.7,
    floor: get('/list'),
    calls: ({ sign }) => [sign('GET', '', { 'list-type': '2', prefix: 'listed/' })],
  }),
  score(16),
  score(64),
  boardRead('top', get('/v1/scores'), get('/top')),
  boardRead(
    'rank',
    () => ({ method: 'GET', target: `/v1/scores/${anyPlayer()}` }),
    () => ({ method: 'GET', target: `/rank?id=${anyPlayer()}` }),
  ),
  boardRead(
    'neighbors',
    () => ({ method: 'GET', target: `/v1/scores/${anyPlayer()}/neighbors` }),
    () => ({ method: 'GET', target: `/neighbors?id=${anyPlayer()}` }),
  ),
  mailRead('mail-list', 3, get('/mail-list'), ({ headers, inbox }) => ({
    method: 'GET',
    target: `/v1/folders/${inbox}/messages`,
    headers,
  })),
  mailRead('jmap', 4, () => ({ method: 'POST', target: '/jmap', body: '{"using":[],"methodCalls":[]}' }), firstScreen),
  mailRead('search', 4, get(`/search?q=${COMMON}`), find(COMMON)),
  mailRead('search-none', 4, get(`/search?q=${COMMON}`), find('absentword')),
  mailIn,
];
