/** Folders and objects of a listing, with a selection. */
import type { MouseEvent } from 'react';
import { formatBytes, formatDateTime } from '../shared/format.ts';
import { toHash } from '../shared/hash-route.ts';
import { Icon } from '../shared/icons.tsx';
import { fill } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import type { Entry, Key } from './s3.ts';
import type { SortBy, Sorting } from './sorting.ts';
import { Thumbnail } from './thumbnail.tsx';

const t = storageTexts.objects;

interface SelectBoxProps {
  name: string;
  isSelected: boolean;
  onSelect: (name: string, isRange: boolean) => void;
}

/** Selects a row. With Shift, a click selects all rows since the last one that was clicked. */
function SelectBox({ name, isSelected, onSelect }: SelectBoxProps) {
  return (
    <td className="check-cell">
      <input
        type="checkbox"
        aria-label={fill(t.select, { name })}
        checked={isSelected}
        onChange={() => undefined}
        onClick={(event: MouseEvent) => onSelect(name, event.shiftKey)}
      />
    </td>
  );
}

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

interface Props {
  accessKey: Key;
  bucket: string;
  prefix: string;
  folders: readonly string[];
  objects: readonly Entry[];
  /** Key of the object that is shown beside the table. */
  open: string | null;
  /** Selected rows: prefixes of folders and keys of objects. */
  selected: ReadonlySet<string>;
  sorting: Sorting;
  onSort: (by: SortBy) => void;
  onSelect: (name: string, isRange: boolean) => void;
  onSelectAll: () => void;
  onRestore: (object: Entry) => void;
}

export function ObjectTable({ accessKey, bucket, prefix, folders, objects, open, selected, sorting, ...on }: Props) {
  const count = folders.length + objects.length;
  const order = { sorting, onSort: on.onSort };
  return (
    <table className="objects">
      <caption className="visually-hidden">{t.caption}</caption>
      <thead>
        <tr>
          <th scope="col" className="check-cell">
            <input
              type="checkbox"
              aria-label={t.selectAll}
              checked={selected.size > 0 && selected.size === count}
              ref={(element) => {
                if (element) element.indeterminate = selected.size > 0 && selected.size < count;
              }}
              onChange={on.onSelectAll}
            />
          </th>
          <Heading by="name" label={t.name} {...order} />
          <Heading by="size" label={t.size} className="numeric" {...order} />
          <Heading by="modified" label={t.modified} className="when-cell" {...order} />
        </tr>
      </thead>
      <tbody>
        {folders.map((folder) => (
          <tr key={folder}>
            <SelectBox name={folder} isSelected={selected.has(folder)} onSelect={on.onSelect} />
            <th scope="row" className="name-cell">
              <a href={toHash(['b', bucket], { prefix: folder })}>
                <Icon name="folder" /> <bdi>{folder.slice(prefix.length)}</bdi>
              </a>
            </th>
            <td />
            <td className="when-cell" />
          </tr>
        ))}
        {objects.map((object) => (
          <tr
            key={object.key}
            className={object.markerId === undefined ? undefined : 'deleted'}
            aria-current={object.key === open ? 'true' : undefined}
          >
            <SelectBox name={object.key} isSelected={selected.has(object.key)} onSelect={on.onSelect} />
            <th scope="row" className="name-cell">
              <a href={toHash(['b', bucket], { prefix, key: object.key })}>
                <Thumbnail accessKey={accessKey} bucket={bucket} object={object} />{' '}
                <bdi className="name-text">{object.key.slice(prefix.length)}</bdi>
              </a>{' '}
              {object.markerId !== undefined && <span className="badge bad">{t.deleted}</span>}
            </th>
            <td className="numeric">
              {object.markerId === undefined ? (
                formatBytes(object.size)
              ) : (
                <button type="button" className="small row-action" onClick={() => on.onRestore(object)}>
                  {t.restore}
                  <span className="visually-hidden"> {object.key}</span>
                </button>
              )}
            </td>
            <td className="muted when-cell">{formatDateTime(object.modifiedAt)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
