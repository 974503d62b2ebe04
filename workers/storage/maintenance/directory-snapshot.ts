/**
 * Snapshot of DIRECTORY, or of another user database, in every location. `directory-rebuild.ts` starts from it.
 *
 * A full snapshot of all tables is written each day: `snapshots/directory/<time>/<table>/<n>.json.gz`, and `manifest.json.gz` last. Each
 * hour between, `snapshots/directory/<time>-changes/` gets only the tables without a journal, and `changes.json.gz` last, which names the
 * full snapshot. The journal has what changed in the others since then. Keys of `DIRECTORY_3` begin with `snapshots/directory-3/`.
 *
 * A snapshot is written in steps that continue each other, so it covers a span of time. The journal since its start supplies the changes
 * during that time. It holds secrets encrypted with `MASTER_KEY`, and tokens and passwords as hashes.
 *
 * By design: version 0.2.0 knows no `changes.json.gz`, so its rebuild uses the full snapshot.
 */

import { readNumber } from '../../shared/stores/age-store.ts';
import { logInfo } from '../../shared/telemetry/log.ts';
import { listMetadata, readMetadata, removeMetadata, writeMetadata } from '../engine/blobs/metadata-objects.ts';
import type { EngineContext } from '../engine/model/context.ts';
import {
  listDirectoryColumns,
  listDirectoryTables,
  listJournaledTables,
  readDirectoryPage,
} from '../engine/store/directory-store.ts';
import { runDirectoryStep } from '../engine/store/directory-task-store.ts';
import { nameOf, readDirectoryAge } from './directory-age.ts';
import { beginSnapshot, snapshotsOf } from './directory-owner.ts';
import { SnapshotRefused } from './snapshot-refused.ts';

/** Age from which a new full snapshot is written. Cron looks once an hour. */
const FULL_MS = 23.5 * 3_600_000;
/** Age from which an unfinished snapshot is given up. */
const UNFINISHED_MS = 20 * 3_600_000;
/** Number of full snapshots that are kept, with those of the hours since the oldest of them. */
const KEPT_FULL = 3;
/** A table without a journal that has more pages is only in full snapshots. It has a row per mailbox, and mailboxes fill it again. */
const PAGES_PER_HOUR_MAX = 100;
const CHANGES = '-changes/';

export interface DirectoryManifest {
  readonly finished_at: number;
  /** Age of the database at the start of the snapshot. The journal has what changed since. */
  readonly number?: number;
  readonly pages: Readonly<Record<string, number>>;
  readonly rows: Readonly<Record<string, number>>;
  /** Folder of the full snapshot that has the other tables. Absent in a full one. */
  readonly base?: string;
}

/** Progress of a snapshot. */
interface SnapshotState {
  readonly startedAt: number;
  readonly folder: string;
  readonly number: number;
  readonly base?: string;
  /** Tables that are not finished. The first one is being written. */
  readonly tables: readonly string[];
  /** `rowid` of the last row that was written of the first table. */
  readonly after: number;
  readonly pages: Readonly<Record<string, number>>;
  readonly rows: Readonly<Record<string, number>>;
}

export const pageKey = (folder: string, table: string, page: number): string =>
  `${folder}${table}/${String(page).padStart(6, '0')}.json.gz`;

const manifestKey = (folder: string): string =>
  `${folder}${folder.endsWith(CHANGES) ? 'changes.json.gz' : 'manifest.json.gz'}`;

export interface FoundSnapshot {
  readonly folder: string;
  readonly manifest: DirectoryManifest;
}

/** Finds the newest finished snapshot of the user database. @param isFull whether only full ones count. */
export async function findDirectorySnapshot(context: EngineContext, isFull = false): Promise<FoundSnapshot | null> {
  const folders = await listMetadata(context, snapshotsOf(context), '/');
  for (const folder of folders.reverse().filter((each) => !(isFull && each.endsWith(CHANGES)))) {
    const manifest = await readMetadata<DirectoryManifest>(context, manifestKey(folder));
    if (manifest) return { folder, manifest };
  }
  return null;
}

interface SnapshotOptions {
  /** Maximum number of pages that this step writes. Each is one query. */
  readonly pagesMax: number;
  /** Whether a full snapshot is written, whatever the age of the last one. */
  readonly isFull?: boolean;
}

/**
 * Writes at most `pagesMax` pages of the snapshot, and continues one that is unfinished.
 * @returns the manifest once the snapshot is finished; `unfinished` if there is more; `under_way` if another worker writes it.
 * @throws SnapshotRefused if the database is empty, another one or an older copy, because the old snapshots must stay then.
 */
export async function directorySnapshotStep(
  context: EngineContext,
  { pagesMax, isFull = false }: SnapshotOptions,
): Promise<DirectoryManifest | 'unfinished' | 'under_way'> {
  let manifest: DirectoryManifest | null = null;
  const outcome = await runDirectoryStep<SnapshotState>(context, 'snapshot', async (last) => {
    const isKept = last !== null && context.now() - last.startedAt < UNFINISHED_MS;
    const folder = isKept ? last.folder : null;
    let state = folder === null ? await beginState(context, isFull) : (last as SnapshotState);
    await requireTrusted(context, state.folder);
    for (let page = 0; page < pagesMax && state.tables.length > 0; ) {
      const written = await writeTable(context, state, pagesMax - page);
      state = written.state;
      page += written.queries;
    }
    if (state.tables.length > 0) return state;
    manifest = await finish(context, state);
    return null;
  });
  return outcome === 'under_way' ? outcome : (manifest ?? 'unfinished');
}

/** Writes a whole new full snapshot in one run. For databases whose pages one run can write. */
export async function snapshotDirectory(context: EngineContext): Promise<DirectoryManifest> {
  await runDirectoryStep<SnapshotState>(context, 'snapshot', async () => null);
  const manifest = await directorySnapshotStep(context, { pagesMax: Number.POSITIVE_INFINITY, isFull: true });
  if (typeof manifest === 'string') throw new SnapshotRefused(`a snapshot of ${nameOf(context)} is being written`);
  return manifest;
}

async function beginState(context: EngineContext, isFull: boolean): Promise<SnapshotState> {
  const startedAt = context.now();
  const time = `${snapshotsOf(context)}${new Date(startedAt).toISOString()}`;
  const number = (await readNumber(context.directory, 'directory')) ?? 0;
  const all = await listDirectoryTables(context);
  const begun = { startedAt, after: 0, pages: {}, rows: {} };
  const base = isFull ? null : await findDirectorySnapshot(context, true);
  if (base?.manifest.number === undefined || startedAt - base.manifest.finished_at > FULL_MS)
    return { ...begun, folder: `${time}/`, number, tables: all };
  const journaled = await listJournaledTables(context);
  const tables = all.filter((table) => !journaled.includes(table));
  return { ...begun, folder: `${time}${CHANGES}`, number: base.manifest.number, base: base.folder, tables };
}

/** Refuses also a database that was put back while its snapshot was being written. It has the progress of that time. */
async function requireTrusted(context: EngineContext, folder: string): Promise<void> {
  const doubt = await beginSnapshot(context, folder);
  if (doubt !== null) throw new SnapshotRefused(doubt);
  if (((await readNumber(context.directory, 'directory')) ?? 0) < (await readDirectoryAge(context)))
    throw new SnapshotRefused(`${nameOf(context)} is an older copy than its number in the locations`);
}

/** Writes pages of the first table of the state. */
async function writeTable(
  context: EngineContext,
  state: SnapshotState,
  pagesMax: number,
): Promise<{ readonly state: SnapshotState; readonly queries: number }> {
  const [table = '', ...others] = state.tables;
  const columns = await listDirectoryColumns(context, table);
  const isEndless = state.base === undefined;
  let { after } = state;
  let pages = state.pages[table] ?? 0;
  let rows = state.rows[table] ?? 0;
  let queries = 1;
  for (; queries < Math.max(2, pagesMax); ) {
    const page = await readDirectoryPage(context, { table, columns }, after);
    queries++;
    if (page.rows.length > 0) await writeMetadata(context, pageKey(state.folder, table, pages++), page.rows);
    rows += page.rows.length;
    const isSkipped = !isEndless && pages > PAGES_PER_HOUR_MAX;
    if (page.next === null || isSkipped) {
      const found = isSkipped
        ? {}
        : { pages: { ...state.pages, [table]: pages }, rows: { ...state.rows, [table]: rows } };
      return { state: { ...state, ...found, tables: others, after: 0 }, queries };
    }
    after = page.next;
  }
  const kept = { pages: { ...state.pages, [table]: pages }, rows: { ...state.rows, [table]: rows } };
  return { state: { ...state, ...kept, after }, queries };
}

async function finish(context: EngineContext, state: SnapshotState): Promise<DirectoryManifest> {
  const { folder, number, base, pages, rows } = state;
  const manifest = { finished_at: context.now(), number, pages, rows, ...(base === undefined ? {} : { base }) };
  await writeMetadata(context, manifestKey(folder), manifest);
  await removeOld(context);
  logInfo('directory_snapshot_written', {
    directory: context.directoryNumber,
    full: base === undefined,
    users: rows.user ?? 0,
    buckets: rows.bucket ?? 0,
  });
  return manifest;
}

async function removeOld(context: EngineContext): Promise<void> {
  const folders = await listMetadata(context, snapshotsOf(context), '/');
  const full: string[] = [];
  for (const folder of [...folders].reverse()) {
    if (folder.endsWith(CHANGES) || (await readMetadata(context, manifestKey(folder))) === null) continue;
    full.push(folder);
    if (full.length === KEPT_FULL) break;
  }
  const oldest = full[KEPT_FULL - 1];
  if (oldest === undefined) return;
  for (const folder of folders) if (folder < oldest) await removeMetadata(context, folder);
}
