/** What fsck says of a store that lost nothing: what waits to be reclaimed may still be there. */
export const SOUND_FSCK = {
  versions_incomplete: 0,
  names_misdirected: 0,
  extents_dangling: 0,
  inline_dangling: 0,
  extents_without_blob: 0,
  blobs_unreferenced: 0,
  copies_missing: 0,
} as const;

/** What fsck says of a store that lost nothing and keeps nothing it should not. */
export const CLEAN_FSCK = { ...SOUND_FSCK, copies_of_wrong_size: 0, orphans: 0 } as const;
