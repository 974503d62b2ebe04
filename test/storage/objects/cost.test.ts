/** Tests the cost of an action in Cloudflare's billing units: rows read and written in D1, operations in R2, and round trips. */
import { env } from 'cloudflare:test';
import { beforeEach, expect, test } from 'vitest';
import { setQuota } from '../../../workers/storage/engine/actions/quotas.ts';
import { writeJournal } from '../../../workers/storage/maintenance/journal.ts';
import { emptyPackReport, isPackingDue, packVolume } from '../../../workers/storage/maintenance/pack.ts';
import { METADATA, makeBucket, makeEngine, patternOf, put, readAll, value, wipe } from './harness.ts';

beforeEach(wipe);

interface Bill {
  rowsWritten: number;
  rowsRead: number;
  d1Calls: number;
  r2Calls: number;
}

function countingBindings(bill: Bill) {
  const add = (result: D1Result) => {
    bill.rowsWritten += result.meta.rows_written;
    bill.rowsRead += result.meta.rows_read;
  };
  const inner = new WeakMap<object, D1PreparedStatement>();
  const wrap = (statement: D1PreparedStatement): D1PreparedStatement => {
    const wrapped = {
      bind: (...values: unknown[]) => wrap(statement.bind(...values)),
      all: async () => {
        bill.d1Calls++;
        const result = await statement.all();
        add(result);
        return result;
      },
      run: async () => await wrapped.all(),
      first: async (column?: string) => {
        const row = (await wrapped.all<Record<string, unknown>>()).results[0];
        return column === undefined ? (row ?? null) : (row?.[column] ?? null);
      },
    } as unknown as D1PreparedStatement;
    inner.set(wrapped, statement);
    return wrapped;
  };
  const database = (real: D1Database) =>
    ({
      prepare: (sql: string) => wrap(real.prepare(sql)),
      batch: async (statements: D1PreparedStatement[]) => {
        bill.d1Calls++;
        const results = await real.batch(statements.map((statement) => inner.get(statement) as D1PreparedStatement));
        for (const result of results) add(result);
        return results;
      },
    }) as unknown as D1Database;
  const bucket = (real: R2Bucket) =>
    new Proxy(real, {
      get(target, key) {
        const found = Reflect.get(target, key);
        if (typeof found !== 'function') return found;
        return (...args: unknown[]) => {
          bill.r2Calls++;
          return found.apply(target, args);
        };
      },
    });
  return {
    DIRECTORY: database(env.DIRECTORY),
    OBJECTS_0: database(env.OBJECTS_0),
    BLOBS: bucket(env.BLOBS),
    BLOBS_2: bucket(env.BLOBS_2),
  };
}

test('keeps puts, overwrites and reads within their cost', async () => {
  const bill: Bill = { rowsWritten: 0, rowsRead: 0, d1Calls: 0, r2Calls: 0 };
  const { engine, context } = makeEngine({ bindings: countingBindings(bill) });
  const measure = async (work: () => Promise<unknown>): Promise<Bill> => {
    Object.assign(bill, { rowsWritten: 0, rowsRead: 0, d1Calls: 0, r2Calls: 0 });
    await work();
    return { ...bill };
  };
  const small = patternOf(4096);
  const large = patternOf(100_000);
  for (const versioning of ['never', 'enabled', 'suspended'] as const) {
    const bucket = await makeBucket(engine, versioning);
    const first = await measure(() => put(engine, bucket, 'x', small));
    const again = await measure(() => put(engine, bucket, 'x', small));
    console.log(`rows written, inline, ${versioning}: put ${first.rowsWritten}, overwrite ${again.rowsWritten}`);
    expect(first.rowsWritten).toBe(2);
    expect(again.rowsWritten).toBe(versioning === 'enabled' ? 2 : 3);
    expect(first).toMatchObject({ d1Calls: 1, r2Calls: 0 });
    expect(again).toMatchObject({ d1Calls: 1, r2Calls: 0 });
    const blob = await measure(() => put(engine, bucket, 'y', large));
    expect(blob).toMatchObject({ d1Calls: 1, r2Calls: 2 });
    expect(blob.rowsWritten).toBe(4);
  }
  const bucket = await makeBucket(engine);
  await put(engine, bucket, 'x', small);
  await put(engine, bucket, 'y', large);
  for (const [name, r2Calls] of [
    ['x', 0],
    ['y', 1],
  ] as const) {
    const read = await measure(async () => readAll(engine, value(await engine.getVersion(bucket, name))));
    expect(read).toMatchObject({ d1Calls: 1, r2Calls, rowsWritten: 0 });
    expect(read.rowsRead).toBeLessThanOrEqual(12);
    const { engine: other } = makeEngine({ bindings: countingBindings(bill) });
    const cold = await measure(async () =>
      readAll(engine, value(await other.beginRead(bucket.name, name).open(bucket))),
    );
    expect(cold).toEqual({ ...read, rowsRead: expect.any(Number) });
    // SQLite also reads the next name in the index, unless the name is the last one.
    expect(cold.rowsRead - read.rowsRead).toBeOneOf([0, 1]);
  }
  const source = value(await engine.getVersion(bucket, 'y'));
  const copy = await measure(() =>
    engine.copyObject({ bucket, name: 'z', source, metadata: METADATA, tags: null, acl: null }),
  );
  expect(copy).toMatchObject({ d1Calls: 1, r2Calls: 0 });
  value(await setQuota(context, { kind: 'bucket', subject: bucket.bucketId }, { bytes: 1_000_000, objects: null }));
  const counted = await measure(() => put(engine, bucket, 'counted', small));
  expect(counted).toMatchObject({ d1Calls: 1, rowsWritten: 3 });
});

test('uses a page that was requested by the bucket name, and requests none for a minute after an unused one', async () => {
  let now = Date.now();
  const bill: Bill = { rowsWritten: 0, rowsRead: 0, d1Calls: 0, r2Calls: 0 };
  const { engine, settle } = makeEngine({ bindings: countingBindings(bill), now: () => now });
  const bucket = await makeBucket(engine);
  await put(engine, bucket, 'x', 'x');
  const names = { prefix: '', delimiter: '', limit: 10, from: '' };
  const callsOf = async (work: () => unknown) => {
    const before = bill.d1Calls;
    await work();
    await settle();
    return bill.d1Calls - before;
  };
  const begin = (prefix = '') => engine.beginListing(bucket.name, { ...names, prefix });
  const list = async () => expect(value(await engine.listObjects({ ...names, bucket })).entries).toHaveLength(1);
  const beginAndList = (prefix?: string) => () => {
    begin(prefix);
    return list();
  };
  expect(await callsOf(beginAndList())).toBe(1);
  expect(await callsOf(list)).toBe(1);
  expect(await callsOf(beginAndList('other'))).toBe(2);
  expect(await callsOf(begin)).toBe(0);
  now += 60_000;
  expect(await callsOf(beginAndList())).toBe(1);
  expect(await callsOf(begin)).toBe(1);
  expect(await callsOf(begin)).toBe(0);
});

test('writes few rows over the life of an object: its commit, the journal, and packing', async () => {
  const bill: Bill = { rowsWritten: 0, rowsRead: 0, d1Calls: 0, r2Calls: 0 };
  const { engine, context } = makeEngine({ bindings: countingBindings(bill) });
  const bucket = await makeBucket(engine, 'enabled');
  await put(engine, bucket, 'first', 'x');
  // The fixed cost of a round does not depend on the number of objects, so the cost of the objects is the difference of two rounds.
  const costOf = async (write: (at: number) => Promise<unknown>) => {
    const rounds: number[] = [];
    for (const count of [1, 3, 13]) {
      const before = bill.rowsWritten;
      for (let at = 0; at < count; at++) await write(at + count * 100);
      await writeJournal(context, 0);
      await isPackingDue(context, 0);
      await packVolume(context, 0, emptyPackReport());
      await isPackingDue(context, 0);
      await writeJournal(context, 0);
      rounds.push(bill.rowsWritten - before);
    }
    return ((rounds[2] ?? 0) - (rounds[1] ?? 0)) / 10;
  };
  expect(await costOf((at) => put(engine, bucket, `small ${at}`, patternOf(4096, at)))).toBe(4);
  expect(await costOf((at) => put(engine, bucket, 'again', patternOf(4096, at)))).toBe(4);
  expect(await costOf((at) => put(engine, bucket, `large ${at}`, patternOf(100_000, at)))).toBe(4);
  expect(await costOf((at) => put(engine, bucket, `empty ${at}`, ''))).toBe(2);
});
