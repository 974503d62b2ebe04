/** Folders and objects of a listing, with a selection. Only the rows near the screen are in the document. */
import { memo, useId, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { Icon } from '../shared/icons.tsx';
import { storageTexts } from '../shared/texts/storage.ts';
import { usePageWindow } from '../shared/windowed-list.ts';
import { FolderRow, ObjectRow } from './object-row.tsx';
import { useRowKeys } from './row-keys.ts';
import type { Entry, Key } from './s3.ts';
import type { Selection } from './selection.ts';
import type { SortBy, Sorting } from './sorting.ts';

const t = storageTexts.objects;
/** Height of a row before the first one is measured. */
const ROW_PX = 44;

interface HeadingProps {
  by: SortBy;
  label: string;
  className?: string;
  sorting: Sorting;
  onSort: (by: SortBy) => void;
}

/** Heading of a column. A click sorts the table by that column. */
function Heading({ by, label, className, sorting, onSort }: HeadingProps) {
  const isSorted = sorting.by === by;
  const order = sorting.isDescending ? 'descending' : 'ascending';
  return (
    <th scope="col" className={className} aria-sort={isSorted ? order : undefined}>
      <button type="button" className="quiet sort" onClick={() => onSort(by)}>
        {label}
        {isSorted && <Icon name={sorting.isDescending ? 'down' : 'up'} size={14} />}
      </button>
    </th>
  );
}

/** Keys of the gaps: before all rows, between two, and after all. Those of rows start with another letter. */
const GAPS = ['gap first', 'gap inner', 'gap last'] as const;

/** Takes the place of rows that are not in the document. */
const Gap = ({ heightPx }: { heightPx: number }) => (
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row of a table cannot have the focus
  <tr aria-hidden="true" className="gap" style={{ height: heightPx }}>
    {/* One cell, because a phone hides the column of the times. */}
    <td />
  </tr>
);

interface Props {
  accessKey: Key;
  bucket: string;
  prefix: string;
  folders: readonly string[];
  objects: readonly Entry[];
  /** Names of all rows: folders, then objects. */
  names: readonly string[];
  /** Whether further rows can be loaded, so that their number is unknown. */
  hasMore: boolean;
  /** Key of the object that is shown beside the table. */
  open: string | null;
  selection: Selection;
  sorting: Sorting;
  onSort: (by: SortBy) => void;
  onRestore: (object: Entry) => void;
}

/** The rows to render, and the row that has the focus, even if it is not near the screen. */
function toShown(first: number, last: number, activeAt: number): number[] {
  const shown = Array.from({ length: last - first }, (_, at) => first + at);
  if (activeAt === -1 || (activeAt >= first && activeAt < last)) return shown;
  return activeAt < first ? [activeAt, ...shown] : [...shown, activeAt];
}

function Rows({ accessKey, bucket, prefix, folders, objects, names, open, selection, onRestore }: Props) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [rowPx, setRowPx] = useState(ROW_PX);
  const { first, last, onScreen, read } = usePageWindow(body, rowPx, names.length);
  const { active, ...handlers } = useRowKeys({
    rows: body,
    names,
    rowPx,
    onSelect: (name) => selection.select(name, false),
    onExtend: selection.extend,
    onScrolled: read,
  });
  const activeAt = useMemo(() => (active === null ? -1 : names.indexOf(active)), [names, active]);
  // The height depends on the font size of the browser.
  useLayoutEffect(() => {
    const height = body.current?.querySelector('tr[data-name]')?.getBoundingClientRect().height ?? 0;
    if (height > 0) setRowPx(height);
  });
  const shown = toShown(first, last, activeAt);
  const tabStop = activeAt === -1 ? onScreen : activeAt;
  return (
    <tbody ref={body} {...handlers}>
      {shown.flatMap((at, place) => {
        const above = at - ((shown[place - 1] ?? -1) + 1);
        const name = names[at] ?? '';
        const object = objects[at - folders.length];
        const row = { rowIndex: at + 2, bucket, prefix, isSelected: selection.selected.has(name) };
        const common = { ...row, isTabStop: at === tabStop, onSelect: selection.select };
        const gap = above > 0 ? [<Gap key={place === 0 ? GAPS[0] : GAPS[1]} heightPx={above * rowPx} />] : [];
        if (at < folders.length) return [...gap, <FolderRow key={`folder ${name}`} folder={name} {...common} />];
        if (!object) return gap;
        const isOpen = name === open;
        return [...gap, <ObjectRow key={`object ${name}`} {...{ accessKey, object, isOpen, onRestore }} {...common} />];
      })}
      <Gap key={GAPS[2]} heightPx={(names.length - 1 - (shown.at(-1) ?? -1)) * rowPx} />
    </tbody>
  );
}

export const ObjectTable = memo(function ObjectTable(props: Props) {
  const { names, hasMore, selection, sorting, onSort } = props;
  const { selected } = selection;
  const keysId = useId();
  const order = { sorting, onSort };
  return (
    <>
      <p id={keysId} hidden>
        {t.tableKeys}
      </p>
      <table className="objects" aria-rowcount={hasMore ? -1 : names.length + 1} aria-describedby={keysId}>
        <caption className="visually-hidden">{t.caption}</caption>
        <thead>
          <tr aria-rowindex={1}>
            <th scope="col" className="check-cell">
              <input
                type="checkbox"
                aria-label={t.selectAll}
                checked={selected.size > 0 && selected.size === names.length}
                ref={(element) => {
                  if (element) element.indeterminate = selected.size > 0 && selected.size < names.length;
                }}
                onChange={selection.selectAll}
              />
            </th>
            <Heading by="name" label={t.name} {...order} />
            <Heading by="size" label={t.size} className="numeric size-cell" {...order} />
            <Heading by="modified" label={t.modified} className="when-cell" {...order} />
          </tr>
        </thead>
        <Rows {...props} />
      </table>
    </>
  );
});
