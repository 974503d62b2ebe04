/** Collectors and copiers of shared stores where a second thing goes wrong: a copy fails, a source goes, a round takes long. */
import { env } from 'cloudflare:test';
import { beforeEach, expect, it, vi } from 'vitest';
import { makeMarkedCopies } from '../../../workers/shared/collectors/marked-copies.ts';
import { collectOrphans } from '../../../workers/shared/collectors/orphan-rounds.ts';
import { copyObject } from '../../../workers/shared/collectors/refill.ts';
import { createCollectorStore } from '../../../workers/shared/collectors/store.ts';
import type { Locations } from '../../../workers/shared/stores/quorum.ts';

const DAY = 86_400_000;
const KEY = 'mail/someone/raw';
const MARKER = `missing/1/${KEY}`;

/** Both locations, the second one with some methods replaced. */
function locationsWith(overrides: Partial<R2Bucket>, ofFirst: Partial<R2Bucket> = {}): Locations {
  const replaced = (bucket: R2Bucket, some: Partial<R2Bucket>) =>
    new Proxy(bucket, {
      get: (target, name) => Reflect.get(some, name) ?? Reflect.get(target, name).bind(target),
    });
  return {
    locations: [replaced(env.BLOBS, ofFirst), replaced(env.BLOBS_2, overrides)],
    quorum: 1,
    timeoutMs: 1_000,
    lateMs: 100,
  };
}

const always = () => true;

beforeEach(async () => {
  vi.restoreAllMocks();
  vi.spyOn(console, 'error').mockImplementation(() => {});
  for (const bucket of [env.BLOBS, env.BLOBS_2])
    await bucket.delete((await bucket.list()).objects.map(({ key }) => key));
  await env.BLOBS.put(KEY, 'a message');
  await env.BLOBS.put(MARKER, '');
});

it('keeps the marker of a copy that could not be made, and makes it later', async () => {
  const full = locationsWith({ put: () => Promise.reject(new Error('full')) } as Partial<R2Bucket>);
  expect(await makeMarkedCopies(full, always)).toBe(0);
  expect(await env.BLOBS.head(MARKER)).not.toBeNull();
  expect(await makeMarkedCopies(locationsWith({}), always)).toBe(1);
  expect(await (await env.BLOBS_2.get(KEY))?.text()).toBe('a message');
  expect(await env.BLOBS.head(MARKER)).toBeNull();
});

it('keeps the marker while no location answers for the source', async () => {
  const get = (key: string) =>
    key === KEY ? Promise.reject(new Error('silent')) : (env.BLOBS.get(key) as Promise<R2ObjectBody | null>);
  await makeMarkedCopies(locationsWith({}, { get } as Partial<R2Bucket>), always);
  expect(await env.BLOBS.head(MARKER)).not.toBeNull();
  expect(await env.BLOBS_2.head(KEY)).toBeNull();
});

it('keeps the marker while a location is silent for one call', async () => {
  const head = (key: string) => (key === KEY ? Promise.reject(new Error('silent')) : env.BLOBS.head(key));
  expect(await makeMarkedCopies(locationsWith({}, { head } as Partial<R2Bucket>), always)).toBe(0);
  expect(await env.BLOBS.head(MARKER)).not.toBeNull();
});

it('deletes the copy of an object that was deleted while it was copied', async () => {
  const put = async (...values: Parameters<R2Bucket['put']>) => {
    // The delete reaches both locations after the source was read and before the copy arrives.
    await Promise.all([env.BLOBS.delete(KEY), env.BLOBS_2.delete(KEY)]);
    return env.BLOBS_2.put(...values);
  };
  await makeMarkedCopies(locationsWith({ put } as unknown as Partial<R2Bucket>), always);
  expect(await env.BLOBS_2.head(KEY)).toBeNull();
});

it('copies over nothing, because what is there may be newer', async () => {
  await env.BLOBS_2.put(KEY, 'a newer one');
  expect(await copyObject(env.BLOBS, env.BLOBS_2, KEY)).toBeNull();
  expect(await (await env.BLOBS_2.get(KEY))?.text()).toBe('a newer one');
});

it('deletes an orphan only after two rounds, however long the first one takes', async () => {
  await env.DIRECTORY.batch(['orphan', 'collector'].map((table) => env.DIRECTORY.prepare(`DELETE FROM ${table}`)));
  const store = createCollectorStore(env.DIRECTORY, 'mail');
  const removed: string[] = [];
  const orphan = { key: KEY, storedAt: 1, isGivenUp: false };
  const named = Array.from({ length: 200 }, (_, n) => ({ key: `named/${n}`, storedAt: 1 }));
  const source = {
    findDoubt: async () => null,
    scan: async (cursor: string) =>
      cursor === ''
        ? { keys: [orphan], scanned: 1, next: 'second half' }
        : { keys: named, scanned: named.length, next: null },
    findOrphans: async (keys: readonly { key: string }[]) => ({
      orphans: keys.some(({ key }) => key === KEY) ? [orphan] : [],
      unknown: [],
    }),
    remove: async (keys: readonly string[]) => void removed.push(...keys),
  };
  const start = Date.parse('2046-05-10T12:00:00Z');
  // The halves of the first round are three days apart.
  await collectOrphans(store, source, start);
  expect(await collectOrphans(store, source, start + 3 * DAY)).toMatchObject({ isRoundOver: true, removed: 0 });
  expect(removed).toEqual([]);
  await collectOrphans(store, source, start + 4 * DAY);
  expect(await collectOrphans(store, source, start + 4 * DAY)).toMatchObject({ isRoundOver: true, removed: 1 });
  expect(removed).toEqual([KEY]);
});

it.each([
  ['names it again', { orphans: [], unknown: [] }],
  ['does not answer', { orphans: [], unknown: [KEY] }],
])('deletes no orphan whose owner %s when it is asked before the delete', async (_, last) => {
  await env.DIRECTORY.batch(['orphan', 'collector'].map((table) => env.DIRECTORY.prepare(`DELETE FROM ${table}`)));
  const store = createCollectorStore(env.DIRECTORY, 'mail');
  const removed: string[] = [];
  const orphan = { key: KEY, storedAt: 1, isGivenUp: false };
  let asked = 0;
  const source = {
    findDoubt: async () => null,
    scan: async () => ({ keys: [orphan], scanned: 1, next: null }),
    // Two rounds find it. The third question is the one before the delete.
    findOrphans: async () => (++asked < 3 ? { orphans: [orphan], unknown: [] } : last),
    remove: async (keys: readonly string[]) => void removed.push(...keys),
  };
  const start = Date.parse('2046-05-10T12:00:00Z');
  await collectOrphans(store, source, start);
  expect(await collectOrphans(store, source, start + 2 * DAY)).toMatchObject({ isRoundOver: true, removed: 0 });
  expect([asked, removed]).toEqual([3, []]);
});
