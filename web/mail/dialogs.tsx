/** The small dialogs of the mail page: the keys, and where to move. */
import { useState } from 'react';
import { Dialog } from '../shared/dialog.tsx';
import { focusOnAppearing } from '../shared/focus.ts';
import { useStore } from '../shared/store.ts';
import { act } from './actions.ts';
import { sortFolders } from './folders.tsx';
import { KEYS } from './keys.ts';
import { mailbox } from './mailbox.ts';
import { view } from './view.ts';

export function KeysDialog() {
  return (
    <Dialog title="Keys" onClose={() => view.set({ isHelpOpen: false })}>
      <dl className="keys">
        {KEYS.map((key) => (
          <div key={key.keys}>
            <dt>
              <kbd>{key.keys}</kbd>
            </dt>
            <dd>{key.does}</dd>
          </div>
        ))}
        <div>
          <dt>
            <kbd>Ctrl Enter</kbd>
          </dt>
          <dd>Send what you write</dd>
        </div>
        <div>
          <dt>
            <kbd>Esc</kbd>
          </dt>
          <dd>Close what you write, keeping it in Drafts</dd>
        </div>
      </dl>
    </Dialog>
  );
}

export function MoveDialog() {
  const folders = useStore(mailbox, (state) => state.folders);
  const [filter, setFilter] = useState('');
  const found = sortFolders(folders).filter(
    (folder) =>
      !['all', 'flagged', 'drafts', 'sent'].includes(folder.role ?? '') &&
      folder.name.toLowerCase().includes(filter.toLowerCase()),
  );
  const close = () => view.set({ isMoveOpen: false });
  return (
    <Dialog title="Move to" onClose={close}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (!found[0]) return;
          close();
          act.move(found[0]);
        }}
      >
        <input
          ref={focusOnAppearing}
          aria-label="Folder"
          placeholder="Folder"
          value={filter}
          onChange={(event) => setFilter(event.target.value)}
        />
        <ul className="plain-list">
          {found.map((folder) => (
            <li key={folder.id}>
              <button
                type="button"
                className="quiet"
                onClick={() => {
                  close();
                  act.move(folder);
                }}
              >
                {folder.name}
              </button>
            </li>
          ))}
        </ul>
      </form>
    </Dialog>
  );
}
