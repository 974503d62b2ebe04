import { count } from '../domain/counting.ts';

/** Counts in the report of `fsck`. */
export interface FsckReport {
  dry_run: boolean;
  versions_checked: number;
  blobs_checked: number;
  objects_checked: number;
  /** Number of versions that lack data, judged by the databases alone. */
  versions_incomplete: number;
  /** Number of small objects without an intact copy, as reads, packing and scrub found them. */
  versions_damaged: number;
  extents_dangling: number;
  extents_without_blob: number;
  blobs_unreferenced: number;
  /** Number of buckets and users whose quota counts another use than they have. */
  quotas_wrong: number;
  copies_missing: number;
  /** Number of missing copies that background work is going to make. */
  copies_due: number;
  copies_of_wrong_size: number;
  orphans: number;
  orphan_bytes: number;
  foreign_objects: number;
  repaired: number;
  examples: string[];
}

export const emptyFsckReport = (isDryRun: boolean): FsckReport => ({
  dry_run: isDryRun,
  versions_checked: 0,
  blobs_checked: 0,
  objects_checked: 0,
  versions_incomplete: 0,
  versions_damaged: 0,
  extents_dangling: 0,
  extents_without_blob: 0,
  blobs_unreferenced: 0,
  quotas_wrong: 0,
  copies_missing: 0,
  copies_due: 0,
  copies_of_wrong_size: 0,
  orphans: 0,
  orphan_bytes: 0,
  foreign_objects: 0,
  repaired: 0,
  examples: [],
});

const EXAMPLES_MAX = 20;

export function addExample(report: FsckReport, text: string): void {
  if (report.examples.length < EXAMPLES_MAX) report.examples.push(text);
}

const COUNTS = Object.entries(emptyFsckReport(true)).flatMap(([key, value]) =>
  typeof value === 'number' ? [key as Exclude<keyof FsckReport, 'dry_run' | 'examples'>] : [],
);

export function addReport(total: FsckReport, part: FsckReport): void {
  for (const key of COUNTS) count(total, { [key]: part[key] });
  for (const example of part.examples) addExample(total, example);
}
