/**
 * Rebuild of an empty DIRECTORY, or of another user database, from its newest snapshot, its journal and the buckets in the shards. It is
 * done in steps that continue each other.
 *
 * Gap: a rebuild loses changes since the journal was last written, except buckets, which the shards know. Tables without a journal are as
 * they were at the snapshot. Prefer D1 Time Travel, which is exact to the minute.
 */

import { logInfo } from '../../shared/telemetry/log.ts';
import { readMetadata } from '../engine/blobs/metadata-objects.ts';
import type { EngineContext } from '../engine/model/context.ts';
import type { Row } from '../engine/store/database.ts';
import { forgetDirectoryChanges, readReplayed } from '../engine/store/directory-journal-store.ts';
import {
  alignDirectoryBuckets,
  isDirectoryInUse,
  listDirectoryTables,
  restoreDirectoryRows,
} from '../engine/store/directory-store.ts';
import { runDirectoryStep } from '../engine/store/directory-task-store.ts';
import type { JobRequest } from '../engine/store/job-store.ts';
import { levelDirectoryAge } from './directory-age.ts';
import { levelGeneration } from './directory-generation.ts';
import { replayDirectoryJournal } from './directory-journal.ts';
import { beginRebuild, isRebuilding, takeOverSnapshots } from './directory-owner.ts';
import { type DirectoryManifest, findDirectorySnapshot, pageKey } from './directory-snapshot.ts';

export interface DirectoryReport {
  readonly snapshot: string | null;
  readonly rows_restored: number;
  /** Number of changes that came from the journal since the snapshot. */
  readonly changes_replayed: number;
  /** Number of buckets that were not in the snapshot and came from the shards. */
  readonly buckets_recovered: number;
}

export type DirectoryOutcome =
  | { readonly ok: true; readonly report: DirectoryReport; readonly isDone: boolean }
  | { readonly ok: false; readonly error: { readonly kind: 'not_empty' | 'under_way' } };

/** The pages of one table that are left to restore. */
interface Part {
  readonly folder: string;
  readonly table: string;
  readonly page: number;
  readonly pages: number;
}

interface RebuildState {
  readonly report: DirectoryReport;
  readonly parts: readonly Part[];
  /** Age of the database at the start of the snapshot; null if the snapshot does not say it. */
  readonly number: number | null;
}

/** Pages that a run restores, each with at most five queries. A run has 1,000. */
const PAGES_PER_RUN_MAX = 150;

/** Removes the secret of a pull's source from a job, because a job that has ended needs none. */
function withoutSecret(job: Row[string] | undefined): string {
  const parsed = JSON.parse(String(job)) as JobRequest;
  if (parsed.order.kind !== 'pull') return String(job);
  const { sealed: _, ...order } = parsed.order;
  return JSON.stringify({ ...parsed, order });
}

/** Ends a restored job that was open when the snapshot was written, because it may have been cancelled since. */
const stopJob = (row: Row, now: number): Row =>
  row.ended_at === null
    ? { ...row, job: withoutSecret(row.job), state: 'failed', error: 'directory_rebuilt', ended_at: Math.trunc(now) }
    : row;

/**
 * Fills an empty DIRECTORY. The next call continues an unfinished or interrupted rebuild.
 * @param mayContinue is called between pages.
 * @returns what was done so far, and whether it is finished.
 */
export async function rebuildDirectory(
  context: EngineContext,
  mayContinue: () => boolean = () => true,
): Promise<DirectoryOutcome> {
  if ((await isDirectoryInUse(context)) && !(await isRebuilding(context)))
    return { ok: false, error: { kind: 'not_empty' } };
  let report: DirectoryReport | null = null;
  const outcome = await runDirectoryStep<RebuildState>(context, 'rebuild', async (last) => {
    const begun = last ?? (await begin(context));
    const restored = await restoreParts(context, begun, mayContinue);
    report = restored.report;
    if (restored.parts.length > 0) return restored;
    const replayed = await replay(context, restored, mayContinue);
    report = replayed.state.report;
    if (!replayed.isDone) return replayed.state;
    report = await finish(context, report);
    return null;
  });
  if (outcome === 'under_way' || report === null) return { ok: false, error: { kind: 'under_way' } };
  return { ok: true, report, isDone: outcome.state === null };
}

async function begin(context: EngineContext): Promise<RebuildState> {
  await beginRebuild(context);
  const report = { snapshot: null, rows_restored: 0, changes_replayed: 0, buckets_recovered: 0 };
  const found = await findDirectorySnapshot(context);
  if (found === null) return { report, parts: [], number: null };
  const { folder, manifest } = found;
  const base = manifest.base === undefined ? null : await readBase(context, manifest.base);
  const parts = (await listDirectoryTables(context)).flatMap((table): Part[] => {
    const own = manifest.pages[table];
    if (own !== undefined || base === null) return [{ folder, table, page: 0, pages: own ?? 0 }];
    return [{ folder: manifest.base ?? '', table, page: 0, pages: base.pages[table] ?? 0 }];
  });
  return { report: { ...report, snapshot: folder }, parts, number: manifest.number ?? null };
}

async function readBase(context: EngineContext, folder: string): Promise<DirectoryManifest> {
  const manifest = await readMetadata<DirectoryManifest>(context, `${folder}manifest.json.gz`);
  if (manifest === null) throw new Error(`no location has an intact copy of ${folder}manifest.json.gz`);
  return manifest;
}

async function restoreParts(
  context: EngineContext,
  state: RebuildState,
  mayContinue: () => boolean,
): Promise<RebuildState> {
  let rows = state.report.rows_restored;
  let restored = 0;
  const parts = [...state.parts];
  for (let part = parts[0]; part !== undefined; part = parts[0]) {
    if (part.page === part.pages) {
      parts.shift();
      continue;
    }
    if (restored++ === PAGES_PER_RUN_MAX || (restored > 1 && !mayContinue())) break;
    rows += await restorePage(context, part);
    parts[0] = { ...part, page: part.page + 1 };
  }
  return { ...state, parts, report: { ...state.report, rows_restored: rows } };
}

async function restorePage(context: EngineContext, { folder, table, page }: Part): Promise<number> {
  const key = pageKey(folder, table, page);
  const rows = await readMetadata<Row[]>(context, key);
  if (rows === null) throw new Error(`no location has an intact copy of ${key}`);
  const restored = table === 'storage_job' ? rows.map((row) => stopJob(row, context.now())) : rows;
  // The row `directory` of the table `collector` is not restored, because it records that a rebuild is in progress.
  const kept = table === 'collector' ? restored.filter(({ name }) => name !== 'directory') : restored;
  await restoreDirectoryRows(context, table, kept);
  return kept.length;
}

async function replay(
  context: EngineContext,
  state: RebuildState,
  mayContinue: () => boolean,
): Promise<{ readonly state: RebuildState; readonly isDone: boolean }> {
  if (state.number === null) return { state, isDone: true };
  const after = Math.max(state.number, await readReplayed(context));
  const { changes, isDone } = await replayDirectoryJournal(context, after, mayContinue);
  const changesReplayed = state.report.changes_replayed + changes;
  return { state: { ...state, report: { ...state.report, changes_replayed: changesReplayed } }, isDone };
}

async function finish(context: EngineContext, report: DirectoryReport): Promise<DirectoryReport> {
  // The journal has what the replayed rows recorded as changes.
  await forgetDirectoryChanges(context);
  const recovered = context.directoryNumber === 0 ? await alignDirectoryBuckets(context) : 0;
  await levelGeneration(context);
  await takeOverSnapshots(context);
  await levelDirectoryAge(context);
  logInfo('directory_rebuilt', {
    directory: context.directoryNumber,
    rows_restored: report.rows_restored,
    buckets_recovered: recovered,
  });
  return { ...report, buckets_recovered: recovered };
}
