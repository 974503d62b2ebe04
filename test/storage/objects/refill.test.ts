/** Tests the refill, which copies missing objects from one location to another. */
import { env } from 'cloudflare:test';
import { afterEach, expect, it, vi } from 'vitest';
import { copyObject, refillLocations } from '../../../workers/shared/collectors/refill.ts';

const keysOf = async (bucket: R2Bucket) => {
  const keys: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page: R2Objects = await bucket.list(cursor === undefined ? {} : { cursor });
    keys.push(...page.objects.map(({ key }) => key));
    if (!page.truncated) return keys;
    cursor = page.cursor;
  }
};
const run = (cursor = '', mayContinue = () => true) => refillLocations(env, cursor, mayContinue);

afterEach(() => vi.restoreAllMocks());

it('copies bytes, metadata and checksums in both directions, and overwrites nothing', async () => {
  const sha256 = await crypto.subtle.digest('SHA-256', Buffer.from('an archive'));
  await env.BLOBS.put('leaderboard/a', 'an archive', { sha256, httpMetadata: { contentType: 'application/json' } });
  await env.BLOBS_2.put('mail/b', 'a message', { customMetadata: { kind: 'raw' } });
  await env.BLOBS.put('owners/c', 'first');
  await env.BLOBS_2.put('owners/c', 'second');
  expect(await run()).toMatchObject({ copied: 2, copied_bytes: 19, failed: 0, next_cursor: null });
  const archive = await env.BLOBS_2.head('leaderboard/a');
  expect([archive?.httpMetadata?.contentType, archive?.checksums.sha256]).toEqual(['application/json', sha256]);
  const message = await env.BLOBS.get('mail/b');
  expect([await message?.text(), message?.customMetadata]).toEqual(['a message', { kind: 'raw' }]);
  expect(await (await env.BLOBS_2.get('owners/c'))?.text()).toBe('second');
  expect(await run()).toMatchObject({ copied: 0, next_cursor: null });
});

it('continues where it stopped, over more keys than one page of a listing', async () => {
  const names = Array.from({ length: 40 }, (_, n) => `many/${String(n).padStart(5, '0')}`);
  for (const name of names) await env.BLOBS.put(name, name);
  await Promise.all(names.filter((_, n) => n % 3 === 0).map((name) => env.BLOBS_2.put(name, name)));
  let cursor: string | null = '';
  let calls = 0;
  let copied = 0;
  for (; cursor !== null; calls++) {
    const report = await refillLocations(env, cursor, () => false, 7);
    copied += report.copied;
    cursor = report.next_cursor;
  }
  expect(calls).toBeGreaterThan(10);
  expect(copied).toBe(names.filter((_, n) => n % 3 !== 0).length);
  expect(await keysOf(env.BLOBS_2)).toEqual(await keysOf(env.BLOBS));
});

it('counts an object that the other location rejects, and copies the others', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  await env.BLOBS.put('fails/1', 'x');
  await env.BLOBS.put('fails/2', 'x');
  const put = env.BLOBS_2.put.bind(env.BLOBS_2) as (...values: unknown[]) => Promise<R2Object>;
  const target = new Proxy(env.BLOBS_2, {
    get: (bucket, name) =>
      name === 'put'
        ? (key: string, ...rest: unknown[]) =>
            key === 'fails/1' ? Promise.reject(new Error('full')) : put(key, ...rest)
        : (Reflect.get(bucket, name) as (...values: unknown[]) => unknown).bind(bucket),
  });
  const report = await refillLocations({ ...env, BLOBS_2: target } as Env, '', () => true);
  expect(report).toMatchObject({ copied: 1, failed: 1, next_cursor: null });
});

it('stores no byte that changed on the way', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  const sha256 = await crypto.subtle.digest('SHA-256', Buffer.from('with a SHA-256'));
  await env.BLOBS.put('changed/1', 'with a SHA-256', { sha256 });
  await env.BLOBS.put('changed/2', 'with an MD5 only');
  const get = env.BLOBS.get.bind(env.BLOBS) as (key: string) => Promise<R2ObjectBody | null>;
  const source = new Proxy(env.BLOBS, {
    get: (bucket, name) => {
      if (name !== 'get') {
        const member = Reflect.get(bucket, name);
        return typeof member === 'function' ? member.bind(bucket) : member;
      }
      return async (key: string) => {
        const object = (await get(key)) as R2ObjectBody;
        const bytes = new Uint8Array(await object.arrayBuffer());
        bytes[3] = (bytes[3] ?? 0) ^ 1;
        const { checksums, size, httpMetadata, customMetadata } = object;
        return { checksums, size, httpMetadata, customMetadata, body: new Response(bytes).body };
      };
    },
  });
  for (const key of ['changed/1', 'changed/2']) {
    expect(await copyObject(source, env.BLOBS_2, key)).toBe('failed');
    expect(await env.BLOBS_2.head(key)).toBeNull();
    expect(await copyObject(env.BLOBS, env.BLOBS_2, key)).toBeGreaterThan(0);
  }
});
