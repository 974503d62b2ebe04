/** Tests daily work with a mailbox, through the API: answers and forwards, searches, lists, threads, invitations. */
import { generateKeyPairSync } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBodyHasher } from '../../../workers/mail/dkim/body-hash.ts';
import { signMessage } from '../../../workers/mail/dkim/sign.ts';
import { awaitMessage, type MailUser, postInbound, registerUser } from '../../support/mail/mail.ts';
import { type ApiAnswer, startServer, type TestServer } from '../../support/server.ts';

/** Server that answers for far.test: its DNS over HTTP, and its mailing lists. */
const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const RECORD = `v=DKIM1; k=ed25519; p=${publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('base64')}`;
const posts: { path: string; body: string; headers: object }[] = [];
const world: Server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://world');
  if (pathname === '/dns-query') {
    const isKey = searchParams.get('name') === 's._domainkey.far.test' && searchParams.get('type') === 'TXT';
    const answer = isKey ? [{ name: searchParams.get('name'), type: 16, TTL: 60, data: `"${RECORD}"` }] : [];
    response.setHeader('content-type', 'application/dns-json');
    return response.end(JSON.stringify({ Status: isKey ? 0 : 3, Answer: answer }));
  }
  let body = '';
  for await (const chunk of request) body += chunk;
  posts.push({ path: pathname, body, headers: request.headers });
  response
    .writeHead(pathname === '/moved' ? 302 : pathname === '/broken' ? 500 : 200, { location: '/elsewhere' })
    .end();
});
const worldUrl = () => `http://127.0.0.1:${(world.address() as AddressInfo).port}`;

let server: TestServer;
let ann: MailUser;
beforeAll(async () => {
  await new Promise<void>((resolve) => world.listen(0, '127.0.0.1', resolve));
  server = await startServer({ vars: { MAIL_HOLD_SECONDS: '600', DNS_OVER_HTTPS_URL: `${worldUrl()}/dns-query` } });
  ann = await registerUser(server, `ann-${crypto.randomUUID()}`);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  world.close();
});

const call = (method: string, path: string, body?: unknown): Promise<ApiAnswer> =>
  server.call(method, path, body, ann.token);
const read = async (id: string) => (await call('GET', `/v1/messages/${id}`)).body;
const newId = () => `${crypto.randomUUID()}@far.test`;
const FRIEND = [{ email: 'friend@far.test' }];

/** Stores a message as received mail. @returns its id. */
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

/** Delivers a newsletter that far.test has signed. @returns the stored message. */
async function deliverNewsletter(fields: readonly string[], late: readonly string[] = []) {
  const subject = `news ${crypto.randomUUID()}`;
  const header = [
    'From: News <news@far.test>',
    `To: ${ann.email}`,
    `Subject: ${subject}`,
    'Date: Sun, 22 Nov 2026 12:00:00 +0000',
    ...fields,
  ];
  const body = 'What happened this week.\r\n';
  const key = {
    ...{ domain: 'far.test', selector: 's', algorithm: 'ed25519-sha256' as const },
    privateKey: privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64'),
  };
  const plain = Buffer.from(`${header.join('\r\n')}\r\n`);
  const hasher = createBodyHasher();
  hasher.push(Buffer.from(`${plain}\r\n${body}`));
  const signature = await signMessage(plain, hasher.digest(), [key], Date.now());
  const raw = `${late.map((field) => `${field}\r\n`).join('')}${signature}${plain.toString()}\r\n${body}`;
  expect((await postInbound(server, raw, { from: 'news@far.test', to: ann.email })).status).toBe(202);
  const message = await awaitMessage(server, ann, 'inbox', subject);
  expect(message.authentication.dkim).toMatchObject([{ result: 'pass', domain: 'far.test' }]);
  return message;
}
const ONE_CLICK = 'List-Unsubscribe-Post: List-Unsubscribe=One-Click';
const leave = (id: string) => call('POST', `/v1/messages/${id}/unsubscribe`);

describe('a mailing list is left', () => {
  it('by one POST without credentials, if a signature covers both fields', async () => {
    const { id, unsubscribe } = await deliverNewsletter([
      `List-Unsubscribe: <mailto:leave@far.test>, <${worldUrl()}/leave?u=1>`,
      ONE_CLICK,
    ]);
    expect(unsubscribe).toEqual({ method: 'one_click', url: `${worldUrl()}/leave?u=1` });
    expect(posts).toEqual([]);
    expect(await leave(id)).toMatchObject({ status: 200, body: { method: 'one_click' } });
    expect(posts).toMatchObject([{ path: '/leave', body: 'List-Unsubscribe=One-Click' }]);
    expect((await read(id)).labels).toContain('$unsubscribed');
    expect(Object.keys(posts[0]?.headers ?? {})).not.toEqual(expect.arrayContaining(['cookie']));
    expect(Object.keys(posts[0]?.headers ?? {})).not.toEqual(expect.arrayContaining(['authorization']));
  });

  it('by mail, if a field was added after signing, if it is not signed, or if there is no address for a POST', async () => {
    const mail = '<mailto:leave@far.test?subject=leave%20me&cc=x@far.test>';
    const field = `List-Unsubscribe: ${mail}, <${worldUrl()}/leave>`;
    const messages = [
      await deliverNewsletter([], [field, ONE_CLICK]),
      await deliverNewsletter([field], [ONE_CLICK]),
      await deliverNewsletter([field, ONE_CLICK], [ONE_CLICK]),
      await deliverNewsletter([
        `List-Unsubscribe: ${mail}, <https://10.0.0.1/leave>, <https://printer.local/leave>`,
        ONE_CLICK,
      ]),
    ];
    const before = posts.length;
    for (const { id, unsubscribe } of messages) {
      expect(unsubscribe).toEqual({
        method: 'mail',
        email: 'leave@far.test',
        subject: 'leave me',
        body: 'unsubscribe',
      });
      expect((await leave(id)).body).toEqual({ method: 'mail' });
      expect((await leave(id)).body).toEqual({ method: 'mail' });
    }
    expect(posts).toHaveLength(before);
    const { data } = (await call('GET', '/v1/messages?q=in:sent+subject:%22leave+me%22')).body;
    expect(data).toHaveLength(messages.length);
    expect(await read(data[0].id)).toMatchObject({
      from: { email: ann.email },
      to: [{ email: 'leave@far.test' }],
      cc: [],
    });
  });

  it('not if the server refuses or redirects, and not if only a page or nothing is named', async () => {
    for (const [path, status] of [
      ['/broken', 502],
      ['/moved', 502],
    ] as const) {
      const { id } = await deliverNewsletter([`List-Unsubscribe: <${worldUrl()}${path}>`, ONE_CLICK]);
      expect((await leave(id)).status, path).toBe(status);
      expect((await read(id)).labels).not.toContain('$unsubscribed');
    }
    expect(posts.map(({ path }) => path)).not.toContain('/elsewhere');
    const page = await deliverNewsletter(['List-Unsubscribe: <https://shop.far.test/leave>']);
    expect(page.unsubscribe).toEqual({ method: 'web', url: 'https://shop.far.test/leave' });
    const none = await deliverNewsletter(['List-Unsubscribe: <https://localhost/leave>, <ftp://far.test>', ONE_CLICK]);
    expect(none.unsubscribe).toBeNull();
    for (const { id } of [page, none])
      expect(await leave(id)).toMatchObject({ status: 409, body: { code: 'unsubscribe_unavailable' } });
  });
});

describe('an invitation', () => {
  it('is read from the calendar of a message, in its time zone and in UTC', async () => {
    const lines = [
      ...['BEGIN:VCALENDAR', 'METHOD:REQUEST', 'BEGIN:VEVENT', 'UID:42@far.test', 'SUMMARY:Review'],
      ...['DTSTART;TZID=Europe/Berlin:20261105T103000', 'DURATION:PT45M', 'LOCATION:Room 1'],
      ...['ORGANIZER;CN=Friend:mailto:friend@far.test', `ATTENDEE;PARTSTAT=ACCEPTED:mailto:${ann.email}`],
      ...['END:VEVENT', 'END:VCALENDAR'],
    ];
    const parts = [
      ...['--b', 'Content-Type: text/plain', '', 'Please come.', '--b'],
      ...['Content-Type: text/calendar; method=REQUEST; charset=utf-8', 'Content-Transfer-Encoding: base64', ''],
      ...[Buffer.from(lines.join('\r\n')).toString('base64'), '--b--'],
    ];
    const type = 'MIME-Version: 1.0\r\nContent-Type: multipart/alternative; boundary=b\r\n';
    const id = await store(`Subject: Review\r\n${type}`, parts.join('\r\n'));
    const { status, body } = await call('GET', `/v1/messages/${id}/invitation`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ...{ method: 'request', uid: '42@far.test', summary: 'Review', location: 'Room 1', is_all_day: false },
      start: { local: '2026-11-05T10:30:00', time_zone: 'Europe/Berlin', at: '2026-11-05T09:30:00.000Z' },
      end: { local: '2026-11-05T11:15:00', at: '2026-11-05T10:15:00.000Z' },
      organizer: { name: 'Friend', email: 'friend@far.test' },
      attendees: [{ email: ann.email, is_optional: false, response: 'accepted' }],
    });
    expect((await read(id)).body).toBe('Please come.\n');
    const other = await store('Subject: none\r\n');
    expect((await call('GET', `/v1/messages/${other}/invitation`)).status).toBe(404);
  });
});

describe('a wildcard', () => {
  it('that the operator assigns receives mail to addresses that no account has, and sends from them', async () => {
    const start = `x${crypto.randomUUID().slice(0, 8)}`;
    const bob = await registerUser(server, `${start}-bob`);
    const path = (user: MailUser) => `/v1/accounts/${user.userId}/addresses`;
    const assign = (user: MailUser, email: string) => server.call('POST', path(user), { email });
    expect((await assign(ann, `${start}-*@example.test`)).status).toBe(201);
    expect((await assign(bob, `${start}-long-*@example.test`)).status).toBe(201);
    expect((await assign(bob, `${start}-*@example.test`)).body.code).toBe('address_taken');
    for (const email of ['*@example.test', 'a*b@example.test', 'a*@elsewhere.test', `${'a'.repeat(41)}*@example.test`])
      expect((await assign(ann, email)).status, email).toBe(400);
    expect((await call('POST', path(ann), { email: 'mine@example.test' })).status).toBe(403);
    const arrivesAt = async (user: MailUser, to: string) => {
      const subject = `to ${to} ${crypto.randomUUID()}`;
      const raw = `From: a@far.test\r\nTo: ${to}\r\nSubject: ${subject}\r\nDate: ${new Date().toUTCString()}\r\n\r\nhi\r\n`;
      expect((await postInbound(server, raw, { from: 'a@far.test', to })).status).toBe(202);
      await awaitMessage(server, user, 'inbox', subject);
    };
    await arrivesAt(ann, `${start}-news@example.test`);
    await arrivesAt(ann, `${start}-News+tag@example.test`);
    await arrivesAt(bob, `${start}-long-news@example.test`);
    await arrivesAt(bob, `${start}-bob@example.test`);
    const unknown = await postInbound(server, 'From: a@far.test\r\n\r\nx', {
      from: 'a@far.test',
      to: `${start}@example.test`,
    });
    expect(unknown.status).toBe(422);
    const from = { email: `${start}-shop@example.test` };
    expect((await call('POST', '/v1/messages', { from, to: FRIEND, subject: 'x', body: 'y' })).status).toBe(202);
    const foreign = { email: bob.email };
    expect((await call('POST', '/v1/messages', { from: foreign, to: FRIEND, body: 'y' })).body.code).toBe(
      'foreign_sender',
    );
    const listed = (await server.call('GET', path(ann))).body;
    expect(listed).toEqual([
      { email: ann.email, is_primary: true },
      { email: `${start}-*@example.test`, is_primary: false },
    ]);
    const wildcard = encodeURIComponent(`${start}-*@example.test`);
    expect((await server.call('DELETE', `${path(ann)}/${wildcard}`)).status).toBe(204);
    expect((await server.call('DELETE', `${path(ann)}/${wildcard}`)).status).toBe(404);
    expect((await server.call('DELETE', `${path(ann)}/${encodeURIComponent(ann.email)}`)).status).toBe(409);
  });
});

describe('a message is put off', () => {
  it('until a time in the next year, and its thread can be muted', async () => {
    const id = await store('Subject: later\r\n');
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const put = await call('PATCH', `/v1/messages/${id}`, { snoozed_until: until });
    expect(put.body).toMatchObject({ snoozed_until: until });
    expect((await call('GET', '/v1/messages?q=is:snoozed')).body.data).toMatchObject([{ id }]);
    expect((await call('PATCH', `/v1/messages/${id}`, { folder_id: 'inbox' })).body.snoozed_until).toBeNull();
    for (const time of ['2020-01-01T00:00:00Z', '2999-01-01T00:00:00Z', 'tomorrow'])
      expect((await call('PATCH', `/v1/messages/${id}`, { snoozed_until: time })).status).toBe(400);
    const thread = `/v1/threads/${put.body.thread_id}`;
    expect((await call('PATCH', thread, { is_muted: true })).status).toBe(204);
    expect((await call('GET', thread)).body).toMatchObject({ is_muted: true, data: [{ id, is_read: true }] });
    expect((await call('PATCH', '/v1/threads/t1', { is_muted: true })).status).toBe(404);
  });
});

describe('a batch by query', () => {
  it('changes the messages that the query finds, and is refused without a term or with ids', async () => {
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
