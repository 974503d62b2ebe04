/** Lists that render only the rows near the screen. All rows of a list have the same height. */
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';

/** Returns the range of rows to render: the visible ones, and some above and below. */
export function visibleRange(scrollTop: number, viewHeight: number, rowHeight: number, count: number, extra = 6) {
  const first = Math.max(0, Math.floor(scrollTop / rowHeight) - extra);
  const last = Math.min(count, Math.ceil((scrollTop + viewHeight) / rowHeight) + extra);
  return { first, last: Math.max(first, last) };
}

/** Scroll position and height of an element that scrolls by itself. */
export function useViewport() {
  const ref = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const read = () => setView({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(read);
    observer.observe(element);
    element.addEventListener('scroll', read, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', read);
    };
  }, []);
  return { ref, view };
}

/** The position changes in steps of this many rows, so that most scroll events render nothing. */
const STEP_ROWS = 10;
/** Rows above and below the screen. A fast wheel moves about as far before the next frame. */
const EXTRA_ROWS = 20;

/**
 * The rows to render of a list that scrolls with the page.
 * @param ref the element that contains all rows.
 * @returns the range, a row at the top of the screen, and a function that reads the position again at once, for a caller that has
 *   scrolled.
 */
export function usePageWindow(ref: RefObject<HTMLElement | null>, rowPx: number, count: number) {
  const [view, setView] = useState({ at: 0, rows: Math.ceil(800 / rowPx) });
  const read = useCallback(() => {
    const box = ref.current?.getBoundingClientRect();
    // A hidden list has no size. It keeps its rows.
    if (!box || box.width === 0) return;
    const top = Math.floor(Math.max(0, -box.top) / rowPx);
    const at = top - (top % STEP_ROWS);
    const rows = Math.ceil(innerHeight / rowPx);
    setView((before) => (before.at === at && before.rows === rows ? before : { at, rows }));
  }, [ref, rowPx]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a shorter list moves the page
  useLayoutEffect(read, [read, count]);
  useEffect(() => {
    // Scroll events do not bubble, so capture those of every element around the list.
    addEventListener('scroll', read, { passive: true, capture: true });
    addEventListener('resize', read);
    return () => {
      removeEventListener('scroll', read, { capture: true });
      removeEventListener('resize', read);
    };
  }, [read]);
  const { first, last } = visibleRange(view.at, view.rows + STEP_ROWS, 1, count, EXTRA_ROWS);
  return { first: Math.min(first, count), last, onScreen: Math.min(view.at, count - 1), read };
}
