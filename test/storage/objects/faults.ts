/** Wraps D1, R2 and a queue so that one chosen call fails in one chosen way, or so that other work runs just before that call. */
import { env } from 'cloudflare:test';

export type Fault =
  | 'before'
  | 'after'
  | 'hang before'
  | 'hang after'
  | 'late'
  | 'half'
  | 'meanwhile'
  | 'cut before'
  | 'cut after'
  | 'overtaken before'
  | 'overtaken after';

export interface FaultPlan {
  /** Number of the call that fails, from 0 over all stores. Null only counts the calls. */
  at: number | null;
  how: Fault;
  /** Number of calls made so far. */
  calls: number;
  /** Name of the call that failed. */
  hit: string | null;
  /** Work to run just before the chosen call, whatever its fault. */
  meanwhile?: () => Promise<unknown>;
  /** The work of a second worker, which runs while the first one waits before or after the chosen call. */
  overtake?: () => Promise<unknown>;
  /** When a late call takes effect. Default: after `LATE_MS`. */
  lateness?: Promise<unknown>;
  /** Resolves when a late call has taken effect. */
  late?: Promise<unknown>;
  /** Whether a call was made that never answers. */
  isSilent?: boolean;
  /** Whether the invocation has ended, so that every further call fails. */
  isOver?: boolean;
}

function never(plan: FaultPlan): Promise<never> {
  plan.isSilent = true;
  return new Promise<never>(() => {});
}

const LATE_MS = 150;

async function callWithFault<T>(
  plan: FaultPlan,
  name: string,
  work: () => Promise<T>,
  half?: () => Promise<T>,
): Promise<T> {
  const call = plan.calls++;
  // After a power cut, every further call fails too.
  const isOff = plan.how.startsWith('cut') && plan.at !== null && call > plan.at;
  if (isOff || plan.isOver) throw new Error(`the power is off: ${name}`);
  if (call !== plan.at) return await work();
  plan.hit = name;
  await plan.meanwhile?.();
  switch (plan.how) {
    case 'cut before':
      throw new Error(`the power went before ${name}`);
    case 'cut after':
      await work();
      throw new Error(`the power went after ${name}`);
    case 'before':
      throw new Error(`injected before ${name}`);
    case 'after':
      await work();
      throw new Error(`Network connection lost after ${name}`);
    case 'hang before':
      return await never(plan);
    case 'hang after':
      await work();
      return await never(plan);
    case 'late':
      // Let the call take effect after its caller has given up.
      plan.late = (plan.lateness ?? new Promise((resolve) => setTimeout(resolve, LATE_MS))).then(work).catch(() => {});
      return await never(plan);
    case 'half':
      if (half) return await half();
      throw new Error(`injected before ${name}`);
    case 'overtaken before':
      await plan.overtake?.();
      return await work();
    case 'overtaken after': {
      const answer = await work();
      await plan.overtake?.();
      return answer;
    }
    case 'meanwhile':
      return await work();
  }
}

export function faultyDatabase(database: D1Database, plan: FaultPlan): D1Database {
  const inner = new WeakMap<object, D1PreparedStatement>();
  const wrap = (statement: D1PreparedStatement): D1PreparedStatement => {
    const wrapped = {
      bind: (...values: unknown[]) => wrap(statement.bind(...values)),
      all: () => callWithFault(plan, 'd1.all', () => statement.all()),
      raw: () => callWithFault(plan, 'd1.raw', () => statement.raw()),
      run: () => callWithFault(plan, 'd1.run', () => statement.run()),
      first: (...names: string[]) => callWithFault(plan, 'd1.first', () => statement.first(...(names as [string]))),
    } as unknown as D1PreparedStatement;
    inner.set(wrapped, statement);
    return wrapped;
  };
  return {
    prepare: (sql: string) => wrap(database.prepare(sql)),
    batch: (statements: D1PreparedStatement[]) =>
      callWithFault(plan, 'd1.batch', () =>
        database.batch(statements.map((statement) => inner.get(statement) ?? statement)),
      ),
  } as unknown as D1Database;
}

function truncate(stream: ReadableStream<Uint8Array>, length: number): ReadableStream<Uint8Array> {
  const reader = stream.getReader();
  let left = Math.floor(length / 2);
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await reader.read();
      if (done || left <= 0) {
        await reader.cancel();
        controller.error(new Error('injected: the body broke off'));
        return;
      }
      controller.enqueue(value.subarray(0, left));
      left -= value.length;
    },
  });
}

export function faultyBucket(bucket: R2Bucket, plan: FaultPlan): R2Bucket {
  return {
    head: (key: string) => callWithFault(plan, 'r2.head', () => bucket.head(key)),
    get: (key: string, options?: R2GetOptions) =>
      callWithFault(
        plan,
        'r2.get',
        () => bucket.get(key, options ?? {}),
        async () => {
          const object = await bucket.get(key, options ?? {});
          if (!object || !('body' in object)) return object;
          return { body: truncate(object.body, object.size), size: object.size } as unknown as R2ObjectBody;
        },
      ),
    put: (key: string, value: ReadableStream | ArrayBufferView, options?: R2PutOptions) =>
      callWithFault(
        plan,
        'r2.put',
        () => bucket.put(key, value, options),
        async () => {
          // Reads part of the request body, then fails.
          if (value instanceof ReadableStream) {
            const reader = value.getReader();
            await reader.read();
            await reader.cancel('injected');
          }
          throw new Error('injected: half a body');
        },
      ),
    delete: (keys: string | string[]) => callWithFault(plan, 'r2.delete', () => bucket.delete(keys)),
    list: (options?: R2ListOptions) => callWithFault(plan, 'r2.list', () => bucket.list(options)),
  } as unknown as R2Bucket;
}

/** Bindings of DIRECTORY and of two shards' databases, with the faults of the plan. */
export const faultyDatabases = (plan: FaultPlan) => ({
  DIRECTORY: faultyDatabase(env.DIRECTORY, plan),
  OBJECTS_0: faultyDatabase(env.OBJECTS_0, plan),
  OBJECTS_1: faultyDatabase((env as unknown as { OBJECTS_1: D1Database }).OBJECTS_1, plan),
});

export const faultyBuckets = (plan: FaultPlan) => ({
  BLOBS: faultyBucket(env.BLOBS, plan),
  BLOBS_2: faultyBucket(env.BLOBS_2, plan),
});

export const faultyQueue = (send: (message: unknown) => void, plan: FaultPlan): Queue =>
  ({ send: (message: unknown) => callWithFault(plan, 'queue.send', async () => send(message)) }) as unknown as Queue;

/**
 * Waits until the work ends, or waits only for a call that never answers.
 * A call that takes long on a busy machine only looks silent, which the work must bear too.
 * @param tickMs time between two looks. After four without a new call, the work waits only for the silent one.
 */
export async function runInterrupted(plan: FaultPlan, tickMs: number, work: () => Promise<unknown>): Promise<void> {
  let isDone = false;
  const run = work()
    .catch(() => {})
    .then(() => {
      isDone = true;
    });
  const tick = () => new Promise((resolve) => setTimeout(resolve, tickMs));
  for (let quiet = 0, seen = -1; !isDone && quiet < 4; ) {
    await Promise.race([run, tick()]);
    quiet = plan.isSilent && plan.calls === seen ? quiet + 1 : 0;
    seen = plan.calls;
  }
}
