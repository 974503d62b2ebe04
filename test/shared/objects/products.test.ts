/** Tests the background work of a deployment that serves only some products. */
import { createExecutionContext, createScheduledController, env as testEnv } from 'cloudflare:test';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import worker from '../../../workers/index.ts';
import type { ProductName } from '../../../workers/shared/settings/settings-schema.ts';

const env = testEnv as unknown as Env;
const MINUTE = '* * * * *';
const NAMES: readonly ProductName[] = ['storage', 'leaderboard', 'mail'];

/** Kinds of the messages that were sent to the queue of object storage. */
const sent: string[] = [];
const tasks = {
  send: async ({ kind }: { kind: string }) => void sent.push(kind),
  sendBatch: async (messages: Iterable<{ body: { kind: string } }>) => {
    for (const { body } of messages) sent.push(body.kind);
  },
};

const serving = (...products: ProductName[]): Env =>
  ({ ...env, PRODUCTS: products.join(), STORAGE_TASKS: tasks }) as unknown as Env;

const at = (minute: number) =>
  createScheduledController({ cron: MINUTE, scheduledTime: new Date(Date.UTC(2026, 10, 22, 12, minute)) });

const listCollectors = async (): Promise<string[]> =>
  (await env.DIRECTORY.prepare('SELECT name FROM collector ORDER BY name').all<{ name: string }>()).results.map(
    ({ name }) => name,
  );

beforeEach(async () => {
  sent.length = 0;
  await env.DIRECTORY.prepare('DELETE FROM collector').run();
});

describe('cron', () => {
  it('starts the tasks of storage and the collector of mail only if they are served', async () => {
    await worker.scheduled(at(5), serving('leaderboard'), createExecutionContext());
    expect([sent, await listCollectors()]).toEqual([[], []]);
    await worker.scheduled(at(5), serving('mail'), createExecutionContext());
    expect([sent, await listCollectors()]).toEqual([[], ['mail']]);
    await worker.scheduled(at(5), serving('storage'), createExecutionContext());
    expect(new Set(sent)).toEqual(new Set(['maintain', 'scrub']));
  });

  it('takes a snapshot of DIRECTORY whichever products are served', async () => {
    for (const name of NAMES) {
      sent.length = 0;
      await worker.scheduled(at(23), serving(name), createExecutionContext());
      expect([name, sent.filter((kind) => kind === 'directory')]).toEqual([name, ['directory']]);
    }
  });

  it('runs the other products if one fails', async () => {
    const broken = { ...serving('storage', 'mail'), MAILBOX: {} } as unknown as Env;
    vi.spyOn(console, 'error').mockImplementation(() => {});
    await worker.scheduled(at(5), broken, createExecutionContext());
    expect(sent).toContain('maintain');
  });
});

describe('a queue message', () => {
  function toBatch(queue: string, body: unknown) {
    const acked: string[] = [];
    const retried: string[] = [];
    const message = {
      id: 'one',
      timestamp: new Date(),
      body,
      attempts: 1,
      ack: () => void acked.push('one'),
      retry: () => void retried.push('one'),
    };
    const batch = { queue, messages: [message], ackAll: () => {}, retryAll: () => {} };
    return { batch: batch as unknown as MessageBatch, acked, retried };
  }
  const isClaimed = async () =>
    (await env.BLOBS.list({ prefix: 'owners/' })).objects.filter(({ key }) => key !== 'owners/mail').length > 0;

  it.each(['tessera-storage-tasks', 'tessera-staging-storage-tasks'])('of %s runs only with storage', async (queue) => {
    for (const { key } of (await env.BLOBS.list({ prefix: 'owners/' })).objects) await env.BLOBS.delete(key);
    const task = { kind: 'maintain', shard: 0 };
    const absent = toBatch(queue, task);
    await worker.queue(absent.batch, serving('mail', 'leaderboard'), createExecutionContext());
    expect([absent.acked, await isClaimed()]).toEqual([['one'], false]);
    const served = toBatch(queue, task);
    await worker.queue(served.batch, serving('storage'), createExecutionContext());
    expect([served.acked, await isClaimed()]).toEqual([['one'], true]);
  });

  it('of DIRECTORY runs without storage', async () => {
    const { batch, acked } = toBatch('tessera-storage-tasks', { kind: 'directory', shard: 0 });
    await worker.queue(batch, serving('mail'), createExecutionContext());
    expect(acked).toEqual(['one']);
    expect((await env.BLOBS.list({ prefix: 'snapshots/directory/' })).objects.length).toBeGreaterThan(0);
  });

  it('of an unknown queue is an error', async () => {
    const { batch } = toBatch('someone-elses-queue', {});
    await expect(worker.queue(batch, serving(...NAMES), createExecutionContext())).rejects.toThrow('no product');
  });
});

it('defers mail if mail is not served, so that the sender tries again', async () => {
  const message = { from: 'a@elsewhere.test', to: 'b@example.test' } as ForwardableEmailMessage;
  await expect(worker.email(message, serving('storage'))).rejects.toThrow('PRODUCTS');
});
