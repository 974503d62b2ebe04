/** Order of the objects of a listing. S3 lists by name only, so the page orders those that are loaded. Pure. */
import type { Entry } from './s3.ts';

export type SortBy = 'name' | 'size' | 'modified';
export interface Sorting {
  by: SortBy;
  isDescending: boolean;
}

/** The default order: ascending by name, as S3 lists objects. */
export const BY_NAME: Sorting = { by: 'name', isDescending: false };

const COMPARE: Record<SortBy, (a: Entry, b: Entry) => number> = {
  name: (a, b) => compareText(a.key, b.key),
  size: (a, b) => a.size - b.size || compareText(a.key, b.key),
  // Times of a listing have one format, so their texts are in the order of the times.
  modified: (a, b) => compareText(a.modifiedAt, b.modifiedAt) || compareText(a.key, b.key),
};

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export function sortEntries(objects: readonly Entry[], { by, isDescending }: Sorting): readonly Entry[] {
  if (by === 'name') return isDescending ? objects.toReversed() : objects;
  const sorted = objects.toSorted(COMPARE[by]);
  return isDescending ? sorted.reverse() : sorted;
}

/** Sorts folders. They have neither size nor time, so any other order leaves them by name. */
export const sortFolders = (folders: readonly string[], { by, isDescending }: Sorting): readonly string[] =>
  by === 'name' && isDescending ? folders.toReversed() : folders;

/**
 * The order after a click on a column. The same column is reversed; another one begins ascending if it is the name, descending
 * otherwise.
 */
export const nextSorting = (sorting: Sorting, by: SortBy): Sorting =>
  sorting.by === by ? { by, isDescending: !sorting.isDescending } : { by, isDescending: by !== 'name' };
