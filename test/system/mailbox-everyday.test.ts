/** What people expect of a mailbox, through the API: answers and forwards, searches, lists, threads, invitations. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type MailUser, registerUser } from '../support/mail.ts';
import { type ApiAnswer, startServer, type TestServer } from '../support/server.ts';

let server: TestServer;
let ann: MailUser;
beforeAll(async () => {
  server = await startServer({ vars: { MAIL_HOLD_SECONDS: '600' } });
  ann = await registerUser(server, `ann-${crypto.randomUUID()}`);
});
afterAll(() => server[Symbol.asyncDispose]());

const call = (method: string, path: string, body?: unknown): Promise<ApiAnswer> =>
  server.call(method, path, body, ann.token);
const read = async (id: string) => (await call('GET', `/v1/messages/${id}`)).body;
const newId = () => `${crypto.randomUUID()}@far.test`;
const FRIEND = [{ email: 'friend@far.test' }];

/** Stores a message as received. @returns its id. */
async function store(headers: string, body = 'Hello'): Promise<string> {
  const messageId = newId();
  const raw = `From: Friend <friend@far.test>\r\nTo: ${ann.email}\r\nMessage-ID: <${messageId}>\r\n${headers}\r\n${body}\r\n`;
  const imported = await fetch(`${server.url}/v1/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ann.token}`, 'content-type': 'message/rfc822' },
    body: raw,
  });
  expect(await imported.json()).toMatchObject({ imported: 1 });
  const { data } = (await call('GET', `/v1/messages?q=${encodeURIComponent(`header:message-id:${messageId}`)}`)).body;
  return data[0].id;
}

const readRaw = async (id: string): Promise<string> => {
  const raw = await fetch(`${server.url}/v1/messages/${id}/raw`, { headers: { authorization: `Bearer ${ann.token}` } });
  return raw.text();
};

describe('a message is sent with', () => {
  it('the addresses for answers, fields of its author and an importance, which reach the recipient', async () => {
    const fields = {
      reply_to: [{ name: 'The Team', email: 'team@far.test' }],
      headers: [
        { name: 'X-Ticket', value: '4711' },
        { name: 'X-Ticket', value: 'grün' },
      ],
      importance: 'high',
    };
    const sent = await call('POST', '/v1/messages', { to: FRIEND, subject: 'x', body: 'y', ...fields });
    expect(sent.status).toBe(202);
    const raw = await readRaw(sent.body.id);
    for (const line of ['Reply-To: The Team <team@far.test>', 'X-Ticket: 4711', 'Importance: high', 'X-Priority: 1'])
      expect(raw.split('\r\n')).toContain(line);
    expect(raw).toMatch(/^X-Ticket: =\?UTF-8\?Q\?gr=C3=BCn\?=\r$/m);
    expect(await read(sent.body.id)).toMatchObject({ reply_to: fields.reply_to, importance: 'high' });
    const canceled = await call('POST', `/v1/messages/${sent.body.id}/cancel`);
    const draft = await call('GET', `/v1/drafts/${canceled.body.draft_id}`);
    expect(draft.body).toMatchObject(fields);
    const again = await call('POST', '/v1/messages', { draft_id: canceled.body.draft_id });
    expect(await readRaw(again.body.id)).toMatch(/^X-Ticket: 4711\r$/m);
    expect(await read(again.body.id)).toMatchObject({ reply_to: fields.reply_to, importance: 'high' });
  });

  it('no field that the service sets, and no field that ends early', async () => {
    const refused = async (fields: object) => {
      const { status, body } = await call('POST', '/v1/messages', { to: FRIEND, subject: 'x', body: 'y', ...fields });
      return [status, body.errors?.[0]?.path];
    };
    for (const name of [
      'Bcc',
      'from',
      'DKIM-Signature',
      'Content-Type',
      'X-Priority',
      'ARC-Seal',
      'Received',
      'a b',
      'a:',
    ])
      expect(await refused({ headers: [{ name, value: 'x' }] }), name).toEqual([400, 'headers.0.name']);
    for (const value of ['a\r\nBcc: x@far.test', 'a\nb', ''])
      expect(await refused({ headers: [{ name: 'X-A', value }] })).toEqual([400, 'headers.0.value']);
    expect(await refused({ importance: 'urgent' })).toEqual([400, 'importance']);
    expect(await refused({ reply_to: [{ email: 'nobody' }] })).toEqual([400, 'reply_to.0.email']);
    expect(await refused({ reply_to: [{ email: 'a@b.test', name: 'x\r\nBcc: y@z.test' }] })).toEqual([
      400,
      'reply_to.0.name',
    ]);
  });
});

describe('a message of others', () => {
  it('is answered while an answer to it is sent, and forwarded once it was forwarded', async () => {
    const id = await store(`Subject: Lunch\r\nX-Priority: 5 (Lowest)\r\n`);
    const message = await read(id);
    expect(message).toMatchObject({ is_answered: false, is_forwarded: false, importance: 'low' });
    const answer = { to: FRIEND, subject: 'Re: Lunch', body: 'Yes', in_reply_to: message.headers.message_id };
    const { state } = (await call('GET', '/v1/events')).body;
    const sent = await call('POST', '/v1/messages', answer);
    expect(await read(id)).toMatchObject({ is_answered: true, is_forwarded: false });
    const { changes } = (await call('GET', `/v1/events?since=${state}`)).body;
    expect(changes).toContainEqual(
      expect.objectContaining({ type: 'message_updated', message_id: id, is_answered: true }),
    );
    await call('POST', `/v1/messages/${sent.body.id}/cancel`);
    expect(await read(id)).toMatchObject({ is_answered: false });
    const draft = await call('POST', '/v1/drafts', { to: FRIEND, subject: 'Fwd: Lunch', body: 'See', forward_of: id });
    expect(draft.body.forward_of).toBe(id);
    expect(await read(id)).toMatchObject({ is_forwarded: false });
    await call('POST', '/v1/messages', { draft_id: draft.body.id });
    expect(await read(id)).toMatchObject({ is_answered: false, is_forwarded: true });
    const gone = await call('POST', '/v1/messages', {
      to: FRIEND,
      subject: 'x',
      body: 'y',
      forward_of: crypto.randomUUID(),
    });
    expect(gone.status).toBe(202);
  });

  it('gets the marks of other programs by PATCH and in a batch', async () => {
    const id = await store('Subject: marks\r\n');
    expect((await call('PATCH', `/v1/messages/${id}`, { is_answered: true })).body).toMatchObject({
      is_answered: true,
    });
    const batch = { message_ids: [id], is_answered: false, is_forwarded: true };
    expect((await call('POST', '/v1/messages/batch', batch)).body).toEqual({
      results: [{ id, status: 'updated' }],
      progress: 1,
      next_cursor: null,
    });
    expect(await read(id)).toMatchObject({ is_answered: false, is_forwarded: true });
    expect((await call('GET', '/v1/messages?q=is:forwarded+subject:marks')).body.data).toMatchObject([
      { id, is_forwarded: true },
    ]);
  });
});

describe('a batch by query', () => {
  it('changes what the query finds, and nothing without a term or with ids', async () => {
    const ids = [
      await store('Subject: heron one\r\n'),
      await store('Subject: heron two\r\n'),
      await store('Subject: egret\r\n'),
    ];
    const batch = (body: object) => call('POST', '/v1/messages/batch', body);
    const done = await batch({ query: 'subject:heron', is_read: true, add_labels: ['birds'] });
    expect(done.body).toMatchObject({ results: [{ id: ids[1] }, { id: ids[0] }], progress: 1, next_cursor: null });
    expect((await call('GET', '/v1/messages?q=label:birds')).body.data).toHaveLength(2);
    expect((await batch({ query: 'label:birds', delete: true })).body.results).toHaveLength(2);
    expect((await call('GET', '/v1/messages?q=in:trash+heron')).body.data).toHaveLength(2);
    const refusals: [object, string][] = [
      [{ query: '  ', is_read: true }, 'query'],
      [{ query: 'frm:x', is_read: true }, 'query'],
      [{ query: 'in:nowhere', is_read: true }, 'query'],
      [{ query: 'heron', message_ids: ids, is_read: true }, 'query'],
      [{ is_read: true }, 'query'],
      [{ query: 'heron' }, 'delete'],
      [{ query: 'heron', is_read: true, delete: true }, 'delete'],
    ];
    for (const [body, path] of refusals) {
      const refused = await batch(body);
      expect([refused.status, refused.body.errors?.[0]?.path], JSON.stringify(body)).toEqual([400, path]);
    }
    expect((await batch({ query: 'heron', is_read: true, cursor: 'x' })).status).toBe(400);
  });
});

describe('a search', () => {
  it('refuses a word that it does not know before a colon, and names it', async () => {
    const { status, body } = await call('GET', '/v1/messages?q=lunch+frm:ada');
    expect([status, body.errors]).toEqual([
      400,
      [{ path: 'q', message: 'At character 7: Unknown search word "frm:". Quote it to search for it as text.' }],
    ]);
  });
});
