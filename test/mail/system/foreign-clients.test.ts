/**
 * Requests that other people's JMAP clients send, as they were seen on the wire: aerc 0.22, meli 0.8.13, Bulwark's webmail and
 * Fastmail's JMAP-Samples. The RFCs permit a server to refuse some of them, but then these programs do not work.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { JmapClient, type Json } from '../../support/mail/jmap.ts';
import { awaitMessage, type MailUser, registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
let ann: MailUser;
let bob: MailUser;
let client: JmapClient;
let roles: Record<string, string>;

beforeAll(async () => {
  server = await startServer({ vars: { MAIL_HOLD_SECONDS: '0' } });
  ann = await registerUser(server, 'ann');
  bob = await registerUser(server, 'bob');
  client = new JmapClient(server, ann.userId, `Bearer ${ann.token}`);
  roles = await client.roles();
});
afterAll(() => server[Symbol.asyncDispose]());

const RAW = 'From: zoe@elsewhere.test\r\nTo: ann@example.test\r\nSubject: imported\r\n\r\ntext\r\n';
const importRaw = async (raw: string, role = 'inbox'): Promise<Json> => {
  const { blobId } = await client.upload(raw, 'message/rfc822');
  const email = { blobId, mailboxIds: { [roles[role] ?? '']: true } };
  return (await client.call('Email/import', { emails: { m: email } })).created.m;
};
const upload = (body: BodyInit | null, path = `/v1/jmap/upload/${ann.userId}`) =>
  client.fetch(path, {
    method: 'POST',
    body,
    headers: { 'content-type': 'message/rfc822' },
    // A stream has no length, so it is sent in chunks.
    ...({ duplex: 'half' } as object),
  });
const pieces = (count: number, piece: Uint8Array) =>
  new ReadableStream({
    async start(controller) {
      for (let at = 0; at < count; at += 1) controller.enqueue(piece);
      controller.close();
    },
  });

describe('aerc', () => {
  it('uploads in chunks, without a length, and takes only 200', async () => {
    const response = await upload(pieces(3, Buffer.from('line\r\n')));
    const made: Json = await response.json();
    expect([response.status, made.size, made.type]).toEqual([200, 18, 'message/rfc822']);
    expect(await (await client.download(made.blobId)).text()).toBe('line\r\nline\r\nline\r\n');
  });

  it('is told to send a length for an upload that is too large to hold', async () => {
    const response = await upload(pieces(9, Buffer.alloc(1024 * 1024)));
    expect([response.status, ((await response.json()) as Json).code]).toEqual([411, 'length_required']);
  });

  it('counts what Email/queryChanges removes, so mail that came later is not among it', async () => {
    const args = { filter: { inMailbox: roles.drafts }, collapseThreads: false };
    const { queryState } = await client.call('Email/query', args);
    const { id } = await importRaw(RAW.replace('imported', 'later'));
    const since = await client.call('Email/queryChanges', { ...args, sinceQueryState: queryState });
    expect([since.removed, since.added]).toEqual([[], []]);
    const inbox = { filter: { inMailbox: roles.inbox }, collapseThreads: true, sinceQueryState: queryState };
    const added = await client.call('Email/queryChanges', inbox);
    expect([added.removed, added.added]).toEqual([[], [{ id, index: 0 }]]);
  });

  it('behind a proxy with TLS finds https in the session', async () => {
    const session = async (proto?: string): Promise<Json> =>
      (await client.fetch('/v1/jmap/session', proto ? { headers: { 'x-forwarded-proto': proto } } : {})).json();
    const secure = await session('https');
    const host = new URL(server.url).host;
    expect([secure.apiUrl, secure.uploadUrl]).toEqual([
      `https://${host}/v1/jmap/api`,
      `https://${host}/v1/jmap/upload/{accountId}`,
    ]);
    expect((await session()).apiUrl).toBe(`${server.url}/v1/jmap/api`);
    expect((await session('javascript')).apiUrl).toBe(`${server.url}/v1/jmap/api`);
  });
});

describe('meli', () => {
  it('sorts with a collation of null', async () => {
    const sort = [{ collation: null, isAscending: false, property: 'receivedAt' }];
    const { type, ids } = await client.call('Email/query', { sort });
    expect([type, Array.isArray(ids)]).toEqual([undefined, true]);
  });

  it('downloads with an empty name', async () => {
    const { blobId } = await importRaw(RAW.replace('imported', 'nameless'));
    const response = await client.fetch(`/v1/jmap/download/${ann.userId}/${blobId}/?type=application/octet-stream`);
    expect([response.status, response.headers.get('content-disposition')]).toEqual([200, 'attachment']);
    expect(await response.text()).toContain('Subject: nameless');
  });

  it('gives the undoStatus of a new submission', async () => {
    const { list } = await client.call('Identity/get');
    const raw = RAW.replace('From: zoe@elsewhere.test', `From: ${ann.email}`).replace('To: ann', 'To: bob');
    const { id } = await importRaw(raw.replace('imported', 'by meli'), 'drafts');
    const submission = { emailId: id, envelope: null, identityId: list[0].id };
    const made = await client.call('EmailSubmission/set', { create: { s: { ...submission, undoStatus: 'final' } } });
    expect(made.notCreated).toBeNull();
    await awaitMessage(server, bob, 'inbox', 'by meli');
    const canceled = { ...submission, undoStatus: 'canceled' };
    const refused = await client.call('EmailSubmission/set', { create: { s: canceled } });
    expect(refused.notCreated.s).toMatchObject({ type: 'invalidProperties', properties: ['undoStatus'] });
  });
});

const draft = (more: Json = {}) => ({
  mailboxIds: { [roles.drafts ?? '']: true },
  keywords: { $draft: true },
  from: [{ name: 'Ann', email: ann.email }],
  to: [{ name: 'Bob', email: bob.email }],
  subject: 'Hello world',
  ...more,
});
const create = (more: Json) => client.call('Email/set', { create: { d: draft(more) } });
const rawOf = async (id: string): Promise<string> => {
  const { list } = await client.call('Email/get', { ids: [id], properties: ['blobId'] });
  return (await client.download(list[0].blobId)).text();
};

it("Fastmail's samples give a charset with a body value", async () => {
  const body = {
    bodyStructure: { partId: 'body', type: 'text/plain' },
    bodyValues: { body: { value: 'Grüße\n', charset: 'utf-8' } },
  };
  const { created, notCreated } = await create(body);
  expect(notCreated).toBeNull();
  const got = await client.call('Email/get', { ids: [created.d.id], fetchAllBodyValues: true });
  expect(Object.values<Json>(got.list[0].bodyValues)[0].value).toBe('Grüße\n');
});

it("Bulwark's webmail answers an invitation with the method in the part's type", async () => {
  const { blobId } = await client.upload('BEGIN:VCALENDAR', 'text/calendar');
  const type = 'text/calendar; method=REPLY; charset=UTF-8';
  const { created, notCreated } = await create({
    bodyStructure: {
      type: 'multipart/alternative',
      subParts: [
        { partId: 't', type: 'text/plain' },
        { partId: 'c', type },
        { blobId, type: 'text/calendar;method="REQUEST"', name: 'i.ics' },
      ],
    },
    bodyValues: { t: { value: 'yes' }, c: { value: 'BEGIN:VCALENDAR' } },
  });
  expect(notCreated).toBeNull();
  const raw = await rawOf(created.d.id);
  expect(raw).toContain('Content-Type: text/calendar; method=REPLY; charset=utf-8\r\n');
  expect(raw).toContain('Content-Type: text/calendar; method=REQUEST; name="i.ics"\r\n');
  const { list } = await client.call('Email/get', { ids: [created.d.id], properties: ['bodyStructure'] });
  expect(list[0].bodyStructure.subParts[1].type).toBe('text/calendar');
  for (const wrong of ['text/calendar; a=b\r\nBcc: x', 'text/calendar; method', 'text/calendar; x="a\nb"']) {
    const refused = await create({
      bodyStructure: { partId: 'c', type: wrong },
      bodyValues: { c: { value: '' } },
    });
    expect(refused.notCreated.d).toMatchObject({ type: 'invalidProperties', properties: ['bodyStructure/type'] });
  }
});

describe('an imported message that is sent', () => {
  const submit = async (raw: string | Uint8Array<ArrayBuffer>) => {
    const { blobId } = await client.upload(raw, 'message/rfc822');
    const email = { blobId, mailboxIds: { [roles.drafts ?? '']: true } };
    const { created } = await client.call('Email/import', { emails: { m: email } });
    const { list } = await client.call('Identity/get');
    const submission = { emailId: created.m.id, identityId: list[0].id };
    return client.call('EmailSubmission/set', { create: { s: submission } });
  };
  const head = (subject: string, name = 'Änn') =>
    `From: ${name} <${ann.email}>\r\nTo: ${bob.email}\r\nSubject: ${subject}\r\nContent-Type: text/plain; charset=utf-8\r\n`;

  it('has encoded words in place of raw UTF-8 in its header', async () => {
    expect((await submit(`${head('Grüße 漢字')}\r\nbödy\r\n`)).notCreated).toBeNull();
    const arrived = await awaitMessage(server, bob, 'inbox', 'Grüße 漢字');
    expect(arrived).toMatchObject({ from: { name: 'Änn', email: ann.email }, body: 'bödy\n' });
    const authorization = `Bearer ${bob.token}`;
    const raw = await fetch(`${server.url}/v1/messages/${arrived.id}/raw`, { headers: { authorization } });
    const [header = ''] = (await raw.text()).split('\r\n\r\n');
    expect(header).toMatch(/^[\t\r\n -~]*$/);
  });

  it.each([
    ['NUL', () => `${head('x')}\r\na\0b\r\n`],
    ['a long line', () => `${head('x')}\r\n${'a'.repeat(999)}\r\n`],
    ['raw UTF-8 in another field', () => `${head('x')}Content-Description: ä\r\n\r\nx\r\n`],
    ['a long field', () => `${head('x')}In-Reply-To: <${'a'.repeat(1_000)}@x.test>\r\n\r\nx\r\n`],
  ])('is refused with %s, which SMTP cannot transport', async (_, raw) => {
    expect((await submit(raw())).notCreated?.s).toMatchObject({ type: 'invalidEmail' });
  });

  it('may have lines of 998 characters', async () => {
    expect((await submit(`${head('x')}\r\n${'a'.repeat(998)}\r\n`)).notCreated).toBeNull();
  });
});

it('an attached message with a line that SMTP cannot transport is sent as a file', async () => {
  const { blobId } = await client.upload(`Subject: inner\r\n\r\n${'a'.repeat(2_000)}\r\n`, 'message/rfc822');
  const { created } = await create({
    textBody: [{ partId: 't' }],
    bodyValues: { t: { value: 'see the attachment' } },
    attachments: [{ blobId, type: 'message/rfc822', name: 'inner.eml' }],
  });
  expect(await rawOf(created.d.id)).toContain('Content-Type: application/octet-stream; name="inner.eml"\r\n');
});

describe('Email/set', () => {
  it('takes an email that is sent back whole, and refuses only a property that differs (RFC 8620 §5.3)', async () => {
    const { id } = await importRaw(RAW.replace('imported', 'whole'));
    const { list } = await client.call('Email/get', { ids: [id] });
    const whole = { ...list[0], keywords: { $seen: true } };
    expect(await client.call('Email/set', { update: { [id]: whole } })).toMatchObject({
      updated: { [id]: null },
      notUpdated: null,
    });
    const set = async (patch: Json) => (await client.call('Email/set', { update: { [id]: patch } })).notUpdated?.[id];
    expect(await set({ id, subject: 'whole', 'keywords/$flagged': true })).toBeUndefined();
    const marks = await client.call('Email/get', { ids: [id], properties: ['keywords'] });
    expect(marks.list[0].keywords).toEqual({ $seen: true, $flagged: true });
    const invalid = (property: string) => ({ type: 'invalidProperties', properties: [property] });
    expect(await set({ subject: 'other', keywords: {} })).toMatchObject(invalid('subject'));
    expect(await set({ size: 1 })).toMatchObject(invalid('size'));
    expect(await set({ nothing: null })).toMatchObject(invalid('nothing'));
    expect(await set({ 'from/0/name': 'Zoe' })).toMatchObject(invalid('from/0/name'));
    expect((await client.call('Email/get', { ids: [id], properties: ['keywords'] })).list).toEqual(marks.list);
    const gone = await client.call('Email/set', { update: { nothing: { subject: 'x' } } });
    expect(gone.notUpdated).toEqual({ nothing: { type: 'notFound' } });
  });

  it('refuses the size of a new part that has a partId (RFC 8621 §4.6)', async () => {
    const part = { partId: 't', type: 'text/plain', size: 3 };
    const refused = await create({ textBody: [part], bodyValues: { t: { value: 'abc' } } });
    expect(refused.notCreated.d).toMatchObject({ type: 'invalidProperties', properties: ['textBody/size'] });
  });
});

it('Email/import of too many messages is an invalid argument, as RFC 8621 §4.8 has no requestTooLarge', async () => {
  const email = { blobId: 'x', mailboxIds: { x: true } };
  const emails = Object.fromEntries(Array.from({ length: 501 }, (_, n) => [`m${n}`, email]));
  expect((await client.call('Email/import', { emails })).type).toBe('invalidArguments');
});

it('Email/get takes the form Raw by its name (RFC 8621 §4.1.2.1)', async () => {
  const { id } = await importRaw(RAW.replace('imported', 'raw form'));
  const properties = ['header:Subject:asRaw', 'header:X-None:asRaw', 'header:To:asRaw:all'];
  const { list } = await client.call('Email/get', { ids: [id], properties });
  expect(list[0]).toMatchObject({
    'header:Subject:asRaw': ' raw form',
    'header:X-None:asRaw': null,
    'header:To:asRaw:all': [' ann@example.test'],
  });
});

it('HTML that a client stores for later mail is cleaned', async () => {
  const html = '<p onclick="x()">Ann<script>y()</script></p><img src="https://elsewhere.test/logo.png">';
  const { list } = await client.call('Identity/get');
  const cleaned = '<p>Ann</p><img src="https://elsewhere.test/logo.png">';
  const update = { [list[0].id]: { htmlSignature: html } };
  expect((await client.call('Identity/set', { update })).updated).toEqual({
    [list[0].id]: { htmlSignature: cleaned },
  });
  const { created } = await client.call('Identity/set', {
    create: { i: { email: ann.email, htmlSignature: html } },
  });
  expect(created.i.htmlSignature).toBe(cleaned);
  const after = await client.call('Identity/get', { properties: ['htmlSignature'] });
  expect(after.list.map(({ htmlSignature }: Json) => htmlSignature)).toEqual([cleaned, cleaned]);
  const vacation = await client.call('VacationResponse/set', { update: { singleton: { htmlBody: html } } });
  expect(vacation.updated).toEqual({ singleton: { htmlBody: cleaned } });
  expect((await client.call('VacationResponse/get')).list[0].htmlBody).toBe(cleaned);
});
