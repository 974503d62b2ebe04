/** Keys of the table of objects: arrows, Home, End and Page keys move between rows, and Shift selects the rows in between. */
import { type FocusEvent, type KeyboardEvent, type RefObject, useLayoutEffect, useRef, useState } from 'react';

const CONTROLS = 'input, a, button';

const nameOf = (element: Element | null): string | null => element?.closest<HTMLElement>('tr')?.dataset.name ?? null;

/** Index of the row that a key leads to; null for other keys. */
function toTarget(key: string, at: number, count: number, pageRows: number): number | null {
  const targets: Readonly<Record<string, number>> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    PageDown: at + pageRows,
    PageUp: at - pageRows,
    Home: 0,
    End: count - 1,
  };
  const target = targets[key];
  return target === undefined ? null : Math.max(0, Math.min(count - 1, target));
}

interface Options {
  /** The element that contains the rows. */
  rows: RefObject<HTMLElement | null>;
  names: readonly string[];
  rowPx: number;
  onSelect: (name: string) => void;
  onExtend: (anchor: string, from: string, to: string) => void;
  /** Called after the rows were scrolled. */
  onScrolled: () => void;
}

/** @returns the row that has or had the focus, and handlers for the element that contains the rows. */
export function useRowKeys({ rows, names, rowPx, onSelect, onExtend, onScrolled }: Options) {
  const [active, setActive] = useState<string | null>(null);
  /** The control that gets the focus once its row is rendered, by its position in the row. */
  const wanted = useRef<{ name: string; at: number } | null>(null);
  const anchor = useRef<string | null>(null);
  useLayoutEffect(() => {
    const { current } = wanted;
    if (!current) return;
    wanted.current = null;
    const row = [...(rows.current?.children ?? [])].find((one) => nameOf(one) === current.name);
    const controls = row?.querySelectorAll<HTMLElement>(CONTROLS);
    row?.scrollIntoView({ block: 'nearest' });
    (controls?.[current.at] ?? controls?.[0])?.focus({ preventScroll: true });
    onScrolled();
  });
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const { target } = event;
    if (!(target instanceof HTMLElement) || event.ctrlKey || event.altKey || event.metaKey) return;
    const name = nameOf(target);
    if (name === null) return;
    const controls = [...(target.closest('tr')?.querySelectorAll<HTMLElement>(CONTROLS) ?? [])];
    const column = controls.indexOf(target);
    const isRight = event.key === 'ArrowRight';
    if (isRight || event.key === 'ArrowLeft') {
      const isForward = isRight === (getComputedStyle(target).direction === 'ltr');
      controls[column + (isForward ? 1 : -1)]?.focus();
      return event.preventDefault();
    }
    if (event.key === ' ' && target instanceof HTMLAnchorElement) {
      onSelect(name);
      return event.preventDefault();
    }
    const at = names.indexOf(name);
    const to = toTarget(event.key, at, names.length, Math.max(1, Math.floor(innerHeight / rowPx) - 2));
    const next = to === null ? undefined : names[to];
    if (next === undefined) return;
    event.preventDefault();
    wanted.current = { name: next, at: column };
    if (event.shiftKey) {
      anchor.current ??= name;
      onExtend(anchor.current, name, next);
    } else anchor.current = null;
    setActive(next);
  };
  const onFocus = (event: FocusEvent<HTMLElement>) => setActive(nameOf(event.target as Element));
  return { active, onKeyDown, onFocus };
}
