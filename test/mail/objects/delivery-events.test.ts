/**
 * Delivery events of Cloudflare Email Service, from the queue to the recipient's state: in every order, twice, late and unknown. The
 * stand-in of the binding is the sink, where each recipient gets one message whatever the events say.
 */
import { env as bindings, runInDurableObject } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { registerAccount } from '../../../workers/mail/accounts/accounts.ts';
import { type MailboxRpc, openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { DELIVERY_EVENTS, type DeliveryEventKind } from '../../../workers/mail/domain/delivery-event.ts';
import { consumeDeliveryEvents } from '../../../workers/mail/outbound/delivery-events.ts';
import { enqueueMessage } from '../../../workers/mail/outbound/enqueue-message.ts';
import { sendDue } from '../../../workers/mail/outbound/send-due.ts';
import { submitMessage } from '../../../workers/mail/outbound/submission/submit-message.ts';
import { SECRET_SUBJECT, toDeliveryEvent } from '../../support/mail/delivery-events.ts';
import { createEmailService, type EmailServiceStandIn } from '../../support/mail/email-service.ts';

const seed = Number((bindings as { SEED?: string }).SEED ?? Date.now());
let service: EmailServiceStandIn;
let env: Env;
let userId: string;
let email: string;
let mailbox: MailboxRpc;

beforeEach(async () => {
  service = createEmailService();
  env = {
    ...(bindings as Env),
    EMAIL: service.binding,
    MAIL_HOLD_SECONDS: '0',
    MAIL_HINTS: 'lost',
    SEND_LIMIT_FIRST_DAY: '1000',
    SEND_LIMIT_PER_HOUR: '1000',
  } as unknown as Env;
  email = `${crypto.randomUUID()}@example.test`;
  const request = { email, password: 'correct horse battery', name: 'Ann' };
  const account = await registerAccount(env, request, { client: 'unknown', url: 'http://localhost/' }, Date.now());
  if (!account.ok) throw new Error(account.error.code);
  userId = account.value.userId;
  mailbox = openMailbox(env, userId);
});

const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

/** Sends a message through the stand-in. @returns the id of the copy in Sent, and the id at the service of each recipient. */
async function send(recipients: readonly string[]): Promise<{ id: string; references: Map<string, string> }> {
  const request = { to: recipients.map((to) => ({ email: to })), subject: SECRET_SUBJECT, body: 'hello' };
  const sender = { userId, name: 'Ann', email };
  const options = { idempotencyKey: null, requestJson: JSON.stringify(request) };
  const { messageId } = value(await submitMessage(env, sender, request, options));
  await sendDue(env, [userId]);
  return { id: messageId, references: new Map(service.sunk.map(({ to, reference }) => [to, reference])) };
}

interface Sent {
  readonly acked: number;
  readonly retried: readonly number[];
}

/** Passes events to the consumer as one batch of the queue. */
async function consume(bodies: readonly unknown[], attempts = 1): Promise<Sent> {
  let acked = 0;
  const retried: number[] = [];
  const messages = bodies.map((body, n) => ({
    id: String(n),
    timestamp: new Date(),
    body,
    attempts,
    ack: () => void acked++,
    retry: ({ delaySeconds = 0 } = {}) => void retried.push(delaySeconds),
  }));
  await consumeDeliveryEvents(env, { queue: 'tessera-mail-events', messages } as unknown as MessageBatch);
  return { acked, retried };
}

const readStates = async (id: string) =>
  value(await mailbox.readMessage(id)).delivery.map(({ email: to, state, lastReply }) => ({ to, state, lastReply }));

const listInbox = async () => value(await mailbox.listMessages('inbox', { offset: 0 }, 200));

/** All orders of a list. */
const orders = <T>(items: readonly T[]): T[][] =>
  items.length < 2
    ? [[...items]]
    : items.flatMap((item, n) => orders(items.toSpliced(n, 1)).map((rest) => [item, ...rest]));

function shuffle<T>(items: readonly T[], random: () => number): T[] {
  const keyed = items.map((item) => ({ item, key: random() }));
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
}

function createRandom(from: number): () => number {
  let state = (from % 2_147_483_646) + 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

const expectedState = (kinds: readonly DeliveryEventKind[]): string => {
  const first = kinds.find((kind) => kind !== 'deferred' && kind !== 'complained');
  return first === undefined ? 'sent' : first === 'delivered' ? 'delivered' : 'failed';
};

describe('the events of a message', () => {
  it('in every order and twice lead to the first of delivered and failed, and send nothing', {
    timeout: 300_000,
  }, async () => {
    console.log(`seed ${seed}`);
    const random = createRandom(seed);
    const some = orders(['delivered', 'deferred', 'bounced', 'complained'] as const);
    const sixes = Array.from({ length: 20 }, () => shuffle(DELIVERY_EVENTS, random));
    // Each event comes a second time, before or after the first.
    const lists: DeliveryEventKind[][] = [...some, ...sixes].map((kinds) =>
      kinds.reduce((list, kind) => list.toSpliced(Math.floor(random() * (list.length + 1)), 0, kind), [...kinds]),
    );
    const recipients = lists.map((_, n) => `r${n}@far.test`);
    const { id, references } = await send(recipients);
    expect(service.sunk).toHaveLength(recipients.length);
    const pending = lists.map((kinds, n) => ({ kinds: [...kinds], to: recipients[n] ?? '' }));
    const bodies: unknown[] = [];
    // The queue mixes the recipients; only the order of each recipient's own events is given.
    while (pending.some(({ kinds }) => kinds.length > 0)) {
      const waiting = pending.filter(({ kinds }) => kinds.length > 0);
      const one = waiting[Math.floor(random() * waiting.length)];
      const kind = one?.kinds.shift();
      if (one && kind) {
        const reference = references.get(one.to) ?? '';
        bodies.push(toDeliveryEvent(kind, { reference, sender: email, recipient: one.to, at: Date.now() }));
      }
    }
    const { acked, retried } = await consume(bodies);
    expect([acked, retried]).toEqual([bodies.length, []]);
    const states = new Map((await readStates(id)).map(({ to, state }) => [to, state]));
    expect(recipients.map((to) => states.get(to))).toEqual(lists.map(expectedState));
    await sendDue(env, [userId]);
    expect(service.sunk).toHaveLength(recipients.length);
    // The sender gets the same reports as by SMTP: each failed recipient is in one of them.
    const failed = recipients.filter((to) => states.get(to) === 'failed');
    await expect.poll(() => listReported(), { timeout: 60_000 }).toEqual([...failed].sort());
    await consume(bodies);
    expect(await listReported()).toEqual([...failed].sort());
  });

  /** The recipients that the reports in the Inbox are about, once for each time that one names them. */
  async function listReported(): Promise<string[]> {
    const reports = (await listInbox()).filter(({ subject }) => subject.startsWith('Undelivered'));
    const texts = await Promise.all(
      reports.map(async ({ messageId }) => value(await mailbox.readMessage(messageId)).text.value),
    );
    return texts.flatMap((text) => [...(text ?? '').matchAll(/<(r\d+@far\.test)>/g)].map(([, to = '']) => to)).sort();
  }

  it('show the other server’s words, and a deferral keeps the state', async () => {
    const { id, references } = await send(['bob@far.test']);
    const reference = references.get('bob@far.test') ?? '';
    const event = (kind: DeliveryEventKind) => toDeliveryEvent(kind, { reference, sender: email, at: Date.now() });
    await consume([event('deferred')]);
    expect(await readStates(id)).toEqual([
      { to: 'bob@far.test', state: 'sent', lastReply: '451 4.2.0 Temporary mailbox error' },
    ]);
    await consume([event('bounced')]);
    expect(await readStates(id)).toEqual([
      { to: 'bob@far.test', state: 'failed', lastReply: '550 5.1.1 User unknown' },
    ]);
    expect(service.sunk).toHaveLength(1);
  });

  it('that come after four hours without delivery warn the sender once', async () => {
    const { references } = await send(['bob@far.test']);
    const reference = references.get('bob@far.test') ?? '';
    const at = (hours: number) =>
      toDeliveryEvent('deferred', { reference, sender: email, at: Date.now() + hours * 3_600_000 });
    await consume([at(1)]);
    await consume([at(5), at(5), at(6)]);
    await expect
      .poll(async () => (await listInbox()).map(({ subject }) => subject))
      .toEqual(['Delivery of your message is delayed']);
    await consume([at(9)]);
    await consume([toDeliveryEvent('delivered', { reference, sender: email, at: Date.now() })]);
    expect((await listInbox()).length).toBe(1);
  });
});

describe('an event', () => {
  it('of an unknown id is tried again, then counted, and is never an error', async () => {
    const stranger = toDeliveryEvent('bounced', { reference: 'other', sender: email });
    const elsewhere = toDeliveryEvent('bounced', { reference: 'other', sender: 'x@elsewhere.test' });
    const nobody = toDeliveryEvent('bounced', { reference: 'other', sender: 'nobody@example.test' });
    const all = [stranger, elsewhere, nobody];
    expect(await consume(all)).toMatchObject({ acked: 0, retried: [5, 5, 5] });
    expect(await consume(all, 2)).toMatchObject({ acked: 0, retried: [20, 20, 20] });
    expect(await consume(all, 3)).toMatchObject({ acked: 3, retried: [] });
  });

  it('that is malformed is acknowledged', async () => {
    expect(await consume([null, 'x', { type: 'cf.kv.namespace.created' }])).toMatchObject({ acked: 3, retried: [] });
  });

  it('waits if its mailbox cannot be reached, and does not keep others from being applied', async () => {
    const { id, references } = await send(['bob@far.test']);
    const reference = references.get('bob@far.test') ?? '';
    const event = toDeliveryEvent('delivered', { reference, sender: email });
    const whole = env;
    env = {
      ...env,
      DIRECTORY: {
        ...whole.DIRECTORY,
        prepare: () => {
          throw new Error('away');
        },
      },
    } as unknown as Env;
    expect(await consume([event])).toMatchObject({ acked: 0, retried: [30] });
    env = whole;
    expect(await consume([event])).toMatchObject({ acked: 1 });
    expect((await readStates(id))[0]?.state).toBe('delivered');
  });

  it('costs one row for each recipient, and leaves no row in the outbox', async () => {
    await send(['bob@far.test', 'cy@far.test']);
    const count = (table: string) =>
      runInDurableObject(
        mailbox as unknown as DurableObjectStub,
        (_, { storage }) => storage.sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${table}`).one().n,
      );
    expect([await count('accepted_recipient'), await count('outbox')]).toEqual([2, 0]);
  });

  it('of mail that no user wrote finds its mailbox by the sender', async () => {
    const raw = `From: <${email}>\r\nTo: <bob@far.test>\r\nSubject: away\r\nMessage-ID: <x@example.test>\r\n\r\nhi\r\n`;
    await enqueueMessage(env, userId, { kind: 'vacation', raw: Buffer.from(raw), from: '', to: 'bob@far.test' });
    const daemon = `mailer-daemon+${userId}@example.test`;
    const report = raw.replace(email, daemon);
    await enqueueMessage(env, userId, { kind: 'report', raw: Buffer.from(report), from: '', to: 'cy@far.test' });
    await sendDue(env, [userId]);
    expect(service.sunk.map(({ from }) => from).sort()).toEqual([daemon, email].sort());
    const events = service.sunk.map(({ reference, from }) => toDeliveryEvent('bounced', { reference, sender: from }));
    expect(await consume(events)).toMatchObject({ acked: 2, retried: [] });
    // The null sender gets no report.
    expect(await listInbox()).toEqual([]);
  });
});
