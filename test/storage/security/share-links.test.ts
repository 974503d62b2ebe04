/** Tests share links as people use them: with curl-like requests, in a browser's words, and after rights or keys have ended. */

import { createHash } from 'node:crypto';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { confirmSession, registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { type Credentials, createSdkClient } from '../../support/storage/s3-client.ts';
import { signRequest } from '../../support/storage/sigv4-signer.ts';

const Bucket = 'shared-files';
let server: TestServer;
let owner: Awaited<ReturnType<TestServer['createAccessKey']>>;
let s3: S3Client;

beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open', OWN_ACCESS_KEYS: 'true' } });
  owner = await server.createAccessKey('owner');
  s3 = createSdkClient(server.url, owner);
  await s3.send(new CreateBucketCommand({ Bucket }));
  await s3.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status: 'Enabled' } }));
  const put = (Key: string, Body: string, ContentType = 'text/plain') =>
    s3.send(new PutObjectCommand({ Bucket, Key, Body, ContentType }));
  await put('plans/a b.txt', 'first plan');
  await put('plans/ü.txt', 'second plan');
  await put('plans/page.html', '<script>document.title="ran"</script>', 'text/html');
  await put('private.txt', 'private');
});
afterAll(() => server[Symbol.asyncDispose]());

async function signed(key: Credentials, method: string, path: string, body?: unknown) {
  const text = body === undefined ? '' : JSON.stringify(body);
  const sha256 = createHash('sha256').update(text).digest('hex');
  const headers = { 'content-type': 'application/json', 'x-amz-content-sha256': sha256 };
  const { headers: all } = signRequest({ url: server.url, credentials: key, method, path, headers });
  const { host: _, ...sent } = all;
  const response = await fetch(server.url + path, { method, headers: sent, ...(text === '' ? {} : { body: text }) });
  const answer = await response.text();
  return { status: response.status, body: answer === '' ? null : JSON.parse(answer) };
}

async function share(wish: object, key: Credentials = owner): Promise<{ url: string; link_id: string }> {
  const made = await signed(key, 'POST', '/v1/storage/links', { bucket: Bucket, ...wish });
  expect([made.status, made.body.code]).toEqual([201, undefined]);
  return made.body;
}
const open = (url: string, headers: Record<string, string> = {}) => fetch(url, { headers, redirect: 'manual' });
// biome-ignore lint/suspicious/noExplicitAny: answers of the API; each test asserts the members it needs
const toJson = async (answer: Promise<Response> | Response): Promise<any> => (await answer).json();
const BROWSER = { accept: 'text/html,application/xhtml+xml' };

describe('a link to an object', () => {
  it('opens it for anybody, as a download that runs nothing, with ranges', async () => {
    const { url } = await share({ key: 'plans/page.html' });
    const answer = await open(url, BROWSER);
    expect([answer.status, await answer.text()]).toEqual([200, '<script>document.title="ran"</script>']);
    expect(answer.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''page.html");
    expect(answer.headers.get('content-security-policy')).toContain('sandbox');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
    expect([...answer.headers.keys()].filter((name) => name.startsWith('x-amz-'))).toEqual([]);
    const part = await open(url, { range: 'bytes=1-6' });
    expect([part.status, await part.text()]).toEqual([206, 'script']);
    const same = await open(url, { 'if-none-match': answer.headers.get('etag') ?? '' });
    expect(same.status).toBe(304);
    expect((await open(url, { range: 'bytes=900-' })).status).toBe(416);
  });

  it('opens the newest version, or the shared one', async () => {
    const first = await s3.send(new PutObjectCommand({ Bucket, Key: 'moving', Body: 'one' }));
    const [newest, fixed] = [
      await share({ key: 'moving' }),
      await share({ key: 'moving', version_id: first.VersionId }),
    ];
    await s3.send(new PutObjectCommand({ Bucket, Key: 'moving', Body: 'two' }));
    expect(await (await open(newest.url)).text()).toBe('two');
    expect(await (await open(fixed.url)).text()).toBe('one');
    await s3.send(new DeleteObjectCommand({ Bucket, Key: 'moving' }));
    const gone = await open(newest.url);
    expect([gone.status, (await toJson(gone)).code]).toEqual([404, 'no_such_link']);
    expect((await open(newest.url, BROWSER)).headers.get('content-type')).toContain('text/html');
    expect(await (await open(fixed.url)).text()).toBe('one');
  });
});

describe('a link to a prefix', () => {
  it('lists and opens what is below it, and nothing else', async () => {
    const { url } = await share({ prefix: 'plans/' });
    const listed = await toJson(open(url));
    const keys = listed.data.map(({ key }: { key: string }) => key);
    expect([keys, listed.next_cursor]).toEqual([['plans/a b.txt', 'plans/page.html', 'plans/ü.txt'], null]);
    expect(await (await open(`${url}?key=${encodeURIComponent('plans/ü.txt')}`)).text()).toBe('second plan');
    for (const key of ['private.txt', 'plans/../private.txt', '/plans/a b.txt', 'plans']) {
      expect([key, (await open(`${url}?key=${encodeURIComponent(key)}`)).status]).toEqual([key, 404]);
    }
    const page = await open(url, BROWSER);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(await page.text()).toContain('href="?key=plans%2Fa%20b.txt"');
  });

  it('pages through many objects', async () => {
    const names = Array.from({ length: 205 }, (_, i) => `many/${String(i).padStart(3, '0')}`);
    for (let i = 0; i < names.length; i += 41) {
      await Promise.all(names.slice(i, i + 41).map((Key) => s3.send(new PutObjectCommand({ Bucket, Key, Body: Key }))));
    }
    const { url } = await share({ prefix: 'many/' });
    const first = await toJson(open(url));
    const second = await toJson(open(`${url}?cursor=${first.next_cursor}`));
    expect([...first.data, ...second.data].map(({ key }: { key: string }) => key)).toEqual(names);
    expect((await open(`${url}?cursor=x`)).status).toBe(400);
  });
});

describe('the password of a link', () => {
  it('is asked on a page, and sent by programs with each request', async () => {
    const { url } = await share({ key: 'private.txt', password: 'open sesame' });
    const asked = await open(url);
    expect([asked.status, (await toJson(asked)).code]).toEqual([401, 'link_password_required']);
    expect(await (await open(url, BROWSER)).text()).toContain('type="password"');
    const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });
    expect(await (await open(url, basic('anyone:open sesame'))).text()).toBe('private');
    expect((await open(url, basic('anyone:wrong'))).status).toBe(403);
  });

  it('gives a browser a cookie that opens this link only', async () => {
    const [one, two] = [
      await share({ key: 'private.txt', password: 'open sesame' }),
      await share({ key: 'private.txt', password: 'open sesame' }),
    ];
    const send = (url: string, password: string) =>
      fetch(url, {
        method: 'POST',
        redirect: 'manual',
        headers: { ...BROWSER, 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ password }),
      });
    const wrong = await send(one.url, 'wrong');
    expect([wrong.status, await wrong.text()]).toEqual([403, expect.stringContaining('That is not the password.')]);
    const right = await send(one.url, 'open sesame');
    const cookie = right.headers.get('set-cookie') ?? '';
    expect([right.status, cookie]).toEqual([303, expect.stringMatching(/HttpOnly.*SameSite=Strict/)]);
    const sent = { cookie: cookie.split(';')[0] ?? '' };
    expect(await (await open(one.url, sent)).text()).toBe('private');
    expect((await open(two.url, sent)).status).toBe(401);
  });

  it('cannot be guessed without end', async () => {
    const { url } = await share({ key: 'private.txt', password: 'open sesame' });
    const guess = (i: number) => open(url, { authorization: `Basic ${Buffer.from(`:${i}`).toString('base64')}` });
    const statuses = new Set<number>();
    for (let i = 0; i < 40; i++) statuses.add((await guess(i)).status);
    expect([...statuses].sort()).toEqual([403, 429]);
  });
});

describe('the end of a link', () => {
  it('comes at once when it is ended, and at its time', async () => {
    const { url, link_id } = await share({ key: 'private.txt' });
    expect((await open(url)).status).toBe(200);
    const other = await server.createAccessKey('other');
    expect((await signed(other, 'DELETE', `/v1/storage/links/${link_id}`)).status).toBe(404);
    expect((await signed(owner, 'DELETE', `/v1/storage/links/${link_id}`)).status).toBe(204);
    expect((await open(url)).status).toBe(404);
    const brief = await share({ key: 'private.txt', expires_at: new Date(Date.now() + 1_500).toISOString() });
    await expect.poll(async () => (await open(brief.url)).status).toBe(404);
  });

  it('does not come with the key that made it, but with the rights of its user and with a new password', async () => {
    const user = await registerUser(server, 'sharer');
    await confirmSession(server, user.token);
    const makeKey = async () => {
      const { body } = await server.call('POST', '/v1/me/access-keys', {}, user.token);
      return { accessKeyId: body.access_key_id, secretAccessKey: body.secret_access_key };
    };
    const [first, second] = [await makeKey(), await makeKey()];
    const own = createSdkClient(server.url, first);
    await own.send(new CreateBucketCommand({ Bucket: 'of-the-sharer' }));
    await own.send(new PutObjectCommand({ Bucket: 'of-the-sharer', Key: 'k', Body: 'mine' }));
    const [byFirst, bySecond] = [
      await share({ bucket: 'of-the-sharer', key: 'k' }, first),
      await share({ bucket: 'of-the-sharer', key: 'k' }, second),
    ];
    await server.call('DELETE', `/v1/me/access-keys/${first.accessKeyId}`, undefined, user.token);
    expect((await open(byFirst.url)).status).toBe(200);
    // A token of anybody does not stand for the key that is gone.
    const token = { name: 'of another', scopes: ['scores:write'] };
    expect((await server.call('POST', '/v1/iam/tokens', token)).status).toBe(201);
    const body = { password: 'correct horse battery', new_password: 'staple of the horse' };
    expect((await server.call('POST', '/v1/me/password', body, user.token)).status).toBe(204);
    expect([(await open(byFirst.url)).status, (await open(bySecond.url)).status]).toEqual([404, 200]);
    const deny = { Version: '2012-10-17', Statement: [{ Effect: 'Deny', Action: 's3:GetObject', Resource: '*' }] };
    const { user_id: userId } = (await server.call('GET', '/v1/me', undefined, user.token)).body;
    expect((await server.call('PUT', `/v1/iam/users/${userId}/policies/no`, deny)).status).toBe(204);
    expect((await open(bySecond.url)).status).toBe(404);
  });
});

it('lists the links of a user with the number of openings, and no address', async () => {
  const { url, link_id } = await share({ key: 'private.txt' });
  await open(url);
  const mine = async () =>
    (await signed(owner, 'GET', '/v1/storage/links')).body.data.find(
      (link: { link_id: string }) => link.link_id === link_id,
    );
  await expect.poll(async () => (await mine()).openings).toBe(1);
  expect(JSON.stringify(await mine())).not.toContain('shr_');
  const all = await server.call('GET', '/v1/storage/links?limit=200');
  expect(all.body.data.some((link: { link_id: string }) => link.link_id === link_id)).toBe(true);
  const other = await server.createAccessKey('stranger');
  expect((await signed(other, 'GET', '/v1/storage/links')).body.data).toEqual([]);
});

it('nobody shares what he may not list, and a wrong wish is named', async () => {
  const other = await server.createAccessKey('nosy');
  const refused = await signed(other, 'POST', '/v1/storage/links', { bucket: Bucket, key: 'private.txt' });
  expect([refused.status, refused.body.code]).toEqual([403, 'access_denied']);
  expect((await server.call('POST', '/v1/storage/links', { bucket: Bucket, key: 'x' })).body.code).toBe(
    'links_of_users',
  );
  for (const [wish, path] of [
    [{ bucket: Bucket }, 'key'],
    [{ bucket: Bucket, key: 'a', prefix: 'b' }, 'key'],
    [{ bucket: Bucket, prefix: 'b', version_id: crypto.randomUUID() }, 'version_id'],
    [{ bucket: Bucket, key: 'a', expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
    [{ bucket: Bucket, key: 'a', expires_at: '2200-01-01T00:00:00Z' }, 'expires_at'],
  ] as const) {
    const { status, body } = await signed(owner, 'POST', '/v1/storage/links', wish);
    expect([status, body.errors?.[0]?.path]).toEqual([400, path]);
  }
  for (const secret of ['x', 'shr_', `shr_${'a'.repeat(43)}`, `shr_99_${'a'.repeat(43)}`]) {
    expect((await fetch(`${server.url}/v1/shared/${secret}`)).status).toBe(404);
  }
});
