/**
 * Snapshot of a shard's metadata in every location. `rebuild.ts` starts from it when the database is lost.
 *
 * Keys: `snapshots/<shard>/<time>/<table>/<n>.json.gz`, each a page of rows in the order of the primary key, and
 * `snapshots/<shard>/<time>/manifest.json.gz` last. A snapshot without a manifest is unfinished and not used. The newest three
 * snapshots are kept, and the journal since the oldest of them.
 *
 * By design: a snapshot is written page by page, possibly over many runs, so it covers a span of time. The journal
 * since its start (`epoch`) supplies the changes during that time.
 */

import { logInfo } from '../../shared/telemetry/log.ts';
import { mendRows } from '../engine/actions/small-objects.ts';
import { snapshotFolder, snapshotManifestKey, snapshotPageKey, snapshotPrefix } from '../engine/blobs/metadata-keys.ts';
import { listMetadata, readMetadata, removeMetadata, writeMetadata } from '../engine/blobs/metadata-objects.ts';
import { databaseOf, type EngineContext } from '../engine/model/context.ts';
import { claimShard } from '../engine/store/claims.ts';
import type { Row } from '../engine/store/database.ts';
import { isClaimed } from '../engine/store/journal-store.ts';
import { beginEpoch, findShardDoubt } from '../engine/store/shard-owner.ts';
import { fittingStatement, pageStatement, TABLE_NAMES, type Table } from '../engine/store/table-rows.ts';
import { readTask, writeTask } from '../engine/store/task-store.ts';
import { removeEpochs } from './journal.ts';
import { SnapshotRefused } from './snapshot-refused.ts';

export interface SnapshotManifest {
  readonly shard: number;
  readonly started_at: number;
  readonly finished_at: number;
  /** Epoch of the journal at the start of the snapshot. Changes of this epoch and later ones may be missing from the snapshot. */
  readonly epoch: number;
  readonly pages: Readonly<Record<string, number>>;
  readonly rows: Readonly<Record<string, number>>;
}

/** Stored progress of an unfinished snapshot. */
interface SnapshotState {
  readonly startedAt: number;
  readonly epoch: number;
  readonly table: number;
  readonly after: Row | null;
  readonly pages: Readonly<Record<string, number>>;
  readonly rows: Readonly<Record<string, number>>;
}

const KEPT = 3;
/** Age after which an unfinished snapshot is discarded and started again. */
const AGE_MAX_MS = 20 * 3_600_000;

/**
 * Maximum number of rows per page by table, so that a page has a few megabytes at most: blobs have up to 32 KiB of checksums,
 * versions up to 16 KiB of inline data.
 */
const PAGE_ROWS_MAX: Partial<Record<Table, number>> = { blob: 200 };
const INLINE_BYTES_PER_PAGE = 3_000_000;

async function measurePage(context: EngineContext, shard: number, table: Table, after: Row | null): Promise<number> {
  const limit = PAGE_ROWS_MAX[table] ?? 2000;
  if (table !== 'version') return limit;
  const fitting = fittingStatement(databaseOf(context, shard), after, limit, INLINE_BYTES_PER_PAGE);
  return Math.max(1, (await fitting.first<number>('n')) ?? 0);
}

/** Writes at most `pagesMax` pages of the snapshot. @returns the manifest once the snapshot is finished. */
export async function snapshotStep(
  context: EngineContext,
  shard: number,
  pagesMax: number,
): Promise<SnapshotManifest | null> {
  await requireTrusted(context, shard);
  let state = await readTask<SnapshotState | null>(context, shard, 'snapshot');
  if (state === null || context.now() - state.startedAt > AGE_MAX_MS) {
    const epoch = await beginEpoch(context, shard);
    state = { startedAt: context.now(), epoch, table: 0, after: null, pages: {}, rows: {} };
  }
  for (let page = 0; page < pagesMax; page++) {
    const table = TABLE_NAMES[state.table];
    if (table === undefined) return await finishSnapshot(context, shard, state);
    state = await writePage(context, shard, state, table);
    await writeTask(context, shard, 'snapshot', state);
  }
  return null;
}

/**
 * Refuses a snapshot of an empty or older database, which would replace those of the right one.
 * @throws SnapshotRefused
 */
async function requireTrusted(context: EngineContext, shard: number): Promise<void> {
  if (!(await isClaimed(context, shard))) {
    const claimed = await claimShard(context, shard);
    if (!claimed.ok) throw new SnapshotRefused(claimed.error.reason);
  }
  const doubt = await findShardDoubt(context, shard);
  if (doubt !== null) throw new SnapshotRefused(doubt);
}

async function writePage(
  context: EngineContext,
  shard: number,
  state: SnapshotState,
  table: Table,
): Promise<SnapshotState> {
  const limit = await measurePage(context, shard, table, state.after);
  const database = databaseOf(context, shard);
  const { results } = await pageStatement(database, table, state.after, limit).all<Row>();
  const last = results.at(-1);
  const isEnd = results.length < limit || !last;
  const written = state.pages[table] ?? 0;
  const rows = table === 'version' ? await mendRows(context, shard, results) : results;
  if (last) await writeMetadata(context, snapshotPageKey(snapshotFolder(shard, state.startedAt), table, written), rows);
  return {
    ...state,
    table: isEnd ? state.table + 1 : state.table,
    after: isEnd ? null : keyOf(last),
    pages: { ...state.pages, [table]: written + (last ? 1 : 0) },
    rows: { ...state.rows, [table]: (state.rows[table] ?? 0) + results.length },
  };
}

/**
 * Drops the large columns of a row; none of them is part of a key. The rest is stored as the position after which the next page
 * begins.
 */
const keyOf = (row: Row): Row => {
  const { data: _data, metadata: _metadata, segments: _segments, ...rest } = row;
  return rest;
};

async function finishSnapshot(context: EngineContext, shard: number, state: SnapshotState): Promise<SnapshotManifest> {
  const { startedAt, epoch, pages, rows } = state;
  const manifest: SnapshotManifest = { shard, started_at: startedAt, finished_at: context.now(), epoch, pages, rows };
  await writeMetadata(context, snapshotManifestKey(snapshotFolder(shard, startedAt)), manifest);
  await writeTask(context, shard, 'snapshot', null);
  await removeOldSnapshots(context, shard);
  logInfo('snapshot_written', { shard, versions: rows.version ?? 0, blobs: rows.blob ?? 0 });
  return manifest;
}

/** Writes a whole new snapshot of a shard in one run. */
export async function snapshotShard(context: EngineContext, shard: number): Promise<SnapshotManifest> {
  await writeTask(context, shard, 'snapshot', null);
  for (;;) {
    const manifest = await snapshotStep(context, shard, 100);
    if (manifest) return manifest;
  }
}

async function removeOldSnapshots(context: EngineContext, shard: number): Promise<void> {
  const finished: { folder: string; epoch: number }[] = [];
  const folders = await listMetadata(context, snapshotPrefix(shard), '/');
  for (const folder of folders) {
    const manifest = await readMetadata<SnapshotManifest>(context, snapshotManifestKey(folder));
    if (manifest) finished.push({ folder, epoch: manifest.epoch });
  }
  const oldest = finished.slice(-KEPT)[0];
  if (oldest === undefined) return;
  for (const folder of folders) if (folder < oldest.folder) await removeMetadata(context, folder);
  await removeEpochs(context, shard, oldest.epoch - context.limits.graceMs * 2);
}

/**
 * Finds the epoch from which the journal of a shard is whole: `removeOldSnapshots` removes what is older.
 * @returns 0 if nothing was removed.
 */
export async function findJournalStart(context: EngineContext, shard: number): Promise<number> {
  for (const folder of await listMetadata(context, snapshotPrefix(shard), '/')) {
    const manifest = await readMetadata<SnapshotManifest>(context, snapshotManifestKey(folder));
    if (manifest) return manifest.epoch - context.limits.graceMs * 2;
  }
  return 0;
}

/** Finds the newest finished snapshot of a shard in any location. @returns its manifest; null when there is none. */
export async function findSnapshot(
  context: EngineContext,
  shard: number,
): Promise<{ readonly folder: string; readonly manifest: SnapshotManifest } | null> {
  for (const folder of (await listMetadata(context, snapshotPrefix(shard), '/')).reverse()) {
    const manifest = await readMetadata<SnapshotManifest>(context, snapshotManifestKey(folder));
    if (manifest) return { folder, manifest };
  }
  return null;
}

/** Reads one page of a snapshot from the first location that has it intact. */
export async function readSnapshotPage(
  context: EngineContext,
  folder: string,
  table: Table,
  page: number,
): Promise<Row[]> {
  const key = snapshotPageKey(folder, table, page);
  const rows = await readMetadata<Row[]>(context, key);
  if (rows === null) throw new Error(`no location has an intact copy of ${key}`);
  return rows;
}
