/**
 * The lease of the sending of events, with a worker that is too late (`two-workers.ts`). `background-ring.ts` lets a second worker
 * overtake the other background work of storage.
 */
import { env as bindings } from 'cloudflare:test';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { selectDueEvents } from '../../../workers/storage/engine/store/event-store.ts';
import { consumeStorageTasks, type StorageTask } from '../../../workers/storage/maintenance/schedule.ts';
import { wrapEnvironment } from '../../support/platform/wrap-bindings.ts';
import { expectLateWorkerHarmless, type Intercept } from '../../support/two-workers.ts';
import { SMALL } from './fault-actions.ts';
import { countEvents, makeCountedBucket } from './fault-cases.ts';
import { makeEngine, put, wipe } from './harness.ts';

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
