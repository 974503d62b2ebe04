/** Contents of one bucket: folders by prefix, objects, and upload by file chooser or drop. */
import { type DragEvent, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { FileButton } from '../shared/files.tsx';
import { formatCount } from '../shared/format.ts';
import { fill } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { useLoaded } from '../shared/use-loaded.ts';
import { notifyChange } from './changes.ts';
import { DeleteDialog } from './delete-dialog.tsx';
import { filesOfDrop, type NamedFile, toNamedFile } from './dropped-files.ts';
import { startDeletion } from './jobs.ts';
import { useListing } from './listing.ts';
import { ObjectTable } from './object-table.tsx';
import { type Entry, getVersioning, type Key, s3 } from './s3.ts';
import { describeSelection, useSelection } from './selection.ts';
import { Snippet } from './snippet.tsx';
import { uploadCommand } from './snippets.ts';
import { BY_NAME, nextSorting, type SortBy, sortEntries, sortFolders } from './sorting.ts';
import { addFiles, createFolder } from './uploads.ts';

const t = storageTexts.objects;

/** Wait for a pause in typing, so that not every letter sends a request. */
const PAUSE_MS = 250;

/** Prefix that the user searches for in the current folder. It is cleared when another folder is opened. */
function useSearch(place: string): [string, (text: string) => void] {
  const [search, setSearch] = useState({ place, text: '' });
  return [search.place === place ? search.text : '', (text) => setSearch({ place, text })];
}

function SearchField({ place, onSearch }: { place: string; onSearch: (text: string) => void }) {
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <input
      key={place}
      type="search"
      className="find"
      aria-label={t.search}
      placeholder={t.search}
      autoComplete="off"
      spellCheck={false}
      onInput={(event) => {
        const { value } = event.currentTarget;
        clearTimeout(timer.current);
        timer.current = window.setTimeout(() => onSearch(value), PAUSE_MS);
      }}
    />
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
  const [search, setSearch] = useSearch(`${bucket}/${prefix}`);
  const [sorting, setSorting] = useState(BY_NAME);
  const listing = useListing(accessKey, bucket, prefix + search, withDeleted);
  const { next, loadMore, error, isLoading, isListed } = listing;
  const folders = useMemo(() => sortFolders(listing.folders, sorting), [listing.folders, sorting]);
  const objects = useMemo(() => sortEntries(listing.objects, sorting), [listing.objects, sorting]);
  const versioning = useLoaded(() => getVersioning(accessKey, bucket), [accessKey, bucket]);
  const hasVersions = Boolean(versioning.value);
  const place = `${bucket}/${prefix}${search}`;
  const names = useMemo(() => [...folders, ...objects.map((object) => object.key)], [folders, objects]);
  const selection = useSelection(names, `${place}/${withDeleted}`);
  const { selected, isEverything } = selection;
  const [isDeleting, setDeleting] = useState(false);
  const [isOver, setOver] = useState(false);
  const upload = (files: NamedFile[]) =>
    addFiles(
      bucket,
      files.map(({ name, file }) => ({ name: prefix + name, file })),
    );
  const uploadChosen = (files: File[]) => upload(files.map(toNamedFile));
  const onDrop = async (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    upload(await filesOfDrop(event.dataTransfer));
  };
  const makeFolder = async () => {
    const name = prompt(t.folderName)
      ?.trim()
      .replaceAll(/^\/+|\/+$/g, '');
    if (!name) return;
    const folder = `${prefix}${name}/`;
    await createFolder(accessKey, bucket, folder).then(() => notifyChange(bucket, [folder]), showError);
  };
  const count = useMemo(
    () => describeSelection(selected, folders, isEverything ? place : null),
    [selected, folders, isEverything, place],
  );
  const removeSelected = (isPermanent: boolean) => {
    const isFolder = new Set(folders);
    const chosen = [...selected];
    const doom = isEverything
      ? { keys: [], prefixes: [prefix + search] }
      : { keys: chosen.filter((name) => !isFolder.has(name)), prefixes: chosen.filter((name) => isFolder.has(name)) };
    selection.clear();
    void startDeletion(accessKey, bucket, fill(t.deleteJob, { count }), { ...doom, isPermanent });
  };
  const restore = useCallback(
    ({ key, markerId }: Entry) => {
      const undeleted = s3(accessKey, { method: 'DELETE', bucket, key, query: { versionId: markerId ?? '' } });
      void undeleted.then(() => {
        showToast(fill(t.restored, { name: key }));
        notifyChange(bucket, [key]);
      }, showError);
    },
    [accessKey, bucket],
  );
  const sort = useCallback((by: SortBy) => setSorting((before) => nextSorting(before, by)), []);
  return (
    <section
      className={isOver ? 'browser over' : 'browser'}
      aria-label={fill(t.bucket, { bucket })}
      aria-busy={isLoading}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={onDrop}
    >
      <div className="row wrap browser-head">
        <SearchField place={`${bucket}/${prefix}`} onSearch={setSearch} />
        {hasVersions && (
          <label className="check">
            <input type="checkbox" checked={withDeleted} onChange={(event) => setWithDeleted(event.target.checked)} />
            {t.showDeleted}
          </label>
        )}
        <span className="grow" />
        <div className="row browser-actions">
          <button type="button" onClick={() => void makeFolder()}>
            {t.newFolder}
          </button>
          <FileButton label={t.uploadFolder} isFolder onFiles={uploadChosen} />
          <FileButton label={t.uploadFiles} className="primary" onFiles={uploadChosen} />
        </div>
      </div>
      {selected.size > 0 && (
        <div className="row wrap selection">
          <span role="status">
            {isEverything ? fill(t.selectedEverything, { place }) : fill(t.selected, { count })}
          </span>
          <button type="button" className="danger" onClick={() => setDeleting(true)}>
            {t.delete}
          </button>
          {next && !isEverything && selected.size === names.length && (
            <button type="button" className="link" onClick={selection.selectEverything}>
              {fill(t.selectEverything, { place })}
            </button>
          )}
          <span className="grow" />
          <button type="button" className="quiet" onClick={selection.clear}>
            {t.clear}
          </button>
        </div>
      )}
      {isDeleting && (
        <DeleteDialog
          title={fill(t.deleteTitle, { count })}
          text={
            folders.some((folder) => selected.has(folder)) || isEverything
              ? t.deleteFolders
              : hasVersions
                ? t.deleteVersioned
                : t.deletePlain
          }
          hasVersions={hasVersions}
          action={t.deleteAction}
          onConfirm={removeSelected}
          onClose={() => setDeleting(false)}
        />
      )}
      {error && (
        <p className="error-box" role="alert">
          {error}
        </p>
      )}
      {isLoading && !isListed && <p className="muted">{storageTexts.loading}</p>}
      {isListed && folders.length === 0 && objects.length === 0 && (
        <div className="drop-hint stack">
          <p className="muted">{search ? fill(t.noMatch, { text: search }) : t.none}</p>
          {!search && (
            <div className="stack from-terminal">
              <p className="muted">{t.dropHere}</p>
              <Snippet accessKey={accessKey} text={uploadCommand(accessKey, bucket, prefix)} label="aws" />
            </div>
          )}
        </div>
      )}
      {(folders.length > 0 || objects.length > 0) && (
        <ObjectTable
          accessKey={accessKey}
          bucket={bucket}
          prefix={prefix}
          folders={folders}
          objects={objects}
          names={names}
          hasMore={next !== null}
          open={open}
          selection={selection}
          sorting={sorting}
          onSort={sort}
          onRestore={restore}
        />
      )}
      {next && (
        <div className="row wrap browser-foot">
          <button type="button" onClick={() => void loadMore()}>
            {t.more}
          </button>
          {(sorting.by !== 'name' || sorting.isDescending) && (
            <span className="muted small">{fill(t.sortedPart, { count: formatCount(names.length) })}</span>
          )}
          <button type="button" className="quiet" onClick={() => void listing.loadAll()}>
            {t.loadAll}
          </button>
        </div>
      )}
    </section>
  );
}
