/** The bridge as one file, in a folder with nothing else, as an operator runs it. `BRIDGE_NODE` names another Node to run it with. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ImapFlow } from 'imapflow';
import { createTransport } from 'nodemailer';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildBridge } from '../../../bridge/build.ts';
import { type BridgeWorld, startBridgeWorld } from '../../support/bridge/bridge-world.ts';
import { toMail } from '../../support/bridge/mails.ts';
import { importWhole } from '../../support/mail/mail.ts';
import { freePort } from '../../support/server.ts';

const folder = mkdtempSync(join(tmpdir(), 'tessera-bundle-'));
const bundle = join(folder, 'bridge.mjs');
let world: BridgeWorld;
let bridge: ChildProcess | undefined;

beforeAll(async () => {
  world = await startBridgeWorld();
  await buildBridge(bundle);
});
afterAll(async () => {
  bridge?.kill('SIGKILL');
  rmSync(folder, { recursive: true });
  await world?.[Symbol.asyncDispose]();
});

const start = (env: Readonly<Record<string, string>>): ChildProcess =>
  spawn(process.env.BRIDGE_NODE ?? process.execPath, [bundle], {
    cwd: folder,
    env: env as NodeJS.ProcessEnv,
    stdio: ['ignore', 'pipe', 'pipe'],
  });

function readOutput(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.stdout?.once('data', (bytes) => resolve(String(bytes)));
    child.stderr?.once('data', (bytes) => resolve(String(bytes)));
  });
}

it('serves a mail program, with pushes and submission', async () => {
  const ann = await world.addPerson('ann');
  const ports = { imap: await freePort(), smtp: await freePort() };
  bridge = start({
    BRIDGE_SERVER: world.server.url,
    BRIDGE_ALLOW_PLAINTEXT: '1',
    BRIDGE_IMAP_PORT: String(ports.imap),
    BRIDGE_SMTP_PORT: String(ports.smtp),
  });
  expect(await readOutput(bridge)).toContain(`IMAP on 127.0.0.1:${ports.imap}`);
  const auth = { user: ann.email, pass: ann.appToken };
  const client = new ImapFlow({
    host: '127.0.0.1',
    port: ports.imap,
    secure: false,
    doSTARTTLS: false,
    auth,
    logger: false,
  });
  await client.connect();
  await client.mailboxOpen('INBOX');
  const exists = new Promise((resolve) => client.once('exists', ({ count }) => resolve(count)));
  const idling = client.idle();
  await importWhole(world.server, ann.token, toMail('pushed'), 'message/rfc822');
  expect(await exists).toBe(1);
  const message = await client.fetchOne('1', { source: true });
  if (!message) throw new Error('The message is missing');
  expect(message.source?.toString()).toBe(toMail('pushed'));
  await client.logout();
  await idling.catch(() => {});
  const transport = createTransport({ host: '127.0.0.1', port: ports.smtp, ignoreTLS: true, auth });
  // Large enough for a file instead of memory.
  const sent = await transport.sendMail({
    from: ann.email,
    to: ann.email,
    subject: 'large',
    text: 'x'.repeat(1_000_000),
  });
  expect(sent.accepted).toEqual([ann.email]);
});
it.each([
  ['BRIDGE_SERVER', {}],
  ['BRIDGE_CERT', { BRIDGE_SERVER: 'https://mail.example.com' }],
  ['https://', { BRIDGE_SERVER: 'http://mail.example.com', BRIDGE_ALLOW_PLAINTEXT: '1' }],
  ['127.0.0.1', { BRIDGE_SERVER: 'https://mail.example.com', BRIDGE_ALLOW_PLAINTEXT: '1', BRIDGE_HOST: '0.0.0.0' }],
])('says what is wrong with its settings: %s', async (word, env) => {
  const child = start(env as Readonly<Record<string, string>>);
  const exited = new Promise((resolve) => child.once('exit', resolve));
  expect(await readOutput(child)).toContain(word);
  expect(await exited).toBe(1);
});
