/**
 * Deletes stored objects that no row names, in rounds over all of them. An empty store proves nothing, so:
 *
 * - Two rounds must find an object, a day apart. The time of the first is a row in DIRECTORY.
 * - A round that found more than 2% of what it scanned deletes nothing and raises an alarm (`limits.ts`).
 * - The first location deletes first. The others follow a day later, unless a row names the object again.
 * - Immediately before each delete the owner is queried again.
 *
 * Every step can be interrupted and repeated.
 */
import { logError, logInfo } from '../telemetry/log.ts';
import { allowedLoss, ORPHAN_WAIT_MS, SECOND_COPY_MS } from './limits.ts';
import type { Candidate, CollectorRow, CollectorStore, FoundOrphan } from './store.ts';

/** Maximum number of keys per delete call of R2. */
const KEYS_PER_DELETE_MAX = 1_000;
/**
 * Maximum number of orphans that are recorded per round. Further ones are only counted, so that a fault does not write millions of
 * rows.
 */
const ORPHANS_RECORDED_MAX = 10_000;

/** Cursor of a round that has scanned every key but has not ended yet. */
const END = '\u{ffff}';
const NOTHING = { keys: [], scanned: 0, next: null };

export interface OrphanSource {
  /** Called before each step of a round. @returns the reason why nothing may be deleted now, or null. */
  findDoubt(): Promise<string | null>;
  /** Scans some keys after the cursor, which is '' at the start of a round. `next` is null at the end of the round. */
  scan(cursor: string): Promise<{ keys: readonly Candidate[]; scanned: number; next: string | null }>;
  /** Asks the owner about keys. @returns keys that the owner does not name, and keys about which it gives no answer now. */
  findOrphans(keys: readonly Candidate[]): Promise<{ orphans: readonly FoundOrphan[]; unknown: readonly string[] }>;
  /** Deletes keys in the first location, or in all others. */
  remove(keys: readonly string[], where: 'first' | 'others'): Promise<void>;
}

export interface OrphanReport {
  scanned: number;
  /** Number of orphans that this step found. */
  found: number;
  /** Number of orphans that this step deleted in the first location. */
  removed: number;
  /** Number of orphans that this step deleted in the other locations, a day after the first. */
  removedElsewhere: number;
  isRoundOver: boolean;
  /** Reason why nothing was deleted; null if deletion was allowed. */
  alarm: string | null;
}

export async function collectOrphans(store: CollectorStore, source: OrphanSource, now: number): Promise<OrphanReport> {
  const report: OrphanReport = {
    scanned: 0,
    found: 0,
    removed: 0,
    removedElsewhere: 0,
    isRoundOver: false,
    alarm: null,
  };
  const row = await store.read();
  report.alarm = await source.findDoubt();
  if (report.alarm !== null) {
    await store.raiseAlarm(report.alarm, { scanned: 0, found: 0 }, now);
    return { ...report, isRoundOver: true };
  }
  report.removedElsewhere = await removeElsewhere(store, source, now);
  const isScanned = row.cursor === END;
  const { keys, scanned, next } = isScanned ? NOTHING : await source.scan(row.cursor);
  const { orphans } = await source.findOrphans(keys);
  Object.assign(report, { scanned, found: orphans.length });
  const room = Math.max(0, ORPHANS_RECORDED_MAX - (await store.countOrphans(row.round)));
  await store.recordOrphans(row.round, orphans.slice(0, room), now);
  const unrecorded = Math.max(0, orphans.length - room);
  if (!(await store.advance(row, next ?? END, scanned, unrecorded))) return report;
  if (next !== null) return report;
  report.isRoundOver = true;
  await endRound(store, source, await store.read(), report, now);
  const { removed, removedElsewhere } = report;
  if (removed + removedElsewhere > 0)
    logInfo('orphans_removed', { collector: row.name, removed, removed_elsewhere: removedElsewhere });
  return report;
}

/** Ends a round: deletes the orphans that are due, or raises the alarm if there are too many. */
async function endRound(
  store: CollectorStore,
  source: OrphanSource,
  row: CollectorRow,
  report: OrphanReport,
  now: number,
): Promise<void> {
  const found = row.unrecorded + (await store.countOrphans(row.round));
  const { scanned } = row;
  if (found > Math.max(allowedLoss(scanned), row.approved)) {
    report.alarm = `${found} of ${scanned} objects have no owner: more than a round may remove`;
    await store.raiseAlarm(report.alarm, { scanned, found }, now);
    // An operator's approval covers only the round that follows it. The candidates keep the time at which they were first found.
    await store.finishRound(row.round, now);
    return;
  }
  await store.forgetUnseen(row.round);
  for (;;) {
    const due = await store.listDue(row.round, now - ORPHAN_WAIT_MS, KEYS_PER_DELETE_MAX);
    if (due.length === 0) break;
    const { orphans, named, unknown } = await askAgain(source, due);
    // If the owner does not answer, the key is forgotten and must be found in two rounds again.
    await store.forget([...named, ...unknown]);
    await source.remove(orphans, 'first');
    await store.markRemoved(orphans, now);
    report.removed += orphans.length;
  }
  await store.finishRound(row.round, now);
  if (row.alarm !== null) await store.clearAlarm();
}

async function removeElsewhere(store: CollectorStore, source: OrphanSource, now: number): Promise<number> {
  const due = await store.listRemoved(now - SECOND_COPY_MS, KEYS_PER_DELETE_MAX);
  if (due.length === 0) return 0;
  const { orphans, named } = await askAgain(source, due);
  // An object that is named again is not an orphan: its copies in the other locations stay, and reads fall back to them.
  if (named.length > 0)
    logError('orphans_named_again', 'rows name objects that the first location deleted', { count: named.length });
  await source.remove(orphans, 'others');
  await store.forget([...orphans, ...named]);
  return orphans.length;
}

async function askAgain(source: OrphanSource, due: readonly Candidate[]) {
  const { orphans, unknown } = await source.findOrphans(due);
  const keys = orphans.map(({ key }) => key);
  const isOther = new Set([...keys, ...unknown]);
  return { orphans: keys, named: due.map(({ key }) => key).filter((key) => !isOther.has(key)), unknown };
}

/** Lists the keys after `after` up to `last`, and perhaps some after `last`. */
export async function listBetween(bucket: R2Bucket, after: string, last: string, limit: number): Promise<Set<string>> {
  const found = new Set<string>();
  for (let startAfter = after; ; ) {
    const page: R2Objects = await bucket.list({ limit, ...(startAfter === '' ? {} : { startAfter }) });
    for (const { key } of page.objects) found.add(key);
    startAfter = page.objects.at(-1)?.key ?? last;
    if (!page.truncated || startAfter >= last) return found;
  }
}
