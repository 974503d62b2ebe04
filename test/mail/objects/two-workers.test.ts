/** Leases of mail: outbox, reports, incoming mail, pushes and snapshots, each with a worker that is too late (`two-workers.ts`). */
import { env as bindings } from 'cloudflare:test';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { registerAccount } from '../../../workers/mail/accounts/accounts.ts';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { acceptMessage } from '../../../workers/mail/inbound/accept/accept-message.ts';
import { processIncoming } from '../../../workers/mail/inbound/process/process-incoming.ts';
import { sendDue } from '../../../workers/mail/outbound/send-due.ts';
import { sendReports } from '../../../workers/mail/outbound/send-reports.ts';
import { submitMessage } from '../../../workers/mail/outbound/submission/submit-message.ts';
import { sendPushes } from '../../../workers/mail/push/send-push.ts';
import { createEmailService, type EmailServiceStandIn } from '../../support/mail/email-service.ts';
import {
  expectLateWorkerHarmless,
  type Intercept,
  interceptCalls,
  interceptMailboxes,
} from '../../support/two-workers.ts';

const HOUR = 3_600_000;

const realNow = Date.now;
let offsetMs = 0;

beforeEach(() => {
  offsetMs = 0;
  vi.spyOn(Date, 'now').mockImplementation(() => realNow() + offsetMs);
  vi.spyOn(console, 'error').mockImplementation(() => {});
});
afterEach(() => void vi.restoreAllMocks());

const expire = () => {
  offsetMs += HOUR;
};

const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

async function makeSender(service: EmailServiceStandIn) {
  const env = { ...bindings, EMAIL: service.binding, MAIL_HOLD_SECONDS: '0', MAIL_HINTS: 'lost' } as unknown as Env;
  const email = `${crypto.randomUUID()}@example.test`;
  const request = { email, password: 'correct horse battery', name: 'Ann' };
  const account = await registerAccount(
    env,
    request,
    { client: crypto.randomUUID(), url: 'http://localhost/' },
    Date.now(),
  );
  const { userId } = value(account);
  return { env, sender: { userId, name: 'Ann', email }, mailbox: openMailbox(env, userId) };
}

/**
 * Bindings of a worker that stops at calls of mailboxes and of the reads that check and sign a message. The read after them is part
 * of the attempt, which has time limits of its own.
 */
function workerEnv(env: Env, intercept: Intercept): Env {
  let reads = 0;
  const beforeAttempt: Intercept = (name, call) => (reads++ < 2 ? intercept(name, call) : call());
  return { ...interceptMailboxes(env, intercept), BLOBS: interceptCalls(env.BLOBS, beforeAttempt, ['get']) };
}

it('a message is sent once, unless the late worker had sent it before its lease ended', async () => {
  const cases = await expectLateWorkerHarmless({
    makeScene: async () => {
      const service = createEmailService();
      const made = await makeSender(service);
      const request = { to: [{ email: 'far@away.test' }], subject: 'once', body: 'hello' };
      const options = { idempotencyKey: null, requestJson: JSON.stringify(request) };
      const { messageId } = value(await submitMessage(made.env, made.sender, request, options));
      return { ...made, service, messageId, sentInTime: { count: null as number | null } };
    },
    work: ({ env, sender }, intercept) => sendDue(workerEnv(env, intercept), [sender.userId]),
    expire: ({ service, sentInTime }) => {
      sentInTime.count ??= service.sunk.length;
      expire();
    },
    check: async ({ service, sentInTime, mailbox, messageId }, where) => {
      // A message whose answer came too late may have left or not, so it is sent again.
      expect(service.sunk.length, where).toBeLessThanOrEqual(sentInTime.count === 1 ? 2 : 1);
      const { delivery } = value(await mailbox.readMessage(messageId));
      expect(delivery, where).toMatchObject([{ state: 'sent' }]);
    },
  });
  expect(cases).toBeGreaterThan(4);
});

it('an incoming message is stored once, and readable', async () => {
  const cases = await expectLateWorkerHarmless({
    makeScene: async () => {
      const made = await makeSender(createEmailService());
      const raw = `From: a@far.test\r\nSubject: once\r\nMessage-ID: <${crypto.randomUUID()}@far.test>\r\n\r\nThe text.\r\n`;
      const envelope = { from: 'a@far.test', to: [made.sender.email], clientIp: null, helo: null };
      const body = new Blob([raw]).stream();
      const replies = await acceptMessage(made.env, envelope, { body, sizeBytes: raw.length }, { origin: 'local' });
      expect(replies).toMatchObject([{ smtp_code: 250 }]);
      return made;
    },
    work: ({ env, sender }, intercept) => processIncoming(workerEnv(env, intercept), sender.userId),
    expire,
    check: async ({ mailbox }, where) => {
      const listed = value(await mailbox.listMessages('inbox', { offset: 0 }, 50));
      const texts = await Promise.all(listed.map(async ({ messageId }) => value(await mailbox.readMessage(messageId))));
      expect(
        texts.map(({ text }) => String(text.value).trim()),
        where,
      ).toEqual(['The text.']);
      expect(value(await mailbox.claimIncoming(10, 60_000)).messages, where).toEqual([]);
    },
  });
  expect(cases).toBeGreaterThan(3);
});

it('a failure is reported once', async () => {
  const cases = await expectLateWorkerHarmless({
    makeScene: async () => {
      const service = createEmailService();
      const made = await makeSender(service);
      const request = { to: [{ email: 'far@away.test' }], subject: 'refused', body: 'hello' };
      const options = { idempotencyKey: null, requestJson: JSON.stringify(request) };
      await submitMessage(made.env, made.sender, request, options);
      service.failWith = 'E_CONTENT_TOO_LARGE';
      await sendDue(made.env, [made.sender.userId]);
      expect(value(await made.mailbox.listDueReports(10))).toHaveLength(1);
      return made;
    },
    work: ({ env, sender }, intercept) => sendReports(interceptMailboxes(env, intercept), sender.userId),
    expire,
    check: async ({ mailbox, env, sender }, where) => {
      expect(value(await mailbox.listDueReports(10)), where).toEqual([]);
      await sendDue(env, [sender.userId]);
      await processIncoming(env, sender.userId);
      const listed = value(await mailbox.listMessages('inbox', { offset: 0 }, 50));
      expect(listed, where).toHaveLength(1);
    },
  });
  expect(cases).toBeGreaterThan(2);
});

it('a state is pushed once to each device, and a late worker neither takes it back nor ends the lease of another', async () => {
  const cases = await expectLateWorkerHarmless({
    makeScene: async () => {
      const made = await makeSender(createEmailService());
      const device = { deviceClientId: 'd', keys: null, types: null, isVerified: true, code: 'c' };
      const expiresAt = Date.now() + 1e9;
      for (const name of ['phone', 'tablet']) {
        const url = `https://push.example.com/${name}`;
        value(await made.mailbox.insertPushSubscription('a session', { ...device, id: name, url, expiresAt }));
      }
      value(await made.mailbox.createFolder('A change'));
      const pushed: string[] = [];
      vi.spyOn(globalThis, 'fetch').mockImplementation(async (url, init) => {
        pushed.push(`${String(url)} ${String(init?.body)}`);
        return new Response(null, { status: 201 });
      });
      return { ...made, pushed };
    },
    work: ({ env, sender }, intercept) => sendPushes(interceptMailboxes(env, intercept), sender.userId),
    expire,
    check: async ({ pushed }, where) => {
      expect(new Set(pushed).size, where).toBe(2);
      // Both were pushed before the lease ended, and only the record of it came late.
      expect(pushed.length, where).toBeLessThanOrEqual(where.includes('recordPushes') ? 4 : 2);
    },
  });
  expect(cases).toBeGreaterThan(2);
});

it('a late result of a push neither ends the lease of another worker nor takes a newer state back', async () => {
  const { mailbox } = await makeSender(createEmailService());
  const expiresAt = Date.now() + 1e9;
  const about = { deviceClientId: 'd', keys: null, types: null, isVerified: true, code: 'c', expiresAt };
  value(await mailbox.insertPushSubscription('a session', { ...about, id: 'phone', url: 'https://push.example.com/' }));
  const done = [{ id: 'phone', result: 'done' }] as const;
  value(await mailbox.createFolder('One'));
  const first = value(await mailbox.claimPushes(1_000));
  expire();
  value(await mailbox.createFolder('Two'));
  const second = value(await mailbox.claimPushes(1_000));
  await mailbox.recordPushes(first, done);
  value(await mailbox.createFolder('Three'));
  expect(value(await mailbox.claimPushes(1_000))).toEqual([]);
  await mailbox.recordPushes(second, done);
  const third = value(await mailbox.claimPushes(1_000));
  await mailbox.recordPushes(third, done);
  await mailbox.recordPushes(second, done);
  expire();
  expect(value(await mailbox.claimPushes(1_000))).toEqual([]);
});
