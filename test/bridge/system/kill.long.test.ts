/** The bridge and the server end without warning in the middle of APPEND, MOVE and submission. Nothing is lost, and nothing is there twice. */
import { type ChildProcess, spawn } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createTransport } from 'nodemailer';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type BridgeWorld, type Person, startBridgeWorld } from '../../support/bridge/bridge-world.ts';
import { toMail } from '../../support/bridge/mails.ts';
import { listFolder } from '../../support/mail/mail.ts';
import { freePort } from '../../support/server.ts';

const ROOT = join(import.meta.dirname, '../../..');
const ROUNDS = Number(process.env.ROUNDS ?? 12);
let world: BridgeWorld;
let ann: Person;
let bridge: ChildProcess;
let ports: { imap: number; smtp: number };

beforeAll(async () => {
  world = await startBridgeWorld();
  ann = await world.addPerson('ann');
  ports = { imap: await freePort(), smtp: await freePort() };
  await startProcess();
});
afterAll(async () => {
  bridge?.kill('SIGKILL');
  await world?.[Symbol.asyncDispose]();
});

async function startProcess(): Promise<void> {
  bridge = spawn(process.execPath, [join(ROOT, 'bridge/main.ts')], {
    env: {
      ...process.env,
      BRIDGE_SERVER: world.server.url,
      BRIDGE_ALLOW_PLAINTEXT: '1',
      BRIDGE_IMAP_PORT: String(ports.imap),
      BRIDGE_SMTP_PORT: String(ports.smtp),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise((resolve) => bridge.stdout?.once('data', resolve));
}

/** Ends the bridge or the server after a random time, and starts it again. */
async function strike(round: number): Promise<void> {
  await pause(Math.random() * 120);
  if (round % 3 === 2) {
    await world.server.kill9();
    await world.server.start();
    return;
  }
  const exited = new Promise((resolve) => bridge.once('exit', resolve));
  bridge.kill('SIGKILL');
  await exited;
  await startProcess();
}

/**
 * Sends commands on a connection of its own, the last one once the others are answered.
 * @returns the answer to the last; null if the connection ended or the answer was NO.
 */
function converse(commands: readonly string[], onLast: () => void = () => {}): Promise<string | null> {
  return new Promise((resolve) => {
    const socket: Socket = connect(ports.imap, '127.0.0.1');
    let received = '';
    const last = `t${commands.length}`;
    const isReady = new RegExp(`^t${commands.length - 1} OK`, 'm');
    let isSent = false;
    const send = (at: number) => socket.write(`t${at + 1} ${commands[at]}\r\n`);
    const finish = (answer: string | null): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.on('data', (bytes) => {
      received += bytes;
      if (!isSent && isReady.test(received)) {
        isSent = true;
        send(commands.length - 1);
        onLast();
      }
      const answer = new RegExp(`^${last} (OK|NO|BAD).*`, 'm').exec(received);
      if (answer) finish(answer[1] === 'OK' ? received : null);
    });
    socket.on('close', () => finish(null)).on('error', () => {});
    socket.on('connect', () => commands.slice(0, -1).forEach((_, at) => void send(at)));
  });
}
const login = () => `LOGIN ${ann.email} ${ann.appToken}`;

async function repeat(command: () => Promise<unknown>): Promise<void> {
  for (let attempt = 0; !(await command()); attempt++) {
    expect(attempt).toBeLessThan(50);
    await pause(200);
  }
}
const subjectsIn = async (role: string): Promise<string[]> =>
  (await listFolder(world.server, ann, role)).map(({ subject }) => subject).sort();

it('stores each appended message once', async () => {
  const subjects: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const mail = toMail(`append-${round}`, `X-Pad: ${'x'.repeat(70)}\r\n`.repeat(40));
    subjects.push(`append-${round}`);
    const appending = () => converse([login(), `APPEND Archive {${mail.length}}\r\n${mail}`]);
    await Promise.all([repeat(appending), strike(round)]);
  }
  expect(await subjectsIn('archive')).toEqual(subjects.sort());
});
it('leaves each moved message in one folder', async () => {
  const before = await subjectsIn('archive');
  for (let round = 0; round < ROUNDS; round++) {
    // A program that did not see the answer looks again, and moves what is still there.
    let move: Promise<unknown> = Promise.resolve();
    await new Promise<void>((resolve) => {
      move = converse([login(), 'SELECT Archive', 'MOVE 1 Trash'], resolve).finally(resolve);
    });
    await Promise.all([move, strike(round)]);
  }
  const [left, moved] = [await subjectsIn('archive'), await subjectsIn('trash')];
  expect([...left, ...moved].sort()).toEqual(before);
  expect(moved.length).toBeGreaterThan(0);
});
it('sends each submitted message once', async () => {
  const subjects: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const subject = `submit-${round}`;
    subjects.push(subject);
    const send = async (): Promise<boolean> => {
      const transport = createTransport({
        host: '127.0.0.1',
        port: ports.smtp,
        ignoreTLS: true,
        auth: { user: ann.email, pass: ann.appToken },
        connectionTimeout: 5_000,
      });
      const raw = toMail(subject).replace('bob@elsewhere.test', ann.email);
      return transport.sendMail({ envelope: { from: ann.email, to: [ann.email] }, raw }).then(
        () => true,
        () => false,
      );
    };
    await Promise.all([repeat(send), strike(round)]);
  }
  await expect.poll(() => subjectsIn('inbox'), { timeout: 120_000 }).toEqual(subjects.sort());
  expect(await subjectsIn('sent')).toEqual(subjects);
});
