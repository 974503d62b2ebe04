/** The measured operations. The client is in Sydney and the primaries are in Ashburn, unless the operation says otherwise. */

import { randomUUID } from 'node:crypto';
import { toFirstScreen } from '../mail/first-screen.ts';
import type { Floor } from './floor.ts';
import type { Call, Globe } from './globe.ts';
import { FROM, type Operation, once, times } from './operation.ts';
import { STORAGE } from './storage-operations.ts';

interface Person {
  readonly email: string;
  readonly userId: string;
  readonly token: string;
  readonly inbox: string;
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** Registers a user from the client's region, so that the mailbox is created there, and delivers some mail. */
async function makePerson(globe: Globe, mails: number): Promise<Person> {
  const name = `p${randomUUID().slice(0, 8)}`;
  const email = `${name}@example.test`;
  const body = JSON.stringify({ email, password: 'correct horse battery', name });
  const { text } = await globe.send(FROM, { method: 'POST', path: '/v1/auth/register', headers: JSON_TYPE, body });
  const { token, user } = JSON.parse(text);
  for (const at of times(mails, (each) => each)) await receive(globe, email, `seed ${at}`);
  await globe.settle();
  const folders = JSON.parse((await globe.send(FROM, { method: 'GET', path: '/v1/folders', as: token })).text);
  const inbox = folders.find((folder: { role: string }) => folder.role === 'inbox').id;
  return { email, userId: user.user_id, token, inbox };
}

const WORDS = Array.from({ length: 80 }, (_, at) => `word${at}`).join(' ');
const inbound = (email: string, subject: string): Call => ({
  method: 'POST',
  path: '/v1/inbound',
  as: 'root-of-the-benchmark',
  headers: {
    'x-envelope-from': 'far@elsewhere.test',
    'x-envelope-to': email,
    'x-client-ip': '192.0.2.1',
    'x-helo': 'x',
  },
  body: [
    'From: Far <far@elsewhere.test>',
    `To: ${email}`,
    `Subject: ${subject}`,
    `Message-ID: <${randomUUID()}@elsewhere.test>`,
    `Date: ${new Date().toUTCString().replace('GMT', '+0000')}`,
    '',
    WORDS,
    '',
  ].join('\r\n'),
});
const receive = (globe: Globe, email: string, subject: string) => globe.send('iad', inbound(email, subject));

const mailRead = (operation: string, toCall: (person: Person, id: string) => Call): Operation => ({
  operation,
  from: FROM,
  warm: true,
  async run(globe, samples) {
    const person = await makePerson(globe, 10);
    const list: Call = { method: 'GET', path: `/v1/folders/${person.inbox}/messages`, as: person.token };
    const { data } = JSON.parse((await globe.send(FROM, list)).text);
    const call = toCall(person, data[0].id);
    await globe.send(FROM, call);
    return globe.measure(FROM, { samples: times(samples, () => once(call)), floor: { floor: 'call-near-object' } });
  },
});

/** One JMAP request: reads the folders and, by a reference to the first query's result, the newest messages of the inbox. */
const firstScreen = ({ userId: accountId, token, inbox }: Person): Call => ({
  method: 'POST',
  path: '/v1/jmap/api',
  as: token,
  headers: JSON_TYPE,
  body: toFirstScreen(accountId, inbox),
});

const MAIL: readonly Operation[] = [
  mailRead('mail-list', ({ token, inbox }) => ({ method: 'GET', path: `/v1/folders/${inbox}/messages`, as: token })),
  mailRead('mail-open', ({ token }, id) => ({ method: 'GET', path: `/v1/messages/${id}`, as: token })),
  mailRead('mail-search', ({ token }) => ({ method: 'GET', path: '/v1/messages', query: { q: 'word7' }, as: token })),
  mailRead('jmap-first-screen', firstScreen),
  {
    operation: 'mail-in',
    from: 'iad',
    warm: true,
    async run(globe, samples) {
      const { email } = await makePerson(globe, 3);
      const samplesOf = times(samples, (at) => once(inbound(email, `first ${at} ${randomUUID()}`)));
      return globe.measure('iad', { samples: samplesOf });
    },
  },
  {
    operation: 'mail-out',
    from: FROM,
    warm: true,
    async run(globe, samples) {
      const { token } = await makePerson(globe, 3);
      const send = (at: number): Call => ({
        method: 'POST',
        path: '/v1/messages',
        as: token,
        headers: JSON_TYPE,
        body: JSON.stringify({ to: [{ email: 'far@elsewhere.test' }], subject: `out ${at}`, body: WORDS }),
      });
      await globe.send(FROM, send(-1));
      return globe.measure(FROM, { samples: times(samples, (at) => once(send(at))) });
    },
  },
];

let board: Promise<string> | undefined;
/**
 * Posts scores of twenty players from the home region, so that the board's Durable Objects are created there.
 * @returns the token of the game server.
 */
function makeBoard(globe: Globe): Promise<string> {
  board ??= (async () => {
    const { token } = await globe.setup('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] });
    for (const at of times(20, (each) => each)) await globe.send('iad', post(token, `player-${at}`));
    return token;
  })();
  return board;
}
const post = (token: string, userId: string): Call => ({
  method: 'POST',
  path: '/v1/scores',
  as: token,
  headers: JSON_TYPE,
  body: JSON.stringify({ user_id: userId, points: 7, event_id: randomUUID() }),
});

/** Longer than a view that has just woken asks the shards for each list (durable-objects/leaderboard/view/). */
const VIEW_SETTLES_MS = 5_000;
/** The load of the workload in docs/costs.md: 900 million operations in a month. */
const BOARD_OPERATIONS_PER_SECOND = 900e6 / (30 * 24 * 3600);

const boardCall = (
  operation: string,
  floor: Floor,
  toCall: (token: string, at: number) => Call,
  settlesMs = 0,
): Operation => ({
  operation,
  from: FROM,
  warm: true,
  async run(globe, samples) {
    const token = await makeBoard(globe);
    await globe.send(FROM, toCall(token, 0));
    await new Promise((resolve) => setTimeout(resolve, settlesMs));
    const calls = times(samples, (at) => once(toCall(token, at)));
    return globe.measure(FROM, { samples: calls, floor: { floor }, operationsPerSecond: BOARD_OPERATIONS_PER_SECOND });
  },
});

const BOARD: readonly Operation[] = [
  boardCall('board-top', 'call-near-object', () => ({ method: 'GET', path: '/v1/scores' }), VIEW_SETTLES_MS),
  boardCall('board-rank', 'call-object', () => ({ method: 'GET', path: '/v1/scores/player-7' })),
  boardCall('board-neighbors', 'call-object-twice', () => ({ method: 'GET', path: '/v1/scores/player-7/neighbors' })),
  boardCall('board-post', 'call-object', (token, at) => post(token, `player-${at % 20}`)),
  boardCall('board-batch', 'call-object', (token) => ({
    method: 'POST',
    path: '/v1/scores/batch',
    as: token,
    headers: JSON_TYPE,
    body: JSON.stringify({
      updates: times(100, (at) => ({ user_id: `player-${at % 20}`, points: 1, event_id: randomUUID() })),
    }),
  })),
];

export const OPERATIONS: readonly Operation[] = [...STORAGE, ...MAIL, ...BOARD];
