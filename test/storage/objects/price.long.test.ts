/**
 * The price of a million small uploads under a steady load, with all background work of storage: a minute's uploads, then cron as the
 * platform runs it, minute by minute. Prints each row and each R2 operation by what it is for.
 */
import { createExecutionContext, env, waitOnExecutionContext } from 'cloudflare:test';
import { beforeEach, expect, test } from 'vitest';
import worker from '../../../workers/index.ts';
import { runInParallel } from '../../../workers/shared/concurrency/parallel.ts';
import { CPU_MS, PRICES } from '../../../workers/shared/telemetry/prices.ts';
import { createEngineContext, engineOf } from '../../../workers/storage/engine/index.ts';
import { createIsolateMemory } from '../../../workers/storage/engine/model/context.ts';
import { emptyPackReport, packVolume } from '../../../workers/storage/maintenance/pack.ts';
import { type Interceptor, unwrapStatement, wrapEnvironment } from '../../support/platform/wrap-bindings.ts';
import { makeBucket, patternOf, put, wipe } from './harness.ts';

beforeEach(wipe);

const MAX_DOLLARS = 4.8;
const TASKS = 'tessera-storage-tasks';
/** Operations of R2 that are billed as class A; deletes are free, and all others are class B. */
const CLASS_A = new Set(['put', 'list']);

class Bill {
  readonly lines = new Map<string, number>();

  add(line: string, amount: number): void {
    if (amount > 0) this.lines.set(line, (this.lines.get(line) ?? 0) + amount);
  }

  readonly intercept: Interceptor = async (call, run) => {
    const result = await run();
    if (call.kind === 'd1') this.#addRows(call.binding, call.args, result);
    if (call.kind === 'r2' && call.method !== 'delete') {
      const [key] = call.args;
      const what = typeof key === 'string' ? key : `${(key as { prefix?: string } | undefined)?.prefix ?? ''}…`;
      this.add(`class${CLASS_A.has(call.method) ? 'A' : 'B'} ${call.method} ${what.split('/')[0]}`, 1);
    }
    return result;
  };

  #addRows(binding: string, statements: readonly unknown[], result: unknown): void {
    const results = (Array.isArray(result) ? result : [result]) as readonly (D1Result | null)[];
    for (const [at, one] of results.entries()) {
      const statement = unwrapStatement(statements[at] as D1PreparedStatement) as unknown as { statement?: string };
      const [verb = '', into = ''] =
        /^\s*(\w+)(?:\s+(?:OR\s+\w+\s+)?(?:INTO|FROM))?\s+"?(\w+)/i.exec(statement?.statement ?? '')?.slice(1) ?? [];
      this.add(`rowWritten ${binding} ${verb.toUpperCase()} ${into}`, one?.meta?.rows_written ?? 0);
      this.add('rowRead', one?.meta?.rows_read ?? 0);
    }
  }

  dollars(): number {
    const price = (line: string) => PRICES[line.split(' ')[0] as keyof typeof PRICES];
    return [...this.lines].reduce((sum, [line, amount]) => sum + amount * price(line), 0) / 1e6;
  }
}

test.each([
  { perSecond: 10, minutes: 15 },
  { perSecond: 100, minutes: 2 },
])(
  'a million uploads of 4 KiB at $perSecond a second on one shard cost at most 4.80 dollars',
  async ({ perSecond, minutes }) => {
    const bill = new Bill();
    const waiting: Message[] = [];
    const send = (body: unknown) =>
      void waiting.push({
        id: '',
        timestamp: new Date(),
        body,
        attempts: 1,
        ack: () => {},
        retry: () => {},
      } as Message);
    const queue = {
      send: async (body: unknown) => send(body),
      sendBatch: async (messages: Iterable<{ body: unknown }>) => {
        for (const { body } of messages) send(body);
      },
    };
    const real = Object.fromEntries(
      Object.entries(env).filter(([name]) => !/^(?:OBJECTS_[1-9]|DIRECTORY_)/.test(name)),
    );
    const wrapped = wrapEnvironment(real, bill.intercept);
    const bound = { ...wrapped, PRODUCTS: 'storage', STORAGE_TASKS: queue } as unknown as Env;
    const minute = async (at: number) => {
      const ctx = createExecutionContext();
      await worker.scheduled({ cron: '* * * * *', scheduledTime: at * 60_000, noRetry() {} }, bound, ctx);
      await waitOnExecutionContext(ctx);
      bill.add('workerRequest', 1);
      while (waiting.length > 0) {
        const messages = waiting.splice(0, 10);
        const batch = { queue: TASKS, messages, ackAll: () => {}, retryAll: () => {} } as unknown as MessageBatch;
        await worker.queue(batch, bound, createExecutionContext());
        bill.add('workerRequest', 1);
        bill.add('cpuMs', CPU_MS);
        bill.add('queueOperation', 3 * messages.length);
      }
    };
    const pending: Promise<unknown>[] = [];
    const ctx = { waitUntil: (work: Promise<unknown>) => void pending.push(work) };
    const context = createEngineContext(bound, Date.now, ctx, { memory: createIsolateMemory() });
    const engine = engineOf(context);
    const bucket = await makeBucket(engine);
    await put(engine, bucket, 'first', patternOf(4_096));
    for (const at of [0, 1]) await minute(at);
    bill.lines.clear();
    const content = patternOf(4_096);
    const uploads = minutes * 60 * perSecond;
    for (let at = 0; at < minutes; at++) {
      const names = Array.from({ length: 60 * perSecond }, (_, i) => `${at}/${i}`);
      await runInParallel(names, 10, (name) => put(engine, bucket, name, content));
      await minute(at + 2);
    }
    while (await packVolume(context, 0, emptyPackReport()));
    await Promise.all(pending);
    bill.add('workerRequest', uploads);
    bill.add('cpuMs', uploads * CPU_MS);
    const perMillion = (bill.dollars() / uploads) * 1e6;
    const lines = [...bill.lines].map(([line, amount]) => `${(amount / uploads).toFixed(5)} ${line}`);
    console.log(`$${perMillion.toFixed(2)} a million at ${perSecond} a second\n${lines.sort().reverse().join('\n')}`);
    expect(perMillion).toBeLessThanOrEqual(MAX_DOLLARS);
  },
  900_000,
);
