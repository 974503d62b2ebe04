/** Rows of the table of objects. They are memoised: a row renders again only if it changes itself. */
import { type MouseEvent, memo } from 'react';
import { formatBytes, formatDateTime } from '../shared/format.ts';
import { toHash } from '../shared/hash-route.ts';
import { Icon } from '../shared/icons.tsx';
import { fill } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import type { Entry, Key } from './s3.ts';
import { Thumbnail } from './thumbnail.tsx';

const t = storageTexts.objects;

interface RowProps {
  /** Position in the table, from 1; the heading is row 1. */
  rowIndex: number;
  bucket: string;
  prefix: string;
  isSelected: boolean;
  /** Roving tab index: the Tab key stops at the controls of only one row of the table. */
  isTabStop: boolean;
  onSelect: (name: string, isRange: boolean) => void;
}

interface SelectBoxProps extends Pick<RowProps, 'isSelected' | 'isTabStop' | 'onSelect'> {
  name: string;
}

/** Selects a row. With Shift, a click selects all rows since the last one that was clicked. */
function SelectBox({ name, isSelected, isTabStop, onSelect }: SelectBoxProps) {
  return (
    <td className="check-cell">
      <input
        type="checkbox"
        aria-label={fill(t.select, { name })}
        checked={isSelected}
        tabIndex={isTabStop ? 0 : -1}
        onChange={() => undefined}
        onClick={(event: MouseEvent) => onSelect(name, event.shiftKey)}
      />
    </td>
  );
}

export const FolderRow = memo(function FolderRow({ folder, rowIndex, ...row }: RowProps & { folder: string }) {
  const { bucket, prefix, isTabStop } = row;
  return (
    <tr aria-rowindex={rowIndex} data-name={folder}>
      <SelectBox name={folder} {...row} />
      <th scope="row" className="name-cell">
        <a href={toHash(['b', bucket], { prefix: folder })} tabIndex={isTabStop ? 0 : -1} title={folder}>
          <Icon name="folder" /> <bdi className="name-text">{folder.slice(prefix.length)}</bdi>
        </a>
      </th>
      <td />
      <td className="when-cell" />
    </tr>
  );
});

interface ObjectRowProps extends RowProps {
  accessKey: Key;
  object: Entry;
  /** Whether the object is shown beside the table. */
  isOpen: boolean;
  onRestore: (object: Entry) => void;
}

export const ObjectRow = memo(function ObjectRow({ accessKey, object, isOpen, onRestore, ...row }: ObjectRowProps) {
  const { rowIndex, bucket, prefix, isTabStop } = row;
  const tabIndex = isTabStop ? 0 : -1;
  const isDeleted = object.markerId !== undefined;
  return (
    <tr
      aria-rowindex={rowIndex}
      data-name={object.key}
      className={isDeleted ? 'deleted' : undefined}
      aria-current={isOpen ? 'true' : undefined}
    >
      <SelectBox name={object.key} {...row} />
      <th scope="row" className="name-cell">
        <a href={toHash(['b', bucket], { prefix, key: object.key })} tabIndex={tabIndex} title={object.key}>
          <Thumbnail accessKey={accessKey} bucket={bucket} object={object} />{' '}
          <bdi className="name-text">{object.key.slice(prefix.length)}</bdi>
        </a>{' '}
        {isDeleted && <span className="badge bad">{t.deleted}</span>}
      </th>
      <td className="numeric">
        {isDeleted ? (
          <button type="button" className="small row-action" tabIndex={tabIndex} onClick={() => onRestore(object)}>
            {t.restore}
            <span className="visually-hidden"> {object.key}</span>
          </button>
        ) : (
          formatBytes(object.size)
        )}
      </td>
      <td className="muted when-cell">{formatDateTime(object.modifiedAt)}</td>
    </tr>
  );
});
