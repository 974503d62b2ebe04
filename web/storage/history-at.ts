/** Computes the content of a prefix at a past moment, from the list of all its versions. Pure. */
import type { Restoration } from './jobs.ts';

export interface HistoryVersion {
  key: string;
  versionId: string;
  isMarker: boolean;
  size: number;
  modifiedAt: string;
}

/** All versions by object key, newest first, as S3 lists them. */
export type History = ReadonlyMap<string, readonly HistoryVersion[]>;

export function toHistory(versions: readonly HistoryVersion[]): History {
  const history = new Map<string, HistoryVersion[]>();
  for (const version of versions) {
    const known = history.get(version.key);
    if (known) known.push(version);
    else history.set(version.key, [version]);
  }
  return history;
}

/** Lists the moments at which an object changed, oldest first. */
export const momentsOf = (versions: readonly HistoryVersion[]): string[] =>
  [...new Set(versions.map(({ modifiedAt }) => modifiedAt))].sort((a, b) => Date.parse(a) - Date.parse(b));

export interface Difference {
  key: string;
  kind: 'deleted' | 'changed' | 'added';
  /** The version that the object had at the past moment; null if there was no object. */
  then: HistoryVersion | null;
  now: HistoryVersion | null;
  /**
   * Delete markers above the version `then`, if nothing else is above it. Deleting them makes that version the current one again.
   * Null if another version is above it.
   */
  markers: readonly HistoryVersion[] | null;
}

const unlessMarker = (version: HistoryVersion | undefined): HistoryVersion | null =>
  version === undefined || version.isMarker ? null : version;

/** Counts the objects that existed at a moment, and lists the objects that differ now. */
export function historyAt(
  history: History,
  moment: string,
): { count: number; bytes: number; differences: Difference[] } {
  const at = Date.parse(moment);
  const differences: Difference[] = [];
  let [count, bytes] = [0, 0];
  for (const [key, versions] of history) {
    const index = versions.findIndex(({ modifiedAt }) => Date.parse(modifiedAt) <= at);
    const then = index === -1 ? null : unlessMarker(versions[index]);
    const now = unlessMarker(versions[0]);
    if (then) {
      count += 1;
      bytes += then.size;
    }
    if (then === now) continue;
    const kind = then === null ? 'added' : now === null ? 'deleted' : 'changed';
    const above = versions.slice(0, index);
    const markers = then !== null && above.every(({ isMarker }) => isMarker) ? above : null;
    differences.push({ key, kind, then, now, markers });
  }
  return { count, bytes, differences };
}

/** Lists deleted objects: their newest version is a delete marker. Each is described as a difference from its state before. */
export function deletedNow(history: History): Difference[] {
  const differences: Difference[] = [];
  for (const [key, versions] of history) {
    const index = versions.findIndex(({ isMarker }) => !isMarker);
    const then = versions[index];
    if (index > 0 && then)
      differences.push({ key, kind: 'deleted', then, now: null, markers: versions.slice(0, index) });
  }
  return differences;
}

/** Plans how to restore objects. If only delete markers hide the old version, they are removed, because this copies no data. */
export function toRestoration(differences: readonly Difference[]): Restoration {
  const copies: { key: string; versionId: string }[] = [];
  const deletions: { key: string; versionId?: string }[] = [];
  for (const { key, then, markers } of differences) {
    if (then === null) deletions.push({ key });
    else if (markers) for (const { versionId } of markers) deletions.push({ key, versionId });
    else copies.push({ key, versionId: then.versionId });
  }
  return { copies, deletions };
}
