/** Leases of mail: outbox, reports, incoming mail and snapshots, each with a worker that is too late (`two-workers.ts`). */
import { env as bindings } from 'cloudflare:test';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { registerAccount } from '../../../workers/mail/accounts/accounts.ts';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { acceptMessage } from '../../../workers/mail/inbound/accept/accept-message.ts';
import { processIncoming } from '../../../workers/mail/inbound/process/process-incoming.ts';
import { sendDue } from '../../../workers/mail/outbound/send-due.ts';
import { sendReports } from '../../../workers/mail/outbound/send-reports.ts';
import { submitMessage } from '../../../workers/mail/outbound/submission/submit-message.ts';
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
  const account = await registerAccount(env, request, { client: 'unknown', url: 'http://localhost/' }, Date.now());
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
      const replies = await acceptMessage(made.env, envelope, { body, sizeBytes: raw.length }, 'local');
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
