/**
 * Tests that a database which was put back to an earlier state is found out within ten seconds and answers nothing, and that no other
 * database is. An isolate is an environment of its own.
 */
import { applyD1Migrations, env } from 'cloudflare:test';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import worker from '../../../workers/index.ts';
import { guardedEnv } from '../../../workers/shared/stores/guarded-database.ts';
import { OlderStoreError } from '../../../workers/shared/stores/store-age.ts';
import { atDirectory } from '../../../workers/storage/engine/model/context.ts';
import { beginEpoch } from '../../../workers/storage/engine/store/shard-owner.ts';
import { readDirectoryAge } from '../../../workers/storage/maintenance/directory-age.ts';
import { keepDirectoryAge } from '../../../workers/storage/maintenance/directory-owner.ts';
import { writeJournal } from '../../../workers/storage/maintenance/journal.ts';
import { ReplicatedDatabase } from '../../support/replicas.ts';
import { copyRows, restoreRows } from './earlier-state.ts';
import { expectContent, METADATA, makeBucket, makeEngine, patternOf, put, value, wipe } from './harness.ts';
import { call as callIsolate, ROOT as OPERATOR } from './isolates.ts';

const bindings = env as unknown as Record<string, unknown>;
const { OBJECTS_0, BLOBS, BLOBS_2 } = env;

beforeEach(async () => {
  await wipe();
  await env.DIRECTORY.batch([
    env.DIRECTORY.prepare('DELETE FROM age'),
    env.DIRECTORY.prepare("DELETE FROM collector WHERE name = 'directory'"),
  ]);
});
afterEach(() => vi.useRealTimers());

/** Advances the clock of every isolate. */
function pass(seconds: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + seconds * 1000 });
}

/** A new isolate with guarded databases. It has one shard. */
function makeIsolate(replaced: Readonly<Record<string, unknown>> = {}) {
  const { OBJECTS_1: _1, OBJECTS_2: _2, ...one } = bindings;
  const guarded = guardedEnv({ ...one, STORAGE_TASKS: undefined, ...replaced } as unknown as Env);
  return { ...makeEngine({ bindings: guarded as unknown as Record<string, unknown> }), env: guarded };
}

/** A shard that is put back: `old` was overwritten since, `gone` deleted, `new` made. */
async function putBack() {
  const { engine, context } = makeEngine();
  const bucket = await makeBucket(engine);
  await put(engine, bucket, 'old', 'first');
  await put(engine, bucket, 'gone', 'gone');
  await writeJournal(context, 0);
  const earlier = await copyRows(OBJECTS_0);
  const later = async () => {
    await put(engine, bucket, 'old', 'second');
    await put(engine, bucket, 'new', 'new');
    value(await engine.deleteObject(bucket, { name: 'gone' }));
    await writeJournal(context, 0);
  };
  return { bucket, context, later, restore: () => restoreRows(OBJECTS_0, earlier) };
}

const OLDER = 'OBJECTS_0 was put back to an earlier state and has not been replayed.';

test('an isolate that starts after a restore neither reads nor writes the older shard', async () => {
  const { bucket, later, restore } = await putBack();
  await later();
  await restore();
  const { engine } = makeIsolate();
  const body = patternOf(10);
  await expect(engine.getVersion(bucket, 'old')).rejects.toThrow(OLDER);
  await expect(engine.listObjects({ bucket, prefix: '', delimiter: '', from: '', limit: 9 })).rejects.toThrow(OLDER);
  await expect(engine.putObject({ bucket, name: 'x', body, size: body.length, metadata: METADATA })).rejects.toThrow(
    OLDER,
  );
  await expect(engine.deleteObject(bucket, { name: 'old' })).rejects.toThrow(OLDER);
});

test('an isolate that knew the number refuses a write at once, and reads within ten seconds', async () => {
  const { bucket, later, restore } = await putBack();
  const { engine } = makeIsolate();
  await expectContent(engine, bucket, 'old', 'first');
  await later();
  pass(11);
  await expectContent(engine, bucket, 'old', 'second');
  await restore();
  const body = patternOf(10);
  await expect(engine.putObject({ bucket, name: 'x', body, size: body.length, metadata: METADATA })).rejects.toThrow(
    OlderStoreError,
  );
  const other = makeIsolate();
  await expect(other.engine.getVersion(bucket, 'old')).rejects.toThrow(OLDER);
  pass(11);
  await expect(engine.getVersion(bucket, 'old')).rejects.toThrow(OLDER);
});

test('a restore to less than a minute ago is found out after the epoch was begun before it', async () => {
  const { bucket, context, restore } = await putBack();
  await beginEpoch(context, 0);
  await restore();
  await expect(makeIsolate().engine.getVersion(bucket, 'old')).rejects.toThrow(OLDER);
});

test('a new isolate waits for a slow location before it serves', async () => {
  const { bucket, later, restore } = await putBack();
  await later();
  await restore();
  const slow = (location: R2Bucket) =>
    new Proxy(location, {
      get: (target, key) => {
        if (key !== 'get') return Reflect.get(target, key).bind(target);
        return async (...args: Parameters<R2Bucket['get']>) => {
          await new Promise((resolve) => setTimeout(resolve, 700));
          return target.get(...args);
        };
      },
    });
  const { engine } = makeIsolate({ BLOBS: slow(BLOBS), BLOBS_2: slow(BLOBS_2) });
  await expect(engine.getVersion(bucket, 'old')).rejects.toThrow(OLDER);
});

test('a restored shard does not hide itself by a new epoch', async () => {
  const { bucket, context, later, restore } = await putBack();
  await later();
  await restore();
  await put(makeEngine().engine, bucket, 'later', 'later');
  await expect(writeJournal(context, 0)).rejects.toThrow(OLDER);
  await expect(makeIsolate().engine.getVersion(bucket, 'old')).rejects.toThrow(OLDER);
});

test('a replica that is behind is not taken for a restored database', async () => {
  const { bucket, context, later } = await putBack();
  await keepDirectoryAge(context);
  const copy = bindings.REPLICA_SYD as D1Database;
  const { directory } = bindings.MIGRATIONS as Record<'directory', Parameters<typeof applyD1Migrations>[1]>;
  await applyD1Migrations(copy, directory);
  const replicated = new ReplicatedDatabase(env.DIRECTORY, { SYD: copy }, () => 0.5);
  replicated.setFault('SYD', 'stuck');
  await later();
  const view = replicated.viewFrom('SYD');
  const raised = { ...context, directory: view };
  for (let minute = 0; minute < 3; minute++) await keepDirectoryAge(raised);
  const isolate = makeIsolate({ DIRECTORY: view });
  const stale = await isolate.env.DIRECTORY.withSession('first-unconstrained').prepare('SELECT number FROM age').all();
  expect(stale.results).toEqual([]);
  expect(await isolate.env.DIRECTORY.prepare('SELECT number FROM age').first('number')).toBe(4);
  await expectContent(isolate.engine, bucket, 'old', 'second');
});

test('no request is refused while a replica is up to six seconds behind', async () => {
  const { bucket, context } = await putBack();
  const copy = bindings.REPLICA_SYD as D1Database;
  const { directory } = bindings.MIGRATIONS as Record<'directory', Parameters<typeof applyD1Migrations>[1]>;
  await applyD1Migrations(copy, directory);
  const replicated = new ReplicatedDatabase(env.DIRECTORY, { SYD: copy }, () => 1);
  const view = replicated.viewFrom('SYD');
  const { env: isolate, engine } = makeIsolate({ DIRECTORY: view });
  for (let second = 1; second <= 24; second++) {
    pass(1);
    if (second % 6 === 0) await replicated.catchUp();
    replicated.setFault('SYD', 'stuck');
    await keepDirectoryAge({ ...context, directory: view });
    const { status } = await callIsolate(isolate, 'GET', '/v1/iam/users', { token: OPERATOR });
    expect([second, status]).toEqual([second, 200]);
    const stale = await isolate.DIRECTORY.withSession('first-unconstrained').prepare('SELECT number FROM age').all();
    expect(stale.results.length).toBeLessThanOrEqual(1);
    await expectContent(engine, bucket, 'old', 'first');
  }
});

test('a number that rises between the two answers raises no doubt', async () => {
  const { bucket, context, later } = await putBack();
  const held = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  // The database answers first, then the number rises, and the location answers last.
  const slow = new Proxy(BLOBS, {
    get: (target, key) => {
      if (key === 'get')
        return async (name: string) => {
          if (name === 'owners/objects-0') {
            asked.resolve();
            await held.promise;
          }
          return target.get(name);
        };
      const member: unknown = Reflect.get(target, key);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
  const { engine } = makeIsolate({ BLOBS: slow });
  const reading = engine.getVersion(bucket, 'old');
  await asked.promise;
  await later();
  await beginEpoch(context, 0);
  held.resolve();
  value(await reading);
});

test('an isolate compares the numbers once in ten seconds, whatever it serves', async () => {
  const { bucket, later } = await putBack();
  await later();
  let calls = 0;
  const counting = new Proxy(BLOBS, {
    get: (target, key) => {
      const member: unknown = Reflect.get(target, key);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        if (key === 'get' && args[0] === 'owners/objects-0') calls++;
        return Reflect.apply(member, target, args);
      };
    },
  });
  const { engine } = makeIsolate({ BLOBS: counting });
  const serve = () =>
    Promise.all([
      ...Array.from({ length: 20 }, () => expectContent(engine, bucket, 'old', 'second')),
      ...Array.from({ length: 5 }, (_, i) => put(engine, bucket, `many ${i}`, 'x')),
    ]);
  await serve();
  await serve();
  expect(calls).toBe(1);
  pass(11);
  await serve();
  expect(calls).toBe(2);
});

test('locations that do not answer stop no request, and another one takes their place', async () => {
  const { bucket, later, restore } = await putBack();
  await later();
  const down = new Proxy(BLOBS, {
    get: (_, key) => (key === 'then' ? undefined : () => Promise.reject(new Error('the location is down'))),
  });
  await expectContent(makeIsolate({ BLOBS: down }).engine, bucket, 'old', 'second');
  await expectContent(makeIsolate({ BLOBS: down, BLOBS_2: down }).engine, bucket, 'old', 'second');
  await restore();
  await expect(makeIsolate({ BLOBS: down }).engine.getVersion(bucket, 'old')).rejects.toThrow(OLDER);
});

const call = (isolate: Env, path: string, init: RequestInit = {}) => {
  const request = new Request(`http://example.test${path}`, init) as Parameters<typeof worker.fetch>[0];
  const ctx = { waitUntil: () => {}, passThroughOnException: () => {}, props: {} } as unknown as ExecutionContext;
  return worker.fetch(request, isolate, ctx);
};
const ROOT = { authorization: 'Bearer root-of-tests', 'content-type': 'application/json' };
/** A new isolate as the Worker gets it, without guards. */
const rawIsolate = () => ({ ...bindings, OBJECTS_1: undefined, OBJECTS_2: undefined }) as unknown as Env;

test('health, metrics and the answers name a restored shard', async () => {
  const { later, restore } = await putBack();
  await later();
  await restore();
  const isolate = rawIsolate();
  const health = await call(isolate, '/v1/health', { headers: ROOT });
  expect(health.status).toBe(503);
  expect((await health.json<{ unavailable: string[] }>()).unavailable).toContain(OLDER.slice(0, -1));
  const metrics = await (await call(isolate, '/v1/metrics', { headers: ROOT })).text();
  expect(metrics).toContain('tessera_store_older{database="OBJECTS_0"} 1');
  expect(metrics).toContain('tessera_store_older{database="DIRECTORY"} 0');
  const usage = await call(isolate, '/v1/storage/stats', { headers: ROOT });
  expect(usage.status).toBe(503);
  expect(await usage.json()).toMatchObject({ code: 'store_older', detail: OLDER });
});

test('DIRECTORY that was put back answers nothing, and does not hide itself', async () => {
  const { context } = makeEngine();
  await keepDirectoryAge(context);
  const before = await copyRows(env.DIRECTORY);
  await keepDirectoryAge(context);
  expect(await readDirectoryAge(context)).toBe(2);
  const isolate = rawIsolate();
  const createUser = () => call(isolate, '/v1/iam/users', { method: 'POST', headers: ROOT, body: '{"name":"Ada"}' });
  expect((await createUser()).status).toBe(201);
  await restoreRows(env.DIRECTORY, before);
  for (let minute = 0; minute < 3; minute++) await keepDirectoryAge(atDirectory(context, 0));
  // An isolate that knows the number refuses writes at once.
  expect((await createUser()).status).toBe(503);
  const fresh = rawIsolate();
  const read = await call(fresh, '/v1/iam/users', { headers: ROOT });
  expect(await read.json()).toMatchObject({ status: 503, code: 'store_older' });
  const object = await call(fresh, '/bucket/name');
  expect(object.status).toBe(503);
  expect(await object.text()).toContain('DIRECTORY was put back to an earlier state');
  const { data } = await (await call(fresh, '/v1/collectors', { headers: ROOT })).json<{
    data: { collector: string; alarm: { reason: string } | null }[];
  }>();
  expect(data.find(({ collector }) => collector === 'directory')?.alarm?.reason).toContain('older copy');
  // The operator accepts what is lost.
  await env.DIRECTORY.prepare("UPDATE collector SET take_over = 1 WHERE name = 'directory'").run();
  await keepDirectoryAge(context);
  expect((await call(rawIsolate(), '/v1/iam/users', { headers: ROOT })).status).toBe(200);
});

test('both locations have the number', async () => {
  const { context } = makeEngine();
  for (let minute = 0; minute < 2; minute++) await keepDirectoryAge(context);
  for (const bucket of [BLOBS, BLOBS_2])
    expect(await (await bucket.get('ages/directory'))?.json()).toEqual({ number: 2 });
});
