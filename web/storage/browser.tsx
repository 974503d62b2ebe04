/** Contents of one bucket: folders by prefix, objects, and upload by file chooser or drop. */
import { type DragEvent, useEffect, useRef, useState } from 'react';
import { go, toHash } from '../shared/hash-route.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { useLoaded } from '../shared/use-loaded.ts';
import { DeleteDialog } from './delete-dialog.tsx';
import { filesOfDrop, filesOfInput, type NamedFile } from './dropped-files.ts';
import { startDeletion } from './jobs.ts';
import { notifyChange } from './key.ts';
import { useListing } from './listing.ts';
import { ObjectTable } from './object-table.tsx';
import { type Entry, getVersioning, type Key, putVersioning, s3, type Versioning } from './s3.ts';
import { describeSelection, useSelection } from './selection.ts';
import { addFiles, createFolder } from './uploads.ts';

function Crumbs({ bucket, prefix }: { bucket: string; prefix: string }) {
  const parts = prefix.split('/').filter(Boolean);
  return (
    <nav className="crumbs" aria-label="Place">
      <a href={toHash([])}>Buckets</a>
      <span aria-hidden="true">/</span>
      <a href={toHash(['b', bucket])}>{bucket}</a>
      {parts.map((part, index) => (
        <span key={parts.slice(0, index + 1).join('/')}>
          <span aria-hidden="true">/ </span>
          <a href={toHash(['b', bucket], { prefix: `${parts.slice(0, index + 1).join('/')}/` })}>{part}</a>
        </span>
      ))}
    </nav>
  );
}

function VersioningButton({
  value,
  onChange,
}: {
  value: Versioning;
  onChange: (next: 'Enabled' | 'Suspended') => void;
}) {
  return (
    <button
      type="button"
      title={value === 'Enabled' ? 'Every version is kept. Click to keep no new ones.' : 'Click to keep every version.'}
      aria-pressed={value === 'Enabled'}
      onClick={() => onChange(value === 'Enabled' ? 'Suspended' : 'Enabled')}
    >
      Versions: {value === 'Enabled' ? 'kept' : value === 'Suspended' ? 'no new ones' : 'not kept'}
    </button>
  );
}

function Choose({
  label,
  isFolder,
  onFiles,
}: {
  label: string;
  isFolder?: boolean;
  onFiles: (files: NamedFile[]) => void;
}) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isFolder) input.current?.setAttribute('webkitdirectory', '');
  }, [isFolder]);
  return (
    <label className="button choose">
      {label}
      <input
        ref={input}
        type="file"
        multiple
        className="visually-hidden"
        onChange={(event) => {
          onFiles(filesOfInput(event.target));
          event.target.value = '';
        }}
      />
    </label>
  );
}

export function Browser({
  accessKey,
  bucket,
  prefix,
  open,
}: {
  accessKey: Key;
  bucket: string;
  prefix: string;
  open: string | null;
}) {
  const [withDeleted, setWithDeleted] = useState(false);
  const { folders, objects, next, loadMore, error, isLoading, value } = useListing(
    accessKey,
    bucket,
    prefix,
    withDeleted,
  );
  const versioning = useLoaded(() => getVersioning(accessKey, bucket), [accessKey, bucket]);
  const hasVersions = Boolean(versioning.value);
  const place = `${bucket}/${prefix}`;
  const names = [...folders, ...objects.map((object) => object.key)];
  const { selected, isEverything, ...selection } = useSelection(names, `${place}/${withDeleted}`);
  const [isDeleting, setDeleting] = useState(false);
  const [isOver, setOver] = useState(false);
  const upload = (files: NamedFile[]) =>
    addFiles(
      bucket,
      files.map(({ name, file }) => ({ name: prefix + name, file })),
    );
  const onDrop = async (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    upload(await filesOfDrop(event.dataTransfer));
  };
  const makeFolder = async () => {
    const name = prompt('Name of the new folder')
      ?.trim()
      .replaceAll(/^\/+|\/+$/g, '');
    if (name) await createFolder(accessKey, bucket, `${prefix}${name}/`).then(notifyChange, showError);
  };
  const count = describeSelection(selected, folders, isEverything ? place : null);
  const removeSelected = (isPermanent: boolean) => {
    const isFolder = new Set(folders);
    const chosen = [...selected];
    const doom = isEverything
      ? { keys: [], prefixes: [prefix] }
      : { keys: chosen.filter((name) => !isFolder.has(name)), prefixes: chosen.filter((name) => isFolder.has(name)) };
    selection.clear();
    void startDeletion(accessKey, bucket, `Delete ${count}`, { ...doom, isPermanent });
  };
  const restore = (object: Entry) =>
    s3(accessKey, { method: 'DELETE', bucket, key: object.key, query: { versionId: object.markerId ?? '' } }).then(
      () => {
        showToast(`${object.key} restored.`);
        notifyChange();
      },
      showError,
    );
  return (
    <section
      className={isOver ? 'browser over' : 'browser'}
      aria-label={`Bucket ${bucket}`}
      aria-busy={isLoading}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={onDrop}
    >
      <header className="row wrap browser-head">
        <Crumbs bucket={bucket} prefix={prefix} />
        <span className="grow" />
        {hasVersions && (
          <label className="check">
            <input type="checkbox" checked={withDeleted} onChange={(event) => setWithDeleted(event.target.checked)} />
            Show deleted
          </label>
        )}
        {versioning.value !== null && (
          <VersioningButton
            value={versioning.value}
            onChange={(next) => putVersioning(accessKey, bucket, next).then(versioning.reload, showError)}
          />
        )}
        <button type="button" onClick={() => void makeFolder()}>
          New folder
        </button>
        <Choose label="Upload a folder" isFolder onFiles={upload} />
        <Choose label="Upload files" onFiles={upload} />
      </header>
      {selected.size > 0 && (
        <div className="row wrap selection">
          <span role="status">{isEverything ? `Everything in ${place} is selected` : `${count} selected`}</span>
          <button type="button" className="danger" onClick={() => setDeleting(true)}>
            Delete…
          </button>
          {next && !isEverything && selected.size === names.length && (
            <button type="button" className="link" onClick={selection.selectEverything}>
              Select everything in {place}, including what is not loaded
            </button>
          )}
          <span className="grow" />
          <button type="button" className="quiet" onClick={selection.clear}>
            Clear selection
          </button>
        </div>
      )}
      {isDeleting && (
        <DeleteDialog
          title={`Delete ${count}?`}
          text={
            folders.some((folder) => selected.has(folder)) || isEverything
              ? 'Folders are deleted with everything in them.'
              : hasVersions
                ? 'The objects get a delete marker. Their versions are kept.'
                : 'This cannot be undone.'
          }
          hasVersions={hasVersions}
          action="Delete"
          onConfirm={removeSelected}
          onClose={() => setDeleting(false)}
        />
      )}
      {error && (
        <p className="error-box" role="alert">
          {error}
        </p>
      )}
      {isLoading && !value && <p className="muted">Loading…</p>}
      {value && folders.length === 0 && objects.length === 0 && (
        <p className="drop-hint muted">Nothing here. Drop files or folders to store them.</p>
      )}
      {(folders.length > 0 || objects.length > 0) && (
        <ObjectTable
          bucket={bucket}
          prefix={prefix}
          folders={folders}
          objects={objects}
          open={open}
          selected={selected}
          onSelect={selection.select}
          onSelectAll={selection.selectAll}
          onRestore={(object) => void restore(object)}
        />
      )}
      <div className="row browser-foot">
        {next && (
          <button type="button" onClick={() => void loadMore()}>
            Show more
          </button>
        )}
        <form
          className="row"
          onSubmit={(event) => {
            event.preventDefault();
            const key = String(new FormData(event.currentTarget).get('key')).trim();
            if (key) go(toHash(['b', bucket], { prefix, key }));
          }}
        >
          <input name="key" aria-label="Open a name, deleted ones too" placeholder="Open a name, deleted ones too" />
        </form>
      </div>
    </section>
  );
}
