/**
 * The journal: what changed in a shard since its last snapshot, written to every location about once a minute. With it a
 * rebuild brings back what no blob tells of: inline bytes, deletes, markers, tags, copies, uploads, completions. What a
 * lost database had taken in since the last writing (a minute, and what the queue is late) is not in it.
 *
 * A commit leaves a note in its own batch (`change`), or an inline row, which is its own note. Writing begins a new epoch,
 * so that later commits note under that; reads the rows that the older notes stand for, as they are now; puts them into
 * R2 as `journal/<shard>/<epoch>/<n>.json.gz`; and removes the notes. So a page says "this is how these versions are", and
 * pages may be replayed in the order of their epochs, any number of times, a writing that died included.
 *
 * By design: packing and compaction leave no notes, because volumes tell of themselves.
 */
import { listMetadata, readMetadata, removeMetadata, writeMetadata } from '../engine/blobs/metadata-objects.ts';
import { databaseOf, type EngineContext } from '../engine/model/context.ts';
import {
  advanceEpoch,
  hasChanges,
  type JournalChange,
  type JournalRows,
  type Note,
  readChanged,
  recordRemoved,
  removeChanges,
  replayRows,
  selectInlineChanges,
  selectChanges,
} from '../engine/store/journal-store.ts';
import { recordEpoch } from '../engine/store/shard-owner.ts';
import { readTask, writeTask } from '../engine/store/task-store.ts';

const CHANGES_PER_PAGE = 500;
/** Parts of the versions and uploads of one page: a completion of 10,000 parts has a page to itself. */
const PAGE_ROWS_MAX = 10_000;
const PAGE_BYTES_MAX = 6 * 1024 ** 2;

export interface JournalReport {
  notes: number;
  objects: number;
  bytes: number;
}

interface JournalPage {
  readonly notes: readonly JournalChange[];
  readonly rows: JournalRows;
}

const prefixOf = (shard: number): string => `journal/${shard}/`;
const folderOf = (shard: number, epoch: number): string => `${prefixOf(shard)}${String(epoch).padStart(15, '0')}/`;

export async function writeJournal(context: EngineContext, shard: number): Promise<JournalReport> {
  const report: JournalReport = { notes: 0, objects: 0, bytes: 0 };
  const flushed = (await readTask<number>(context, shard, 'journal flushed')) ?? 0;
  if (!(await hasChanges(context, shard, flushed))) return report;
  const epoch = await advanceEpoch(context, shard);
  await recordEpoch(context, shard, epoch);
  const writePage = async (notes: readonly Note[]) => {
    const page: JournalPage = {
      notes: notes.flatMap(({ bucketId, name, key }) => (bucketId === null ? [] : [[bucketId, name, key] as const])),
      rows: await readChanged(context, shard, notes),
    };
    const key = `${folderOf(shard, epoch)}${String(report.objects).padStart(6, '0')}.json.gz`;
    report.bytes += await writeMetadata(context, key, page);
    report.objects++;
    report.notes += notes.length;
  };
  // Inline rows first: one that goes before its page was read leaves a note, and notes are looked for to the last.
  for (let after = ''; ; ) {
    const { notes, last } = await selectInlineChanges(context, shard, flushed, epoch, after, PAGE_BYTES_MAX);
    if (last === null) break;
    await writePage(notes);
    after = last;
  }
  for (;;) {
    const notes = await selectChanges(context, shard, epoch, CHANGES_PER_PAGE, PAGE_ROWS_MAX);
    if (notes.length === 0) break;
    await writePage(notes);
    await removeChanges(context, shard, notes);
  }
  await writeTask(context, shard, 'journal flushed', epoch);
  return report;
}

/** Epochs of which the locations have a journal, in order. */
export async function listEpochs(context: EngineContext, shard: number): Promise<number[]> {
  const folders = await listMetadata(context, prefixOf(shard), '/');
  return folders.map((folder) => Number(folder.slice(prefixOf(shard).length, -1)));
}

export async function removeEpochs(context: EngineContext, shard: number, before: number): Promise<void> {
  for (const epoch of await listEpochs(context, shard)) {
    if (epoch < before) await removeMetadata(context, folderOf(shard, epoch));
  }
}

/** The pages of the journal that were begun after the epoch `after`, in order. */
export async function listJournal(context: EngineContext, shard: number, after: number): Promise<string[]> {
  const keys = await listMetadata(context, prefixOf(shard));
  return keys.filter((key) => epochOf(shard, key) > after);
}

const epochOf = (shard: number, key: string): number => Number(key.slice(prefixOf(shard).length).split('/')[0]);

/**
 * Puts back a page that was begun after the epoch `after`. Of an older one only what was taken away is remembered: its
 * blobs may still be there. @returns how many notes were replayed, and the page's epoch.
 */
export async function replayJournalPage(
  context: EngineContext,
  shard: number,
  key: string,
  after: number,
): Promise<{ readonly notes: number; readonly epoch: number }> {
  const database = databaseOf(context, shard);
  const epoch = epochOf(shard, key);
  const page = await readMetadata<JournalPage>(context, key);
  if (page === null) throw new Error(`no location has ${key} whole`);
  if (epoch > after) await replayRows(context, shard, page.notes, page.rows);
  const there = new Set(page.rows.version.map((row) => `${row.bucket_id} ${row.name} ${row.ord}`));
  const gone = page.notes.filter(
    ([bucketId, name, note]) => 'vns'.includes(note[0] ?? '') && !there.has(`${bucketId} ${name} ${note.slice(1, 33)}`),
  );
  const statements = recordRemoved(database, gone);
  if (statements.length > 0) await database.batch(statements);
  return { notes: epoch > after ? page.notes.length : 0, epoch };
}
