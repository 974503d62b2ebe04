/** Touch gestures on the list: a swipe on a row, and pulling the list down to refresh it. */
import { type PointerEvent, type RefObject, useEffect, useRef, useState } from 'react';
import { showError } from '../../shared/toasts.tsx';
import { act } from '../actions/actions.ts';
import { refreshFolders, refreshList } from '../model/list-reading.ts';
import type { Row } from '../model/rows.ts';

const SWIPE_PX = 90;
const PULL_PX = 72;
/** Maximum distance in pixels by which the pulled list moves. It follows the finger at half its speed. */
const PULL_SHOWN_PX_MAX = 60;

/** A swipe to the left archives a row, to the right marks it as read or unread. */
export function useSwipe(row: Row) {
  const start = useRef<{ x: number; y: number } | null>(null);
  const rest = (element: HTMLElement) => {
    start.current = null;
    element.style.translate = '';
    delete element.dataset.swipe;
  };
  return {
    onPointerDown: (event: PointerEvent) => {
      start.current = event.pointerType === 'touch' ? { x: event.clientX, y: event.clientY } : null;
    },
    onPointerMove: (event: PointerEvent<HTMLElement>) => {
      if (!start.current) return;
      const dx = event.clientX - start.current.x;
      if (Math.abs(dx) <= Math.abs(event.clientY - start.current.y)) return;
      const element = event.currentTarget;
      element.style.translate = `${dx}px 0`;
      element.dataset.swipe = Math.abs(dx) < SWIPE_PX ? 'begun' : 'enough';
    },
    onPointerUp: (event: PointerEvent<HTMLElement>) => {
      const dx = start.current ? event.clientX - start.current.x : 0;
      rest(event.currentTarget);
      if (dx < -SWIPE_PX) act.archive([row]);
      if (dx > SWIPE_PX) act.toggleRead([row]);
    },
    onPointerCancel: (event: PointerEvent<HTMLElement>) => rest(event.currentTarget),
  };
}

export type Pull = 'none' | 'pulling' | 'ready' | 'reading';

/** Reloads the list when it is pulled down at its top. */
export function usePull(list: RefObject<HTMLElement | null>): Pull {
  const [pull, setPull] = useState<Pull>('none');
  useEffect(() => {
    const element = list.current;
    if (!element) return;
    let startY: number | null = null;
    let isReady = false;
    const onStart = (event: TouchEvent) => {
      startY = element.scrollTop <= 0 ? (event.touches[0]?.clientY ?? null) : null;
      isReady = false;
    };
    const onMove = (event: TouchEvent) => {
      const distance = startY === null ? 0 : (event.touches[0]?.clientY ?? 0) - startY;
      if (distance <= 0 || element.scrollTop > 0) return;
      isReady = distance > PULL_PX;
      element.style.setProperty('--pull', `${Math.min(distance / 2, PULL_SHOWN_PX_MAX)}px`);
      setPull(isReady ? 'ready' : 'pulling');
    };
    const onEnd = () => {
      element.style.removeProperty('--pull');
      startY = null;
      if (!isReady) {
        setPull('none');
        return;
      }
      isReady = false;
      setPull('reading');
      Promise.all([refreshFolders(), refreshList()])
        .catch(showError)
        .finally(() => setPull('none'));
    };
    const options = { passive: true };
    element.addEventListener('touchstart', onStart, options);
    element.addEventListener('touchmove', onMove, options);
    element.addEventListener('touchend', onEnd);
    element.addEventListener('touchcancel', onEnd);
    return () => {
      element.removeEventListener('touchstart', onStart);
      element.removeEventListener('touchmove', onMove);
      element.removeEventListener('touchend', onEnd);
      element.removeEventListener('touchcancel', onEnd);
    };
  }, [list]);
  return pull;
}
