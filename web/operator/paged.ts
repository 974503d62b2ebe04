/** Loads further pages of a collection, one after another. */
import { useCallback, useEffect, useState } from 'react';
import { describeError, type Page } from '../shared/api.ts';
import { showError } from '../shared/toasts.tsx';
import { requestJson } from './token.ts';

export function usePages<T>(path: string) {
  const [data, setData] = useState<T[] | null>(null);
  const [cursor, setCursor] = useState<string | null>(null);
  const [error, setError] = useState<string | null>(null);
  const reload = useCallback(() => {
    requestJson<Page<T>>(path).then(
      (page) => {
        setData(page.data);
        setCursor(page.next_cursor);
        setError(null);
      },
      (cause: unknown) => setError(describeError(cause)),
    );
  }, [path]);
  useEffect(reload, [reload]);
  const loadMore = () => {
    if (cursor === null) return;
    const joint = path.includes('?') ? '&' : '?';
    requestJson<Page<T>>(`${path}${joint}cursor=${encodeURIComponent(cursor)}`).then((page) => {
      setData((before) => [...(before ?? []), ...page.data]);
      setCursor(page.next_cursor);
    }, showError);
  };
  return { data, error, reload, hasMore: cursor !== null, loadMore };
}
