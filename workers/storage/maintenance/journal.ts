/**
 * The journal: changes of a shard since its last snapshot, written to every location about once a minute. A rebuild
 * needs it for what blobs do not describe: inline bytes, deletes, markers, tags, copies, uploads and completions.
 * Changes since the last write are lost with the database: about a minute, plus any delay of the queue.
 *
 * A new version is its own change record, because its id begins with the epoch. Other commits add a change record in their own
 * batch (`change`). Writing starts a new epoch, so that later commits belong to it. It then reads the rows to which the older
 * change records refer, in their present state, puts them into R2 as `journal/<shard>/<epoch>/<n>.json.gz`, and removes the
 * records. Since a page has the state of rows and not a difference, pages can be replayed any number of times in the order of their
 * epochs, including those of an interrupted write.
 *
 * By design: packing and compaction add no change records, because volumes describe themselves.
 */
import { mendRows, recoverRows } from '../engine/actions/small-objects.ts';
import { journalEpochOf, journalFolder, journalPrefix } from '../engine/blobs/metadata-keys.ts';
import { listMetadata, readMetadata, removeMetadata, writeMetadata } from '../engine/blobs/metadata-objects.ts';
import { databaseOf, type EngineContext } from '../engine/model/context.ts';
import {
  type ChangeRecord,
  hasChanges,
  type JournalChange,
  type JournalRows,
  readChanged,
  recordRemoved,
  removeChanges,
  replayRows,
  selectChanges,
  selectNewVersions,
} from '../engine/store/journal-store.ts';
import { beginEpoch } from '../engine/store/shard-owner.ts';
import { readTask, writeTask } from '../engine/store/task-store.ts';

const CHANGES_PER_PAGE = 500;
/**
 * Maximum number of rows per page, including the parts of its versions and uploads. A completion of 10,000 parts gets a page of its
 * own.
 */
const PAGE_ROWS_MAX = 10_000;
const PAGE_BYTES_MAX = 6 * 1024 ** 2;

export interface JournalReport {
  changes: number;
  objects: number;
  bytes: number;
}

interface JournalPage {
  readonly changes: readonly JournalChange[];
  readonly rows: JournalRows;
}

export async function writeJournal(context: EngineContext, shard: number): Promise<JournalReport> {
  const report: JournalReport = { changes: 0, objects: 0, bytes: 0 };
  const flushed = (await readTask<number>(context, shard, 'journal flushed')) ?? 0;
  if (!(await hasChanges(context, shard, flushed))) return report;
  const epoch = await beginEpoch(context, shard);
  const writePage = async (changes: readonly ChangeRecord[]) => {
    const rows = await readChanged(context, shard, changes);
    const page: JournalPage = {
      changes: changes.flatMap(({ bucketId, name, key }) =>
        bucketId === null ? [] : [[bucketId, name, key] as const],
      ),
      rows: { ...rows, version: await mendRows(context, shard, rows.version) },
    };
    const key = `${journalFolder(shard, epoch)}${String(report.objects).padStart(6, '0')}.json.gz`;
    report.bytes += await writeMetadata(context, key, page);
    report.objects++;
    report.changes += changes.length;
  };
  const writeChanges = async (kinds: 'all' | 'emptied slots') => {
    for (;;) {
      const changes = await selectChanges(context, shard, epoch, CHANGES_PER_PAGE, PAGE_ROWS_MAX, kinds);
      if (changes.length === 0) return;
      await writePage(changes);
      await removeChanges(context, shard, changes);
    }
  };
  // Emptied slots are written first, because new versions of such a slot were added after it was emptied.
  await writeChanges('emptied slots');
  // New versions are written next. If one is removed before its page is read, it leaves a change record, and change records are
  // read until none is left.
  for (let after = 0; ; ) {
    const range = { from: flushed, until: epoch, after };
    const { changes, last } = await selectNewVersions(context, shard, range, PAGE_BYTES_MAX, PAGE_ROWS_MAX);
    if (last === null) break;
    await writePage(changes);
    after = last;
  }
  await writeChanges('all');
  await writeTask(context, shard, 'journal flushed', epoch);
  return report;
}

/** Lists the epochs that have a journal in the locations, in ascending order. */
export async function listEpochs(context: EngineContext, shard: number): Promise<number[]> {
  const folders = await listMetadata(context, journalPrefix(shard), '/');
  return folders.map((folder) => Number(folder.slice(journalPrefix(shard).length, -1)));
}

export async function removeEpochs(context: EngineContext, shard: number, before: number): Promise<void> {
  for (const epoch of await listEpochs(context, shard)) {
    if (epoch < before) await removeMetadata(context, journalFolder(shard, epoch));
  }
}

/** Lists the pages of the journal with an epoch later than `after`, in order. */
export async function listJournal(context: EngineContext, shard: number, after: number): Promise<string[]> {
  const keys = await listMetadata(context, journalPrefix(shard));
  return keys.filter((key) => journalEpochOf(shard, key) > after);
}

/**
 * Replays a page of the journal if its epoch is later than `after`. From an older page it only records the removals, because blobs
 * of removed versions may still exist.
 * @returns the number of replayed change records, and the epoch of the page.
 */
export async function replayJournalPage(
  context: EngineContext,
  shard: number,
  key: string,
  after: number,
): Promise<{ readonly changes: number; readonly epoch: number }> {
  const database = databaseOf(context, shard);
  const epoch = journalEpochOf(shard, key);
  const page = await readMetadata<JournalPage>(context, key);
  if (page === null) throw new Error(`no location has an intact copy of ${key}`);
  if (epoch > after) {
    const version = await recoverRows(context, shard, page.rows.version);
    await replayRows(context, shard, page.changes, { ...page.rows, version });
  }
  const there = new Set(page.rows.version.map((row) => `${row.bucket_id} ${row.name} ${row.ord}`));
  const gone = page.changes.filter(
    ([bucketId, name, key]) => 'vns'.includes(key[0] ?? '') && !there.has(`${bucketId} ${name} ${key.slice(1, 33)}`),
  );
  const statements = recordRemoved(database, gone);
  if (statements.length > 0) await database.batch(statements);
  return { changes: epoch > after ? page.changes.length : 0, epoch };
}
