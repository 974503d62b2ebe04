/** Garbage, long lines and 500 idle connections: the bridge lives on, within 200 MB. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type BridgeWorld, type Person, startBridgeWorld } from '../../support/bridge/bridge-world.ts';
import { toMail } from '../../support/bridge/mails.ts';
import { importWhole } from '../../support/mail/mail.ts';
import { freePort } from '../../support/server.ts';

const CONNECTIONS = 500;
const RESIDENT_MB_MAX = 200;
let world: BridgeWorld;
let people: Person[];
let bridge: ChildProcess;
let port: number;

beforeAll(async () => {
  world = await startBridgeWorld();
  people = [];
  for (let count = 0; count < 5; count++) people.push(await world.addPerson(`ann${count}`));
  port = await freePort();
  bridge = spawn(process.execPath, [join(import.meta.dirname, '../../../bridge/main.ts')], {
    env: {
      ...process.env,
      BRIDGE_SERVER: world.server.url,
      BRIDGE_ALLOW_PLAINTEXT: '1',
      BRIDGE_IMAP_PORT: String(port),
      BRIDGE_SMTP_PORT: String(await freePort()),
      BRIDGE_CONNECTIONS_PER_ADDRESS: '1000',
      BRIDGE_CONNECTIONS_PER_TOKEN: '200',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise((resolve) => bridge.stdout?.once('data', resolve));
});
afterAll(async () => {
  bridge?.kill('SIGKILL');
  await world?.[Symbol.asyncDispose]();
});

const residentMb = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${bridge.pid}/status`, 'utf8'))?.[1]) / 1_024;

function open(): { socket: Socket; received: (pattern: RegExp) => Promise<string> } {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  let text = '';
  socket.on('data', (bytes) => {
    text += bytes;
  });
  return {
    socket,
    received: async (pattern) => {
      while (!pattern.test(text)) {
        if (socket.destroyed) return text;
        await new Promise((resolve) => socket.once('data', resolve).once('close', resolve));
      }
      const found = text;
      text = '';
      return found;
    },
  };
}

it('ends connections with garbage and lines of 10 MB, and serves others', async () => {
  for (const [at, bytes] of [
    Buffer.alloc(10_000_000, 'a'),
    Buffer.alloc(10_000_000, 0),
    Buffer.from('\x16\x03\x01\x02\0\r\n'.repeat(1_000_000)),
  ].entries()) {
    const { socket } = open();
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(bytes);
    await closed;
    expect([at, bridge.exitCode]).toEqual([at, null]);
  }
  const { socket, received } = open();
  socket.write('a CAPABILITY\r\n');
  expect(await received(/^a OK/m)).toContain('IMAP4rev1');
  socket.destroy();
  expect(residentMb()).toBeLessThan(RESIDENT_MB_MAX);
});
it(`tells ${CONNECTIONS} idle connections of new mail, within ${RESIDENT_MB_MAX} MB`, async () => {
  for (const person of people) await importWhole(world.server, person.token, toMail('first'), 'message/rfc822');
  const idle: { socket: Socket; received: (pattern: RegExp) => Promise<string> }[] = [];
  for (let count = 0; count < CONNECTIONS; count++) {
    const { socket, received } = open();
    const { email, appToken } = people[count % people.length] as Person;
    socket.write(`a LOGIN ${email} ${appToken}\r\nb SELECT INBOX\r\nc IDLE\r\n`);
    expect(await received(/^\+ idling/m)).toContain('b OK');
    idle.push({ socket, received });
  }
  const before = residentMb();
  await Promise.all(
    people.map((person) => importWhole(world.server, person.token, toMail('second'), 'message/rfc822')),
  );
  const told = await Promise.all(idle.map(({ received }) => received(/EXISTS/)));
  expect(told.filter((text) => text.includes('* 2 EXISTS'))).toHaveLength(CONNECTIONS);
  console.log(`resident: ${Math.round(before)} MB idle, ${Math.round(residentMb())} MB after a push`);
  expect(residentMb()).toBeLessThan(RESIDENT_MB_MAX);
  for (const { socket } of idle) socket.destroy();
});
