/** Selected rows of the table of objects. */
import { useEffect, useMemo, useRef, useState } from 'react';
import { formatList } from '../shared/format.ts';
import { fill, plural } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';

export interface Selection {
  /** Selected folders (prefixes) and objects (keys). */
  selected: ReadonlySet<string>;
  /** Whether everything is selected, with entries that are not loaded. */
  isEverything: boolean;
  /** Ticks or unticks a row, or with `isRange` all rows since the last one. */
  select: (name: string, isRange: boolean) => void;
  /** Selects the rows from the anchor up to `to`, in place of those up to `from`. */
  extend: (anchor: string, from: string, to: string) => void;
  selectAll: () => void;
  selectEverything: () => void;
  clear: () => void;
}

const NOTHING: ReadonlySet<string> = new Set();

function rangeOf(names: readonly string[], one: string, other: string): readonly string[] {
  const from = names.indexOf(one);
  const to = names.indexOf(other);
  return from === -1 || to === -1 ? [other] : names.slice(Math.min(from, to), Math.max(from, to) + 1);
}

/** The functions of the selection stay the same, so that rows need not render again. */
export function useSelection(names: readonly string[], place: string): Selection {
  const [selected, setSelected] = useState(NOTHING);
  const [isEverything, setEverything] = useState(false);
  const latest = useRef({ names, selected });
  latest.current = { names, selected };
  const start = useRef<string | null>(null);
  const actions = useMemo(() => {
    const set = (next: ReadonlySet<string>) => {
      setEverything(false);
      setSelected(next);
    };
    const clear = () => {
      set(NOTHING);
      start.current = null;
    };
    const select = (name: string, isRange: boolean) => {
      const now = latest.current;
      const range = isRange && start.current !== null ? rangeOf(now.names, start.current, name) : [name];
      const isOn = !now.selected.has(name);
      const changed = new Set(now.selected);
      for (const one of range) {
        if (isOn) changed.add(one);
        else changed.delete(one);
      }
      start.current = name;
      set(changed);
    };
    const extend = (anchor: string, from: string, to: string) => {
      const now = latest.current;
      const changed = new Set(now.selected);
      for (const one of rangeOf(now.names, anchor, from)) changed.delete(one);
      for (const one of rangeOf(now.names, anchor, to)) changed.add(one);
      start.current = to;
      set(changed);
    };
    const selectAll = () => {
      if (latest.current.selected.size > 0) clear();
      else set(new Set(latest.current.names));
    };
    return { select, extend, selectAll, clear, selectEverything: () => setEverything(true) };
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another bucket or prefix starts with nothing selected
  useEffect(actions.clear, [place]);
  return useMemo(() => ({ ...actions, selected, isEverything }), [actions, selected, isEverything]);
}

/** Describes a selection, for example "3 objects" or "1 folder and 2 objects". */
export function describeSelection(
  selected: ReadonlySet<string>,
  folders: readonly string[],
  everything: string | null,
): string {
  if (everything !== null) return fill(storageTexts.objects.everythingIn, { place: everything });
  const folderCount = folders.filter((folder) => selected.has(folder)).length;
  const objectCount = selected.size - folderCount;
  return formatList([
    folderCount > 0 ? plural(storageTexts.counts.folders, folderCount) : '',
    objectCount > 0 ? plural(storageTexts.counts.objects, objectCount) : '',
  ]);
}
