/** Dialogs of the mail page: keys, move to a folder, labels. */
import { useState } from 'react';
import { Dialog } from '../../shared/dialog.tsx';
import { focusOnAppearing } from '../../shared/focus.ts';
import { useStore } from '../../shared/store.ts';
import { texts } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { mailbox, sortFolders } from '../model/mailbox.ts';
import { view } from '../model/view.ts';
import { act } from './actions.ts';
import { shortcuts } from './keys.ts';

const { keys: t } = mailTexts;
const writingKeys = () => [
  { keys: 'Ctrl+Enter', title: t.send },
  { keys: 'Ctrl+Shift+C', title: t.cc },
  { keys: 'Ctrl+Shift+B', title: t.bcc },
  { keys: 'Esc', title: t.close },
  { keys: 'Ctrl+K', title: t.palette },
];

export function KeysDialog() {
  return (
    <Dialog title={texts.app.menu.keys} onClose={() => view.set({ isHelpOpen: false })}>
      <dl className="keys">
        {[...shortcuts(), ...writingKeys()].map(({ keys, title }) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{title}</dd>
          </div>
        ))}
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
    <Dialog title={t.moveTo} onClose={close}>
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
          aria-label={t.folder}
          placeholder={t.folder}
          value={filter}
          onChange={(event) => setFilter(event.target.value)}
        />
        <ul className="plain-list choices">
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
                <bdi>{folder.name}</bdi>
              </button>
            </li>
          ))}
        </ul>
      </form>
    </Dialog>
  );
}

/** Dialog that labels the selected conversations. It lists all labels of the loaded messages, and has a field for a new one. */
export function LabelDialog() {
  const rows = act.chosen();
  const messages = useStore(mailbox, (state) => state.messages);
  const known = [...new Set(messages.flatMap((message) => message.labels))].sort((a, b) => a.localeCompare(b));
  const threads = new Set(rows.map((row) => row.threadId));
  const chosen = messages.filter((message) => threads.has(message.thread_id));
  const close = () => view.set({ isLabelOpen: false });
  return (
    <Dialog title={t.labels} onClose={close}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const label = String(new FormData(event.currentTarget).get('label') ?? '').trim();
          if (label) act.label(label, true);
          close();
        }}
      >
        <ul className="plain-list">
          {known.map((label) => (
            <li key={label}>
              <label className="check">
                <input
                  type="checkbox"
                  checked={chosen.some((message) => message.labels.includes(label))}
                  onChange={(event) => act.label(label, event.target.checked)}
                />
                {label}
              </label>
            </li>
          ))}
        </ul>
        <div className="row">
          <input ref={focusOnAppearing} name="label" maxLength={100} aria-label={t.newLabel} placeholder={t.newLabel} />
          <button type="submit">{t.done}</button>
        </div>
      </form>
    </Dialog>
  );
}
