/** The list of a paged collection, with its error, a text for an empty list, and a button for the next page. */
import type { ReactNode } from 'react';
import { operatorTexts } from '../shared/texts/operator.ts';
import type { usePages } from './paged.ts';

const t = operatorTexts.page;

interface Props<T> {
  pages: ReturnType<typeof usePages<T>>;
  label?: string;
  empty: string;
  /** Renders one item as an `<li>` with a key. */
  children: (item: T) => ReactNode;
}

export function PagedList<T>({ pages: { data, error, hasMore, loadMore }, label, empty, children }: Props<T>) {
  return (
    <>
      {error && <p className="error-box">{error}</p>}
      <ul className="card plain-lines" aria-label={label}>
        {data?.map(children)}
        {data?.length === 0 && <li className="muted">{empty}</li>}
      </ul>
      {hasMore && (
        <button type="button" onClick={loadMore}>
          {t.more}
        </button>
      )}
    </>
  );
}
