/** `/v1/imap`: messages that a program puts into folders, submits and searches. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { awaitSunk, type MailUser, readSink, registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of several routes; each test asserts the members it needs
type Json = any;

let server: TestServer;
let user: MailUser;
beforeAll(async () => {
  server = await startServer();
  user = await registerUser(server, 'ivo');
});
afterAll(() => server[Symbol.asyncDispose]());

const post = async (path: string, raw: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) => {
  const answer = await fetch(`${server.url}/v1/imap/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${user.token}`, 'content-type': 'message/rfc822', ...headers },
    body: raw,
  });
  return { status: answer.status, body: (await answer.json()) as Json };
};
const get = async (path: string): Promise<Json> => (await server.call('GET', path, undefined, user.token)).body;
const list = async (role: string): Promise<Json[]> => (await get(`/v1/imap/folders/${role}/messages`)).messages;
const raw = async (id: string) =>
  Buffer.from(
    await (
      await fetch(`${server.url}/v1/messages/${id}/raw`, { headers: { authorization: `Bearer ${user.token}` } })
    ).arrayBuffer(),
  );
const letter = (subject: string, more = '') =>
  `From: Ivo <ivo@example.test>\r\nTo: far@elsewhere.test\r\n${more}Subject: ${subject}\r\nMessage-ID: <${subject}@x.test>\r\n\r\nBody of ${subject}\r\n`;

describe('an append', () => {
  it('keeps the bytes, the time and the keywords, and a repeated one adds nothing', async () => {
    const bytes = Buffer.concat([Buffer.from('Subject: odd \xe4\r\n\r\n', 'latin1'), randomBytes(2_000)]);
    const path = 'append?folder_id=archive&keywords=$seen,$deleted,Work&received_at=1600000000000';
    const appended = await post(path, bytes);
    expect([appended.status, appended.body.detail]).toEqual([200, undefined]);
    const { uid, message_id } = appended.body;
    expect(await list('archive')).toEqual([
      [uid, message_id, ['$seen', '$deleted', 'Work'], bytes.length, 1_600_000_000_000, expect.any(Number)],
    ]);
    expect((await raw(message_id)).equals(bytes)).toBe(true);
    expect((await post(path, bytes)).body.uid).toBe(uid);
    expect(await list('archive')).toHaveLength(1);
    const other = await post('append?folder_id=inbox', bytes);
    expect(other.body.message_id).toBe(message_id);
    expect(other.body.uid).toBeGreaterThan(uid);
    expect((await list('inbox'))[0][2]).not.toContain('$deleted');
  });

  it('of a large message is streamed, and one above the limit is refused before it is read', async () => {
    const file = randomBytes(3_000_000).toString('base64').replace(/.{76}/g, '$&\r\n');
    const head = 'Content-Type: application/zip; name=a.zip\r\nContent-Transfer-Encoding: base64\r\n';
    const bytes = Buffer.from(`Subject: large\r\n${head}\r\n${file}\r\n`);
    const appended = await post('append?folder_id=archive', bytes);
    expect(appended.status).toBe(200);
    expect((await raw(appended.body.message_id)).equals(bytes)).toBe(true);
    const max = (await get('/v1/imap')).message_bytes_max;
    const tooLarge = await post('append?folder_id=archive', new Uint8Array(max + 1));
    expect([tooLarge.status, tooLarge.body.code]).toEqual([413, 'too_large']);
    expect((await post('append?folder_id=all', 'Subject: x\r\n\r\n')).status).toBe(404);
  });
});

describe('a submission', () => {
  it('sends the bytes as they came without Bcc, once, and the program adds no second copy to Sent', async () => {
    const bytes = letter('submitted', 'Bcc: hidden@elsewhere.test\r\nX-Odd:   spaced  \r\n');
    const path = 'submissions?from=ivo@example.test&to=far@elsewhere.test&to=hidden@elsewhere.test';
    const key = { 'idempotency-key': 'one' };
    const sent = await post(path, bytes, key);
    expect([sent.status, sent.body.detail]).toEqual([202, undefined]);
    expect((await post(path, bytes, key)).body).toEqual(sent.body);
    expect((await post(path, letter('else'), key)).status).toBe(409);
    const sunk = await awaitSunk(server, 'the message', ({ raw: each }) => each.includes('Subject: submitted'));
    const expected = bytes.replace('Bcc: hidden@elsewhere.test\r\n', '');
    expect(sunk.raw.toString('latin1').endsWith(expected)).toBe(true);
    expect(readSink(server).filter((each) => each.raw.includes('Subject: submitted'))).toHaveLength(1);
    const appended = await post('append?folder_id=sent&keywords=$seen,Mine', bytes);
    expect(appended.body.message_id).toBe(sent.body.message_id);
    expect(await list('sent')).toHaveLength(1);
    const [row] = await list('sent');
    expect([row[0], row[2]]).toEqual([appended.body.uid, ['$seen', 'Mine']]);
    const changed = await post('append?folder_id=sent', bytes.replace('Body', 'Other body'));
    expect(changed.body.message_id).not.toBe(sent.body.message_id);
  });

  it('of another sender, or without recipients, is refused and sends nothing', async () => {
    const forged = letter('forged').replace('ivo@', 'eva@');
    const refused = await post('submissions?from=ivo@example.test&to=far@elsewhere.test', forged);
    expect([refused.status, refused.body.code]).toEqual([400, 'foreign_sender']);
    const envelope = await post('submissions?from=eva@example.test&to=far@elsewhere.test', letter('forged'));
    expect([envelope.status, envelope.body.code]).toEqual([400, 'foreign_sender']);
    expect((await post('submissions?from=ivo@example.test', letter('forged'))).status).toBe(400);
    expect(await list('sent')).toHaveLength(2);
  });
});

describe('a search', () => {
  it('finds the messages of one folder', async () => {
    const ask = async (folder_id: string, filter: Json) =>
      (await server.call('POST', '/v1/imap/search', { folder_id, filter }, user.token)).body;
    const sent = (await list('sent')).map((row) => row[1]);
    expect((await ask('sent', { subject: 'submitted' })).message_ids.sort()).toEqual(sent.sort());
    expect((await ask('inbox', { subject: 'submitted' })).message_ids).toEqual([]);
    const or = { operator: 'OR', conditions: [{ body: 'other' }, { header: ['x-odd', 'nothing'] }] };
    expect((await ask('sent', or)).message_ids).toHaveLength(1);
    expect((await ask('sent', { nonsense: 1 })).status).toBe(400);
  });
});
