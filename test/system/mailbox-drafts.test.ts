import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sendRaw } from '../support/s3-raw.ts';
import { startServer, type TestServer } from '../support/server.ts';

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
  it('is saved whole under one id, with its files, and is found', async () => {
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
    expect((await call('GET', '/v1/messages?q=giraffe')).body.data).toHaveLength(1);
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

  it('is sent as it was saved when its id alone is sent, files and all, and once', async () => {
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

  it('gives every byte of quota back when it is thrown away', async () => {
    const before = await usedBytes();
    const file = (await (await upload('a.bin', randomBytes(1234))).json()) as { attachment_id: string };
    expect(await usedBytes()).toBe(before + 1234);
    const made = await call('POST', '/v1/drafts', { body: 'x', attachments: [{ attachment_id: file.attachment_id }] });
    expect(await usedBytes()).toBeGreaterThan(before + 1234);
    expect((await call('DELETE', `/v1/drafts/${made.body.id}`)).status).toBe(204);
    expect(await usedBytes()).toBe(before);
    expect((await call('GET', `/v1/drafts/${made.body.id}`)).status).toBe(404);
  });

  it('is refused with line ends in a header, a foreign upload, or unknown members', async () => {
    expect((await call('POST', '/v1/drafts', { subject: 'a\r\nBcc: x@y.test' })).status).toBe(400);
    expect(
      (await call('POST', '/v1/drafts', { attachments: [{ attachment_id: 'nobody’s' }] })).body.errors[0].path,
    ).toBe('attachments.0');
    expect((await upload('a\r\nBcc: x@y.test.pdf', Buffer.from('x'))).status).toBe(400);
    expect((await call('POST', '/v1/drafts', { colour: 'red' })).status).toBe(400);
    // Refused by what it says of itself: whoever goes on writing into the refusal may see the connection end before the answer.
    const announced = { authorization: `Bearer ${token}`, 'content-length': String(25 * 1024 * 1024 + 1) };
    expect((await sendRaw(server.url, 'POST', '/v1/attachments?file_name=big.bin', announced)).status).toBe(413);
  });
});
