/** Pulls of versions from another S3 server: what a name lacks here, compared with what the source lists. Pure. */
import { epochMsOf } from './version-order.ts';

/** Address of a pull's source. */
export interface PullSource {
  /** Base URL of the server, such as `https://s3.eu-central-1.amazonaws.com`. Buckets are addressed in the path. */
  readonly endpoint: string;
  readonly bucket: string;
  /** Keys to pull begin with it. The job's own prefix replaces it. */
  readonly prefix: string;
  readonly region: string;
  readonly accessKeyId: string;
}

/** Context with which the secret of a job's source is sealed. */
export const toPullContext = (jobId: string): string => `pull-job:${jobId}`;

/** Limits of the speed of a pull; null for none. */
export interface PullRate {
  readonly bytesPerSecond: number | null;
  readonly requestsPerSecond: number | null;
}

/** A version or delete marker that the source lists. */
export interface SourceVersion {
  readonly key: string;
  /** Version id at the source; `null` for a version without one. */
  readonly id: string;
  readonly isMarker: boolean;
  readonly isLatest: boolean;
  readonly size: number;
  /** ETag without quotes; empty for a delete marker. */
  readonly etag: string;
  /** LastModified at the source, in milliseconds since 1970 UTC. */
  readonly modifiedAt: number;
}

/** The version of the source from which a version here was pulled. Kept in its metadata, as `extra.pulled`. */
export interface PulledFrom {
  readonly id: string;
  readonly etag: string;
  readonly at: number;
}

export const toPulledFrom = ({ id, etag, modifiedAt }: SourceVersion): PulledFrom => ({ id, etag, at: modifiedAt });

/** A version that the bucket here has. */
export interface HeldVersion {
  readonly versionId: string;
  readonly isMarker: boolean;
  readonly size: number;
  readonly etag: string;
  /** Null for a version that no pull wrote. */
  readonly pulled: PulledFrom | null;
}

export interface NamePlan {
  /** Versions to pull, in the order in which they must be written: the oldest first. */
  readonly missing: readonly SourceVersion[];
  /** Versions that can no longer be written in their place, because a later one is here. */
  readonly tooLate: readonly SourceVersion[];
  /** Number of versions here that earlier jobs pulled. */
  readonly unchanged: number;
  /** Id of the newest version here, on which the first write depends; null if the name has none. */
  readonly newest: string | null;
  /** Whether the newest version here was written by somebody else. Then nothing is pulled on top of it. */
  readonly isWrittenHere: boolean;
  /** Number of versions here that were pulled and that the source no longer lists. */
  readonly goneAtSource: number;
}

/** Whether a version here is a pulled version of the source. The id `null` is reused, so ETag and time must agree too. */
const isSame = (pulled: PulledFrom, { id, etag, modifiedAt }: SourceVersion): boolean =>
  pulled.id === id && (id !== 'null' || (pulled.etag === etag && pulled.at === modifiedAt));

/**
 * Decides what to pull of one name.
 * @param source its versions at the source, the oldest first. @param held its versions here, the oldest first.
 * @param startedAt time at which the job began. What is later was pulled by the job itself, which has counted it.
 */
export function planName(source: readonly SourceVersion[], held: readonly HeldVersion[], startedAt: number): NamePlan {
  const last = held.at(-1);
  const newest = last?.versionId ?? null;
  const marks = held.flatMap(({ pulled }) => (pulled === null ? [] : [pulled]));
  const nothing = { missing: [], tooLate: [], newest, goneAtSource: 0 };
  if (last !== undefined && last.pulled === null) {
    // The same bytes may have been brought by another program.
    const current = source.at(-1);
    const isEqual = current !== undefined && source.length === 1 && isEqualContent(last, current);
    return { ...nothing, unchanged: isEqual ? 1 : 0, isWrittenHere: !isEqual };
  }
  const isHeld = (version: SourceVersion) => marks.some((mark) => isSame(mark, version));
  const begin = findBegin(source, last?.pulled ?? null);
  const missing = source.slice(begin).filter((version) => !isHeld(version));
  const tooLate = source.slice(0, begin).filter((version) => !isHeld(version));
  return {
    missing,
    tooLate,
    newest,
    unchanged: held.filter(({ pulled, versionId }) => pulled !== null && epochMsOf(versionId) <= startedAt).length,
    isWrittenHere: false,
    // The id `null` is reused, so a version without an id is replaced and not gone.
    goneAtSource: marks.filter((mark) => mark.id !== 'null' && !source.some((version) => isSame(mark, version))).length,
  };
}

const isEqualContent = (held: HeldVersion, version: SourceVersion): boolean =>
  held.isMarker === version.isMarker && held.etag === version.etag && held.size === version.size;

/** Index of the first version of the source that is later than the last one pulled. */
function findBegin(source: readonly SourceVersion[], last: PulledFrom | null): number {
  if (last === null) return 0;
  const at = source.findLastIndex((version) => isSame(last, version));
  if (at >= 0) return at + 1;
  // The source has removed that version.
  return source.findLastIndex(({ modifiedAt }) => modifiedAt <= last.at) + 1;
}

/** Groups versions by key and sorts each group from the oldest to the newest. Servers list each key's newest version first. */
export function groupByName(versions: readonly SourceVersion[]): Map<string, SourceVersion[]> {
  const groups = Map.groupBy(versions, ({ key }) => key);
  for (const [key, group] of groups) {
    // Some servers list delete markers after all versions of the page. The sort is stable, so equal times keep the order of the list.
    const sorted = group
      .reverse()
      .sort((a, b) => a.modifiedAt - b.modifiedAt || Number(a.isLatest) - Number(b.isLatest));
    groups.set(key, sorted);
  }
  return groups;
}

/** Grows the pages of a listing while there is nothing to pull, so that a pass over known versions takes few requests. */
export const nextPageSize = (size: number, didPull: boolean): number =>
  didPull ? PAGE_SIZE_MIN : Math.min(PAGE_SIZE_MAX, size * 2);

export const PAGE_SIZE_MIN = 100;
const PAGE_SIZE_MAX = 500;
