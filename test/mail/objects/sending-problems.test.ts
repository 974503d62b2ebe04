/** What keeps mail from leaving through Email Service, as operators see it, and the limit of the installation per month. */
import { env as bindings, createExecutionContext } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import worker from '../../../workers/index.ts';
import { registerAccount } from '../../../workers/mail/accounts/accounts.ts';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { consumeDeliveryEvents } from '../../../workers/mail/outbound/delivery-events.ts';
import { sendDue } from '../../../workers/mail/outbound/send-due.ts';
import { submitMessage } from '../../../workers/mail/outbound/submission/submit-message.ts';
import { toDeliveryEvent } from '../../support/mail/delivery-events.ts';
import { createEmailService, type EmailServiceStandIn } from '../../support/mail/email-service.ts';

const HOUR_MS = 3_600_000;
let service: EmailServiceStandIn;
let env: Env;

// biome-ignore lint/suspicious/noExplicitAny: answers of several routes; each test asserts the members it needs
type Json = any;

const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

async function read(path: string): Promise<Json> {
  const request = new Request(`http://localhost${path}`, {
    headers: { authorization: 'Bearer root-of-tests' },
  }) as Request<unknown, IncomingRequestCfProperties>;
  return (await worker.fetch(request, env, createExecutionContext())).json();
}

interface Sender {
  readonly userId: string;
  readonly name: string;
  readonly email: string;
}

async function register(): Promise<Sender> {
  const email = `${crypto.randomUUID()}@example.test`;
  const request = { email, password: 'correct horse battery', name: 'Ann' };
  const account = await registerAccount(env, request, { client: 'unknown', url: 'http://localhost/' }, Date.now());
  return { userId: value(account).userId, name: 'Ann', email };
}

async function send(sender: Sender, ...to: string[]) {
  const request = { to: to.map((email) => ({ email })), subject: 'hi', body: 'hello' };
  const options = { idempotencyKey: null, requestJson: JSON.stringify(request) };
  const { messageId } = value(await submitMessage(env, sender, request, options));
  await sendDue(env, [sender.userId]);
  return value(await openMailbox(env, sender.userId).readMessage(messageId)).delivery;
}

beforeEach(async () => {
  service = createEmailService();
  env = { ...(bindings as Env), EMAIL: service.binding, MAIL_HOLD_SECONDS: '0', MAIL_HINTS: 'lost' } as unknown as Env;
  await env.DIRECTORY.exec("DELETE FROM mail_send_grant; DELETE FROM mail_error WHERE kind = 'sending'");
});
afterEach(() => void vi.useRealTimers());

const findProblems = async () => (await read('/v1/outbound/sending')).problems as Json[];
const findWarnings = async () => (await read('/v1/health')).warnings as Json[];
const deliver = (sender: Sender) =>
  consumeDeliveryEvents(env, {
    queue: 'tessera-mail-events',
    messages: service.sunk.map(({ reference }) => ({
      ...{ body: toDeliveryEvent('delivered', { reference, sender: sender.email }), attempts: 1 },
      ...{ ack: () => {}, retry: () => {} },
    })),
  } as unknown as MessageBatch);

describe('a domain that is not enabled for sending', () => {
  it('is named with the command that enables it, until its mail is delivered', async () => {
    const sender = await register();
    expect(await findProblems()).toEqual([]);
    service.failWith = 'E_SENDER_NOT_VERIFIED';
    expect(await send(sender, 'bob@far.test')).toMatchObject([{ state: 'deferred' }]);
    expect(await findProblems()).toMatchObject([
      {
        ...{ domain: 'example.test', code: 'not_allowed', command: 'npx wrangler email sending enable example.test' },
        reply: expect.stringContaining('E_SENDER_NOT_VERIFIED'),
      },
    ]);
    const [warning] = await findWarnings();
    expect(warning).toMatchObject({ name: 'example.test' });
    expect(warning.message).toContain('npx wrangler email sending enable example.test');
    const [queued] = (await read('/v1/outbound/errors')).data as Json[];
    expect(queued).toMatchObject({ kind: 'sending', code: 'not_allowed' });

    service.failWith = null;
    await send(sender, 'bob@far.test');
    await deliver(sender);
    expect(await findProblems()).toEqual([]);
    expect(await findWarnings()).toEqual([]);
  });

  it('is told apart from a quota, which no command raises', async () => {
    service.failWith = 'E_DAILY_LIMIT_EXCEEDED';
    await send(await register(), 'bob@far.test');
    expect(await findProblems()).toMatchObject([{ domain: 'example.test', code: 'quota', command: null }]);
  });
});

it('a domain whose delivery events do not arrive is named after an hour or two, with the command', async () => {
  const sender = await register();
  await send(sender, 'bob@far.test');
  expect(await findProblems()).toEqual([]);
  vi.useFakeTimers({ now: Date.now() + 3 * HOUR_MS, toFake: ['Date'] });
  expect(await findProblems()).toMatchObject([{ domain: 'example.test', code: 'no_events' }]);
  expect((await findProblems())[0].command).toContain('--source email.sending');
  await deliver(sender);
  expect(await findProblems()).toEqual([]);
});

describe('mail that waits', () => {
  it('for a consumer is told apart from mail that waits for its server', async () => {
    await env.DIRECTORY.exec('DELETE FROM mail_queue');
    const now = Date.now();
    const insert = `INSERT INTO mail_queue (outbox_id, destination, user_id, kind, size_bytes, queued_at, held, queued, deferred, next_attempt_at)
      VALUES (?, 'far.test', 'u', 'message', 1, ?, 0, ?, ?, ?)`;
    const add = (queued: number, deferred: number, nextAttemptAt: number) =>
      env.DIRECTORY.prepare(insert).bind(crypto.randomUUID(), now, queued, deferred, nextAttemptAt).run();
    await add(0, 3, now + HOUR_MS);
    await add(1, 0, now - 1_000);
    const readWaiting = async () => (await read('/v1/outbound/sending')).waiting;
    expect(await readWaiting()).toMatchObject({ for_consumer: 1, for_server: 3, consumers_max: null });
    expect(await findWarnings()).toEqual([]);
    await add(2, 4, now - 10 * 60_000);
    env = { ...env, MAIL_CONSUMERS: '2' } as unknown as Env;
    expect(await readWaiting()).toMatchObject({
      ...{ for_consumer: 7, for_server: 3, consumers_max: 2, diagnosis: 'too_few_consumers' },
      hints: expect.any(Number),
    });
    const [warning] = await findWarnings();
    expect(warning).toMatchObject({ name: 'MAIL_CONSUMERS', message: expect.stringContaining('Raise MAIL_CONSUMERS') });
    const metrics = new Request('http://localhost/v1/metrics', { headers: { authorization: 'Bearer root-of-tests' } });
    const text = await (
      await worker.fetch(metrics as Request<unknown, IncomingRequestCfProperties>, env, createExecutionContext())
    ).text();
    expect(text).toContain('tessera_mail_waiting{for="consumer"} 7\n');
    expect(text).toContain('tessera_mail_waiting{for="server"} 3\n');
    await env.DIRECTORY.exec('DELETE FROM mail_queue');
  });
});

describe('the limit of the installation per month', () => {
  it('counts recipients of Email Service once, with their price, in shares of each mailbox', async () => {
    const [ann, ben] = [await register(), await register()];
    await send(ann, 'a@far.test', 'b@far.test');
    await send(ann, 'c@far.test');
    await send(ann, ben.email);
    // One grant of 20 recipients serves the three messages, of which one stays here.
    const { month } = await read('/v1/outbound/sending');
    expect(month).toMatchObject({ recipients: 20, limit: 100_000, dollars: 0, limit_dollars: 33.95 });
    await send(ben, 'a@far.test');
    expect((await read('/v1/outbound/sending')).month.recipients).toBe(40);
    await send(ann, ...Array.from({ length: 16 }, (_, n) => `r${n}@far.test`));
    expect((await read('/v1/outbound/sending')).month.recipients).toBe(40);
    expect(service.sunk).toHaveLength(20);
  });

  it('lets mail wait when it is reached, tells the operator from 80 % on, and sends once it is raised', async () => {
    env = { ...env, MAIL_OUT_PER_MONTH: '3' } as unknown as Env;
    const sender = await register();
    await send(sender, 'a@far.test', 'b@far.test');
    expect(await findWarnings()).toEqual([]);
    await send(sender, 'c@far.test');
    expect((await findWarnings())[0]).toMatchObject({ name: 'MAIL_OUT_PER_MONTH' });
    const [waiting] = await send(sender, 'd@far.test');
    expect(waiting).toMatchObject({ state: 'deferred', lastReply: expect.stringContaining('MAIL_OUT_PER_MONTH') });
    expect(service.sunk).toHaveLength(3);
    expect((await read('/v1/outbound/sending')).month).toMatchObject({ recipients: 3, limit: 3 });
    env = { ...env, MAIL_OUT_PER_MONTH: '4' } as unknown as Env;
    vi.useFakeTimers({ now: Date.now() + HOUR_MS, toFake: ['Date'] });
    await sendDue(env, [sender.userId]);
    expect(service.sunk).toHaveLength(4);
  });

  it('begins again with each month', async () => {
    env = { ...env, MAIL_OUT_PER_MONTH: '1' } as unknown as Env;
    const sender = await register();
    await send(sender, 'a@far.test');
    expect((await send(sender, 'b@far.test'))[0]).toMatchObject({ state: 'deferred' });
    vi.useFakeTimers({ now: Date.now() + 31 * 24 * HOUR_MS, toFake: ['Date'] });
    await sendDue(env, [sender.userId]);
    expect(service.sunk.map(({ to }) => to)).toEqual(['a@far.test', 'b@far.test']);
    expect((await read('/v1/outbound/sending')).month).toMatchObject({ recipients: 1 });
  });
});
