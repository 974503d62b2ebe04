/** Tests reads through the cache of the data centre: hits, ranges, and every way in which the cache can fail. */
import { env } from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import { type FaultPlan, faultyDatabase } from './faults.ts';
import { expectContent, failure, makeBucket, makeEngine, patternOf, put, readAll, value, wipe } from './harness.ts';
import { makeMaintainedEngine } from './maintained-engine.ts';

beforeEach(wipe);

const MIB = 1024 ** 2;

/** Wraps the locations to count the reads of blobs. */
function countedBuckets() {
  const counts = { gets: 0 };
  const counted = (bucket: R2Bucket) =>
    new Proxy(bucket, {
      get(target, key) {
        const found = Reflect.get(target, key);
        if (typeof found !== 'function') return found;
        return (...args: unknown[]) => {
          if (key === 'get' && String(args[0]).startsWith('blobs/')) counts.gets++;
          return found.apply(target, args);
        };
      },
    });
  return { counts, bindings: { BLOBS: counted(env.BLOBS), BLOBS_2: counted(env.BLOBS_2) } };
}

it('reads a blob of two chunks from R2 once, and then whole and in ranges from the cache', async () => {
  const { counts, bindings } = countedBuckets();
  const { engine, settle } = makeEngine({ bindings, cache: caches.default });
  const bucket = await makeBucket(engine);
  const bytes = patternOf(9 * MIB + 5);
  await put(engine, bucket, 'x', bytes);
  await expectContent(engine, bucket, 'x', bytes);
  await settle();
  expect(counts.gets).toBe(1);
  await expectContent(engine, bucket, 'x', bytes);
  const version = value(await engine.getVersion(bucket, 'x'));
  for (const [start, end] of [
    [0, 0],
    [100, 300_000],
    [8 * MIB - 1, 8 * MIB],
    [7 * MIB, 9 * MIB + 4],
    [9 * MIB + 4, 9 * MIB + 4],
  ] as const) {
    const range = await readAll(engine, version, { start, end });
    expect(range.equals(bytes.subarray(start, end + 1)), `bytes ${start} to ${end}`).toBe(true);
  }
  expect(counts.gets).toBe(1);
});

it('does not store a chunk that was read in part, and continues from R2 after the cached chunks', async () => {
  const { counts, bindings } = countedBuckets();
  const { engine, settle } = makeEngine({ bindings, cache: caches.default });
  const bucket = await makeBucket(engine);
  const bytes = patternOf(9 * MIB, 2);
  await put(engine, bucket, 'x', bytes);
  const version = value(await engine.getVersion(bucket, 'x'));
  for (const expected of [1, 2]) {
    await readAll(engine, version, { start: 10, end: MIB });
    await settle();
    expect(counts.gets).toBe(expected);
  }
  // This range has all of the first chunk and a little of the second, so only the first chunk can be cached.
  await readAll(engine, version, { start: 0, end: 8 * MIB });
  await settle();
  expect(counts.gets).toBe(3);
  const all = await readAll(engine, version);
  expect(all.equals(bytes)).toBe(true);
  expect(counts.gets).toBe(4);
});

it('caches a packed object under its place in the volume', async () => {
  const { counts, bindings } = countedBuckets();
  const { engine, context, settle } = makeEngine({ bindings, cache: caches.default });
  const made = makeMaintainedEngine();
  const bucket = await makeBucket(made.engine);
  const contents = Array.from({ length: 20 }, (_, at) => patternOf(4096 + at, at + 1));
  for (const [at, content] of contents.entries()) await put(made.engine, bucket, `p${at}`, content);
  await made.pack();
  const version = value(await engine.getVersion(bucket, 'p7'));
  expect(version.handle.inline).toBeNull();
  expect(context.edge).not.toBeNull();
  for (let read = 0; read < 3; read++) {
    await expectContent(engine, bucket, 'p7', contents[7] as Uint8Array);
    await settle();
  }
  expect(counts.gets).toBe(1);
});

it('an object that was erased or replaced is unreachable at once, although its bytes are cached', async () => {
  const { engine, settle } = makeEngine({ cache: caches.default });
  const bucket = await makeBucket(engine);
  const [first, second] = [patternOf(100_000, 3), patternOf(100_000, 4)];
  await put(engine, bucket, 'x', first);
  await expectContent(engine, bucket, 'x', first);
  await settle();
  await put(engine, bucket, 'x', second);
  await expectContent(engine, bucket, 'x', second);
  await settle();
  value(await engine.deleteObject(bucket, { name: 'x' }));
  expect(failure(await engine.getVersion(bucket, 'x'))).toEqual({ kind: 'no_such_key' });
});

it('reads bytes from the cache while their row is on the way, and returns them only if the row names them', async () => {
  const plan: FaultPlan = { at: null, how: 'meanwhile', calls: 0, hit: null };
  const { counts, bindings } = countedBuckets();
  let onMatch = () => {};
  const cache = {
    match(request: Request) {
      onMatch();
      return caches.default.match(request);
    },
    put: (request: string, response: Response) => caches.default.put(request, response),
    delete: (request: string) => caches.default.delete(request),
  } as unknown as Cache;
  const { engine, settle } = makeEngine({
    bindings: { ...bindings, OBJECTS_0: faultyDatabase(env.OBJECTS_0, plan) },
    cache,
  });
  const bucket = await makeBucket(engine);
  const readAhead = async () => {
    const matched = new Promise<void>((resolve) => {
      onMatch = resolve;
    });
    // The row arrives after the look-up in the cache has begun.
    Object.assign(plan, { at: plan.calls, meanwhile: () => matched });
    const version = value(await engine.beginRead(bucket.name, 'x').openProven(bucket, null, true));
    const bytes = await readAll(engine, version);
    await settle();
    return bytes;
  };
  const [first, second] = [patternOf(MIB, 6), patternOf(MIB, 7)];
  await put(engine, bucket, 'x', first);
  await expectContent(engine, bucket, 'x', first);
  await settle();
  expect((await readAhead()).equals(first)).toBe(true);
  expect(counts.gets).toBe(1);
  await put(engine, bucket, 'x', second);
  for (let read = 0; read < 2; read++) {
    expect((await readAhead()).equals(second)).toBe(true);
    expect(counts.gets).toBe(2);
  }
});

type CacheFault = 'flips' | 'is short' | 'throws' | 'hangs' | 'hangs in the body' | 'breaks in the body' | 'refuses';

/** Wraps the real cache and adds a fault to its answers. */
function faultyCache(fault: CacheFault, removed: string[]): Cache {
  const never = () => new Promise<never>(() => {});
  const spoil = async (response: Response): Promise<Response> => {
    const bytes = new Uint8Array(await response.arrayBuffer());
    const half = bytes.subarray(0, bytes.length / 2);
    const { headers, status } = response;
    switch (fault) {
      case 'flips':
        bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
        return new Response(bytes, { headers, status });
      case 'is short':
        return new Response(half, { headers: { 'content-length': String(half.length) }, status });
      default: {
        const body = new ReadableStream<Uint8Array>({
          start: (controller) => controller.enqueue(half),
          pull: (controller) =>
            fault === 'breaks in the body' ? controller.error(new Error('injected: broken')) : never(),
        });
        return new Response(body, { headers, status });
      }
    }
  };
  return {
    async match(request: Request) {
      if (fault === 'throws') throw new Error('injected: no cache');
      if (fault === 'hangs') return never();
      const response = await caches.default.match(request);
      return response && fault !== 'refuses' ? spoil(response) : undefined;
    },
    async put(request: string, response: Response) {
      if (fault === 'refuses') {
        await response.body?.cancel('injected: refused');
        throw new Error('injected: refused');
      }
      if (fault === 'throws') throw new Error('injected: no cache');
      return fault === 'hangs' ? never() : caches.default.put(request, response);
    },
    async delete(request: string) {
      removed.push(request);
      if (fault === 'throws') throw new Error('injected: no cache');
      return caches.default.delete(request);
    },
  } as unknown as Cache;
}

it.each([
  ['flips', 1],
  ['is short', 0],
  ['throws', 0],
  ['hangs in the body', 1],
  ['breaks in the body', 1],
  ['refuses', 0],
  // In the case `hangs`, storing into the cache never ends either.
  ['hangs', 0],
] as const)('a read returns the right bytes from R2 if the cache %s', async (fault, removals) => {
  const sound = makeEngine({ cache: caches.default });
  const bucket = await makeBucket(sound.engine);
  const bytes = patternOf(MIB, 5);
  await put(sound.engine, bucket, 'x', bytes);
  await expectContent(sound.engine, bucket, 'x', bytes);
  await sound.settle();
  const { counts, bindings } = countedBuckets();
  const removed: string[] = [];
  const { engine, settle } = makeEngine({
    bindings,
    cache: faultyCache(fault, removed),
    limits: { edgeTimeoutMs: 100 },
  });
  await expectContent(engine, bucket, 'x', bytes);
  expect(counts.gets).toBe(1);
  expect(removed).toHaveLength(removals);
  if (removals > 0) {
    await settle();
    // The bad entry must have been removed, so the next read stores a good one.
    const cache = caches.default;
    expect(await cache.match(removed[0] as string)).toBeUndefined();
  }
  // Reads ahead, because the place of the bytes is known now.
  const again = value(await engine.beginRead(bucket.name, 'x').openProven(bucket, null, true));
  expect((await readAll(engine, again)).equals(bytes)).toBe(true);
});
