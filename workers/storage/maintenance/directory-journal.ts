/**
 * The journal of DIRECTORY, or of another user database: changes since a minute ago, written to every location each minute. A database
 * that was put back to an earlier state gets them again, so that no name is given out twice and what was revoked or erased stays so.
 *
 * A page has the state of rows and not a difference (`directory-journal-store.ts`), so pages can be replayed any number of times in the
 * order of their numbers. Keys: `journal/<database>/<number>/<n>.json.gz`. Pages are kept for 31 days, a day longer than D1 can go back.
 */

import { directoryKeyOf } from '../../shared/collectors/owner-store.ts';
import { readNumber } from '../../shared/stores/age-store.ts';
import { isStoreOlder } from '../../shared/stores/guarded-database.ts';
import { logInfo } from '../../shared/telemetry/log.ts';
import { listMetadata, readMetadata, removeMetadata, writeMetadata } from '../engine/blobs/metadata-objects.ts';
import type { EngineContext } from '../engine/model/context.ts';
import {
  type DirectoryChange,
  type DirectoryPage,
  hasLargeRows,
  listDirectoryChanges,
  readByKeys,
  readReplayed,
  removeDirectoryChanges,
  replayDirectoryPage,
  stopOpenJobs,
  writeReplayed,
} from '../engine/store/directory-journal-store.ts';
import { alignDirectoryBuckets, listDirectoryTables } from '../engine/store/directory-store.ts';
import { levelDirectoryAge, readDirectoryAge } from './directory-age.ts';
import { levelGeneration } from './directory-generation.ts';

const CHANGES_PER_PAGE = 500;
/** Changes of a page in tables with BLOBs, which have up to 64 KB in each row. */
const LARGE_CHANGES_PER_PAGE = 50;
/** Maximum number of pages that a run writes. The next minute writes the others. */
const PAGES_PER_RUN_MAX = 20;
/** Pages after which a replay ends. A number has up to 20, and a page of a few tables some 20 queries, of which a run has 1,000. */
const PAGES_PER_REPLAY_MAX = 20;
const NUMBER_DIGITS = 12;
/** Minutes for which the journal is kept. A number is at most one per minute, except after a doubt. */
const KEPT_NUMBERS = 31 * 24 * 60;
/** Numbers between two removals of old pages. */
const REMOVAL_PERIOD = 60;

const prefixOf = (context: EngineContext): string => `journal/${directoryKeyOf(context.directoryNumber)}/`;
const folderOf = (context: EngineContext, number: number): string =>
  `${prefixOf(context)}${String(number).padStart(NUMBER_DIGITS, '0')}/`;
const numberOf = (context: EngineContext, folder: string): number =>
  Number(folder.slice(prefixOf(context).length).split('/')[0]);

/**
 * Writes what changed before the number of the database was raised.
 * @param number the new number.
 */
export async function writeDirectoryJournal(context: EngineContext, number: number): Promise<number> {
  let written = 0;
  for (let page = 0; page < PAGES_PER_RUN_MAX; page++) {
    const changes = await fitPage(context, await listDirectoryChanges(context, number, CHANGES_PER_PAGE));
    if (changes.length === 0) break;
    const rows: Record<string, Awaited<ReturnType<typeof readByKeys>>> = {};
    for (const table of new Set(changes.map((change) => change.table))) {
      const keys = changes.filter((change) => change.table === table).map(({ key }) => key);
      rows[table] = await readByKeys(context, table, [...new Set(keys)]);
    }
    const key = `${folderOf(context, number)}${String(page).padStart(6, '0')}.json.gz`;
    await writeMetadata(context, key, { changes: changes.map(({ table, key }) => [table, key]), rows });
    await removeDirectoryChanges(context, changes);
    written += changes.length;
  }
  if (number % REMOVAL_PERIOD === 0) await removeOld(context, number - KEPT_NUMBERS);
  return written;
}

/** Finds the number at which the oldest change that no page has was made, and the present number of the database. */
export async function findOldestChange(context: EngineContext): Promise<{ oldest: number | null; present: number }> {
  const present = (await readNumber(context.directory, 'directory')) ?? 0;
  const [first] = await listDirectoryChanges(context, present + 1, 1);
  return { oldest: first?.number ?? null, present };
}

/** The first changes, without those after the last one that fits into a page because of its BLOB. */
async function fitPage(
  context: EngineContext,
  changes: readonly DirectoryChange[],
): Promise<readonly DirectoryChange[]> {
  const large = new Set<string>();
  for (const table of new Set(changes.map((change) => change.table)))
    if (await hasLargeRows(context, table)) large.add(table);
  let left = LARGE_CHANGES_PER_PAGE;
  const end = changes.findIndex(({ table }) => large.has(table) && left-- === 0);
  return end === -1 ? changes : changes.slice(0, end);
}

async function removeOld(context: EngineContext, before: number): Promise<void> {
  for (const folder of await listMetadata(context, prefixOf(context), '/')) {
    if (numberOf(context, folder) >= before) return;
    await removeMetadata(context, folder);
  }
}

interface Replayed {
  readonly changes: number;
  readonly pages: number;
}

/** Puts the pages of one number into the database. */
async function replayNumber(context: EngineContext, folder: string, tables: readonly string[]): Promise<Replayed> {
  let changes = 0;
  const keys = await listMetadata(context, folder);
  for (const key of keys) {
    const page = await readMetadata<DirectoryPage>(context, key);
    if (page === null) throw new Error(`no location has an intact copy of ${key}`);
    changes += await replayDirectoryPage(context, page, tables);
  }
  return { changes, pages: keys.length };
}

/**
 * Replays the journal after a number, until it has replayed `PAGES_PER_REPLAY_MAX` pages.
 * @param mayContinue is called between numbers.
 * @returns the number of replayed changes, and whether the end was reached.
 */
export async function replayDirectoryJournal(
  context: EngineContext,
  after: number,
  mayContinue: () => boolean,
): Promise<{ readonly changes: number; readonly isDone: boolean }> {
  const tables = await listDirectoryTables(context);
  let changes = 0;
  let pages = 0;
  for (const folder of await listMetadata(context, prefixOf(context), '/')) {
    const number = numberOf(context, folder);
    if (number <= after) continue;
    const replayed = await replayNumber(context, folder, tables);
    changes += replayed.changes;
    pages += Math.max(1, replayed.pages);
    await writeReplayed(context, number);
    if (pages >= PAGES_PER_REPLAY_MAX || !mayContinue()) return { changes, isDone: false };
  }
  return { changes, isDone: true };
}

export interface DirectoryReplay {
  readonly changes_replayed: number;
  /** Number of buckets that only the shards knew. */
  readonly buckets_recovered: number;
  readonly isDone: boolean;
}

/**
 * Replays the journal into a database that was put back, and lets it serve again. The next call continues. Has no effect on a database
 * that is not older than its number outside.
 */
export async function replayDirectory(
  context: EngineContext,
  env: Env,
  mayContinue: () => boolean,
): Promise<DirectoryReplay> {
  const number = (await readNumber(context.directory, 'directory')) ?? 0;
  if (number >= (await readDirectoryAge(context))) return { changes_replayed: 0, buckets_recovered: 0, isDone: true };
  const after = Math.max(number, await readReplayed(context));
  const { changes, isDone } = await replayDirectoryJournal(context, after, mayContinue);
  if (!isDone) return { changes_replayed: changes, buckets_recovered: 0, isDone };
  await stopOpenJobs(context, context.now());
  const recovered = await recoverBuckets(context, env);
  await levelGeneration(context);
  await levelDirectoryAge(context);
  logInfo('directory_replayed', { directory: context.directoryNumber, changes, buckets_recovered: recovered });
  return { changes_replayed: changes, buckets_recovered: recovered, isDone };
}

/** Takes buckets that were made after the journal was last written from the shards, unless a shard was put back as well. */
async function recoverBuckets(context: EngineContext, env: Env): Promise<number> {
  if (context.directoryNumber !== 0) return 0;
  const older = await Promise.all(context.shards.map((_, shard) => isStoreOlder(env, `OBJECTS_${shard}`)));
  return older.includes(true) ? 0 : await alignDirectoryBuckets(context);
}
