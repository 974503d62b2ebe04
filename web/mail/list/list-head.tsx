/** Head of the list: its title, actions on the selected rows, actions on the folder. */
import { callJson } from '../../shared/api.ts';
import { formatCount } from '../../shared/format.ts';
import { go, readRoute, toHash } from '../../shared/hash-route.ts';
import { IconButton } from '../../shared/icon-button.tsx';
import type { IconName } from '../../shared/icons.tsx';
import { useStore } from '../../shared/store.ts';
import { fill, plural } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { showError, showToast } from '../../shared/toasts.tsx';
import { act, openSnooze } from '../actions/actions.ts';
import type { Address, Folder } from '../model/api.ts';
import { refreshAll, refreshFolders } from '../model/list-reading.ts';
import { mailbox } from '../model/mailbox.ts';
import type { Row } from '../model/rows.ts';
import { view } from '../model/view.ts';
import { selectWhole } from '../model/whole-selection.ts';
import './list-head.css';

const t = mailTexts.list;

const path = (folder: Folder) => `/v1/folders/${encodeURIComponent(folder.id)}`;

function rename(folder: Folder): void {
  const name = prompt(t.nameFolder, folder.name)?.trim();
  if (!name || name === folder.name) return;
  callJson(path(folder), { method: 'PATCH', body: { name } }).then(() => refreshFolders(), showError);
}

function remove(folder: Folder): void {
  if (!confirm(fill(t.confirmDeleteFolder, { name: folder.name }))) return;
  callJson(path(folder), { method: 'DELETE' }).then(() => {
    // Leave the deleted folder, unless the user has opened another one meanwhile. The address says so first.
    if (readRoute().parts[0] === folder.id) go(toHash([]));
    void refreshFolders();
    showToast(fill(t.folderDeleted, { name: folder.name }));
  }, showError);
}

function empty(folder: Folder): void {
  if (!confirm(fill(t.confirmEmpty, { name: folder.name }))) return;
  callJson<{ erased: number }>(`${path(folder)}/empty`, { method: 'POST' }).then(({ erased }) => {
    showToast(fill(t.erased, { erased: plural(mailTexts.counts.messages, erased) }));
    refreshAll();
  }, showError);
}

function FolderActions({ folder }: { folder: Folder }) {
  if (folder.role === null) {
    return (
      <>
        <button type="button" className="quiet small" onClick={() => rename(folder)}>
          {t.rename}
        </button>
        <button type="button" className="quiet small" onClick={() => remove(folder)}>
          {t.delete}
        </button>
      </>
    );
  }
  if ((folder.role !== 'trash' && folder.role !== 'junk') || folder.total === 0) return null;
  return (
    <button type="button" className="quiet small" onClick={() => empty(folder)}>
      {t.empty}
    </button>
  );
}

const chosenActions = (): [IconName, string, () => void][] => [
  ['archive', t.archive, () => act.archive()],
  ['trash', t.delete, () => act.trash()],
  ['junk', mailTexts.keys.junk, () => act.junk()],
  ['snooze', t.snooze, openSnooze],
  ['move', t.move, () => view.set({ isMoveOpen: true })],
  ['label', t.label, () => view.set({ isLabelOpen: true })],
  ['read', t.read, () => act.toggleRead()],
];

/** The sender of the newest message of all these rows; null if they have several. */
function findSender(rows: readonly Row[]): Address | null {
  const [first, ...others] = rows.map((row) => row.messages[0]?.from ?? null);
  return first && others.every((one) => one?.email === first.email) ? first : null;
}

/** Offers to select also what is not loaded: all of the folder or search, or all of one sender. */
function WholeOffer({ rows, folder }: { rows: readonly Row[]; folder: Folder | undefined }) {
  const selected = useStore(mailbox, (state) => state.selected);
  const whole = useStore(mailbox, (state) => state.whole);
  const isSelecting = useStore(mailbox, (state) => state.isSelecting);
  if (isSelecting) {
    return (
      <p className="whole-offer small muted" role="status">
        {t.selecting}
      </p>
    );
  }
  if (whole?.of === selected) return null;
  const sender = findSender(rows.filter((row) => selected.has(row.threadId)));
  const all = folder ? fill(t.selectFolder, { size: formatCount(folder.total) }) : t.selectSearch;
  return (
    <div className="whole-offer row wrap">
      <button type="button" className="quiet small" onClick={() => void selectWhole(null)}>
        {all}
      </button>
      {sender && (
        <button type="button" className="quiet small ellipsis" onClick={() => void selectWhole(sender.email)}>
          {fill(t.selectSender, { name: sender.name || sender.email })}
        </button>
      )}
    </div>
  );
}

export function ListHead({ title }: { title: string }) {
  const selected = useStore(mailbox, (state) => state.selected);
  const whole = useStore(mailbox, (state) => state.whole);
  const rows = useStore(mailbox, (state) => state.rows);
  const source = useStore(mailbox, (state) => state.source);
  const folders = useStore(mailbox, (state) => state.folders);
  const folder = source?.kind === 'folder' ? folders.find((one) => one.id === source.folderId) : undefined;
  return (
    <div className="list-head">
      <span className="all-mark">
        <input
          type="checkbox"
          aria-label={selected.size > 0 ? t.selectNothing : t.selectAll}
          checked={selected.size > 0 && selected.size === rows.length}
          ref={(element) => {
            if (element) element.indeterminate = selected.size > 0 && selected.size < rows.length;
          }}
          disabled={rows.length === 0}
          onChange={() => act.selectAll()}
        />
      </span>
      {selected.size === 0 ? (
        <>
          <h1 className="ellipsis grow">{title}</h1>
          {folder && <FolderActions folder={folder} />}
        </>
      ) : (
        <>
          <h1 className="visually-hidden">{title}</h1>
          <span className="small" role="status">
            {fill(t.selected, { size: formatCount(whole?.of === selected ? whole.messages.length : selected.size) })}
          </span>
          {chosenActions().map(([icon, name, run]) => (
            <IconButton key={name} icon={icon} label={name} onClick={run} />
          ))}
          <WholeOffer rows={rows} folder={folder} />
        </>
      )}
    </div>
  );
}
