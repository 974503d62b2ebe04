/**
 * Mail to addresses on the suppression list of Cloudflare Email Service, and mail that the service does not allow yet: it waits with a
 * reason, or fails at once, and is sent once.
 */
import { env as bindings } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { registerAccount } from '../../../workers/mail/accounts/accounts.ts';
import { type MailboxRpc, openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { sendDue } from '../../../workers/mail/outbound/send-due.ts';
import { submitMessage } from '../../../workers/mail/outbound/submission/submit-message.ts';
import { createEmailService, type EmailServiceStandIn, withEmailService } from '../../support/mail/email-service.ts';
import { createSuppressionApi, type SuppressionApi } from '../../support/mail/suppression-api.ts';

const HOUR_MS = 3_600_000;
let service: EmailServiceStandIn;
let api: SuppressionApi;
let env: Env;
let userId: string;
let email: string;
let mailbox: MailboxRpc;

const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

beforeEach(async () => {
  service = createEmailService();
  api = createSuppressionApi();
  vi.stubGlobal('fetch', api.fetch);
  env = withEmailService(bindings as Env, service, api);
  email = `${crypto.randomUUID()}@example.test`;
  const request = { email, password: 'correct horse battery', name: 'Ann' };
  const account = await registerAccount(env, request, { client: 'unknown', url: 'http://localhost/' }, Date.now());
  userId = value(account).userId;
  mailbox = openMailbox(env, userId);
});
afterEach(() => void vi.unstubAllGlobals());

async function send(to: string, environment = env) {
  const request = { to: [{ email: to }], subject: 'hi', body: 'hello' };
  const options = { idempotencyKey: null, requestJson: JSON.stringify(request) };
  const { messageId } = value(await submitMessage(environment, { userId, name: 'Ann', email }, request, options));
  await sendDue(environment, [userId]);
  const [state] = value(await mailbox.readMessage(messageId)).delivery;
  if (!state) throw new Error('no recipient');
  return state;
}
const listSubjects = async () =>
  value(await mailbox.listMessages('inbox', { offset: 0 }, 100)).map(({ subject }) => subject);

describe('a suppressed recipient', () => {
  beforeEach(() => void service.suppressed.add('bob@far.test'));

  it('waits for the end that the list names, and the sender is told at once', async () => {
    const until = Date.now() + 20 * HOUR_MS;
    api.add({ email: 'bob@far.test', reason: 'soft_bounce', expiresAt: until });
    const state = await send('bob@far.test');
    expect(state).toMatchObject({ state: 'deferred', nextAttemptAt: until + 300_000 });
    expect(state.lastReply).toMatch(/^not sent until .* UTC, because this address refused mail of this domain$/);
    await expect.poll(listSubjects).toEqual(['Delivery of your message is delayed']);
    expect(service.sunk).toEqual([]);
  });

  it.each([
    ['hard_bounce', 7 * 24 * HOUR_MS],
    ['complaint', null],
  ])('fails at once, because a suppression by %s outlasts the message', async (reason, ms) => {
    api.add({ email: 'bob@far.test', reason, expiresAt: ms === null ? null : Date.now() + ms });
    const state = await send('bob@far.test');
    expect(state).toMatchObject({ state: 'failed', nextAttemptAt: null });
    expect(state.lastReply).toMatch(/^5\.7\.1 not sent.*, because this address refused mail of this domain$/);
    await expect.poll(listSubjects).toEqual(['Undelivered mail returned to sender']);
  });

  it('is judged by the entries of its own domain and of the account, not of another domain', async () => {
    api.add({ email: 'bob@far.test', reason: 'complaint', expiresAt: null, domain: 'other.test' });
    const until = Date.now() + 2 * HOUR_MS;
    api.add({ email: 'bob@far.test', reason: 'soft_bounce', expiresAt: until, domain: 'example.test' });
    expect(await send('bob@far.test')).toMatchObject({ state: 'deferred', nextAttemptAt: until + 300_000 });
  });

  it('waits 24 hours without the token', async () => {
    const state = await send('bob@far.test', { ...env, CLOUDFLARE_MAIL_TOKEN: '' } as unknown as Env);
    expect(state.state).toBe('deferred');
    expect(Math.round(((state.nextAttemptAt ?? 0) - Date.now()) / HOUR_MS)).toBe(24);
    expect(api.requests).toEqual([]);
  });

  it('is tried again soon if the list does not answer, or has the entry no more', async () => {
    expect(await send('bob@far.test')).toMatchObject({
      state: 'deferred',
      lastReply: expect.stringContaining('E_RECIPIENT_SUPPRESSED'),
    });
    api.isDown = true;
    const state = await send('bob@far.test');
    expect(state.state).toBe('deferred');
    expect((state.nextAttemptAt ?? 0) - Date.now()).toBeLessThan(HOUR_MS);
  });
});

describe('mail that the service does not take yet', () => {
  it.each(['E_SENDER_DOMAIN_NOT_AVAILABLE', 'E_SENDER_NOT_VERIFIED', 'E_DAILY_LIMIT_EXCEEDED'])(
    'waits after %s, and is sent once when it may be',
    async (code) => {
      service.failWith = code;
      const request = { to: [{ email: 'bob@far.test' }], subject: 'hi', body: 'hello' };
      const options = { idempotencyKey: null, requestJson: JSON.stringify(request) };
      const { messageId } = value(await submitMessage(env, { userId, name: 'Ann', email }, request, options));
      await sendDue(env, [userId]);
      const read = async () => value(await mailbox.readMessage(messageId)).delivery[0];
      expect(await read()).toMatchObject({ state: 'deferred', lastReply: expect.stringContaining(code) });
      service.failWith = null;
      const outboxId =
        value(await mailbox.readMessage(messageId))
          .headerMessageId?.slice(1)
          .split('@')[0] ?? '';
      value(await mailbox.retryOutbox(outboxId, null));
      await sendDue(env, [userId]);
      expect(await read()).toMatchObject({ state: 'sent' });
      expect(service.sunk).toHaveLength(1);
    },
  );
});
