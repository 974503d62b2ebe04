/**
 * Tests that the snapshot and the rebuild of DIRECTORY are done in steps which fit the platform's limits, that an hourly snapshot has
 * only what the journal lacks, and that a worker which comes late changes nothing.
 */
import { env } from 'cloudflare:test';
import { beforeEach, expect, test } from 'vitest';
import type { EngineContext } from '../../../workers/storage/engine/model/context.ts';
import { listDirectoryTables, listJournaledTables } from '../../../workers/storage/engine/store/directory-store.ts';
import { runDirectoryStep } from '../../../workers/storage/engine/store/directory-task-store.ts';
import { keepDirectoryAge } from '../../../workers/storage/maintenance/directory-owner.ts';
import { rebuildDirectory } from '../../../workers/storage/maintenance/directory-rebuild.ts';
import {
  type DirectoryManifest,
  directorySnapshotStep,
} from '../../../workers/storage/maintenance/directory-snapshot.ts';
import { wrapEnvironment } from '../../support/platform/wrap-bindings.ts';
import { makeEngine, wipe } from './harness.ts';

const { DIRECTORY } = env;
const HOUR_MS = 3_600_000;
/** Pages of 1,000 rows. */
const PEOPLE = 3_500;

/** Queries of a run. D1 allows 1,000. */
let queries = 0;

function makeContext(): { readonly context: EngineContext; readonly later: (ms: number) => void } {
  let now = Date.now();
  const counted = wrapEnvironment({ DIRECTORY }, (call, run) => {
    if (call.kind === 'd1') queries++;
    return run();
  });
  const { context } = makeEngine({ now: () => now });
  const later = (ms: number) => {
    now += ms;
  };
  return { context: { ...context, directory: counted.DIRECTORY }, later };
}

const idOf = (n: number | string) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const USER = 'INSERT INTO user(user_id, user_name, name, created_at)';

/** Adds people with passwords. The rows of one of them refer to each other. */
const addPeople = (from: number, to: number) =>
  DIRECTORY.batch([
    DIRECTORY.prepare(
      `${USER} WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)
       SELECT printf('00000000-0000-4000-8000-%012d', i), 'p' || i, 'Person ' || i, 1 FROM n`,
    ).bind(from, to),
    DIRECTORY.prepare(
      `INSERT INTO password(user_id, hash, changed_at) SELECT user_id, 'a hash', 1 FROM user
       WHERE user_id NOT IN (SELECT user_id FROM password)`,
    ),
  ]);

async function empty(): Promise<void> {
  const tables = (
    await DIRECTORY.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'").all<{
      name: string;
    }>()
  ).results.map(({ name }) => name);
  const kept = ['d1_migrations', 'health_verdict'];
  const wanted = tables.filter((name) => !kept.includes(name) && !name.startsWith('_cf_'));
  await DIRECTORY.batch([
    DIRECTORY.prepare('PRAGMA defer_foreign_keys = on'),
    ...[...wanted, 'directory_change'].map((table) => DIRECTORY.prepare(`DELETE FROM "${table}"`)),
  ]);
}

async function readPeople(): Promise<string> {
  const sql = `SELECT u.user_id, u.user_name, p.hash FROM user u LEFT JOIN password p ON p.user_id = u.user_id ORDER BY 1`;
  return JSON.stringify((await DIRECTORY.prepare(sql).all()).results);
}

/** Runs steps until the snapshot is finished. @returns the manifest, and the greatest number of queries of a step. */
async function snapshot(context: EngineContext, pagesMax: number, between: () => Promise<unknown> = async () => {}) {
  for (let steps = 1, most = 0; ; steps++) {
    queries = 0;
    const outcome = await directorySnapshotStep(context, { pagesMax });
    most = Math.max(most, queries);
    if (typeof outcome !== 'string') return { manifest: outcome as DirectoryManifest, steps, most };
    expect(outcome).toBe('unfinished');
    await between();
  }
}

async function rebuild(context: EngineContext, mayContinue: () => boolean) {
  for (let steps = 1, most = 0; ; steps++) {
    queries = 0;
    const outcome = await rebuildDirectory(context, mayContinue);
    most = Math.max(most, queries);
    if (!outcome.ok) throw new Error(outcome.error.kind);
    if (outcome.isDone) return { report: outcome.report, steps, most };
  }
}

beforeEach(async () => {
  await wipe();
  await empty();
});

test('a step makes a query for each page and few others, and the steps together lose no person that changed meanwhile', async () => {
  const { context, later } = makeContext();
  const tables = (await listDirectoryTables(context)).length;
  await addPeople(0, PEOPLE);
  await DIRECTORY.prepare("INSERT INTO login_guard(guard_key, count, ends_at) VALUES ('a guard', 3, 1)").run();
  await keepDirectoryAge(context);
  let added = PEOPLE;
  const { manifest, steps, most } = await snapshot(context, 3, async () => {
    // A person whose row comes after the page that was written, with a password in a page that was not, and one who leaves.
    await addPeople(added, ++added);
    await DIRECTORY.prepare('DELETE FROM user WHERE user_id = ?')
      .bind(idOf(added - PEOPLE))
      .run();
    await DIRECTORY.prepare("UPDATE user SET user_name = 'renamed' WHERE user_id = ?").bind(idOf(2_000)).run();
  });
  expect([steps > 10, manifest.base]).toEqual([true, undefined]);
  // 400 pages of a step in the queue, the list of tables and the checks: below the 1,000 of an invocation.
  expect(most).toBeLessThanOrEqual(3 + tables + 20);
  expect(400 + 2 * tables + 20).toBeLessThan(1_000);
  await keepDirectoryAge(context);

  later(HOUR_MS);
  await addPeople(added, ++added);
  await DIRECTORY.prepare('UPDATE login_guard SET count = 4').run();
  const hourly = (await snapshot(context, 400)).manifest;
  expect(hourly.base).toMatch(/^snapshots\/directory\//);
  const journaled = await listJournaledTables(context);
  expect([journaled.length > 20, Object.keys(hourly.pages).filter((table) => journaled.includes(table))]).toEqual([
    true,
    [],
  ]);
  await keepDirectoryAge(context);

  const before = await readPeople();
  await empty();
  const rebuilt = await rebuild(context, () => false);
  expect(rebuilt.steps).toBeGreaterThan(8);
  expect(rebuilt.most).toBeLessThan(tables * 2 + 150);
  expect(await readPeople()).toBe(before);
  expect(await DIRECTORY.prepare('SELECT count FROM login_guard').first('count')).toBe(4);
  expect(rebuilt.report.snapshot).toMatch(/-changes\/$/);
});

test('a full snapshot is written again after a day, and the three newest are kept with the hours between', async () => {
  const { context, later } = makeContext();
  await addPeople(0, 2);
  const bases = new Set<string>();
  for (let hour = 0; hour <= 24 * 4; hour += 8) {
    await keepDirectoryAge(context);
    const { manifest } = await snapshot(context, 400);
    if (manifest.base) bases.add(manifest.base);
    later(8 * HOUR_MS);
  }
  const folders =
    (await context.locations[0]?.list({ prefix: 'snapshots/directory/', delimiter: '/' }))?.delimitedPrefixes ?? [];
  const full = folders.filter((folder) => !folder.endsWith('-changes/'));
  expect([bases.size, full.length]).toEqual([4, 3]);
  expect(folders[0]).toBe(full[0]);
  const before = await readPeople();
  await empty();
  await rebuild(context, () => true);
  expect(await readPeople()).toBe(before);
});

test('a worker that comes late neither continues a snapshot nor ends the step of the next one', async () => {
  const { context, later } = makeContext();
  let isLate = () => {};
  const first = runDirectoryStep(context, 'snapshot', async () => {
    await new Promise<void>((resolve) => {
      isLate = resolve;
    });
    return 'of the first';
  });
  await expect.poll(() => runDirectoryStep(context, 'snapshot', async () => 'too early')).toBe('under_way');
  later(HOUR_MS);
  expect(await runDirectoryStep(context, 'snapshot', async () => 'of the second')).toEqual({ state: 'of the second' });
  isLate();
  expect(await first).toBe('under_way');
  expect(await runDirectoryStep(context, 'snapshot', async (state) => state)).toEqual({ state: 'of the second' });
});

test('a database that was put back while its snapshot was written does not continue it', async () => {
  const { context } = makeContext();
  await addPeople(0, PEOPLE);
  await keepDirectoryAge(context);
  expect(await directorySnapshotStep(context, { pagesMax: 3 })).toBe('unfinished');
  const task = await DIRECTORY.prepare('SELECT state FROM directory_task').first<string>('state');
  await keepDirectoryAge(context);
  expect(await directorySnapshotStep(context, { pagesMax: 3 })).toBe('unfinished');
  await DIRECTORY.batch([
    DIRECTORY.prepare('UPDATE directory_task SET state = ?').bind(task),
    DIRECTORY.prepare('UPDATE age SET number = number - 1 WHERE one = 1'),
  ]);
  await expect(directorySnapshotStep(context, { pagesMax: 3 })).rejects.toThrow('an older copy');
});
