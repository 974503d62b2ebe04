/**
 * Puts one mailbox back to an earlier state, as an operator does, and replays what must hold. A local server has a stand-in for the
 * point-in-time recovery of the platform.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  awaitMessage,
  awaitSunk,
  confirmSession,
  listFolder,
  type MailUser,
  postInbound,
  readSink,
  registerUser,
  until,
} from '../../support/mail/mail.ts';
import { type ApiAnswer, startServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
let ann: MailUser;
let bob: MailUser;
beforeAll(async () => {
  server = await startServer({ vars: { MAIL_HOLD_SECONDS: '0' } });
  ann = await registerUser(server, 'ann');
  bob = await registerUser(server, 'bob');
  await confirmSession(server, ann.token);
});
afterAll(() => server[Symbol.asyncDispose]());

const as = (token: string, method: string, path: string, body?: unknown): Promise<ApiAnswer> =>
  server.call(method, path, body, token);
async function must(method: string, path: string, body?: unknown): Promise<ApiAnswer['body']> {
  const answer = await as(ann.token, method, path, body);
  expect([answer.status < 300, answer.body?.code]).toEqual([true, undefined]);
  return answer.body;
}
const operate = (path: string, body: object) => server.call('POST', `/v1/accounts/${ann.userId}/${path}`, body);

const rawOf = (subject: string) =>
  `From: a@far.test\r\nTo: ${ann.email}\r\nSubject: ${subject}\r\nMessage-ID: <${subject}@far.test>\r\nDate: ${new Date(0).toUTCString()}\r\n\r\nhi ${subject}\r\n`;
const offer = (subject: string) => postInbound(server, rawOf(subject), { from: 'a@far.test', to: ann.email });
async function receive(subject: string) {
  expect((await offer(subject)).status).toBe(202);
  return awaitMessage(server, ann, 'inbox', subject);
}
const subjectsOf = async (role: string) => (await listFolder(server, ann, role)).map(({ subject }) => subject).sort();
const countSunk = (subject: string) => readSink(server).filter(({ raw }) => raw.includes(`Subject: ${subject}`)).length;
async function erase(id: string): Promise<void> {
  for (let time = 0; time < 2; time++) await must('DELETE', `/v1/messages/${id}`);
}

async function replay(): Promise<{ messages_recovered: number; messages_erased: number }> {
  const sum = { messages_recovered: 0, messages_erased: 0 };
  for (;;) {
    const { status, body } = await operate('replay', { max_seconds: 1 });
    expect([status, body.code]).toEqual([200, undefined]);
    sum.messages_recovered += body.messages_recovered;
    sum.messages_erased += body.messages_erased;
    if (body.finished) return sum;
  }
}

it('refuses a mailbox that was put back by name, and a replay brings back what was acknowledged since', async () => {
  const kept = await receive('kept');
  const erased = await receive('erased');
  const draft = await must('POST', '/v1/drafts', { to: [{ email: 'x@far.test' }], subject: 'sent-once', body: 'x' });
  await must('POST', '/v1/drafts', { subject: 'a-draft', body: 'x' });
  const revoked = await must('POST', '/v1/me/tokens', { name: 'revoked' });
  const { bookmark } = (await operate('bookmark', {})).body;
  expect(bookmark).toEqual(expect.any(String));

  await erase(erased.id);
  await must('PATCH', `/v1/messages/${kept.id}`, { is_flagged: true, labels: ['by-mistake'] });
  await must('DELETE', `/v1/me/tokens/${revoked.token_id}`);
  const made = await must('POST', '/v1/me/tokens', { name: 'made' });
  await must('POST', '/v1/messages', { draft_id: draft.id });
  await awaitSunk(server, 'sent-once', ({ raw }) => raw.includes('Subject: sent-once'));
  const later = await receive('later');
  await must('PATCH', `/v1/messages/${later.id}`, { is_read: true, labels: ['new'] });
  // Notices about the two app tokens, of which one arrived before the bookmark or waited then.
  const inbox = await until('two notices', async () => {
    const subjects = await subjectsOf('inbox');
    return subjects.length === 4 ? subjects : undefined;
  });
  const { state } = await must('GET', '/v1/events');

  const restored = await operate('restore', { bookmark });
  expect([restored.status, restored.body]).toEqual([200, { number: 1 }]);
  expect(await as(ann.token, 'GET', '/v1/folders')).toMatchObject({ status: 503, body: { code: 'store_older' } });
  expect(await as(made.token, 'GET', '/v1/folders')).toMatchObject({ status: 503, body: { code: 'store_older' } });
  expect(await as(revoked.token, 'GET', '/v1/folders')).toMatchObject({ status: 503 });
  expect((await offer('refused')).status).toBe(503);
  expect((await as(bob.token, 'GET', '/v1/folders')).status).toBe(200);
  await server.kill9();
  await server.start();
  const refusal = await as(ann.token, 'GET', '/v1/folders');
  expect(refusal).toMatchObject({ status: 503, body: { code: 'store_older' } });
  expect(refusal.body.detail).toContain(`MAILBOX ${ann.userId}`);
  expect((await operate('restore', { bookmark })).body.code).toBe('replay_first');
  const { warnings } = (await server.call('GET', '/v1/health')).body;
  const message = 'was put back to an earlier state and has not been replayed';
  expect(warnings).toContainEqual({ name: `MAILBOX ${ann.userId}`, message });
  expect((await server.call('GET', '/v1/metrics')).body).toContain('tessera_mailboxes_older 1');

  // `erased` and the draft that was sent are gone; `later`, the message in Sent and the notices are there again.
  const { messages_recovered: recovered, messages_erased: gone } = await replay();
  expect([recovered >= 3, gone]).toEqual([true, 2]);
  expect(await replay()).toEqual({ messages_recovered: 0, messages_erased: 0 });
  expect(await subjectsOf('inbox')).toEqual(inbox);
  expect(await subjectsOf('sent')).toEqual(['sent-once']);
  expect(await subjectsOf('drafts')).toEqual(['a-draft']);
  expect(await must('GET', `/v1/messages/${kept.id}`)).toMatchObject({ is_flagged: false, labels: [] });
  expect(await must('GET', `/v1/messages/${later.id}`)).toMatchObject({ id: later.id, is_read: true, labels: ['new'] });
  expect((await as(revoked.token, 'GET', '/v1/folders')).status).toBe(401);
  expect((await as(made.token, 'GET', '/v1/folders')).status).toBe(200);
  expect(await must('GET', `/v1/events?since=${state}`)).toMatchObject({ resync: true });
  expect((await server.call('GET', '/v1/health')).body.status).toBe('ok');

  // A sender that repeats mail which it was told is accepted stores nothing, and mail leaves once.
  expect((await offer('later')).status).toBe(202);
  await receive('refused');
  expect(await subjectsOf('inbox')).toEqual([...inbox, 'refused'].sort());
  expect(countSunk('sent-once')).toBe(1);
});

it('refuses a bookmark that the platform does not know, and serves on', async () => {
  const restored = await operate('restore', { bookmark: '000000000000001' });
  expect([restored.status, restored.body.code]).toEqual([409, 'bookmark_refused']);
  await replay();
  expect((await as(ann.token, 'GET', '/v1/folders')).status).toBe(200);
  const early = await operate('bookmark', { at: '2001-01-01T00:00:00Z' });
  expect([early.status, early.body.code]).toEqual([409, 'bookmark_refused']);
  expect((await server.call('POST', '/v1/accounts/unknown/restore', { bookmark: 'x' })).status).toBe(404);
});
