/** Counts in the report of the scrub, and the versions that it found lost. */

export interface LostVersion {
  readonly bucket: string;
  readonly name: string;
  readonly object_id: string;
}

export interface ScrubReport {
  blobs: number;
  copies: number;
  bytes: number;
  bad_copies: number;
  missing_copies: number;
  unreachable_copies: number;
  repaired_copies: number;
  lost_blobs: number;
  inline_objects: number;
  /** Number of damaged inline objects, with those that were repaired. */
  inline_damaged: number;
  packed_objects: number;
  packed_damaged: number;
  /** Number of small objects that were repaired from a journal page or snapshot. */
  repaired_objects: number;
  lost_versions: LostVersion[];
}

export const emptyScrubReport = (): ScrubReport => ({
  blobs: 0,
  copies: 0,
  bytes: 0,
  bad_copies: 0,
  missing_copies: 0,
  unreachable_copies: 0,
  repaired_copies: 0,
  lost_blobs: 0,
  inline_objects: 0,
  inline_damaged: 0,
  packed_objects: 0,
  packed_damaged: 0,
  repaired_objects: 0,
  lost_versions: [],
});
