/** The loaded part of a folder of a bucket. */
import { useEffect, useState } from 'react';
import { useStore } from '../shared/store.ts';
import { showError } from '../shared/toasts.tsx';
import { useLoaded } from '../shared/use-loaded.ts';
import { listWithDeleted } from './bulk.ts';
import { signedIn } from './key.ts';
import { type Key, type Listing, listObjects } from './s3.ts';

/** Limit of entries that {@link useListing} loads if all are requested. */
const ENTRIES_MAX = 20_000;

/**
 * Loads the first page when the bucket, the prefix or the contents change, and further pages on request.
 * @param prefix of the names: the folder, followed by the text that the user searches for in it.
 */
export function useListing(key: Key, bucket: string, prefix: string, withDeleted: boolean) {
  const list = withDeleted ? listWithDeleted : listObjects;
  const change = useStore(signedIn, (state) => state.change);
  const folder = `${bucket}/${prefix}/${withDeleted}`;
  const loaded = useLoaded(
    async () => ({ ...(await list(key, bucket, prefix, null)), folder }),
    [key, bucket, prefix, withDeleted, change],
  );
  // Hide the old listing as soon as the bucket or the prefix changes.
  const first = { ...loaded, value: loaded.value?.folder === folder ? loaded.value : null };
  const [more, setMore] = useState<Listing | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new first page makes further pages outdated
  useEffect(() => setMore(null), [first.value]);
  const loadMore = async (countMax = 1) => {
    let token = (more ?? first.value)?.next ?? null;
    let count = 0;
    try {
      do {
        if (!token) return;
        const page: Listing = await list(key, bucket, prefix, token);
        setMore((before) => ({
          folders: [...(before?.folders ?? []), ...page.folders],
          objects: [...(before?.objects ?? []), ...page.objects],
          next: page.next,
        }));
        token = page.next;
        count += page.folders.length + page.objects.length;
      } while (count < countMax);
    } catch (error) {
      showError(error);
    }
  };
  const folders = [...new Set([...(first.value?.folders ?? []), ...(more?.folders ?? [])])];
  const objects = [...(first.value?.objects ?? []), ...(more?.objects ?? [])].filter(
    (one) => one.key !== prefix || !prefix.endsWith('/'),
  );
  return {
    ...first,
    folders,
    objects,
    next: (more ?? first.value)?.next ?? null,
    loadMore,
    loadAll: () => loadMore(ENTRIES_MAX),
  };
}
