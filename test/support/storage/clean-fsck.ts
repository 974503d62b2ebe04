/** Expected fsck counts of a store that lost nothing. Data that is waiting for collection may still be present. */
export const SOUND_FSCK = {
  versions_incomplete: 0,
  versions_damaged: 0,
  extents_dangling: 0,
  extents_without_blob: 0,
  blobs_unreferenced: 0,
  quotas_wrong: 0,
  copies_missing: 0,
} as const;

/** Expected fsck counts of a store that lost nothing and has nothing left to collect. */
export const CLEAN_FSCK = { ...SOUND_FSCK, copies_of_wrong_size: 0, orphans: 0 } as const;
