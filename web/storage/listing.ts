/** The loaded part of a folder of a bucket. */
import { useEffect, useMemo, useRef, useState } from 'react';
import { listWithDeleted } from './bulk.ts';
import { changes } from './changes.ts';
import { nextOf } from './listing-pages.ts';
import { type ListingReader, NOT_LISTED, readListing } from './listing-reader.ts';
import { type Key, listObjects } from './s3.ts';

/** Limit of entries that {@link useListing} loads if all are requested. */
const ENTRIES_MAX = 100_000;

/**
 * Loads the first page when the bucket or the prefix changes, and further pages on request. When objects change, it reads again what
 * they concern.
 * @param prefix of the names: the folder, followed by the text that the user searches for in it.
 */
export function useListing(key: Key, bucket: string, prefix: string, withDeleted: boolean) {
  const place = `${bucket}/${prefix}/${withDeleted}`;
  const [state, setState] = useState({ place, listed: NOT_LISTED });
  const reader = useRef<ListingReader | null>(null);
  useEffect(() => {
    const list = withDeleted ? listWithDeleted : listObjects;
    const reading = readListing(
      { bucket, prefix },
      (token) => list(key, bucket, prefix, token),
      (listed) => setState({ place: `${bucket}/${prefix}/${withDeleted}`, listed }),
    );
    reader.current = reading;
    const unsubscribe = changes.subscribe(() => reading.refresh(changes.get().latest));
    return () => {
      unsubscribe();
      reading.stop();
    };
  }, [key, bucket, prefix, withDeleted]);
  // Hide the old listing as soon as the bucket or the prefix changes.
  const { pages, error, isLoading } = state.place === place ? state.listed : NOT_LISTED;
  const folders = useMemo(() => [...new Set(pages.flatMap(({ listing }) => listing.folders))], [pages]);
  const objects = useMemo(
    // The object of the folder itself is not in it.
    () =>
      pages
        .flatMap(({ listing }) => listing.objects)
        .filter(({ key: name }) => name !== prefix || !prefix.endsWith('/')),
    [pages, prefix],
  );
  return {
    folders,
    objects,
    error,
    isLoading,
    isListed: pages.length > 0,
    next: nextOf(pages),
    loadMore: () => reader.current?.loadMore(1),
    loadAll: () => reader.current?.loadMore(ENTRIES_MAX),
  };
}
