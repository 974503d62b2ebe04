/**
 * Finding 7 of the security review: the number of recipients is limited per account and per domain, and a message over a limit
 * stays as one draft.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listFolder, type MailUser, registerUser, until } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Empty values choose the defaults of settings-schema.ts. The servers of other tests raise these limits. */
const DEFAULTS = { SEND_LIMIT_FIRST_DAY: '', SEND_LIMIT_FIRST_WEEK: '', DOMAIN_SEND_LIMIT_PER_HOUR: '' };
let server: TestServer;

beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open', MAIL_HOLD_SECONDS: '0', ...DEFAULTS } });
});
afterAll(() => server[Symbol.asyncDispose]());

/** Restarts the server with a moved clock or with other limits. */
async function restart(vars: Record<string, string>): Promise<void> {
  await server.stop();
  await server.start(vars);
}
const setClock = (offsetMs: number) => restart({ CLOCK_OFFSET_SECONDS: String(offsetMs / 1000) });

let sent = 0;
/** A message to recipients to whom the user has not sent before. */
const toStrangers = (count: number) => ({
  subject: `message ${++sent}`,
  body: 'x',
  to: Array.from({ length: count }, (_, n) => ({ email: `s${n}-${sent}@third.test` })),
});
async function send(user: MailUser, message: object, idempotencyKey?: string) {
  const response = await fetch(`${server.url}/v1/messages`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${user.token}`,
      'content-type': 'application/json',
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    },
    body: JSON.stringify(message),
  });
  const retryAfter = Number(response.headers.get('retry-after'));
  return { status: response.status, body: (await response.json()) as { code?: string; id?: string }, retryAfter };
}
const listDrafts = async (user: MailUser, subject: string) =>
  (await listFolder(server, user, 'drafts')).filter((draft) => draft.subject === subject);

it('five messages to 100 strangers are refused on the first day, after a day, and beyond the full limit', async () => {
  await restart({ MAIL_RECIPIENTS_MAX: '100' });
  const user = await registerUser(server, 'spammer');
  for (let n = 0; n < 5; n++) {
    const refused = await send(user, toStrangers(100));
    expect([refused.status, refused.body.code]).toEqual([429, 'send_limit_reached']);
    // The user has sent nothing yet, but 100 recipients require an account that is a week old.
    expect(refused.retryAfter).toBeGreaterThan((6 * DAY_MS) / 1000);
    expect(refused.retryAfter).toBeLessThanOrEqual((7 * DAY_MS) / 1000);
  }
  const statuses = async (...counts: number[]) => {
    const answers: number[] = [];
    for (const count of counts) answers.push((await send(user, toStrangers(count))).status);
    return answers;
  };
  expect(await statuses(15, 5, 1)).toEqual([202, 202, 429]);
  await setClock(DAY_MS + HOUR_MS);
  expect(await statuses(30, 20, 1)).toEqual([202, 202, 429]);
  await setClock(8 * DAY_MS);
  expect(await statuses(100, 90, 11, 10, 1)).toEqual([202, 202, 429, 202, 429]);
  // After an hour and a minute, no recipient counts any more.
  await setClock(8 * DAY_MS + HOUR_MS + 120_000);
  expect(await statuses(100)).toEqual([202]);
});

it('a retry under one Idempotency-Key makes no second draft, and sending it leaves none', async () => {
  await restart({ CLOCK_OFFSET_SECONDS: '0' });
  const user = await registerUser(server, 'patient');
  expect((await send(user, toStrangers(20))).status).toBe(202);
  const file = { file_name: 'a.txt', content_type: 'text/plain', content: 'YWJj' };
  const message = { ...toStrangers(2), attachments: [file] };
  for (let n = 0; n < 3; n++) {
    const refused = await send(user, message, 'key-1');
    expect([refused.status, refused.body.code]).toEqual([429, 'send_limit_reached']);
    expect(refused.retryAfter).toBeGreaterThan(3_000);
  }
  const concurrent = await Promise.all([1, 2, 3].map(() => send(user, message, 'key-1')));
  expect(concurrent.map(({ status }) => status)).toEqual([429, 429, 429]);
  const drafts = await listDrafts(user, message.subject);
  expect(drafts).toHaveLength(1);
  const draft = await server.call('GET', `/v1/drafts/${drafts[0].id}`, undefined, user.token);
  expect(draft.body.attachments).toMatchObject([{ file_name: 'a.txt', size: 3 }]);

  await setClock(2 * HOUR_MS);
  expect((await send(user, message, 'key-1')).status).toBe(202);
  expect(await listDrafts(user, message.subject)).toEqual([]);
  const repeated = await send(user, message, 'key-1');
  expect(repeated.status).toBe(202);
  expect((await listFolder(server, user, 'sent')).filter(({ subject }) => subject === message.subject)).toHaveLength(1);
});

it('a kept draft that its author edits is neither overwritten nor sent with the first request', async () => {
  await restart({ CLOCK_OFFSET_SECONDS: '0' });
  const user = await registerUser(server, 'editor');
  expect((await send(user, toStrangers(20))).status).toBe(202);
  const message = toStrangers(1);
  expect((await send(user, message, 'key-2')).status).toBe(429);
  const [draft] = await listDrafts(user, message.subject);
  const edited = { subject: message.subject, body: 'edited', to: message.to };
  expect((await server.call('PUT', `/v1/drafts/${draft.id}`, edited, user.token)).status).toBe(200);
  await setClock(2 * HOUR_MS);
  expect((await send(user, message, 'key-2')).status).toBe(202);
  const kept = await server.call('GET', `/v1/drafts/${draft.id}`, undefined, user.token);
  expect([kept.status, kept.body.body]).toEqual([200, 'edited']);
});

it('all accounts of a domain together have a limit per hour, which concurrent senders never exceed', async () => {
  await restart({
    SEND_LIMIT_FIRST_DAY: '1000',
    DOMAIN_SEND_LIMIT_PER_HOUR: '50',
    CLOCK_OFFSET_SECONDS: String(100 * 86_400),
  });
  const users: MailUser[] = [];
  for (let n = 0; n < 4; n++) users.push(await registerUser(server, `colleague-${n}`));
  const answers = await Promise.all(
    users.flatMap((user) => Array.from({ length: 8 }, () => send(user, toStrangers(2)))),
  );
  const refused = answers.filter(({ status }) => status === 429);
  // Of 64 recipients, at most 50 may be sent. What one account leaves of its share must not help the others.
  expect(answers.length - refused.length).toBeLessThanOrEqual(25);
  expect(answers.length - refused.length).toBeGreaterThanOrEqual(23);
  for (const { body, retryAfter } of refused) {
    expect(body.code).toBe('domain_send_limit_reached');
    expect(retryAfter).toBeGreaterThan(0);
    expect(retryAfter).toBeLessThanOrEqual(3_600);
  }
  const kept = await Promise.all(users.map((user) => listFolder(server, user, 'drafts')));
  expect(kept.flat()).toHaveLength(refused.length);
});

it('messages that are refused after their share was granted do not use up the limit of the domain', async () => {
  await restart({
    SEND_LIMIT_FIRST_DAY: '1000',
    DOMAIN_SEND_LIMIT_PER_HOUR: '50',
    PERSONAL_QUOTA_BYTES: '5000',
    CLOCK_OFFSET_SECONDS: String(150 * 86_400),
  });
  const full = await registerUser(server, 'full');
  for (let n = 0; n < 30; n++) {
    const refused = await send(full, { ...toStrangers(10), body: 'x'.repeat(20_000) });
    expect([refused.status, refused.body.code]).toEqual([413, 'over_quota']);
  }
  const other = await registerUser(server, 'other');
  expect((await send(other, { ...toStrangers(30), body: '' })).status).toBe(202);
});

it('vacation replies have their own limit; replies above it wait and are not lost', async () => {
  await restart({ AUTOMATIC_LIMIT_PER_HOUR: '2', CLOCK_OFFSET_SECONDS: String(200 * 86_400) });
  const away = await registerUser(server, 'away');
  const vacation = { enabled: true, subject: 'Away', body: 'Back soon.' };
  expect((await server.call('PUT', '/v1/me/vacation', vacation, away.token)).status).toBe(200);
  const senders: MailUser[] = [];
  for (let n = 0; n < 4; n++) senders.push(await registerUser(server, `curious-${n}`));
  for (const sender of senders)
    expect((await send(sender, { subject: 'hi', body: 'x', to: [{ email: away.email }] })).status).toBe(202);
  const countReplies = async () => {
    const inboxes = await Promise.all(senders.map((sender) => listFolder(server, sender, 'inbox')));
    return inboxes.flat().filter(({ subject }) => subject === 'Away').length;
  };
  await until('two replies', async () => ((await countReplies()) >= 2 ? true : undefined));
  const queue = await until('two replies that wait', async () => {
    const { body } = await server.call('GET', '/v1/outbound');
    return body.states?.held + body.states?.queued >= 2 ? body : undefined;
  });
  expect(queue).toBeDefined();
  expect(await countReplies()).toBe(2);
  // The user must still be able to send: automatic replies do not use up the sending limit.
  expect((await send(away, toStrangers(20))).status).toBe(202);
  await restart({ AUTOMATIC_LIMIT_PER_HOUR: '2', CLOCK_OFFSET_SECONDS: String(200 * 86_400 + 2 * 3_600) });
  await until('all replies', async () => ((await countReplies()) === 4 ? true : undefined));
}, 180_000);
