/**
 * Hourly snapshot of all tables of DIRECTORY, or of another user database, in every location, and the rebuild from it. Keys:
 * `snapshots/directory/<time>/<table>/<n>.json.gz`, and `manifest.json.gz` last. Keys of `DIRECTORY_3` begin with
 * `snapshots/directory-3/`.
 *
 * A snapshot holds secrets encrypted with `MASTER_KEY`, and tokens and passwords as hashes.
 *
 * Gap: a rebuild loses changes since the snapshot, except buckets, which the shards know. A credential revoked since
 * then works again, and a new bucket has no policy. Prefer D1 Time Travel, which is exact to the minute.
 */

import { readNumber } from '../../shared/stores/age-store.ts';
import { logInfo } from '../../shared/telemetry/log.ts';
import { listMetadata, readMetadata, removeMetadata, writeMetadata } from '../engine/blobs/metadata-objects.ts';
import type { EngineContext } from '../engine/model/context.ts';
import type { Row } from '../engine/store/database.ts';
import { forgetDirectoryChanges } from '../engine/store/directory-journal-store.ts';
import {
  alignDirectoryBuckets,
  isDirectoryInUse,
  listDirectoryTables,
  readDirectoryPage,
  restoreDirectoryRows,
} from '../engine/store/directory-store.ts';
import { levelDirectoryAge } from './directory-age.ts';
import { levelGeneration } from './directory-generation.ts';
import { replayDirectoryJournal } from './directory-journal.ts';
import { beginRebuild, beginSnapshot, isRebuilding, snapshotsOf, takeOverSnapshots } from './directory-owner.ts';
import { SnapshotRefused } from './snapshot-refused.ts';

/** Number of hourly snapshots that are kept: two days. */
const KEPT = 48;

interface DirectoryManifest {
  readonly finished_at: number;
  /** Age of the database at the start of the snapshot. The journal has what changed since. */
  readonly number?: number;
  readonly pages: Readonly<Record<string, number>>;
  readonly rows: Readonly<Record<string, number>>;
}

const pageKey = (folder: string, table: string, page: number): string =>
  `${folder}${table}/${String(page).padStart(6, '0')}.json.gz`;

/**
 * Refuses a snapshot if DIRECTORY is empty, another database or an older copy, because the old snapshots must stay then.
 * @throws SnapshotRefused
 */
export async function snapshotDirectory(context: EngineContext): Promise<DirectoryManifest> {
  const folder = `${snapshotsOf(context)}${new Date(context.now()).toISOString()}/`;
  const doubt = await beginSnapshot(context, folder);
  if (doubt !== null) throw new SnapshotRefused(doubt);
  const number = (await readNumber(context.directory, 'directory')) ?? 0;
  const pages: Record<string, number> = {};
  const rows: Record<string, number> = {};
  for (const table of await listDirectoryTables(context)) {
    pages[table] = 0;
    rows[table] = 0;
    for (let after: number | null = 0; after !== null; ) {
      const page = await readDirectoryPage(context, table, after);
      if (page.rows.length > 0) await writeMetadata(context, pageKey(folder, table, pages[table]++), page.rows);
      rows[table] += page.rows.length;
      after = page.next;
    }
  }
  const manifest = { finished_at: context.now(), number, pages, rows };
  await writeMetadata(context, `${folder}manifest.json.gz`, manifest);
  const folders = await listMetadata(context, snapshotsOf(context), '/');
  for (const old of folders.slice(0, -KEPT)) await removeMetadata(context, old);
  logInfo('directory_snapshot_written', {
    directory: context.directoryNumber,
    users: rows.user ?? 0,
    buckets: rows.bucket ?? 0,
  });
  return manifest;
}

/** Finds the newest finished snapshot of the user database. @returns the time at which it was finished; undefined if there is none. */
export async function findDirectorySnapshot(context: EngineContext): Promise<number | undefined> {
  for (const folder of (await listMetadata(context, snapshotsOf(context), '/')).reverse()) {
    const manifest = await readMetadata<DirectoryManifest>(context, `${folder}manifest.json.gz`);
    if (manifest) return manifest.finished_at;
  }
}

export interface DirectoryReport {
  snapshot: string | null;
  rows_restored: number;
  /** Number of changes that came from the journal since the snapshot. */
  changes_replayed: number;
  /** Number of buckets that were not in the snapshot and came from the shards. */
  buckets_recovered: number;
}

export type DirectoryOutcome =
  | { readonly ok: true; readonly report: DirectoryReport }
  | { readonly ok: false; readonly error: { readonly kind: 'not_empty' } };

/** Ends a restored job that was open when the snapshot was written, because it may have been cancelled since. */
const stopJob = (row: Row, now: number): Row =>
  row.ended_at === null ? { ...row, state: 'failed', error: 'directory_rebuilt', ended_at: Math.trunc(now) } : row;

/** Fills an empty DIRECTORY from its newest snapshot. An interrupted rebuild can be repeated. */
export async function rebuildDirectory(context: EngineContext): Promise<DirectoryOutcome> {
  if ((await isDirectoryInUse(context)) && !(await isRebuilding(context)))
    return { ok: false, error: { kind: 'not_empty' } };
  await beginRebuild(context);
  const report: DirectoryReport = { snapshot: null, rows_restored: 0, changes_replayed: 0, buckets_recovered: 0 };
  const tables = await listDirectoryTables(context);
  for (const folder of (await listMetadata(context, snapshotsOf(context), '/')).reverse()) {
    const manifest = await readMetadata<DirectoryManifest>(context, `${folder}manifest.json.gz`);
    if (!manifest) continue;
    report.snapshot = folder;
    for (const table of tables) {
      for (let page = 0; page < (manifest.pages[table] ?? 0); page++) {
        const rows = await readMetadata<Row[]>(context, pageKey(folder, table, page));
        if (rows === null) throw new Error(`no location has an intact copy of ${pageKey(folder, table, page)}`);
        const restored = table === 'storage_job' ? rows.map((row) => stopJob(row, context.now())) : rows;
        // The row `directory` of the table `collector` is not restored, because it records that a rebuild is in progress.
        const kept = table === 'collector' ? restored.filter(({ name }) => name !== 'directory') : restored;
        await restoreDirectoryRows(context, table, kept);
        report.rows_restored += kept.length;
      }
    }
    if (manifest.number !== undefined) {
      const { changes } = await replayDirectoryJournal(context, manifest.number, () => true);
      report.changes_replayed = changes;
    }
    break;
  }
  // Snapshot and journal have what the restored rows recorded as changes.
  await forgetDirectoryChanges(context);
  if (context.directoryNumber === 0) report.buckets_recovered = await alignDirectoryBuckets(context);
  await levelGeneration(context);
  await takeOverSnapshots(context);
  await levelDirectoryAge(context);
  logInfo('directory_rebuilt', {
    directory: context.directoryNumber,
    rows_restored: report.rows_restored,
    buckets_recovered: report.buckets_recovered,
  });
  return { ok: true, report };
}
