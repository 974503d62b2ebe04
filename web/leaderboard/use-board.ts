/** Hooks for the rows of a board: the live list of the current season, or pages of a past season. */
import { useEffect, useRef, useState } from 'react';
import { describeError } from '../shared/api.ts';
import { useStore } from '../shared/store.ts';
import { showError } from '../shared/toasts.tsx';
import { loadTop, type TopList } from './api.ts';
import { live, watchTop } from './live.ts';

/** Interval at which the data below the top list is read while the page is visible. */
const TICK_MS = 4_000;

/** Returns a counter that increases after `value` has changed, at most once per `everyMs`. */
export function useThrottled(value: unknown, everyMs: number): number {
  const [count, setCount] = useState(0);
  const last = useRef(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new `value` starts the timer
  useEffect(() => {
    const waitMs = Math.max(0, last.current + everyMs - Date.now());
    const timer = setTimeout(() => {
      last.current = Date.now();
      setCount((now) => now + 1);
    }, waitMs);
    return () => clearTimeout(timer);
  }, [value, everyMs]);
  return count;
}

/** Returns a counter that increases at each interval while the page is visible. */
export function useTick(isLive: boolean): number {
  const [tick, setTick] = useState(0);
  useEffect(() => {
    if (!isLive) return;
    const timer = setInterval(() => {
      if (!document.hidden) setTick((now) => now + 1);
    }, TICK_MS);
    return () => clearInterval(timer);
  }, [isLive]);
  return tick;
}

/** Limit of the API for one read of the live list. Players further down are found by searching for them. */
const LIVE_ROWS_MAX = 100;

/** Reads the places below the live top list at intervals, once the visitor asks for them. */
export function useMoreLive(isAsked: boolean, tick: number): TopList['data'] {
  const [rows, setRows] = useState<TopList['data']>([]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new tick starts another read
  useEffect(() => {
    if (!isAsked) {
      setRows([]);
      return;
    }
    let isCurrent = true;
    loadTop({ limit: LIVE_ROWS_MAX }).then(
      (top) => isCurrent && setRows(top.data),
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [isAsked, tick]);
  return rows;
}

/** Joins the live rows with the rows below them, which come from the longer list. */
export function joinRows(top: TopList['data'], longer: TopList['data']): TopList['data'] {
  const shown = new Set(top.map((row) => row.user_id));
  return [...top, ...longer.slice(top.length).filter((row) => !shown.has(row.user_id))];
}

/** Returns the rows of a season: the live list of the current one, or pages of a past one. */
export function useBoard(season: string | null) {
  const current = useStore(live, (state) => state.top);
  const [past, setPast] = useState<TopList | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [more, setMore] = useState<TopList['data']>([]);
  const [cursor, setCursor] = useState<string | null>(null);
  useEffect(() => {
    setMore([]);
    setCursor(null);
    setPast(null);
    setError(null);
    if (season === null) return watchTop();
    let isCurrent = true;
    loadTop({ season, limit: 50 }).then(
      (top) => {
        if (!isCurrent) return;
        setPast(top);
        setCursor(top.next_cursor ?? null);
      },
      (cause: unknown) => isCurrent && setError(describeError(cause)),
    );
    return () => {
      isCurrent = false;
    };
  }, [season]);
  const loadMore = () => {
    if (cursor === null) return;
    loadTop({ season, cursor, limit: 100 }).then((page) => {
      setMore((rows) => [...rows, ...page.data]);
      setCursor(page.next_cursor ?? null);
    }, showError);
  };
  const top = season === null ? current : past;
  return { top, rows: more.length > 0 && top ? [...top.data, ...more] : (top?.data ?? []), error, cursor, loadMore };
}
