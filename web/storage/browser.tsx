/** Contents of one bucket: folders by prefix, objects, and upload by file chooser or drop. */
import { type DragEvent, useEffect, useRef, useState } from 'react';
import { describeError } from '../shared/api.ts';
import { formatBytes, formatDateTime } from '../shared/format.ts';
import { go, toHash } from '../shared/hash-route.ts';
import { Icon } from '../shared/icons.tsx';
import { useStore } from '../shared/store.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { useLoaded } from '../shared/use-loaded.ts';
import { filesOfDrop, filesOfInput, type NamedFile } from './dropped-files.ts';
import { notifyChange, signedIn } from './key.ts';
import { getVersioning, type Key, type Listing, listObjects, putVersioning, s3 } from './s3.ts';
import { addFiles, createFolder } from './uploads.ts';

/** Reads the first page when the bucket, the prefix or the contents change, and further pages on request. */
function useListing(key: Key, bucket: string, prefix: string) {
  const change = useStore(signedIn, (state) => state.change);
  const folder = `${bucket}/${prefix}`;
  const loaded = useLoaded(
    async () => ({ ...(await listObjects(key, bucket, prefix, null)), folder }),
    [key, bucket, prefix, change],
  );
  // Hide the old listing as soon as the bucket or the prefix changes.
  const first = { ...loaded, value: loaded.value?.folder === folder ? loaded.value : null };
  const [more, setMore] = useState<Listing | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new first page makes further pages outdated
  useEffect(() => setMore(null), [first.value]);
  const loadMore = async () => {
    const token = (more ?? first.value)?.next;
    if (!token) return;
    try {
      const page = await listObjects(key, bucket, prefix, token);
      setMore((before) => ({
        folders: [...(before?.folders ?? []), ...page.folders],
        objects: [...(before?.objects ?? []), ...page.objects],
        next: page.next,
      }));
    } catch (error) {
      showError(error);
    }
  };
  const folders = [...(first.value?.folders ?? []), ...(more?.folders ?? [])];
  const objects = [...(first.value?.objects ?? []), ...(more?.objects ?? [])].filter((one) => one.key !== prefix);
  return { ...first, folders, objects, next: (more ?? first.value)?.next ?? null, loadMore };
}

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

function Versioning({ accessKey, bucket }: { accessKey: Key; bucket: string }) {
  const { value, reload } = useLoaded(() => getVersioning(accessKey, bucket), [accessKey, bucket]);
  if (value === null) return null;
  const next = value === 'Enabled' ? 'Suspended' : 'Enabled';
  return (
    <button
      type="button"
      title={value === 'Enabled' ? 'Every version is kept. Click to keep no new ones.' : 'Click to keep every version.'}
      aria-pressed={value === 'Enabled'}
      onClick={() => putVersioning(accessKey, bucket, next).then(reload, showError)}
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
  const { folders, objects, next, loadMore, error, isLoading, value } = useListing(accessKey, bucket, prefix);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [isOver, setOver] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another bucket or prefix starts with nothing selected
  useEffect(() => setSelected(new Set()), [bucket, prefix]);
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
  const removeSelected = async () => {
    const keys = [...selected];
    if (!confirm(`Delete ${keys.length} object${keys.length === 1 ? '' : 's'}?`)) return;
    try {
      for (const key of keys) await s3(accessKey, { method: 'DELETE', bucket, key });
      showToast(`${keys.length} deleted.`);
    } catch (cause) {
      showToast(describeError(cause), { bad: true });
    }
    setSelected(new Set());
    notifyChange();
  };
  const toggle = (key: string) => {
    const changed = new Set(selected);
    if (!changed.delete(key)) changed.add(key);
    setSelected(changed);
  };
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
        <h1 className="visually-hidden">{`${bucket}/${prefix}`}</h1>
        <Crumbs bucket={bucket} prefix={prefix} />
        <span className="grow" />
        <Versioning accessKey={accessKey} bucket={bucket} />
        <button type="button" onClick={() => void makeFolder()}>
          New folder
        </button>
        <Choose label="Upload a folder" isFolder onFiles={upload} />
        <Choose label="Upload files" onFiles={upload} />
      </header>
      {selected.size > 0 && (
        <div className="row selection" role="status">
          {selected.size} selected
          <button type="button" className="danger" onClick={() => void removeSelected()}>
            Delete
          </button>
        </div>
      )}
      {error && (
        <p className="error-box" role="alert">
          {error}
        </p>
      )}
      {isLoading && !value && <p className="muted">Loading …</p>}
      {value && folders.length === 0 && objects.length === 0 && (
        <p className="drop-hint muted">Nothing here. Drop files or folders to store them.</p>
      )}
      {(folders.length > 0 || objects.length > 0) && (
        <table className="objects">
          <caption className="visually-hidden">Folders and objects</caption>
          <thead>
            <tr>
              <th scope="col" className="check-cell">
                <span className="visually-hidden">Select</span>
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
                <td />
                <th scope="row" className="name-cell">
                  <a href={toHash(['b', bucket], { prefix: folder })}>
                    <Icon name="folder" /> {folder.slice(prefix.length)}
                  </a>
                </th>
                <td />
                <td className="when-cell" />
              </tr>
            ))}
            {objects.map((object) => (
              <tr key={object.key} aria-current={object.key === open ? 'true' : undefined}>
                <td className="check-cell">
                  <input
                    type="checkbox"
                    aria-label={`Select ${object.key}`}
                    checked={selected.has(object.key)}
                    onChange={() => toggle(object.key)}
                  />
                </td>
                <th scope="row" className="name-cell">
                  <a href={toHash(['b', bucket], { prefix, key: object.key })}>
                    <Icon name="file" /> {object.key.slice(prefix.length)}
                  </a>
                </th>
                <td className="numeric">{formatBytes(object.size)}</td>
                <td className="muted when-cell">{formatDateTime(object.modifiedAt)}</td>
              </tr>
            ))}
          </tbody>
        </table>
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
