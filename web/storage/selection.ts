/** Selected rows of the table of objects. */
import { useEffect, useRef, useState } from 'react';
import { formatList } from '../shared/format.ts';
import { fill, plural } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';

/** Selected folders (prefixes) and objects (keys). `isEverything` includes entries that are not loaded. */
export function useSelection(names: readonly string[], place: string) {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [isEverything, setEverything] = useState(false);
  const start = useRef<string | null>(null);
  const clear = () => {
    setSelected(new Set());
    setEverything(false);
    start.current = null;
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: another bucket or prefix starts with nothing selected
  useEffect(clear, [place]);
  const select = (name: string, isRange: boolean) => {
    const from = isRange && start.current !== null ? names.indexOf(start.current) : -1;
    const to = names.indexOf(name);
    const range = from === -1 ? [name] : names.slice(Math.min(from, to), Math.max(from, to) + 1);
    const isOn = !selected.has(name);
    const changed = new Set(selected);
    for (const one of range) {
      if (isOn) changed.add(one);
      else changed.delete(one);
    }
    start.current = name;
    setEverything(false);
    setSelected(changed);
  };
  const selectAll = () => {
    if (selected.size > 0) clear();
    else setSelected(new Set(names));
  };
  return { selected, isEverything, select, selectAll, clear, selectEverything: () => setEverything(true) };
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
