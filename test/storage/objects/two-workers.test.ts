/**
 * The lease of the sending of events, with a worker that is too late (`two-workers.ts`), and late writes of a rebuild.
 * `background-ring.ts` lets a second worker overtake the other background work of storage.
 */
import { env as bindings } from 'cloudflare:test';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { selectDueEvents } from '../../../workers/storage/engine/store/event-store.ts';
import { writeJournal } from '../../../workers/storage/maintenance/journal.ts';
import { emptyPackReport, packVolume } from '../../../workers/storage/maintenance/pack.ts';
import { rebuildShard } from '../../../workers/storage/maintenance/rebuild.ts';
import { consumeStorageTasks, type StorageTask } from '../../../workers/storage/maintenance/schedule.ts';
import { isShardTrusted } from '../../../workers/storage/maintenance/shard-trust.ts';
import { snapshotShard } from '../../../workers/storage/maintenance/snapshot.ts';
import { wrapEnvironment } from '../../support/platform/wrap-bindings.ts';
import { expectLateWorkerHarmless, type Intercept, interceptCalls } from '../../support/two-workers.ts';
import { SMALL } from './fault-actions.ts';
import { countEvents, makeCountedBucket } from './fault-cases.ts';
import { expectSound, loseDatabase, makeBucket, makeEngine, patternOf, put, value, wipe } from './harness.ts';

const HOUR_MS = 3_600_000;
const realNow = Date.now;
let offsetMs = 0;

beforeEach(async () => {
  await wipe();
  offsetMs = 0;
  vi.spyOn(Date, 'now').mockImplementation(() => realNow() + offsetMs);
});
afterEach(() => void vi.restoreAllMocks());

/** Runs a task as the consumer of the queue does, with each call of a binding passed through `intercept`. */
async function runTask(task: StorageTask, more: Record<string, unknown>, intercept: Intercept): Promise<void> {
  const oneShard = { OBJECTS_1: undefined, OBJECTS_2: undefined, STORAGE_TASKS: undefined };
  const bound = { ...bindings, ...oneShard, ...more } as unknown as Env;
  const env = wrapEnvironment(bound, (call, run) => intercept(`${call.binding}.${call.method}`, run));
  const messages = [{ body: task, ack: () => {}, retry: () => {} }];
  const ctx = { waitUntil: () => {}, passThroughOnException: () => {} } as unknown as ExecutionContext;
  await consumeStorageTasks({ messages } as unknown as MessageBatch, env, ctx);
}

it('each event is sent, those of a name in order, and a late worker begins no further one', async () => {
  const cases = await expectLateWorkerHarmless({
    makeScene: async () => {
      const { engine, context } = makeEngine();
      const bucket = await makeCountedBucket({ engine, context, settle: async () => {} }, 'never');
      for (const name of ['a', 'b', 'a', 'b', 'a']) await put(engine, bucket, name, SMALL);
      const due = (await selectDueEvents(context, 0, 99)).map(({ name, sequencer }) => `${name} ${sequencer}`);
      const sent: string[] = [];
      const send = async (message: unknown) => {
        const [record] = (message as { Records: { s3: { object: { key: string; sequencer: string } } }[] }).Records;
        sent.push(`${record?.s3.object.key} ${record?.s3.object.sequencer}`);
      };
      const STORAGE_EVENTS = { send, sendBatch: async () => {} };
      return { context, bucket, due, sent, more: { STORAGE_EVENTS }, inTime: { count: null as number | null } };
    },
    work: ({ more }, intercept) => runTask({ kind: 'events', shard: 0 }, more, intercept),
    expire: ({ sent, inTime }) => {
      inTime.count ??= sent.length;
      offsetMs += HOUR_MS;
    },
    check: async ({ context, bucket, due, sent, inTime }, where) => {
      expect(await countEvents(context, bucket), where).toBe(0);
      const first = sent.filter((event, at) => sent.indexOf(event) === at);
      for (const name of ['a', 'b']) {
        const ofName = (events: readonly string[]) => events.filter((event) => event.startsWith(name));
        expect(ofName(first), where).toEqual(ofName(due));
      }
      // The late worker may be in the middle of one event of each name.
      expect(sent.length, where).toBeLessThanOrEqual((inTime.count ?? 0) + due.length + 2);
    },
  });
  expect(cases).toBeGreaterThan(10);
});

/** A shard's database and a location that run `second` before the first write that matches. */
function stopBefore(pattern: RegExp, second: () => Promise<unknown>): Record<string, unknown> {
  let isMet = false;
  const meet = async (text: string) => {
    if (isMet || !pattern.test(text)) return;
    isMet = true;
    await second();
  };
  let prepared = '';
  const { OBJECTS_0, BLOBS } = bindings;
  const database: Pick<D1Database, 'prepare' | 'batch'> = {
    prepare(sql) {
      prepared += `${sql}\n`;
      return OBJECTS_0.prepare(sql);
    },
    async batch(statements) {
      const text = prepared;
      prepared = '';
      await meet(text);
      return OBJECTS_0.batch(statements);
    },
  };
  const { get, list, head, delete: remove } = interceptCalls(BLOBS, (_, call) => call());
  const put = async (...[key, ...rest]: Parameters<R2Bucket['put']>) => {
    await meet(`put ${key}`);
    return BLOBS.put(key, ...rest);
  };
  return { OBJECTS_0: database, BLOBS: { get, list, head, delete: remove, put } };
}

it.each([
  ['clears the database', /DELETE FROM bucket/],
  ['records the blobs that it found', /SELECT a\.value->>0, a\.value->>1, \?2 FROM json_each/],
  ['names the database as owner', /put owners\//],
])('a rebuild that is late when it %s changes nothing of the shard that another worker rebuilt', async (_, pattern) => {
  const { engine, context } = makeEngine();
  const bucket = await makeBucket(engine, 'enabled');
  for (const name of ['kept', 'deleted']) await put(engine, bucket, name, patternOf(500));
  await packVolume(context, 0, emptyPackReport());
  await snapshotShard(context, 0);
  const { versionId } = value(await engine.getVersion(bucket, 'deleted'));
  value(await engine.deleteObject(bucket, { name: 'deleted', versionId }));
  await writeJournal(context, 0);
  await loseDatabase(context, 0);
  const list = async () => {
    const query = { bucket, prefix: '', delimiter: '', from: '', limit: 9 };
    return value(await engine.listVersions(query)).entries.map((entry) => entry.kind === 'item' && entry.item.name);
  };
  const second = vi.fn(async () => {
    offsetMs += HOUR_MS;
    expect(await rebuildShard(context, 0)).toMatchObject({ ok: true, isDone: true });
    await put(engine, bucket, 'new', patternOf(500));
  });
  const late = makeEngine({ bindings: stopBefore(pattern, second) });
  const outcome = await rebuildShard(late.context, 0);
  expect(second).toHaveBeenCalledOnce();
  expect(await list()).toEqual(['kept', 'new']);
  expect(await isShardTrusted(context, 0)).toBe(true);
  await expectSound(context);
  expect(outcome).toEqual({ ok: false, error: { kind: 'under_way' } });
});
