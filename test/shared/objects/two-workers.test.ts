/** Leases of the S3 location and of notices of ended seasons, with a worker that is too late (`two-workers.ts`). */
import { env as bindings } from 'cloudflare:test';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { putWebhook, sendNotices } from '../../../workers/leaderboard/boards/webhooks.ts';
import { createCollectorStore } from '../../../workers/shared/collectors/store.ts';
import type { ListedObject, S3Location } from '../../../workers/shared/s3-location/client.ts';
import { continuePass, DELETED_PREFIX } from '../../../workers/shared/s3-location/pass.ts';
import { parsePass } from '../../../workers/shared/s3-location/pass-plan.ts';
import { blobLocations } from '../../../workers/shared/stores/bindings.ts';
import { wrapEnvironment } from '../../support/platform/wrap-bindings.ts';
import { expectLateWorkerHarmless, type Intercept, interceptCalls } from '../../support/two-workers.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const realNow = Date.now;
let offsetMs = 0;

beforeEach(() => {
  offsetMs = 0;
  vi.spyOn(Date, 'now').mockImplementation(() => realNow() + offsetMs);
});
afterEach(() => void vi.restoreAllMocks());

const straight: Intercept = (_, call) => call();

/** Passes the calls of DIRECTORY through `intercept`. */
const wrap = (env: Env, intercept: Intercept): Env => ({
  ...env,
  ...wrapEnvironment({ DIRECTORY: env.DIRECTORY }, (call, run) => intercept(call.method, run)),
});

/** The part of an S3 location that a pass calls. Real servers are in `test/shared/system/s3-location.test.ts`. */
class MemoryLocation {
  readonly objects = new Map<string, ListedObject & { readonly text: string }>();

  async list(after: string, within = '', limit = 1_000) {
    const keys = [...this.objects.keys()].filter((key) => key > after && key.startsWith(within)).sort();
    const objects = keys.slice(0, limit).flatMap((key) => this.objects.get(key) ?? []);
    return { objects, isLast: keys.length <= limit };
  }

  async getText(key: string) {
    return this.objects.get(key)?.text ?? null;
  }

  async put(key: string, body: ArrayBuffer | string, { onlyIfNew = false } = {}) {
    if (onlyIfNew && this.objects.has(key)) return false;
    const bytes = Buffer.from(body as string);
    const etag = Buffer.from(await crypto.subtle.digest('MD5', bytes)).toString('hex');
    this.objects.set(key, { key, size: bytes.length, etag, storedAt: Date.now(), text: bytes.toString() });
    return true;
  }

  async putDescribed(key: string, body: ArrayBuffer) {
    await this.put(key, body as ArrayBuffer);
  }

  async delete(key: string) {
    this.objects.delete(key);
  }
}

async function makeLocation() {
  const env = bindings as unknown as Env;
  const buckets = blobLocations(env);
  for (const bucket of buckets) await bucket.delete((await bucket.list()).objects.map(({ key }) => key));
  await env.DIRECTORY.prepare("DELETE FROM collector WHERE name = 's3-location'").run();
  const put = (key: string, text: string) => Promise.all(buckets.map((bucket) => bucket.put(key, text)));
  const location = new MemoryLocation();
  const pass = (intercept: Intercept, mayContinue = () => true) => {
    const target = interceptCalls(location, intercept, ['put', 'putDescribed', 'delete']) as unknown as S3Location;
    return continuePass(wrap(env, intercept), target, mayContinue);
  };
  for (const key of ['blobs/a', 'blobs/b', 'mail/lost', 'owners/x', 'snapshots/x/manifest.json']) await put(key, key);
  offsetMs += HOUR_MS;
  await pass(straight);
  for (const bucket of buckets) await bucket.delete(['blobs/b', 'mail/lost']);
  await put('owners/x', 'another text');
  await put('mail/new', 'new');
  offsetMs += HOUR_MS;
  return { env, buckets, put, pass, location };
}

it('two passes leave the S3 location with what R2 has, and keep no record of a deletion that was undone', async () => {
  const cases = await expectLateWorkerHarmless({
    makeScene: makeLocation,
    work: ({ pass }, intercept) => pass(intercept),
    expire: async ({ put }) => {
      offsetMs += HOUR_MS;
      // A refill brings it back while the first worker knows only that it is gone.
      await put('mail/lost', 'mail/lost');
    },
    check: async ({ env, buckets, location }, where) => {
      const kept = (await buckets[0]?.list())?.objects.map(({ key, size }) => `${key} ${size}`) ?? [];
      const isTheirs = ({ key }: ListedObject) => !key.startsWith('.tessera/') && key !== 'blobs/b';
      const copied = [...location.objects.values()].filter(isTheirs).map(({ key, size }) => `${key} ${size}`);
      expect(copied.sort(), where).toEqual(kept.filter((line) => !line.startsWith('owners/s3-location')));
      const deletions = [...location.objects.keys()].filter((key) => key.startsWith(DELETED_PREFIX));
      expect(deletions, where).toEqual([`${DELETED_PREFIX}blobs/b`]);
      const row = await createCollectorStore(env.DIRECTORY, 's3-location').read();
      expect([parsePass(row.cursor).leaseUntil, row.alarm], where).toEqual([0, null]);
    },
  });
  expect(cases).toBeGreaterThan(10);
});

it('a run that has no more time ends inside a page, and the next run copies the rest of the page', async () => {
  const { pass, put, location } = await makeLocation();
  for (let i = 0; i < 20; i++) await put(`mail/late-${i}`, 'late');
  const count = () => [...location.objects.keys()].filter((key) => key.startsWith('mail/late-')).length;
  let asked = 0;
  const cut = await pass(straight, () => ++asked <= 10);
  expect(count()).toBeLessThan(20);
  expect([cut?.copied, cut?.range]).toEqual([9, 1]);
  const whole = await pass(straight);
  expect([count(), whole?.range, whole?.through]).toEqual([20, null, cut?.startedAt]);
});

it('a notice of an ended season is sent at most twice, with one id, and not again after it was accepted', async () => {
  const env = bindings as unknown as Env;
  const board = 'default';
  let year = 2060;
  const cases = await expectLateWorkerHarmless({
    makeScene: async () => {
      await putWebhook(env, board, 'https://game.example.com/hooks', Date.now());
      const season = `${year++}-01`;
      const now = Date.now();
      await env.DIRECTORY.batch([
        env.DIRECTORY.prepare(
          'INSERT INTO season(season, board, ends_at, shards, created_at, players) VALUES (?1, ?2, ?3, 1, ?3, 5)',
        ).bind(season, '', now),
        env.DIRECTORY.prepare(
          'INSERT INTO season_notice(season, board, created_at, attempts, due_at) VALUES (?1, ?2, ?3, 0, ?3)',
        ).bind(season, board, now),
      ]);
      const received: string[] = [];
      vi.spyOn(globalThis, 'fetch').mockImplementation(async (_, init) => {
        received.push(new Headers(init?.headers).get('webhook-id') ?? '');
        return new Response(null, { status: 204 });
      });
      return { season, received };
    },
    work: (_, intercept) => sendNotices(wrap(env, intercept), Date.now()),
    expire: () => {
      offsetMs += HOUR_MS;
    },
    check: async ({ season, received }, where) => {
      expect([new Set(received).size, received.length <= 2], where).toEqual([1, true]);
      const left = env.DIRECTORY.prepare('SELECT count(*) AS n FROM season_notice WHERE season = ?').bind(season);
      expect(await left.first('n'), where).toBe(0);
      offsetMs += DAY_MS;
      const before = received.length;
      await sendNotices(env, Date.now());
      expect(received.length, where).toBe(before);
    },
  });
  expect(cases).toBeGreaterThan(3);
});
