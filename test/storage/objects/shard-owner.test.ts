/** Tests that a database that does not own the bytes of its shard, or is an older copy, deletes and replaces nothing. */
import { env } from 'cloudflare:test';
import { beforeEach, expect, test } from 'vitest';
import type { EngineContext } from '../../../workers/storage/engine/model/context.ts';
import { emptyCollectReport } from '../../../workers/storage/maintenance/collect.ts';
import { walkOrphans } from '../../../workers/storage/maintenance/orphans.ts';
import { maintainShard } from '../../../workers/storage/maintenance/schedule.ts';
import { snapshotShard } from '../../../workers/storage/maintenance/snapshot.ts';
import { expectContent, failure, METADATA, makeBucket, makeEngine, patternOf, put, value, wipe } from './harness.ts';

beforeEach(wipe);

const HOUR_MS = 3_600_000;
const ROUNDS_HOURS = [2, 27, 52, 77];

type Rows = Record<string, unknown>[];

async function listTables(database: D1Database): Promise<string[]> {
  const sql = `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%\\_%' ESCAPE '\\' AND name <> 'guard'`;
  return (await database.prepare(sql).all<{ name: string }>()).results.map(({ name }) => name);
}

async function copyRows(database: D1Database): Promise<Map<string, Rows>> {
  const copies = new Map<string, Rows>();
  for (const table of await listTables(database))
    copies.set(table, (await database.prepare(`SELECT * FROM ${table}`).all<Record<string, unknown>>()).results);
  return copies;
}

/** Restores a database to an earlier copy of its rows. */
async function restoreRows(database: D1Database, copies: Map<string, Rows>): Promise<void> {
  for (const [table, rows] of copies) {
    await database.prepare(`DELETE FROM ${table}`).run();
    for (const row of rows) {
      const names = Object.keys(row);
      const values = Object.values(row).map((cell) => (Array.isArray(cell) ? new Uint8Array(cell) : cell));
      const marks = names.map(() => '?').join(', ');
      await database
        .prepare(`INSERT INTO ${table}(${names.join(', ')}) VALUES (${marks})`)
        .bind(...values)
        .run();
    }
  }
}

const listKeys = async (context: EngineContext, prefix = '') =>
  await Promise.all(
    context.locations.map(async (bucket) => (await bucket.list({ prefix })).objects.map(({ key }) => key)),
  );

/** Runs background work over several days. */
async function passDays(bindings: Readonly<Record<string, unknown>> = {}): Promise<void> {
  for (const hours of ROUNDS_HOURS) {
    const { context } = makeEngine({ bindings, now: () => Date.now() + hours * HOUR_MS });
    await maintainShard(context, 0);
    await snapshotShard(context, 0).catch(() => null);
    while (await walkOrphans(context, emptyCollectReport()));
  }
}

const readAlarm = (context: EngineContext) =>
  context.directory.prepare(`SELECT alarm FROM collector WHERE name = 'storage'`).first<string>('alarm');

test('an older copy of a database does not delete objects stored since', async () => {
  const { engine, context } = makeEngine();
  const database = context.shards[0] as D1Database;
  const bucket = await makeBucket(engine);
  await put(engine, bucket, 'old', patternOf(50_000));
  await maintainShard(context, 0);
  const yesterday = await copyRows(database);
  await put(engine, bucket, 'new', patternOf(60_000, 2));
  await maintainShard(context, 0);
  const today = await copyRows(database);
  const before = await listKeys(context);

  await restoreRows(database, yesterday);
  await passDays();
  expect(await listKeys(context)).toEqual(before);
  expect(await readAlarm(context)).toContain('older copy');

  await restoreRows(database, today);
  await passDays();
  await expectContent(engine, bucket, 'old', patternOf(50_000));
  await expectContent(engine, bucket, 'new', patternOf(60_000, 2));
  expect(await readAlarm(context)).toBeNull();
});

test('an operator can accept an older database, and blobs unknown to it are removed after two rounds', async () => {
  const { engine, context } = makeEngine();
  const database = context.shards[0] as D1Database;
  const bucket = await makeBucket(engine);
  await put(engine, bucket, 'old', patternOf(50_000));
  await maintainShard(context, 0);
  const yesterday = await copyRows(database);
  await put(engine, bucket, 'new', patternOf(60_000, 2));
  await maintainShard(context, 0);
  await restoreRows(database, yesterday);
  expect(await maintainShard(context, 0)).toBe(false);
  await context.directory.prepare(`UPDATE collector SET take_over = 1 WHERE name = 'storage'`).run();
  await passDays();
  expect((await listKeys(context, 'blobs/')).map((keys) => keys.length)).toEqual([1, 1]);
  await expectContent(engine, bucket, 'old', patternOf(50_000));
  expect(await readAlarm(context)).toBeNull();
});

test('a second Worker with its own databases cannot use the buckets of the first', async () => {
  const first = makeEngine();
  const bucket = await makeBucket(first.engine);
  await put(first.engine, bucket, 'mine', patternOf(50_000));
  // Without a journal or a snapshot, only the owner id shows which database owns the bytes.
  const before = await listKeys(first.context);
  const bindings = { OBJECTS_0: (env as unknown as Record<string, D1Database>).OBJECTS_1 };
  const second = makeEngine({ bindings });
  const taken = value(await second.engine.createBucket({ name: `second-${crypto.randomUUID()}`, ownerId: 'u2' }));
  const body = patternOf(10);
  const refused = await second.engine.putObject({ bucket: taken, name: 'x', body, size: 10, metadata: METADATA });
  expect(failure(refused)).toMatchObject({
    kind: 'unavailable',
    reason: 'the bytes of shard 0 belong to another database',
  });
  await passDays(bindings);
  expect(await listKeys(first.context)).toEqual(before);
  await passDays();
  await expectContent(first.engine, bucket, 'mine', patternOf(50_000));
});
