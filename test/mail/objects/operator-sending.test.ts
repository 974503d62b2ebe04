/** The operator's view of sending: complaints by account, accounts that are held because of them, and the suppression list. */
import { env as bindings, createExecutionContext } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import worker from '../../../workers/index.ts';
import { registerAccount } from '../../../workers/mail/accounts/accounts.ts';
import { type MailboxRpc, openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { consumeDeliveryEvents } from '../../../workers/mail/outbound/delivery-events.ts';
import { sendDue } from '../../../workers/mail/outbound/send-due.ts';
import { submitMessage } from '../../../workers/mail/outbound/submission/submit-message.ts';
import { toDeliveryEvent } from '../../support/mail/delivery-events.ts';
import { createEmailService, type EmailServiceStandIn, withEmailService } from '../../support/mail/email-service.ts';
import { createSuppressionApi, type SuppressionApi } from '../../support/mail/suppression-api.ts';

let service: EmailServiceStandIn;
let api: SuppressionApi;
let env: Env;

const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

beforeEach(() => {
  service = createEmailService();
  api = createSuppressionApi();
  env = withEmailService(bindings as Env, service, api);
  vi.stubGlobal('fetch', api.fetch);
});
afterEach(() => void vi.unstubAllGlobals());

// biome-ignore lint/suspicious/noExplicitAny: answers of several routes; each test asserts the members it needs
type Json = any;

async function call(method: string, path: string, body?: object, environment = env) {
  const text = body && JSON.stringify(body);
  const request = new Request(`http://localhost${path}`, {
    method,
    headers: {
      authorization: 'Bearer root-of-tests',
      ...(text ? { 'content-type': 'application/json', 'content-length': String(text.length) } : {}),
    },
    ...(text ? { body: text } : {}),
  }) as Request<unknown, IncomingRequestCfProperties>;
  const answer = await worker.fetch(request, environment, createExecutionContext());
  const answered = await answer.text();
  return { status: answer.status, body: (answered.startsWith('{') ? JSON.parse(answered) : answered) as Json };
}

describe('complaints', () => {
  let userId: string;
  let email: string;
  let mailbox: MailboxRpc;
  beforeEach(async () => {
    email = `${crypto.randomUUID()}@example.test`;
    const request = { email, password: 'correct horse battery', name: 'Ann' };
    const source = { client: 'unknown', url: 'http://localhost/' };
    userId = value(await registerAccount(env, request, source, Date.now())).userId;
    mailbox = openMailbox(env, userId);
  });

  async function send(...to: string[]): Promise<string> {
    const request = { to: to.map((each) => ({ email: each })), subject: 'hi', body: 'hello' };
    const options = { idempotencyKey: null, requestJson: JSON.stringify(request) };
    const { messageId } = value(await submitMessage(env, { userId, name: 'Ann', email }, request, options));
    await sendDue(env, [userId]);
    return messageId;
  }

  async function complain(count: number): Promise<void> {
    const bodies = service.sunk
      .slice(0, count)
      .map(({ reference }) => toDeliveryEvent('complained', { reference, sender: email }));
    const messages = [...bodies, ...bodies].map((body) => ({ body, attempts: 1, ack: () => {}, retry: () => {} }));
    await consumeDeliveryEvents(env, { queue: 'tessera-mail-events', messages } as unknown as MessageBatch);
  }

  const readComplaints = async () =>
    ((await call('GET', '/v1/outbound/complaints')).body.data as Json[]).filter((row) => row.user_id === userId);

  it('are counted once by account and domain, and do not change the delivery', async () => {
    const id = await send('a@far.test', 'b@far.test');
    await complain(2);
    expect(await readComplaints()).toMatchObject([{ domain: 'example.test', complaints: 2, held: false }]);
    const states = value(await mailbox.readMessage(id)).delivery.map(({ state }) => state);
    expect(states).toEqual(['sent', 'sent']);
  });

  it('hold mail of the account over a share, until an operator releases it', async () => {
    await send(...Array.from({ length: 6 }, (_, n) => `r${n}@far.test`));
    await complain(5);
    expect(await readComplaints()).toMatchObject([{ complaints: 5, held: true }]);
    const id = await send('later@far.test');
    expect(service.sunk).toHaveLength(6);
    const [waiting] = value(await mailbox.readMessage(id)).delivery;
    expect(waiting).toMatchObject({ state: 'queued', lastReply: expect.stringContaining('complaints') });

    expect((await call('POST', `/v1/outbound/complaints/${userId}/release`)).status).toBe(204);
    expect((await call('POST', `/v1/outbound/complaints/${userId}/release`)).status).toBe(404);
    expect(await readComplaints()).toMatchObject([{ complaints: 5, held: false }]);
    const outboxId =
      value(await mailbox.readMessage(id))
        .headerMessageId?.slice(1)
        .split('@')[0] ?? '';
    value(await mailbox.retryOutbox(outboxId, null));
    await sendDue(env, [userId]);
    expect(service.sunk).toHaveLength(7);
    const entries = (await call('GET', '/v1/audit?action=account.release_sending')).body.data as Json[];
    expect(entries.filter((entry) => entry.target.id === userId)).toHaveLength(1);
  });
});

describe('the suppression list', () => {
  const list = async (query = '') => (await call('GET', `/v1/outbound/suppressions${query}`)).body;
  const lift = (id: string, body?: object) => call('POST', `/v1/outbound/suppressions/${id}/lift`, body ?? {});
  const audited = async (id: string) =>
    ((await call('GET', '/v1/audit?action=suppression.lift')).body.data as Json[]).filter(
      ({ target }) => target.id === id,
    );

  it('shows address, reason and end, page by page', async () => {
    const until = Date.parse('2026-12-01T00:00:00.000Z');
    api.add({ email: 'soft@far.test', reason: 'soft_bounce', expiresAt: until, domain: 'example.test' });
    api.add({ email: 'spam@far.test', reason: 'complaint', expiresAt: null });
    const first = await list('?limit=1');
    expect(first.data).toMatchObject([
      { email: 'soft@far.test', reason: 'soft_bounce', until: '2026-12-01T00:00:00.000Z', domain: 'example.test' },
    ]);
    const second = await list(`?limit=1&cursor=${first.next_cursor}`);
    expect(second.data).toMatchObject([{ email: 'spam@far.test', until: null, domain: null, read_only: false }]);
    expect(second.next_cursor).toBeNull();
    expect((await list('?email=SPAM@far.test')).data).toHaveLength(1);
  });

  it('loses an entry that an operator lifts, which is audited', async () => {
    const id = api.add({ email: 'soft@far.test', reason: 'soft_bounce', expiresAt: null });
    expect((await lift(id)).status).toBe(200);
    expect((await list()).data).toEqual([]);
    expect(await audited(id)).toHaveLength(1);
    expect(await lift(id)).toMatchObject({ status: 404, body: { code: 'no_such_suppression' } });
  });

  it('needs a typed reason for a complaint, and keeps what Cloudflare marks read-only', async () => {
    const complaint = api.add({ email: 'spam@far.test', reason: 'complaint', expiresAt: null });
    expect(await lift(complaint)).toMatchObject({ status: 400, body: { code: 'reason_required' } });
    expect(await lift(complaint, { reason: '  ' })).toMatchObject({ status: 400 });
    expect((await list()).data).toHaveLength(1);
    expect((await lift(complaint, { reason: 'asked for mail again' })).status).toBe(200);
    expect(JSON.stringify(await audited(complaint))).toContain('asked for mail again');
    expect(JSON.stringify(await audited(complaint))).not.toContain('spam@far.test');
    const fixed = api.add({ email: 'policy@far.test', reason: 'policy', expiresAt: null, isReadOnly: true });
    expect(await lift(fixed)).toMatchObject({ status: 409, body: { code: 'suppression_read_only' } });
    expect((await list()).data).toHaveLength(1);
  });

  it('is a problem without the token, and if Cloudflare does not answer', async () => {
    const without = { ...env, CLOUDFLARE_MAIL_TOKEN: '' } as unknown as Env;
    const answer = await call('GET', '/v1/outbound/suppressions', undefined, without);
    expect(answer).toMatchObject({ status: 409, body: { code: 'no_mail_token' } });
    api.isDown = true;
    expect(await call('GET', '/v1/outbound/suppressions')).toMatchObject({
      status: 502,
      body: { code: 'suppressions_unavailable' },
    });
  });
});
