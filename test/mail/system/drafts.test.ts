import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';
import { sendRaw } from '../../support/storage/s3-raw.ts';

let server: TestServer;
let token = '';
beforeAll(async () => {
  server = await startServer();
  const { body } = await server.call(
    'POST',
    '/v1/auth/register',
    { email: 'dora@example.test', password: 'long enough', name: 'Dora' },
    null,
  );
  token = body.token;
});
afterAll(() => server[Symbol.asyncDispose]());

const call = (method: string, path: string, body?: unknown) => server.call(method, path, body, token);
const upload = (name: string, bytes: Uint8Array<ArrayBuffer>, type = 'application/pdf') =>
  fetch(`${server.url}/v1/attachments?file_name=${encodeURIComponent(name)}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': type },
    body: bytes,
  });
const usedBytes = async () => (await call('GET', '/v1/me')).body.quota.used_bytes as number;
const drafts = async () =>
  (await call('GET', '/v1/folders')).body.find((folder: { role: string }) => folder.role === 'drafts');

describe('a draft', () => {
  it('is saved with its attachments under one id, and search finds it', async () => {
    const bytes = randomBytes(300_000);
    const uploaded = await upload('plan ü.pdf', bytes);
    expect(uploaded.status).toBe(201);
    const file = (await uploaded.json()) as { attachment_id: string; file_name: string };
    expect(file).toMatchObject({ file_name: 'plan ü.pdf', size: 300_000, content_type: 'application/pdf' });
    const made = await call('POST', '/v1/drafts', { subject: 'Half', body: 'zebra', to: [{ email: 'incompl' }] });
    expect(made.status).toBe(201);
    const { id } = made.body;
    const saved = await call('PUT', `/v1/drafts/${id}`, {
      subject: 'Whole',
      body: 'giraffe',
      html: '<p>giraffe<script>x</script></p>',
      bcc: [{ name: 'B', email: 'b@example.test' }],
      attachments: [{ attachment_id: file.attachment_id }],
    });
    expect(saved.body).toMatchObject({ id, revision: 2, subject: 'Whole', attachments: [{ file_name: 'plan ü.pdf' }] });
    const message = await call('GET', `/v1/messages/${id}`);
    expect(message.body).toMatchObject({
      is_draft: true,
      body: 'giraffe',
      html: '<p>giraffe</p>',
      bcc: [{ name: 'B', email: 'b@example.test' }],
    });
    const found = (await call('GET', '/v1/messages?q=giraffe')).body.data;
    const listed = (await call('GET', `/v1/folders/${(await drafts()).id}/messages`)).body.data;
    expect([...found, ...listed].map((one: { id: string }) => one.id)).toEqual([id, id]);
    const { changes } = (await call('GET', '/v1/events?since=0')).body;
    const records = changes.filter((change: { message_id?: string }) => change.message_id !== undefined);
    expect(records).toMatchObject([
      { type: 'message_created', message_id: id },
      { type: 'message_updated', message_id: id },
    ]);
    expect((await call('GET', '/v1/messages?q=zebra')).body.data).toHaveLength(0);
    expect(await drafts()).toMatchObject({ total: 1, unread: 0 });
    const path = `${server.url}/v1/messages/${id}/attachments/${encodeURIComponent('plan ü.pdf')}`;
    const whole = await fetch(path, { headers: { authorization: `Bearer ${token}` } });
    expect(
      createHash('md5')
        .update(Buffer.from(await whole.arrayBuffer()))
        .digest('hex'),
    ).toBe(createHash('md5').update(bytes).digest('hex'));
    expect(whole.headers.get('content-security-policy')).toContain('sandbox');
    expect(whole.headers.get('content-disposition')).toContain('attachment');
    const part = await fetch(path, { headers: { authorization: `Bearer ${token}`, range: 'bytes=1000-1999' } });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, 'bytes 1000-1999/300000']);
    expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(1000, 2000))).toBe(true);
    const beyond = await fetch(path, { headers: { authorization: `Bearer ${token}`, range: 'bytes=300000-' } });
    expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, 'bytes */300000']);
    expect(await beyond.json()).toMatchObject({ code: 'range_not_satisfiable' });
  });

  it('serves ranges of its attachments, and the whole file if the range is invalid', async () => {
    const file = (await (await upload('ten.txt', Buffer.from('0123456789'))).json()) as { attachment_id: string };
    const made = await call('POST', '/v1/drafts', { attachments: [{ attachment_id: file.attachment_id }] });
    const path = `${server.url}/v1/messages/${made.body.id}/attachments/ten.txt`;
    const get = async (headers: Record<string, string> = {}) => {
      const answer = await fetch(path, { headers: { authorization: `Bearer ${token}`, ...headers } });
      return { answer, seen: [answer.status, answer.headers.get('content-range'), await answer.text()] };
    };
    const whole = await get();
    expect(whole.seen).toEqual([200, null, '0123456789']);
    const etag = whole.answer.headers.get('etag') ?? '';
    const seen = async (range: string, more: Record<string, string> = {}) => (await get({ range, ...more })).seen;
    expect(await seen('bytes=2-4')).toEqual([206, 'bytes 2-4/10', '234']);
    expect(await seen('bytes=7-')).toEqual([206, 'bytes 7-9/10', '789']);
    expect(await seen('bytes=7-99')).toEqual([206, 'bytes 7-9/10', '789']);
    expect(await seen('bytes=-3')).toEqual([206, 'bytes 7-9/10', '789']);
    expect(await seen('bytes=-99')).toEqual([206, 'bytes 0-9/10', '0123456789']);
    for (const range of ['bytes=0-1,4-5', 'bytes=4-2', 'bytes=a-b', 'lines=1-2', 'bytes=-'])
      expect([range, ...(await seen(range))]).toEqual([range, 200, null, '0123456789']);
    for (const range of ['bytes=10-', 'bytes=-0']) expect((await seen(range)).slice(0, 2)).toEqual([416, 'bytes */10']);
    expect(await seen('bytes=2-4', { 'if-range': etag })).toEqual([206, 'bytes 2-4/10', '234']);
    for (const other of ['"another"', `W/${etag}`, 'Thu, 01 Jan 1970 00:00:00 GMT'])
      expect(await seen('bytes=2-4', { 'if-range': other })).toEqual([200, null, '0123456789']);
    expect((await get({ 'if-none-match': etag })).answer.status).toBe(304);
  });

  it('does not overwrite a newer version if the request names the version it read', async () => {
    const made = await call('POST', '/v1/drafts', { body: 'one' });
    const save = (body: string, revision: string) =>
      fetch(`${server.url}/v1/drafts/${made.body.id}`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'if-match': revision },
        body: JSON.stringify({ body }),
      });
    expect((await save('two', '"1"')).status).toBe(200);
    const late = await save('three', '"1"');
    expect([late.status, await late.json()]).toEqual([412, expect.objectContaining({ code: 'draft_changed' })]);
    expect((await call('GET', `/v1/drafts/${made.body.id}`)).body).toMatchObject({ body: 'two', revision: 2 });
  });

  it('keeps its attachment if the same upload is sent with another message, and no quota is released twice', async () => {
    const file = (await (await upload('shared.txt', Buffer.alloc(500, 'x'))).json()) as { attachment_id: string };
    const attachments = [{ attachment_id: file.attachment_id }];
    const made = await call('POST', '/v1/drafts', { subject: 'Holds it', attachments });
    const before = await usedBytes();
    const content = { to: [{ email: 'somebody@elsewhere.test' }], subject: 'Takes it', body: 'x' };
    const sent = await call('POST', '/v1/messages', { ...content, attachments: [...attachments, ...attachments] });
    expect(sent.status).toBe(202);
    const { size } = (await call('GET', `/v1/messages/${sent.body.id}`)).body;
    expect(await usedBytes()).toBe(before + size);
    const path = `${server.url}/v1/messages/${made.body.id}/attachments/shared.txt`;
    const kept = await fetch(path, { headers: { authorization: `Bearer ${token}` } });
    expect([kept.status, (await kept.text()).length]).toEqual([200, 500]);
  });

  it('is sent once as saved, with its attachments, if the request has only its id', async () => {
    const file = (await (await upload('saved.txt', Buffer.from('as saved'))).json()) as { attachment_id: string };
    const content = { to: [{ email: 'somebody@elsewhere.test' }], subject: 'Saved whole', body: 'its text' };
    const made = await call('POST', '/v1/drafts', { ...content, attachments: [{ attachment_id: file.attachment_id }] });
    const sent = await call('POST', '/v1/messages', { draft_id: made.body.id });
    expect([sent.status, sent.body.delivery?.[0].email]).toEqual([202, 'somebody@elsewhere.test']);
    const copy = (await call('GET', `/v1/messages/${sent.body.id}`)).body;
    expect(copy).toMatchObject({ subject: 'Saved whole', attachments: [{ file_name: 'saved.txt', size: 8 }] });
    expect(copy.body.trim()).toBe('its text');
    expect((await call('GET', `/v1/drafts/${made.body.id}`)).status).toBe(404);
    expect((await call('POST', '/v1/messages', { draft_id: made.body.id })).body.code).toBe('no_draft');
  });

  it('releases all of its quota when it is deleted', async () => {
    const before = await usedBytes();
    const file = (await (await upload('a.bin', randomBytes(1234))).json()) as { attachment_id: string };
    expect(await usedBytes()).toBe(before + 1234);
    const made = await call('POST', '/v1/drafts', { body: 'x', attachments: [{ attachment_id: file.attachment_id }] });
    expect(await usedBytes()).toBeGreaterThan(before + 1234);
    expect((await call('DELETE', `/v1/drafts/${made.body.id}`)).status).toBe(204);
    expect(await usedBytes()).toBe(before);
    expect((await call('GET', `/v1/drafts/${made.body.id}`)).status).toBe(404);
  });

  it('is rejected with line breaks in a header, an upload of another user, or unknown members', async () => {
    expect((await call('POST', '/v1/drafts', { subject: 'a\r\nBcc: x@y.test' })).status).toBe(400);
    expect(
      (await call('POST', '/v1/drafts', { attachments: [{ attachment_id: 'nobody’s' }] })).body.errors[0].path,
    ).toBe('attachments.0');
    expect((await upload('a\r\nBcc: x@y.test.pdf', Buffer.from('x'))).status).toBe(400);
    expect((await call('POST', '/v1/drafts', { colour: 'red' })).status).toBe(400);
    // The body is rejected by its Content-Length. A client that keeps sending may see the connection close before the response.
    const announced = { authorization: `Bearer ${token}`, 'content-length': String(25 * 1024 * 1024 + 1) };
    expect((await sendRaw(server.url, 'POST', '/v1/attachments?file_name=big.bin', announced)).status).toBe(413);
  });
});
