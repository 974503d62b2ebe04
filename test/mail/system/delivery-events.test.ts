/**
 * Delivery events through a queue into a running server: late, twice and out of order, of known and unknown messages, and while the
 * server is killed. The binding is Miniflare's, which refuses what the platform refuses.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { DeliveryEventKind } from '../../../workers/mail/domain/delivery-event.ts';
import { SECRET_SUBJECT, toDeliveryEvent } from '../../support/mail/delivery-events.ts';
import { freePort } from '../../support/server.ts';
import { copyStateTemplate } from '../../support/state-template.ts';

const VARS = {
  ROOT_TOKEN: 'root-of-tests',
  MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  MAIL_DOMAINS: 'example.test',
  MAIL_TRANSPORT: 'email-service',
  MAIL_HOLD_SECONDS: '0',
  REGISTRATION: 'open',
};

// biome-ignore lint/suspicious/noExplicitAny: answers of several routes; each test asserts the members it needs
type Json = any;

let directory: string;
let port: number;
let child: ChildProcess | undefined;
let log = '';
let url = '';

async function start(): Promise<void> {
  const script = join(import.meta.dirname, '../../support/mail/event-server.ts');
  const env = { ...process.env, VARS: JSON.stringify(VARS) };
  child = fork(script, [directory, String(port)], { env, detached: true, stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  child.stdout?.on('data', (chunk: Buffer) => {
    log += chunk;
  });
  const [message] = (await once(child, 'message')) as [{ url: string }];
  url = message.url;
}

async function end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const ending = child;
  child = undefined;
  if (!ending?.pid || ending.exitCode !== null) return;
  const exited = once(ending, 'exit');
  process.kill(-ending.pid, signal);
  await exited;
}

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'tessera-events-'));
  copyStateTemplate(directory);
  port = await freePort();
  log = '';
  await start();
});
afterEach(async () => {
  await end('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

async function call(method: string, path: string, token: string, body?: unknown): Promise<Json> {
  const answer = await fetch(url + path, {
    method,
    headers: { ...(token ? { authorization: `Bearer ${token}` } : {}), 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return answer.json();
}

async function emit(events: readonly unknown[]): Promise<void> {
  if (!child) throw new Error('the server does not run');
  const sent = once(child, 'message');
  child.send({ events });
  await sent;
}

interface Sent {
  readonly id: string;
  readonly token: string;
  readonly email: string;
  /** Id of Email Service, by recipient. */
  readonly references: ReadonlyMap<string, string>;
}

async function sendMail(recipients: readonly string[]): Promise<Sent> {
  const email = `a${crypto.randomUUID().slice(0, 8)}@example.test`;
  const { token } = await call('POST', '/v1/auth/register', '', {
    email,
    password: 'correct horse battery',
    name: 'Ann',
  });
  const to = recipients.map((each) => ({ email: each }));
  const { id } = await call('POST', '/v1/messages', token, { to, subject: SECRET_SUBJECT, body: 'hello' });
  const readReferences = async () => {
    const { delivery } = await call('GET', `/v1/messages/${id}`, token);
    return (delivery as Json[]).flatMap(({ email: recipient, last_reply: reply }) => {
      const reference = /^250 accepted as (\S+)/.exec(reply ?? '')?.[1];
      return reference === undefined ? [] : [[recipient, reference] as const];
    });
  };
  await expect.poll(async () => (await readReferences()).length).toBe(recipients.length);
  return { id, token, email, references: new Map(await readReferences()) };
}

const readStates = async ({ id, token }: Sent): Promise<Record<string, string>> =>
  Object.fromEntries(
    ((await call('GET', `/v1/messages/${id}`, token)).delivery as Json[]).map((each) => [
      each.email,
      each.delayed ? 'delayed' : each.state,
    ]),
  );

/** Number of reports in the Inbox. */
async function countReports({ token }: Sent): Promise<number> {
  const folders = (await call('GET', '/v1/folders', token)) as Json[];
  const inbox = folders.find(({ role }) => role === 'inbox');
  const { data } = await call('GET', `/v1/folders/${inbox.id}/messages?limit=100`, token);
  return (data as Json[]).filter(({ subject }) => subject.startsWith('Undelivered')).length;
}

/** Number of calls of the binding that succeeded: the mails that left. */
const countSent = (): number => log.match(/"event":"outbound_recipient_finished"[^\n]*"outcome":"sent"/g)?.length ?? 0;

const eventOf = (sent: Sent, recipient: string, kind: DeliveryEventKind, at = Date.now()) =>
  toDeliveryEvent(kind, { reference: sent.references.get(recipient) ?? '', sender: sent.email, recipient, at });

it('reach the sender, whatever their order, and no event sends a mail', async () => {
  const recipients = ['late', 'bounced', 'delivered', 'twice', 'silent'].map((name) => `${name}@far.test`);
  const sent = await sendMail(recipients);
  const event = (name: string, kind: DeliveryEventKind) => eventOf(sent, `${name}@far.test`, kind);
  await emit([
    event('late', 'deferred'),
    event('bounced', 'bounced'),
    event('bounced', 'deferred'),
    event('bounced', 'delivered'),
    event('delivered', 'complained'),
    event('delivered', 'delivered'),
    event('delivered', 'bounced'),
    event('twice', 'failed'),
    event('twice', 'rejected'),
    event('twice', 'failed'),
    toDeliveryEvent('bounced', { reference: 'of another program', sender: sent.email }),
    { type: 'cf.email.sending.message.opened' },
  ]);
  await expect
    .poll(() => readStates(sent))
    .toEqual({
      'late@far.test': 'delayed',
      'bounced@far.test': 'failed',
      'delivered@far.test': 'delivered',
      'twice@far.test': 'failed',
      'silent@far.test': 'sent',
    });
  await expect.poll(() => countReports(sent)).toBeGreaterThan(0);
  const metrics = async () =>
    (await fetch(`${url}/v1/metrics`, { headers: { authorization: `Bearer ${VARS.ROOT_TOKEN}` } })).text();
  await expect.poll(metrics).toMatch(/tessera_delivery_events_total\{event="bounced",outcome="unknown"\} 1\n/);
  expect(await metrics()).toMatch(/tessera_delivery_events_total\{event="malformed",outcome="malformed"\} 1\n/);
  expect(countSent()).toBe(recipients.length);
  expect(log).not.toContain(SECRET_SUBJECT);
  expect(log).not.toContain('platform_violation');
});

it('are applied once although the server is killed between the event and the state', { timeout: 300_000 }, async () => {
  const recipients = Array.from({ length: 12 }, (_, n) => `r${n}@far.test`);
  const sent = await sendMail(recipients);
  const kinds: DeliveryEventKind[] = ['bounced', 'delivered', 'deferred'];
  const events = recipients.map((recipient, n) => eventOf(sent, recipient, kinds[n % 3] ?? 'delivered'));
  for (let kill = 0; kill < 3; kill++) {
    await emit(events);
    // The queue waits up to two seconds for a batch, so each kill meets another moment of it.
    await new Promise((resolve) => setTimeout(resolve, 1_800 + kill * 150));
    await end('SIGKILL');
    await start();
  }
  // A queue delivers again what the killed server had not acknowledged.
  await emit([...events, ...events]);
  const expected = Object.fromEntries(
    recipients.map((recipient, n) => [recipient, ['failed', 'delivered', 'delayed'][n % 3]]),
  );
  await expect.poll(() => readStates(sent)).toEqual(expected);
  const readReported = async () => {
    const folders = (await call('GET', '/v1/folders', sent.token)) as Json[];
    const inbox = folders.find(({ role }) => role === 'inbox');
    const { data } = await call('GET', `/v1/folders/${inbox.id}/messages?limit=100`, sent.token);
    const bodies = await Promise.all(
      (data as Json[]).map(({ id }) =>
        call('GET', `/v1/messages/${id}`, sent.token).then(({ body }) => body as string),
      ),
    );
    return bodies.flatMap((body) => [...body.matchAll(/<(r\d+@far\.test)>/g)].map(([, to = '']) => to)).sort();
  };
  const failed = recipients.filter((recipient) => expected[recipient] === 'failed').sort();
  await expect.poll(readReported).toEqual(failed);
  expect(countSent()).toBe(recipients.length);
});
