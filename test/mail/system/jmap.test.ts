/**
 * Tests JMAP as a mail client uses it. The conformance suite named in `docs/jmap.md` tests each method alone. These tests cover
 * sequences of methods and routes that the suite does not test.
 */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { basic, JmapClient, type Json, readEvents, USING } from '../../support/mail/jmap.ts';
import { confirmSession, listFolder, type MailUser, registerUser, until } from '../../support/mail/mail.ts';
import { makeDevice, readVapid, startPushService } from '../../support/mail/push-service.ts';
import { startServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
let ann: MailUser;
let bob: MailUser;
let client: JmapClient;
let other: JmapClient;
let appToken = '';
let roles: Record<string, string>;

beforeAll(async () => {
  server = await startServer({ vars: { MAIL_HOLD_SECONDS: '0' } });
  ann = await registerUser(server, 'ann');
  bob = await registerUser(server, 'bob');
  await confirmSession(server, ann.token);
  appToken = (await server.call('POST', '/v1/me/tokens', { name: 'client' }, ann.token)).body.token;
  client = new JmapClient(server, ann.userId, basic(ann.email, appToken));
  other = new JmapClient(server, bob.userId, `Bearer ${bob.token}`);
  roles = await client.roles();
});
afterAll(() => server[Symbol.asyncDispose]());

const importRaw = async (raw: string, more: Record<string, unknown> = {}): Promise<Json> => {
  const { blobId } = await client.upload(raw, 'message/rfc822');
  const email = { blobId, mailboxIds: { [roles.inbox ?? '']: true }, ...more };
  return (await client.call('Email/import', { emails: { m: email } })).created.m;
};
let count = 0;
const message = (subject: string, ...fields: string[]): string => {
  count += 1;
  return [
    'From: Zoe <zoe@elsewhere.test>',
    'To: ann@example.test',
    `Subject: ${subject}`,
    `Message-ID: <m${count}@elsewhere.test>`,
    'Date: Mon, 05 Jan 2026 10:00:00 +0100',
    ...fields,
    '',
    `text ${count}`,
    '',
  ].join('\r\n');
};

describe('a client connects', () => {
  it('by the well-known address, with an app token as the password or as Bearer', async () => {
    for (const authorization of [
      basic(ann.email, appToken),
      basic(ann.email.toUpperCase(), appToken),
      `Bearer ${appToken}`,
    ]) {
      const response = await fetch(`${server.url}/.well-known/jmap`, { headers: { authorization } });
      const session: Json = await response.json();
      expect([response.status, session.username, Object.keys(session.accounts)]).toEqual([
        200,
        ann.email,
        [ann.userId],
      ]);
      expect(session.apiUrl).toBe(`${server.url}/v1/jmap/api`);
      expect(session.primaryAccounts['urn:ietf:params:jmap:mail']).toBe(ann.userId);
    }
  });

  it('but not with a password, a token of another user, a cookie, or nothing', async () => {
    const wrong: Record<string, string>[] = [
      {},
      { authorization: basic(ann.email, 'correct horse battery') },
      { authorization: basic(bob.email, appToken) },
      { authorization: 'Basic ???' },
      { cookie: `session=${ann.token}` },
    ];
    for (const headers of wrong) {
      const response = await fetch(`${server.url}/v1/jmap/session`, { headers });
      expect([response.status, response.headers.get('www-authenticate')]).toEqual([
        401,
        'Bearer, Basic realm="JMAP", charset="UTF-8"',
      ]);
    }
    const root = await fetch(`${server.url}/v1/jmap/session`, {
      headers: { authorization: `Bearer ${server.rootToken}` },
    });
    expect(root.status).toBe(403);
  });

  it('from any page, with Authorization and never with cookies', async () => {
    const preflight = await fetch(`${server.url}/v1/jmap/api`, {
      method: 'OPTIONS',
      headers: { origin: 'https://mail.example', 'access-control-request-method': 'POST' },
    });
    const allowed = (response: Response) => [
      response.headers.get('access-control-allow-origin'),
      response.headers.get('access-control-allow-credentials'),
    ];
    expect([preflight.status, ...allowed(preflight)]).toEqual([204, '*', null]);
    expect(preflight.headers.get('access-control-allow-headers')).toContain('Authorization');
    const origin = { origin: 'https://mail.example' };
    for (const path of ['/v1/jmap/session', '/v1/jmap/api', '/.well-known/jmap'])
      expect(allowed(await fetch(`${server.url}${path}`, { headers: origin, redirect: 'manual' }))).toEqual([
        '*',
        null,
      ]);
    expect(allowed(await fetch(`${server.url}/v1/me`, { headers: origin }))).toEqual([null, null]);
  });

  it('and reaches nothing of another user', async () => {
    const { id, blobId } = await importRaw(message('private'));
    expect((await other.call('Email/get', { ids: [id] })).notFound).toEqual([id]);
    expect((await other.download(blobId)).status).toBe(404);
    expect((await other.fetch(`/v1/jmap/download/${ann.userId}/${blobId}/x`)).status).toBe(404);
    expect((await other.fetch(`/v1/jmap/upload/${ann.userId}`, { method: 'POST', body: 'x' })).status).toBe(404);
    expect(await other.call('Email/get', { accountId: ann.userId, ids: [id] })).toEqual({ type: 'accountNotFound' });
    expect(
      (await other.call('Email/import', { emails: { m: { blobId, mailboxIds: { x: true } } } })).notCreated.m.type,
    ).toBe('invalidProperties');
    await client.call('Email/set', { destroy: [id] });
  });
});

describe('limits and errors', () => {
  it('of a request are problems of JMAP', async () => {
    const post = async (body: string) => {
      const response = await client.fetch('/v1/jmap/api', {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      });
      const problem: Json = await response.json();
      return [response.status, response.headers.get('content-type'), problem.type, problem.limit];
    };
    const type = 'application/problem+json';
    const name = (error: string) => `urn:ietf:params:jmap:error:${error}`;
    expect(await post('{')).toEqual([400, type, name('notJSON'), undefined]);
    expect(await post('{}')).toEqual([400, type, name('notRequest'), undefined]);
    expect(await post('{"using":["x"],"methodCalls":[]}')).toEqual([400, type, name('unknownCapability'), undefined]);
    const calls = Array.from({ length: 33 }, () => ['Core/echo', {}, 'c']);
    expect(await post(JSON.stringify({ using: USING, methodCalls: calls }))).toEqual([
      400,
      type,
      name('limit'),
      'maxCallsInRequest',
    ]);
    expect(await post(`"${'x'.repeat(8 * 1024 * 1024)}"`)).toEqual([400, type, name('limit'), 'maxSizeRequest']);
  });

  it('of a call do not stop the calls after it', async () => {
    const ids = Array.from({ length: 501 }, (_, at) => `x${at}`);
    const answers = await client.request(
      ['Email/get', { ids }],
      ['Email/set', { destroy: ids }],
      ['Email/get', { ids: [], properties: ['header:From:asDate'] }],
      ['Email/get', { ids: [], bodyProperties: ['no'] }],
      ['Email/query', { filter: { nothing: 1 } }],
      ['Email/query', { sort: [{ property: 'nothing' }] }],
      ['Email/query', { anchor: 'nobody' }],
      ['Email/changes', { sinceState: '999999' }],
      ['Email/set', { ifInState: 'old', destroy: [] }],
      ['Core/nothing'],
      ['Email/get', { '#ids': { resultOf: 'c9', name: 'Core/nothing', path: '/x' } }],
      ['Core/echo', { accountId: undefined, a: 1 }],
    );
    expect(answers.map(([, args]) => args.type ?? args)).toEqual([
      'requestTooLarge',
      'requestTooLarge',
      'invalidArguments',
      'invalidArguments',
      'unsupportedFilter',
      'unsupportedSort',
      'anchorNotFound',
      'cannotCalculateChanges',
      'stateMismatch',
      'unknownMethod',
      'invalidResultReference',
      { a: 1 },
    ]);
  });
});

it('refuses one request more at once than the session announces', async () => {
  const session: Json = await (await client.fetch('/v1/jmap/session')).json();
  const { maxConcurrentRequests } = session.capabilities['urn:ietf:params:jmap:core'];
  const body = JSON.stringify({ using: USING, methodCalls: [['Core/echo', {}, 'c']] });
  const headers = { 'content-type': 'application/json' };
  const feeds: ReadableStreamDefaultController<Uint8Array>[] = [];
  // Send requests with incomplete bodies. All but the refused one stay open until their bodies are complete.
  const held = Array.from({ length: maxConcurrentRequests + 1 }, () => {
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        feeds.push(controller);
        controller.enqueue(Buffer.from(body.slice(0, 5)));
      },
    });
    return other.fetch('/v1/jmap/api', { method: 'POST', headers, body: stream, duplex: 'half' } as RequestInit);
  });
  expect(await (await Promise.race(held)).json()).toMatchObject({
    type: 'urn:ietf:params:jmap:error:limit',
    limit: 'maxConcurrentRequests',
  });
  for (const feed of feeds) {
    try {
      feed.enqueue(Buffer.from(body.slice(5)));
      feed.close();
    } catch {
      // Ignore the error for the refused request, whose body is already closed.
    }
  }
  const statuses = await Promise.all(held.map(async (each) => (await each).status));
  expect(statuses.sort()).toEqual([...Array(maxConcurrentRequests).fill(200), 400]);
  const after = await other.fetch('/v1/jmap/api', { method: 'POST', headers, body });
  expect(after.status).toBe(200);
});

it('a request that names mail also submits and reads quotas, and nothing else that it does not name', async () => {
  const ask = async (names: string[]) => {
    const response = await client.fetch('/v1/jmap/api', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        using: names.map((name) => `urn:ietf:params:jmap:${name}`),
        methodCalls: ['Identity', 'Quota', 'VacationResponse'].map((type) => [
          `${type}/get`,
          { accountId: client.accountId },
          'c',
        ]),
      }),
    });
    const { methodResponses }: Json = await response.json();
    return methodResponses.map(([name, args]: Json) => args.type ?? name);
  };
  expect(await ask(['core', 'mail'])).toEqual(['Identity/get', 'Quota/get', 'unknownMethod']);
  expect(await ask(['core'])).toEqual(['unknownMethod', 'unknownMethod', 'unknownMethod']);
});

describe('messages', () => {
  it('have the same marks, folders and labels in JMAP and in the JSON API', async () => {
    const { id } = await importRaw(message('marks'), { keywords: { $seen: true, work: true } });
    const { body: folder } = await server.call('POST', '/v1/folders', { name: 'Projects/Alpha' }, ann.token);
    await client.call('Email/set', {
      update: {
        [id]: {
          [`mailboxIds/${folder.id}`]: true,
          'keywords/$flagged': true,
          'keywords/$answered': true,
          'keywords/$seen': null,
        },
      },
    });
    const { body: seen } = await server.call('GET', `/v1/messages/${id}`, undefined, ann.token);
    expect(seen).toMatchObject({ is_read: false, is_flagged: true, labels: ['work'] });
    await server.call('PATCH', `/v1/messages/${id}`, { is_read: true, labels: ['Zu erledigen', 'work'] }, ann.token);
    const [email] = (await client.call('Email/get', { ids: [id], properties: ['keywords', 'mailboxIds'] })).list;
    const encoded = `label-${Buffer.from('Zu erledigen').toString('hex')}`;
    expect(email.keywords).toEqual({ $seen: true, $flagged: true, $answered: true, work: true, [encoded]: true });
    expect(email.mailboxIds).toEqual({ [roles.inbox ?? '']: true, [folder.id]: true });
    const query = async (filter: object) => (await client.call('Email/query', { filter })).ids;
    expect(await query({ hasKeyword: encoded })).toEqual([id]);
    expect(await query({ inMailbox: folder.id })).toEqual([id]);
    // Leaving one of two folders must keep the message in the other. Leaving the last folder must be refused.
    const moved = await client.call('Email/set', { update: { [id]: { mailboxIds: { [folder.id]: true } } } });
    expect(moved.updated).toEqual({ [id]: null });
    const stuck = await client.call('Email/set', { update: { [id]: { [`mailboxIds/${folder.id}`]: null } } });
    expect(stuck.notUpdated[id]).toMatchObject({ type: 'invalidProperties', properties: ['mailboxIds'] });
    const { list } = await client.call('Mailbox/get', { ids: [folder.id] });
    expect(list[0]).toMatchObject({
      name: 'Alpha',
      totalEmails: 1,
      unreadEmails: 0,
      totalThreads: 1,
      unreadThreads: 0,
    });
    await client.call('Email/set', { destroy: [id] });
    expect((await server.call('GET', `/v1/messages/${id}`, undefined, ann.token)).status).toBe(404);
  });

  it('are downloaded byte for byte, and so are their parts', async () => {
    const file = Buffer.alloc(300_000, 'attached ');
    const raw = [
      'From: zoe@elsewhere.test',
      'Subject: parts',
      'Message-ID: <parts@elsewhere.test>',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      '',
      'text',
      '--b',
      'Content-Type: application/zip; name=a.zip',
      'Content-Transfer-Encoding: base64',
      '',
      file.toString('base64').replace(/.{76}/g, '$&\r\n'),
      '--b',
      'Content-Type: message/rfc822',
      '',
      'Subject: inner',
      'Content-Type: multipart/mixed; boundary=c',
      '',
      '--c',
      'Content-Type: text/plain',
      'Content-Disposition: attachment; filename=in.txt',
      '',
      'inside',
      '--c--',
      '--b--',
      '',
    ].join('\r\n');
    const { id, blobId } = await importRaw(raw);
    expect(await (await client.download(blobId)).text()).toBe(raw);
    const [email] = (await client.call('Email/get', { ids: [id], properties: ['attachments', 'hasAttachment'] })).list;
    expect(email.attachments.map((part: Json) => [part.type, part.name, part.size])).toEqual([
      ['application/zip', 'a.zip', 300_000],
      ['message/rfc822', null, expect.any(Number)],
    ]);
    const download = await client.download(email.attachments[0].blobId, 'application/zip', 'ä.zip');
    expect(download.headers.get('content-type')).toBe('application/zip');
    expect(download.headers.get('content-security-policy')).toContain('sandbox');
    const hash = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
    expect(hash(Buffer.from(await download.arrayBuffer()))).toBe(hash(file));
    const inner = email.attachments[1].blobId;
    expect((await (await client.download(inner)).text()).length).toBe(email.attachments[1].size);
    const { parsed } = await client.call('Email/parse', { blobIds: [inner], properties: ['subject', 'attachments'] });
    expect(parsed[inner].subject).toBe('inner');
    expect(await (await client.download(parsed[inner].attachments[0].blobId)).text()).toBe('inside');
    await client.call('Email/set', { destroy: [id] });
  });

  it('that the app keeps as drafts can be read', async () => {
    const draft = { subject: 'half', to: [{ email: 'bob@example.test' }], body: 'written in the app' };
    const { body } = await server.call('POST', '/v1/drafts', draft, ann.token);
    const properties = ['subject', 'keywords', 'textBody', 'bodyValues', 'to'];
    const { list } = await client.call('Email/get', { ids: [body.id], properties, fetchTextBodyValues: true });
    expect(list[0]).toMatchObject({ subject: 'half', keywords: { $draft: true }, to: [{ email: 'bob@example.test' }] });
    expect(list[0].bodyValues[list[0].textBody[0].partId].value).toContain('written in the app');
    await server.call('DELETE', `/v1/drafts/${body.id}`, undefined, ann.token);
  });

  it('that the app saves again are new emails, while the app keeps one id', async () => {
    const call = (method: string, id: string, body?: unknown) =>
      server.call(method, `/v1/drafts/${id}`, body, ann.token);
    const { body: made } = await server.call('POST', '/v1/drafts', { subject: 'one', body: 'first' }, ann.token);
    const get = (ids: string[]) => client.call('Email/get', { ids, properties: ['subject', 'threadId', 'blobId'] });
    const before = await get([made.id]);
    expect((await call('PUT', made.id, { subject: 'two', body: 'second' })).body).toMatchObject({ id: made.id });
    const changes = await client.call('Email/changes', { sinceState: before.state });
    // Look only for the saved draft, because mail of other tests may still arrive.
    const saved = changes.created.find((id: string) => id.startsWith(made.id));
    expect(saved).not.toBe(made.id);
    expect([changes.created.includes(made.id), changes.updated, changes.destroyed]).toEqual([false, [], [made.id]]);
    const after = await get([saved, made.id]);
    expect(after).toMatchObject({ list: [{ id: saved, subject: 'two' }], notFound: [made.id] });
    expect((await client.download(after.list[0].blobId)).status).toBe(200);
    expect((await client.download(before.list[0].blobId)).status).toBe(404);
    const [{ threadId }] = after.list;
    expect((await client.call('Thread/get', { ids: [threadId] })).list).toEqual([{ id: threadId, emailIds: [saved] }]);
    const threads = await client.call('Thread/changes', { sinceState: before.state });
    expect([threads.updated.includes(threadId), threads.destroyed]).toEqual([true, []]);
    expect((await client.call('Email/query', { filter: { subject: 'two' } })).ids).toEqual([saved]);
    const update = { update: { [saved]: { 'keywords/$flagged': true } } };
    expect((await client.call('Email/set', update)).updated).toEqual({ [saved]: null });
    expect((await client.call('Email/changes', { sinceState: after.state })).updated).toContain(saved);
    await call('DELETE', made.id);
    const last = await client.call('Email/changes', { sinceState: after.state });
    expect(last.destroyed).toEqual([saved]);
  });
});

describe('sending', () => {
  const draft = (more: Record<string, unknown> = {}) => ({
    mailboxIds: { [roles.drafts ?? '']: true },
    keywords: { $draft: true, $seen: true },
    from: [{ name: 'Ann', email: ann.email }],
    to: [{ name: 'Bob', email: bob.email }],
    bcc: [{ email: 'hidden@example.test' }],
    textBody: [{ partId: 't', type: 'text/plain' }],
    bodyValues: { t: { value: 'Grüße' } },
    ...more,
  });
  const identity = async () => (await client.call('Identity/get')).list[0];

  it('delivers the draft with its attachment, without Bcc, and moves it to Sent', async () => {
    const { blobId } = await client.upload('the file', 'text/csv');
    const attachments = [{ blobId, type: 'text/csv', name: 'Tabelle ä.csv' }];
    const answers = await client.request(
      ['Email/set', { create: { d: draft({ subject: 'with a file', attachments }) } }],
      [
        'EmailSubmission/set',
        {
          create: {
            s: {
              emailId: '#d',
              identityId: (await identity()).id,
              envelope: {
                mailFrom: { email: ann.email, parameters: null },
                rcptTo: [{ email: bob.email, parameters: null }],
              },
            },
          },
          onSuccessUpdateEmail: {
            '#s': { [`mailboxIds/${roles.drafts}`]: null, [`mailboxIds/${roles.sent}`]: true, 'keywords/$draft': null },
          },
        },
      ],
    );
    expect(answers.map(([name]) => name)).toEqual(['Email/set', 'EmailSubmission/set', 'Email/set']);
    const emailId = answers[0][1].created.d.id;
    expect(answers[2][1].updated).toEqual({ [emailId]: null });
    const [arrived] = await until('the message to arrive', async () => {
      const found = (await listFolder(server, bob, 'inbox')).filter(({ subject }) => subject === 'with a file');
      return found.length > 0 ? found : undefined;
    });
    const { body } = await server.call('GET', `/v1/messages/${arrived.id}`, undefined, bob.token);
    expect(body).toMatchObject({ body: 'Grüße\n', from: { name: 'Ann', email: ann.email } });
    expect(body.attachments).toMatchObject([{ file_name: 'Tabelle ä.csv', size: 8 }]);
    const raw = await fetch(`${server.url}/v1/messages/${arrived.id}/raw`, {
      headers: { authorization: `Bearer ${bob.token}` },
    });
    expect(await raw.text()).not.toMatch(/^bcc:|hidden@/im);
    const submissionId = answers[1][1].created.s.id;
    const submission = await until('the delivery status', async () => {
      const { list } = await client.call('EmailSubmission/get', { ids: [submissionId] });
      return list[0].deliveryStatus[bob.email].delivered === 'yes' ? list[0] : undefined;
    });
    expect(submission).toMatchObject({ emailId, undoStatus: 'final' });
    const { list } = await client.call('Email/get', { ids: [emailId], properties: ['mailboxIds', 'keywords', 'bcc'] });
    expect(list[0]).toMatchObject({
      mailboxIds: { [roles.sent ?? '']: true },
      keywords: { $seen: true },
      bcc: [{ email: 'hidden@example.test' }],
    });
  });

  it('of one message to several recipients, one after the other, keeps the status of each', async () => {
    const { id: identityId } = await identity();
    const to = (email: string, parameters: Json = null) => ({
      ...{ emailId: '#d', identityId },
      envelope: { mailFrom: { email: ann.email, parameters }, rcptTo: [{ email, parameters: null }] },
    });
    const create = { b: to(bob.email), a: to(ann.email), h: to(bob.email, { HOLDFOR: '3600' }) };
    const [, [, { created }]] = (await client.request(
      ['Email/set', { create: { d: draft({ subject: 'several times' }) } }],
      ['EmailSubmission/set', { create }],
    )) as [Json, Json];
    const ids = [created.b.id, created.a.id, created.h.id];
    const statuses = async () => {
      const { list } = await client.call('EmailSubmission/get', { ids, properties: ['deliveryStatus', 'undoStatus'] });
      return list.map(({ undoStatus, deliveryStatus }: Json) => [
        undoStatus,
        Object.entries(deliveryStatus).map(([email, status]) => [email, (status as Json).delivered]),
      ]);
    };
    await until('both deliveries', async () => JSON.stringify(await statuses()).split('yes').length === 3 || undefined);
    const delivered = [
      ['final', [[bob.email, 'yes']]],
      ['final', [[ann.email, 'yes']]],
    ];
    expect(await statuses()).toEqual([...delivered, ['pending', [[bob.email, 'queued']]]]);
    const undone = await client.call('EmailSubmission/set', { update: { [created.h.id]: { undoStatus: 'canceled' } } });
    expect(undone.updated).toEqual({ [created.h.id]: null });
    const [first, second, third] = await statuses();
    expect([first, second, third[0]]).toEqual([...delivered, 'canceled']);
  });

  it('can be undone while it is held', async () => {
    const { id: identityId } = await identity();
    const held = {
      mailFrom: { email: ann.email, parameters: { HOLDFOR: '3600' } },
      rcptTo: [{ email: bob.email, parameters: null }],
    };
    const [[, made], [, sent]] = (await client.request(
      ['Email/set', { create: { d: draft({ subject: 'never' }) } }],
      ['EmailSubmission/set', { create: { s: { emailId: '#d', identityId, envelope: held } } }],
    )) as [Json, Json];
    const { id, undoStatus, sendAt } = sent.created.s;
    expect(undoStatus).toBe('pending');
    expect(Date.parse(sendAt)).toBeGreaterThan(Date.now() + 3_000_000);
    const undone = await client.call('EmailSubmission/set', {
      update: { [id]: { undoStatus: 'canceled' } },
      onSuccessDestroyEmail: [id],
    });
    expect(undone.updated).toEqual({ [id]: null });
    expect((await client.call('EmailSubmission/get', { ids: [id] })).list[0].undoStatus).toBe('canceled');
    expect((await client.call('Email/get', { ids: [made.created.d.id] })).notFound).toEqual([made.created.d.id]);
    const again = await client.call('EmailSubmission/set', { update: { [id]: { undoStatus: 'canceled' } } });
    expect(again.notUpdated[id].type).toBe('cannotUnsend');
    const gone = await client.call('EmailSubmission/set', { destroy: [id] });
    expect(gone.destroyed).toEqual([id]);
  });

  it('is refused for a foreign sender, without recipients, and for programs', async () => {
    const { id: identityId } = await identity();
    const { blobId } = await client.upload('MZ', 'application/octet-stream');
    const wrong: [Json, string][] = [
      [draft({ from: [{ email: 'bob@example.test' }] }), 'forbiddenFrom'],
      [draft({ to: null, bcc: null }), 'noRecipients'],
      [draft({ to: [{ email: 'not an address' }] }), 'invalidRecipients'],
      [draft({ attachments: [{ blobId, name: 'run.exe' }] }), 'invalidEmail'],
    ];
    for (const [object, type] of wrong) {
      const [[, made], [, sent]] = (await client.request(
        ['Email/set', { create: { d: object } }],
        ['EmailSubmission/set', { create: { s: { emailId: '#d', identityId } } }],
      )) as [Json, Json];
      expect(sent.notCreated?.s.type).toBe(type);
      await client.call('Email/set', { destroy: [made.created.d.id] });
    }
  });
});

describe('a client that follows changes', () => {
  /** A client that applies `changes` and `queryChanges` to its copy, as RFC 8620 §5 says. */
  class Follower {
    state = '';
    emails = new Map<string, Json>();
    threads = new Map<string, readonly string[]>();
    mailboxes = new Map<string, Json>();
    queryState = '';
    inbox: string[] = [];
    readonly #query = {
      filter: { inMailbox: roles.inbox },
      sort: [{ property: 'receivedAt', isAscending: false }],
      collapseThreads: true,
    };

    async start(): Promise<void> {
      const { ids } = await client.call('Email/query', {});
      const { list, state } = await client.call('Email/get', {
        ids,
        properties: ['keywords', 'mailboxIds', 'threadId'],
      });
      for (const email of list) this.emails.set(email.id, email);
      const threads = await client.call('Thread/get', {
        ids: [...new Set(list.map(({ threadId }: Json) => threadId))],
      });
      for (const { id, emailIds } of threads.list) this.threads.set(id, emailIds);
      for (const mailbox of (await client.call('Mailbox/get')).list) this.mailboxes.set(mailbox.id, mailbox);
      this.state = state;
      const query = await client.call('Email/query', this.#query);
      this.inbox = query.ids;
      this.queryState = query.queryState;
    }

    async catchUp(): Promise<void> {
      const from = this.state;
      await this.#follow('Email', from, this.emails, ['keywords', 'mailboxIds', 'threadId'], (email) => email);
      await this.#follow('Thread', from, this.threads, null, (thread) => thread.emailIds);
      await this.#follow('Mailbox', from, this.mailboxes, null, (mailbox) => mailbox);
      const { removed, added, newQueryState } = await client.call('Email/queryChanges', {
        ...this.#query,
        sinceQueryState: this.queryState,
      });
      this.inbox = this.inbox.filter((id) => !removed.includes(id));
      for (const { id, index } of added) this.inbox.splice(index, 0, id);
      this.queryState = newQueryState;
    }

    async #follow(
      type: string,
      from: string,
      known: Map<string, Json>,
      properties: string[] | null,
      pick: (object: Json) => Json,
    ) {
      for (let state = from, hasMore = true; hasMore; ) {
        const changes = await client.call(`${type}/changes`, { sinceState: state, maxChanges: 2 });
        for (const id of changes.destroyed) known.delete(id);
        const { list } = await client.call(`${type}/get`, {
          ids: [...changes.created, ...changes.updated],
          properties,
        });
        for (const object of list) known.set(object.id, pick(object));
        state = changes.newState;
        hasMore = changes.hasMoreChanges;
        this.state = state;
      }
    }
  }

  it('equals the mailbox after any changes', async () => {
    const follower = new Follower();
    await follower.start();
    const one = await importRaw(message('one'));
    const reply = await importRaw(message('Re: one', `In-Reply-To: <m${count}@elsewhere.test>`));
    const two = await importRaw(message('two'));
    expect(reply.threadId).toBe(one.threadId);
    const made = await client.call('Mailbox/set', {
      create: { f: { name: 'Followed', sortOrder: 3 }, g: { name: 'Gone' } },
    });
    const { f, g } = made.created;
    await client.call('Email/set', {
      update: { [one.id]: { 'keywords/$seen': true }, [two.id]: { mailboxIds: { [f.id]: true } } },
    });
    await follower.catchUp();
    const steps: [string, Record<string, unknown>][] = [
      ['Email/set', { destroy: [reply.id] }],
      ['Email/set', { update: { [two.id]: { mailboxIds: { [roles.inbox ?? '']: true, [g.id]: true } } } }],
      [
        'Mailbox/set',
        { update: { [f.id]: { name: 'Renamed', isSubscribed: false } }, destroy: [g.id], onDestroyRemoveEmails: true },
      ],
      ['Email/set', { destroy: [one.id] }],
    ];
    for (const [name, args] of steps) {
      await client.call(name, args);
      await follower.catchUp();
      const fresh = new Follower();
      await fresh.start();
      const sorted = (map: Map<string, unknown>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));
      expect(sorted(follower.emails)).toEqual(sorted(fresh.emails));
      expect(sorted(follower.threads)).toEqual(sorted(fresh.threads));
      expect(sorted(follower.mailboxes)).toEqual(sorted(fresh.mailboxes));
      expect(follower.inbox).toEqual(fresh.inbox);
    }
    expect(follower.mailboxes.get(f.id)).toMatchObject({
      name: 'Renamed',
      isSubscribed: false,
      sortOrder: 3,
      totalEmails: 0,
    });
    await client.call('Email/set', { destroy: [two.id] });
  });

  it('receives an event for each change of the types it asked for, until its token is revoked', async () => {
    const { body } = await server.call('POST', '/v1/me/tokens', { name: 'watcher' }, ann.token);
    const watcher = new JmapClient(server, ann.userId, `Bearer ${body.token}`);
    const response = await watcher.fetch('/v1/jmap/event-source?types=Email,Mailbox&closeafter=no&ping=0');
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    const events = readEvents(response);
    await client.call('VacationResponse/set', { update: { singleton: { subject: 'not of interest' } } });
    const { id } = await importRaw(message('event'));
    const { value } = await events.next();
    const { state } = await client.call('Email/get', { ids: [] });
    expect(value).toMatchObject({ event: 'state', data: { '@type': 'StateChange' } });
    expect(Object.keys(value?.data.changed[ann.userId])).toEqual(['Mailbox', 'Email']);
    expect(value?.data.changed[ann.userId].Email).toBe(state);
    await server.call('DELETE', `/v1/me/tokens/${body.token_id}`, undefined, ann.token);
    for await (const event of events) expect(event.event).toBe('state');
    await client.call('Email/set', { destroy: [id] });
  });

  it('may ask for one event only, and resumes from the last one it had', async () => {
    const { state } = await client.call('Email/get', { ids: [] });
    const { id } = await importRaw(message('missed'));
    const response = await client.fetch('/v1/jmap/event-source?types=*&closeafter=state&ping=0', {
      headers: { 'last-event-id': state },
    });
    const seen: Json[] = [];
    for await (const event of readEvents(response)) seen.push(event);
    expect(seen).toHaveLength(1);
    expect(seen[0].data.changed[ann.userId].Email).toBe(seen[0].id);
    await client.call('Email/set', { destroy: [id] });
  });
});

describe('a push subscription', () => {
  it('is used once it is verified, encrypted for its device, and ends with its token', async () => {
    await using service = await startPushService();
    const { body: made } = await server.call('POST', '/v1/me/tokens', { name: 'phone' }, ann.token);
    const phone = new JmapClient(server, ann.userId, `Bearer ${made.token}`);
    const set = async (args: Record<string, unknown>): Promise<Json> =>
      (await phone.request(['PushSubscription/set', { accountId: undefined, ...args }]))[0]?.[1];
    const { keys, read } = await makeDevice();
    const { created, notCreated } = await set({
      create: {
        good: { deviceClientId: 'phone', url: service.url, keys, types: ['Email'] },
        plain: { deviceClientId: 'phone', url: 'http://push.example/x' },
        inside: { deviceClientId: 'phone', url: 'https://10.0.0.1/x' },
        host: { deviceClientId: 'phone', url: 'https://localhost/x' },
        keys: { deviceClientId: 'phone', url: service.url, keys: { p256dh: 'AA', auth: 'AA' } },
      },
    });
    expect(Object.keys(notCreated)).toEqual(['plain', 'inside', 'host', 'keys']);
    const { id } = created.good;
    const verification = await service.next('the verification');
    expect(verification.headers['content-encoding']).toBe('aes128gcm');
    const { '@type': type, pushSubscriptionId, verificationCode } = read(verification);
    expect([type, pushSubscriptionId]).toEqual(['PushVerification', id]);
    const vapid = readVapid(verification);
    const session: Json = await (await phone.fetch('/v1/jmap/session')).json();
    expect(session.capabilities['urn:ietf:params:jmap:webpush-vapid'].applicationServerKey).toBe(vapid.key);
    expect(vapid.claims.aud).toBe(new URL(service.url).origin);

    expect((await set({ update: { [id]: { verificationCode: 'wrong' } } })).notUpdated[id].type).toBe(
      'invalidProperties',
    );
    expect((await set({ update: { [id]: { verificationCode } } })).updated).toEqual({ [id]: null });
    const [[, seen]] = (await phone.request(['PushSubscription/get', { accountId: undefined }])) as [Json];
    expect(seen.list).toMatchObject([{ id, deviceClientId: 'phone', types: ['Email'], verificationCode }]);
    expect(seen.list[0]).not.toHaveProperty('url');
    const [[, others]] = (await client.request(['PushSubscription/get', { accountId: undefined }])) as [Json];
    expect(others.list).toEqual([]);

    const { id: emailId } = await importRaw(message('pushed'));
    const pushed = read(await service.next('the push'));
    expect(Object.keys(pushed.changed[ann.userId])).toEqual(['Email']);
    await server.call('DELETE', `/v1/me/tokens/${made.token_id}`, undefined, ann.token);
    await using after = await startPushService();
    const rest = { deviceClientId: 'laptop', url: after.url };
    const [[, again]] = (await client.request([
      'PushSubscription/set',
      { accountId: undefined, create: { rest } },
    ])) as [Json];
    const plain = JSON.parse((await after.next('the verification')).body.toString());
    await client.request([
      'PushSubscription/set',
      { accountId: undefined, update: { [again.created.rest.id]: { verificationCode: plain.verificationCode } } },
    ]);
    await client.call('Email/set', { destroy: [emailId] });
    // Once the laptop has received its push, a push to the phone would have arrived too.
    expect(JSON.parse((await after.next('the push')).body.toString())['@type']).toBe('StateChange');
    expect(service.received).toEqual([]);
    await client.request(['PushSubscription/set', { accountId: undefined, destroy: [again.created.rest.id] }]);
  });
});

describe('blobs and quota', () => {
  it('are made of pieces, read in ranges and looked up (RFC 9404)', async () => {
    const { created } = await client.call('Blob/upload', {
      create: {
        a: {
          data: [{ 'data:asText': 'The quick ' }, { 'data:asBase64': Buffer.from('brown fox').toString('base64') }],
          type: 'text/plain',
        },
        b: { data: [{ blobId: '#a', offset: 4, length: 5 }, { 'data:asText': '!' }] },
      },
    });
    expect(created.a).toMatchObject({ type: 'text/plain', size: 19 });
    const get = async (args: object) => (await client.call('Blob/get', { ids: [created.a.id], ...args })).list[0];
    expect(await get({})).toEqual({ id: created.a.id, 'data:asText': 'The quick brown fox', size: 19 });
    expect(await get({ offset: 4, length: 5, properties: ['data:asText', 'digest:sha-256'] })).toEqual({
      id: created.a.id,
      'data:asText': 'quick',
      'digest:sha-256': createHash('sha256').update('quick').digest('base64'),
    });
    expect(await get({ offset: 16, length: 50, properties: ['data:asBase64'] })).toMatchObject({ isTruncated: true });
    expect(await (await client.download(created.b.id)).text()).toBe('quick!');
    const email = await importRaw(message('lookup'));
    const looked = await client.call('Blob/lookup', { typeNames: ['Email'], ids: [email.blobId, created.a.id, 'x'] });
    expect(looked).toMatchObject({
      list: [{ matchedIds: { Email: [email.id] } }, { matchedIds: { Email: [] } }],
      notFound: ['x'],
    });
    await client.call('Email/set', { destroy: [email.id] });
  });

  it('the quota is that of the mailbox (RFC 9425)', async () => {
    const { list, state } = await client.call('Quota/get');
    const { body } = await server.call('GET', '/v1/me', undefined, ann.token);
    expect(list).toMatchObject([
      { id: 'storage', resourceType: 'octets', used: body.quota.used_bytes, hardLimit: body.quota.limit_bytes },
    ]);
    const { id } = await importRaw(message('size'));
    const changes = await client.call('Quota/changes', { sinceState: state });
    expect([changes.updated, changes.updatedProperties]).toEqual([['storage'], ['used']]);
    const filter = { scope: 'account' };
    const query = await client.call('Quota/query', { filter });
    expect([query.ids, query.canCalculateChanges]).toEqual([['storage'], true]);
    const since = async (sinceQueryState: string, more = {}) => {
      const { removed, added } = await client.call('Quota/queryChanges', { filter, sinceQueryState, ...more });
      return [removed, added];
    };
    expect(await since(state)).toEqual([['storage'], [{ id: 'storage', index: 0 }]]);
    expect(await since(state, { filter: { scope: 'domain' } })).toEqual([['storage'], []]);
    expect(await since(query.queryState)).toEqual([[], []]);
    await client.call('Email/set', { destroy: [id] });
  });
});
