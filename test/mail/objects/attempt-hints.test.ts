/**
 * Retries of outgoing mail: a deferral sends one delayed hint for each mailbox and due time, the hint makes the attempt, and the alarm
 * is the net beneath. The stand-in of the binding is the sink, where each recipient gets one message.
 */
import { env as bindings, createExecutionContext, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { nextOutboxAt } from '../../../durable-objects/mail/outbox/outbox-store.ts';
import { registerAccount } from '../../../workers/mail/accounts/accounts.ts';
import type { MailHint } from '../../../workers/mail/bindings/hints.ts';
import { type MailboxRpc, openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { RETRY_POLICY } from '../../../workers/mail/domain/recipient-state.ts';
import { sendDue } from '../../../workers/mail/outbound/send-due.ts';
import { submitMessage } from '../../../workers/mail/outbound/submission/submit-message.ts';
import { work } from '../../../workers/mail/work.ts';
import { createEmailService, type EmailServiceStandIn } from '../../support/mail/email-service.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

interface Hinted {
  readonly hint: MailHint;
  /** Time at which the queue delivers the hint. */
  readonly at: number;
}

let service: EmailServiceStandIn;
let hinted: Hinted[];
let env: Env;
let userId: string;
let email: string;
let mailbox: MailboxRpc;

beforeEach(async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  service = createEmailService();
  hinted = [];
  const send = async (hint: MailHint, { delaySeconds = 0 } = {}) => {
    if (delaySeconds > 12 * 3_600) throw new Error('Queues delay a message by at most 12 hours');
    hinted.push({ hint, at: Date.now() + delaySeconds * 1_000 });
  };
  env = {
    ...(bindings as Env),
    EMAIL: service.binding,
    MAIL_OUTBOUND: { send },
    MAIL_HOLD_SECONDS: '0',
    SEND_LIMIT_FIRST_DAY: '1000',
  } as unknown as Env;
  email = `${crypto.randomUUID()}@example.test`;
  const request = { email, password: 'correct horse battery', name: 'Ann' };
  const account = await registerAccount(env, request, { client: 'unknown', url: 'http://localhost/' }, Date.now());
  if (!account.ok) throw new Error(account.error.code);
  userId = account.value.userId;
  mailbox = openMailbox(env, userId);
  vi.useFakeTimers({ now: Date.now(), toFake: ['Date'] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

async function submit(recipients: readonly string[], sendAt?: number): Promise<string> {
  const request = {
    to: recipients.map((to) => ({ email: to })),
    subject: 'hello',
    body: 'hello',
    ...(sendAt === undefined ? {} : { send_at: new Date(sendAt).toISOString() }),
  };
  const sender = { userId, name: 'Ann', email };
  const options = { idempotencyKey: null, requestJson: JSON.stringify(request) };
  const { messageId } = value(await submitMessage(env, sender, request, options));
  return messageId;
}

/** Passes hints to the consumer as one batch of the queue. */
async function consume(hints: readonly MailHint[]): Promise<void> {
  const messages = hints.map((body, n) => ({ id: String(n), timestamp: new Date(), body, attempts: 1 }));
  await work.consume?.(
    { queue: 'tessera-mail-outbound', messages } as unknown as MessageBatch,
    env,
    createExecutionContext(),
  );
}

const take = (): Hinted[] => hinted.splice(0);
const goTo = (at: number): void => void vi.setSystemTime(at);
const readStates = async (id: string) => value(await mailbox.readMessage(id)).delivery.map(({ state }) => state);
const stub = () => mailbox as unknown as DurableObjectStub;
const inStorage = <T>(read: (storage: DurableObjectStorage) => T) =>
  runInDurableObject(stub(), (_, { storage }) => read(storage));
const readDueAt = () =>
  inStorage(({ sql }) => sql.exec<{ at: number | null }>('SELECT min(next_attempt_at) AS at FROM outbox').one()).then(
    ({ at }) => at,
  );

/** Submits a message whose first attempt is deferred. @returns its id and the hint of its next attempt. */
async function defer(recipients: readonly string[]): Promise<{ id: string; next: Hinted }> {
  const id = await submit(recipients);
  const [first] = take();
  if (!first) throw new Error('no hint of the first attempt');
  service.failWith = 'E_INTERNAL_SERVER_ERROR';
  await consume([first.hint]);
  service.failWith = null;
  const [next] = take();
  if (!next) throw new Error('no hint of the next attempt');
  return { id, next };
}

it('a deferral sends a hint for its due time, and the hint makes the attempt', async () => {
  const { id, next } = await defer(['bob@far.test']);
  const dueAt = (await readDueAt()) ?? 0;
  expect(Object.keys(next.hint).sort()).toEqual(['trace_id', 'user_id']);
  expect(next.at - dueAt).toBeGreaterThanOrEqual(0);
  expect(next.at - dueAt).toBeLessThanOrEqual(1_000);
  goTo(next.at);
  await consume([next.hint]);
  expect(await readStates(id)).toEqual(['sent']);
  expect(service.sunk).toHaveLength(1);
  expect(take()).toEqual([]);
});

it('a hint that comes early, twice or after another attempt sends nothing', async () => {
  const { id, next } = await defer(['bob@far.test']);
  await consume([next.hint, next.hint]);
  expect(service.sunk).toHaveLength(0);
  expect(take()).toEqual([]);
  goTo(next.at + HOUR_MS);
  await Promise.all([consume([next.hint]), consume([next.hint]), sendDue(env, [userId])]);
  await consume([next.hint]);
  expect(await readStates(id)).toEqual(['sent']);
  expect(service.sunk).toHaveLength(1);
});

it('many deferred recipients of a mailbox make one hint for their due time', async () => {
  const messages = 30;
  for (let n = 0; n < messages; n++) await submit([`a${n}@far.test`, `b${n}@other.test`]);
  const [first] = take();
  if (!first) throw new Error('no hint of the first attempt');
  for (const code of ['E_INTERNAL_SERVER_ERROR', 'E_INTERNAL_SERVER_ERROR', null]) {
    service.failWith = code;
    await consume([first.hint]);
    const planned = take();
    if (code === null) break;
    const dueTimes = await inStorage(({ sql }) => [
      ...sql.exec<{ at: number }>(
        `SELECT DISTINCT json_extract(value, '$.nextAttemptAt') AS at FROM outbox, json_each(recipients)`,
      ),
    ]);
    expect(planned).toHaveLength(dueTimes.length);
    // The jitter of a retry spreads mailboxes; retries of one mailbox join.
    expect(planned.length).toBeLessThanOrEqual(3);
    goTo(Math.max(...planned.map(({ at }) => at)));
  }
  expect(new Set(service.sunk.map(({ to }) => to)).size).toBe(2 * messages);
  expect(service.sunk).toHaveLength(2 * messages);
});

it('if the hint is lost, the alarm makes the attempt a minute after the due time', async () => {
  await defer(['bob@far.test']);
  const dueAt = (await readDueAt()) ?? 0;
  expect(await inStorage((storage) => storage.getAlarm())).toBeLessThanOrEqual(dueAt + MINUTE_MS);
  goTo(dueAt + MINUTE_MS - 1_000);
  const attempts = () =>
    inStorage(({ sql }) =>
      sql.exec<{ attempts: number }>(`SELECT json_extract(recipients, '$[0].attempts') AS attempts FROM outbox`).one(),
    ).then((row) => row.attempts);
  await runDurableObjectAlarm(stub());
  expect(await attempts()).toBe(1);
  expect(await inStorage((storage) => storage.getAlarm())).toBe(dueAt + MINUTE_MS);
  goTo(dueAt + MINUTE_MS);
  await runDurableObjectAlarm(stub());
  await expect.poll(attempts).toBe(2);
});

it('a message beyond the longest delay of a queue has no hint, and the alarm is at its time', async () => {
  const sendAt = Date.now() + 13 * HOUR_MS;
  await submit(['bob@far.test'], sendAt);
  expect(take()).toEqual([]);
  expect(await readDueAt()).toBe(sendAt);
  expect(await inStorage(({ sql }) => nextOutboxAt(sql, MINUTE_MS))).toBe(sendAt);
});

it('a worker that dies between the hint and the attempt, or between the attempt and its state, loses no mail', async () => {
  const { id, next } = await defer(['bob@far.test']);
  goTo(next.at);
  // The consumer claims the recipient and dies: the hint is gone, the lease stays.
  const claimed = value(await mailbox.claimOutbox({ limit: 25, leaseMs: 900_000, policy: RETRY_POLICY }));
  expect(claimed).toHaveLength(1);
  await consume([next.hint]);
  expect(service.sunk).toHaveLength(0);
  goTo(next.at + 900_000);
  await consume([next.hint]);
  // The lost attempt counts as one with unknown outcome, and the next one has a hint, sent with that of another recipient or by the alarm.
  expect(await readStates(id)).toEqual(['deferred']);
  goTo(((await readDueAt()) ?? 0) + MINUTE_MS);
  await consume([next.hint]);
  expect(await readStates(id)).toEqual(['sent']);
  expect(service.sunk).toHaveLength(1);
});

it('mail to a held destination is checked again by a hint, one for all of it', async () => {
  const domain = `${crypto.randomUUID()}.test`;
  const insert = 'INSERT INTO mail_domain (domain, is_hosted, is_held, created_at) VALUES (?, 0, 1, 1)';
  await env.DIRECTORY.prepare(insert).bind(domain).run();
  for (let n = 0; n < 5; n++) await submit([`r${n}@${domain}`]);
  take();
  await sendDue(env, [userId]);
  const [next, ...others] = take();
  expect(others).toEqual([]);
  expect((next?.at ?? 0) - Date.now()).toBeLessThanOrEqual(30_000);
});
