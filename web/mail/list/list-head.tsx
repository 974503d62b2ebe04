/** Head of the list: its title, actions on the selected rows, actions on the folder. */
import { callJson } from '../../shared/api.ts';
import { formatCount, formatNumber } from '../../shared/format.ts';
import { go, toHash } from '../../shared/hash-route.ts';
import { useStore } from '../../shared/store.ts';
import { showError, showToast } from '../../shared/toasts.tsx';
import { act } from '../actions/actions.ts';
import type { Folder } from '../model/api.ts';
import { refreshAll, refreshFolders } from '../model/list-reading.ts';
import { mailbox } from '../model/mailbox.ts';
import { view } from '../model/view.ts';

const path = (folder: Folder) => `/v1/folders/${encodeURIComponent(folder.id)}`;

function rename(folder: Folder): void {
  const name = prompt('Name of the folder', folder.name)?.trim();
  if (!name || name === folder.name) return;
  callJson(path(folder), { method: 'PATCH', body: { name } }).then(() => refreshFolders(), showError);
}

function remove(folder: Folder): void {
  if (!confirm(`Delete the folder ${folder.name}? Its mail goes to Trash.`)) return;
  callJson(path(folder), { method: 'DELETE' }).then(() => {
    const { source } = mailbox.get();
    // If the user has opened another folder meanwhile, stay there.
    if (source?.kind === 'folder' && source.folderId === folder.id) go(toHash([]));
    void refreshFolders();
    showToast(`${folder.name} deleted. Its mail is in Trash.`);
  }, showError);
}

function empty(folder: Folder): void {
  if (!confirm(`Erase everything in ${folder.name} for good?`)) return;
  callJson<{ erased: number }>(`${path(folder)}/empty`, { method: 'POST' }).then(({ erased }) => {
    showToast(`${formatNumber(erased, 'message')} erased.`);
    refreshAll();
  }, showError);
}

function FolderActions({ folder }: { folder: Folder }) {
  if (folder.role === null) {
    return (
      <>
        <button type="button" className="quiet small" onClick={() => rename(folder)}>
          Rename
        </button>
        <button type="button" className="quiet small" onClick={() => remove(folder)}>
          Delete
        </button>
      </>
    );
  }
  if ((folder.role !== 'trash' && folder.role !== 'junk') || folder.total === 0) return null;
  return (
    <button type="button" className="quiet small" onClick={() => empty(folder)}>
      Empty
    </button>
  );
}

const CHOSEN_ACTIONS: [string, () => void][] = [
  ['Archive', () => act.archive()],
  ['Delete', () => act.trash()],
  ['Move', () => view.set({ isMoveOpen: true })],
  ['Label', () => view.set({ isLabelOpen: true })],
  ['Read', () => act.toggleRead()],
];

export function ListHead({ title }: { title: string }) {
  const selected = useStore(mailbox, (state) => state.selected);
  const rows = useStore(mailbox, (state) => state.rows);
  const source = useStore(mailbox, (state) => state.source);
  const folders = useStore(mailbox, (state) => state.folders);
  const folder = source?.kind === 'folder' ? folders.find((one) => one.id === source.folderId) : undefined;
  return (
    <div className="list-head">
      <input
        type="checkbox"
        aria-label={selected.size > 0 ? 'Select nothing' : 'Select all that are loaded'}
        checked={selected.size > 0 && selected.size === rows.length}
        ref={(element) => {
          if (element) element.indeterminate = selected.size > 0 && selected.size < rows.length;
        }}
        disabled={rows.length === 0}
        onChange={() => act.selectAll()}
      />
      {selected.size === 0 ? (
        <>
          <h1 className="ellipsis grow">{title}</h1>
          {folder && <FolderActions folder={folder} />}
        </>
      ) : (
        <>
          <h1 className="visually-hidden">{title}</h1>
          <span className="small" role="status">
            {formatCount(selected.size)} selected
          </span>
          {CHOSEN_ACTIONS.map(([name, run]) => (
            <button key={name} type="button" className="quiet small" onClick={run}>
              {name}
            </button>
          ))}
        </>
      )}
    </div>
  );
}
