/** The error queue gets every refused submission that is a mail, with the sender, the time and the reason. */
import { env as bindings, createExecutionContext } from 'cloudflare:test';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import worker from '../../../workers/index.ts';
import { removeOldErrors } from '../../../workers/mail/outbound/old-errors.ts';
import { insertError, listErrors } from '../../../workers/mail/store/queue-store.ts';

const env = { ...(bindings as Env), REQUESTS_PER_USER: '100000' } as unknown as Env;
// biome-ignore lint/suspicious/noExplicitAny: answers of several routes; each test asserts the members it needs
type Json = any;

async function call(method: string, path: string, token: string, body: string | object) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const request = new Request(`http://localhost${path}`, {
    method,
    headers: {
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      'content-type': 'application/json',
      'content-length': String(text.length),
      'cf-connecting-ip': `10.${[1, 2, 3].map(() => Math.floor(Math.random() * 256)).join('.')}`,
    },
    body: text,
  }) as Request<unknown, IncomingRequestCfProperties>;
  const answer = await worker.fetch(request, env, createExecutionContext());
  return { status: answer.status, body: (await answer.json()) as Json };
}

let userId: string;
let token: string;
beforeEach(async () => {
  const name = `e${crypto.randomUUID()}`;
  const account = { email: `${name}@example.test`, password: 'correct horse battery', name };
  const made = await call('POST', '/v1/auth/register', '', account);
  userId = made.body.user.user_id;
  token = made.body.token;
});

const send = (body: string | object) => call('POST', '/v1/messages', token, body);
const listRefusals = async () => (await listErrors(env.DIRECTORY, null, 1_000)).filter((row) => row.userId === userId);

const to = [{ email: 'bob@far.test' }];
const many = (count: number) => Array.from({ length: count }, (_, n) => ({ email: `r${n}@far.test` }));
const inline = (content: string, file_name = 'a.pdf') => [{ file_name, content_type: 'application/pdf', content }];

describe('a refused mail is recorded', () => {
  it.each([
    ['no recipient', {}, 'no_recipient'],
    ['an empty list of recipients', { to: [] }, 'no_recipient'],
    ['a bad address', { to: [{ email: 'bob' }] }, 'bad_address'],
    ['101 recipients', { to: many(101) }, 'too_many_recipients'],
    ['1,001 recipients', { to: many(1_001) }, 'invalid_request'],
    ['a program', { to, attachments: inline('AAAA', 'a.exe') }, 'blocked_attachment'],
    ['a long subject', { to, subject: 'x'.repeat(2_001) }, 'invalid_request'],
    ['a line break in the subject', { to, subject: 'a\r\nBcc: x@far.test' }, 'invalid_request'],
    ['a long address', { to: [{ email: `${'x'.repeat(320)}@far.test` }] }, 'invalid_request'],
    ['bad Base64', { to, attachments: inline('!!!') }, 'bad_attachment'],
    ['an unknown upload', { to, attachments: [{ attachment_id: 'none' }] }, 'bad_attachment'],
    ['a foreign sender', { to, from: { email: 'bob@example.test' } }, 'foreign_sender'],
    ['a time of sending beyond a year', { to, send_at: '2999-01-01T00:00:00Z' }, 'invalid_request'],
    ['an unknown draft', { draft_id: 'none' }, 'no_draft'],
  ])('with %s', async (_, body, code) => {
    const answer = await send(body);
    expect([answer.body.code, answer.status >= 400]).toEqual([code, true]);
    const rows = await listRefusals();
    expect(rows.map((row) => [row.kind, row.code])).toEqual([['validation', code]]);
    expect(rows[0]?.detail.length).toBeGreaterThan(0);
    // A retry from the error queue is refused again for the same reason, and adds no row.
    const retried = await call('POST', `/v1/outbound/${rows[0]?.errorId}/retry`, 'root-of-tests', '{}');
    expect(retried.body.code).toBe(code);
    expect(await listRefusals()).toHaveLength(1);
  });
});

it('what is no mail is not recorded: broken JSON, another value, an unknown member', async () => {
  for (const body of ['{"to":', '[]', '"mail"', JSON.stringify({ to, colour: 'red' })]) {
    expect((await send(body)).status).toBe(400);
  }
  expect(await listRefusals()).toEqual([]);
});

it('a refused draft is recorded with its recipients', async () => {
  const draft = { to: [{ email: 'bob@far.test' }, { email: 'carl' }], subject: 'hi' };
  const { id } = (await call('POST', '/v1/drafts', token, draft)).body;
  expect((await send({ draft_id: id })).body.code).toBe('bad_address');
  const [row] = await listRefusals();
  expect(JSON.parse(row?.recipients ?? '[]')).toEqual(['bob@far.test', 'carl']);
});

it('a request over 64 KB is recorded without its content', async () => {
  const subject = 'x'.repeat(2_001);
  await send({ to, subject, body: 'é'.repeat(33_000) });
  await send({ to, subject, body: 'é'.repeat(31_000) });
  const rows = await listRefusals();
  expect(rows.map(({ requestKey }) => requestKey === null).sort()).toEqual([false, true]);
  const bytes = (await env.BLOBS.list({ prefix: `mail/${userId}/errors/` })).objects.map(({ size }) => size);
  expect(bytes).toHaveLength(1);
  expect(bytes[0]).toBeLessThanOrEqual(64 * 1024);
});

describe('a submission by JMAP', () => {
  const jmap = async (...methodCalls: [string, object, string][]) => {
    const using = ['core', 'mail', 'submission'].map((name) => `urn:ietf:params:jmap:${name}`);
    const calls = methodCalls.map(([name, args, id]) => [name, { accountId: userId, ...args }, id]);
    return (await call('POST', '/v1/jmap/api', token, { using, methodCalls: calls })).body.methodResponses as Json[];
  };
  async function submit(from: string, envelope: object | null) {
    const [[, identities], [, mailboxes]] = await jmap(['Identity/get', {}, 'i'], ['Mailbox/get', {}, 'm']);
    const drafts = mailboxes.list.find((one: Json) => one.role === 'drafts').id;
    const email = {
      ...{ mailboxIds: { [drafts]: true }, from: [{ email: from }], to: [{ email: 'bob@far.test' }], subject: 'hi' },
      ...{ bodyValues: { 1: { value: 'hello' } }, textBody: [{ partId: '1', type: 'text/plain' }] },
    };
    const submission = { emailId: '#d', identityId: identities.list[0].id, ...(envelope && { envelope }) };
    const answers = await jmap(
      ['Email/set', { create: { d: email } }, 'e'],
      ['EmailSubmission/set', { create: { s: submission } }, 's'],
    );
    return answers[1][1].notCreated?.s as Json;
  }
  const own = async () => (await jmap(['Identity/get', {}, 'i']))[0][1].list[0].email as string;

  it.each([
    ['a foreign From', null, 'forbiddenFrom', 'foreign_sender'],
    ['no recipient', [], 'noRecipients', 'no_recipient'],
    ['a bad address', ['bob'], 'invalidRecipients', 'bad_address'],
    ['101 recipients', many(101).map(({ email }) => email), 'tooManyRecipients', 'too_many_recipients'],
  ])('with %s is recorded, and cannot be retried from there', async (name, emails, type, code) => {
    const sender = await own();
    const from = name === 'a foreign From' ? 'bob@example.test' : sender;
    const envelope = emails && { mailFrom: { email: sender }, rcptTo: emails.map((email) => ({ email })) };
    expect(await submit(from, envelope)).toMatchObject({ type });
    const [row, ...others] = await listRefusals();
    expect(others).toEqual([]);
    expect(row).toMatchObject({ kind: 'validation', code, requestKey: null });
    expect(JSON.parse(row?.recipients ?? '[]')).toEqual(emails ?? ['bob@far.test']);
    const retried = await call('POST', `/v1/outbound/${row?.errorId}/retry`, 'root-of-tests', '{}');
    expect(retried.status).toBe(404);
  });
});

it('entries end after 30 days, with what they kept; failed mail and held accounts stay', async () => {
  await send({});
  await send({ to, subject: 'x'.repeat(2_001) });
  const [first] = await listRefusals();
  const day = 24 * 3_600_000;
  const others = { userId, detail: '', recipients: '[]', outboxId: null, requestKey: null, createdAt: Date.now() };
  const errorId = crypto.randomUUID();
  await insertError(env.DIRECTORY, { ...others, errorId, kind: 'delivery', code: 'delivery_failed' });
  await insertError(env.DIRECTORY, { ...others, errorId: `held:${userId}`, kind: 'complaint', code: 'sending_held' });
  const listKept = async () => (await env.BLOBS.list({ prefix: `mail/${userId}/errors/` })).objects;
  expect(first?.requestKey).not.toBeNull();
  vi.useFakeTimers({ now: Date.now() + 29 * day, toFake: ['Date'] });
  await removeOldErrors(env);
  expect([(await listRefusals()).length, (await listKept()).length]).toEqual([4, 2]);
  vi.setSystemTime(Date.now() + 2 * day);
  await removeOldErrors(env);
  expect((await listRefusals()).map(({ code }) => code).sort()).toEqual(['delivery_failed', 'sending_held']);
  expect(await listKept()).toEqual([]);
  vi.useRealTimers();
});

it('at most a hundred refusals are recorded per hour and account', async () => {
  for (let n = 0; n < 103; n++) expect((await send({})).status).toBe(400);
  expect(await listRefusals()).toHaveLength(100);
});
