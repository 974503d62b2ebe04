/** Folders and objects of a listing, with a selection. */
import type { MouseEvent } from 'react';
import { formatBytes, formatDateTime } from '../shared/format.ts';
import { toHash } from '../shared/hash-route.ts';
import { Icon } from '../shared/icons.tsx';
import type { Entry } from './s3.ts';

interface SelectBoxProps {
  name: string;
  isSelected: boolean;
  onSelect: (name: string, isRange: boolean) => void;
}

/** With Shift, a click selects all rows since the last one that was clicked. */
function SelectBox({ name, isSelected, onSelect }: SelectBoxProps) {
  return (
    <td className="check-cell">
      <input
        type="checkbox"
        aria-label={`Select ${name}`}
        checked={isSelected}
        onChange={() => undefined}
        onClick={(event: MouseEvent) => onSelect(name, event.shiftKey)}
      />
    </td>
  );
}

interface Props {
  bucket: string;
  prefix: string;
  folders: readonly string[];
  objects: readonly Entry[];
  /** Key of the object that is shown beside the table. */
  open: string | null;
  /** Prefixes of folders and keys of objects. */
  selected: ReadonlySet<string>;
  onSelect: (name: string, isRange: boolean) => void;
  onSelectAll: () => void;
  onRestore: (object: Entry) => void;
}

export function ObjectTable({ bucket, prefix, folders, objects, open, selected, ...on }: Props) {
  const count = folders.length + objects.length;
  return (
    <table className="objects">
      <caption className="visually-hidden">Folders and objects</caption>
      <thead>
        <tr>
          <th scope="col" className="check-cell">
            <input
              type="checkbox"
              aria-label="Select all that are loaded"
              checked={selected.size > 0 && selected.size === count}
              ref={(element) => {
                if (element) element.indeterminate = selected.size > 0 && selected.size < count;
              }}
              onChange={on.onSelectAll}
            />
          </th>
          <th scope="col">Name</th>
          <th scope="col" className="numeric">
            Size
          </th>
          <th scope="col" className="when-cell">
            Changed
          </th>
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
                <Icon name="file" /> <bdi className="name-text">{object.key.slice(prefix.length)}</bdi>
              </a>{' '}
              {object.markerId !== undefined && <span className="badge bad">deleted</span>}
            </th>
            <td className="numeric">
              {object.markerId === undefined ? (
                formatBytes(object.size)
              ) : (
                <button type="button" className="small row-action" onClick={() => on.onRestore(object)}>
                  Restore<span className="visually-hidden"> {object.key}</span>
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
