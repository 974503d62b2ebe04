/** Prints milliseconds per action, and until a change is seen on the other side, for docs/bridge.md. */
import { loadavg } from 'node:os';
import type { ImapFlow } from 'imapflow';
import { createTransport } from 'nodemailer';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { NODE_NETWORK } from '../../../bridge/node-network.ts';
import { type BridgeWorld, connectImapflow, type Person, startBridgeWorld } from '../../support/bridge/bridge-world.ts';
import { toMail } from '../../support/bridge/mails.ts';
import { importWhole, listFolder } from '../../support/mail/mail.ts';

const TIMES = Number(process.env.TIMES ?? 7);
const MESSAGES = 500;
let world: BridgeWorld;
let ann: Person;

beforeAll(async () => {
  world = await startBridgeWorld();
  ann = await world.addPerson('ann');
  const mbox = Array.from(
    { length: MESSAGES },
    (_, at) => `From x Fri Jan  2 03:04:05 2026\r\n${toMail(`mail-${at}`)}`,
  );
  await importWhole(world.server, ann.token, mbox.join('\r\n'), 'application/mbox');
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

const open = (): Promise<ImapFlow> => connectImapflow(world, ann);

/** Prints the median and the slowest of several runs. */
async function measure(name: string, act: (time: number) => Promise<unknown>, times = TIMES): Promise<void> {
  const took: number[] = [];
  for (let time = 0; time < times; time++) {
    const begin = performance.now();
    await act(time);
    took.push(performance.now() - begin);
  }
  took.sort((a, b) => a - b);
  const load = loadavg()[0]?.toFixed(1);
  console.log(
    `${name}: median ${took[times >> 1]?.toFixed(0)} ms, slowest ${took.at(-1)?.toFixed(0)} ms, load ${load}`,
  );
}
const drain = async (messages: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of messages);
};

it('measures actions', async () => {
  await measure('connect and log in', async () => (await open()).close());
  const client = await open();
  await measure('select for the first time', () => client.mailboxOpen('INBOX'), 1);
  await measure('select again', () => client.mailboxOpen('INBOX'));
  expect(client.mailbox).toMatchObject({ exists: MESSAGES });
  await measure('list with status', () => client.list({ statusQuery: { messages: true, unseen: true } }));
  await measure('noop', () => client.noop());
  await measure('flags of 500', () => drain(client.fetch('1:*', { flags: true })));
  const overview = { envelope: true, bodyStructure: true, headers: ['references'] };
  await measure('envelopes, structures and a header field of 500', () => drain(client.fetch('1:*', overview)));
  await measure('open a message', (time) => client.fetchOne(String(time + 1), { source: true }));
  await measure('change a flag', (time) => client.messageFlagsAdd(String(time + 1), ['\\Flagged']));
  await measure('change a flag of 500', (time) =>
    client.messageFlagsSet('1:*', time % 2 ? ['\\Seen'] : ['\\Answered']),
  );
  await measure('copy', (time) => client.messageCopy(String(time + 1), 'Archive'));
  await measure('move', () => client.messageMove('1', 'Archive'));
  await measure('delete and expunge', () => client.messageDelete('1'));
  await measure('search a text', () => client.search({ body: 'mail-300' }));
  await measure('append', (time) => client.append('Archive', toMail(`appended-${time}`)));
  await client.logout();
  const transport = createTransport({
    host: 'localhost',
    port: world.bridge.smtpsPort,
    secure: true,
    tls: { rejectUnauthorized: false },
    auth: { user: ann.email, pass: ann.appToken },
  });
  await measure('connect, log in and send', (time) =>
    transport.sendMail({
      envelope: { from: ann.email, to: [ann.email] },
      raw: toMail(`sent-${time}`).replace('bob@elsewhere.test', ann.email),
    }),
  );
});

it('measures when a change is seen on the other side', async () => {
  const client = await open();
  await client.mailboxOpen('INBOX');
  const [message] = await listFolder(world.server, ann, 'inbox');
  const idling = client.idle();
  await measure(
    'a mark of the web app, seen in IDLE',
    async (time) => {
      const seen = new Promise((resolve) => client.once('flags', resolve));
      await world.server.call('PATCH', `/v1/messages/${message.id}`, { is_flagged: time % 2 === 0 }, ann.token);
      await seen;
    },
    30,
  );
  await measure(
    'new mail, seen in IDLE',
    async (time) => {
      const seen = new Promise((resolve) => client.once('exists', resolve));
      await importWhole(world.server, ann.token, toMail(`new-${time}`), 'message/rfc822');
      await seen;
    },
    30,
  );
  client.close();
  await idling.catch(() => {});
  const other = await open();
  await other.mailboxOpen('INBOX');
  let see = (): void => {};
  const socket = NODE_NETWORK.openEvents(
    `${world.server.url.replace('http', 'ws')}/v1/events`,
    { authorization: `Bearer ${ann.token}` },
    { onMessage: () => see(), onClose: () => {} },
  );
  await measure(
    'a mark of a program, told to the web app',
    async (time) => {
      const seen = new Promise<void>((resolve) => {
        see = resolve;
      });
      await (time % 2 === 0 ? other.messageFlagsAdd('1', ['\\Flagged']) : other.messageFlagsRemove('1', ['\\Flagged']));
      await seen;
    },
    30,
  );
  socket.close();
  await other.logout();
});
