/** The list of folders, with live counts. */
import { type MouseEvent, type ReactNode, useState } from 'react';
import { callJson } from '../../shared/api.ts';
import { focusOnAppearing } from '../../shared/focus.ts';
import { formatBytes, formatCount } from '../../shared/format.ts';
import { readRoute, toHash, useRoute } from '../../shared/hash-route.ts';
import { Icon, type IconName } from '../../shared/icons.tsx';
import { useStore } from '../../shared/store.ts';
import { fill, texts } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { showError } from '../../shared/toasts.tsx';
import { act, isNarrow, openSnooze } from '../actions/actions.ts';
import { startWriting } from '../compose/compose-state.ts';
import type { Folder } from '../model/api.ts';
import { labels } from '../model/labels.ts';
import { refreshFolders } from '../model/list-reading.ts';
import { mailbox, sortFolders } from '../model/mailbox.ts';
import type { Row } from '../model/rows.ts';
import { session } from '../model/session.ts';
import { view } from '../model/view.ts';
import { useDrop } from './drag.ts';
import { labelView, snoozedView } from './views.ts';

const t = mailTexts.folders;
const SETTINGS = toHash(['settings', 'profile']);

export const folderHash = (folder: Folder) => toHash([folder.role ?? folder.id]);

/** Conversations cannot be dropped on these folders: the server decides which messages they contain. */
const TAKES_NOTHING: readonly Folder['role'][] = ['all', 'flagged', 'drafts', 'sent'];

interface PlaceProps {
  href: string;
  icon: IconName;
  name: string;
  isCurrent: boolean;
  count?: ReactNode;
  effect: 'move' | 'copy';
  onDrop: ((rows: Row[]) => void) | null;
}

/** On a phone, a link to the place that is open already shows it. The address stays the same, so nothing else would. */
function showOpenPlace(event: MouseEvent<HTMLAnchorElement>, href: string): void {
  const { parts, query } = readRoute();
  if (!isNarrow() || href !== toHash(parts.length === 0 ? ['inbox'] : parts, Object.fromEntries(query))) return;
  event.preventDefault();
  view.set({ isFoldersOpen: false, threadId: null, messageId: null });
}

/** A folder, a label or another list. Conversations can be dropped on it. */
function Place({ href, icon, name, isCurrent, count, effect, onDrop }: PlaceProps) {
  const { isOver, handlers } = useDrop(effect, onDrop);
  return (
    <a
      href={href}
      className={isOver ? 'folder drop' : 'folder'}
      aria-current={isCurrent ? 'page' : undefined}
      draggable={false}
      onClick={(event) => showOpenPlace(event, href)}
      {...handlers}
    >
      <span className="sign" aria-hidden="true">
        <Icon name={icon} />
      </span>
      <span className="grow ellipsis" dir="auto">
        {name}
      </span>
      {count}
    </a>
  );
}

function FolderLink({ folder, isCurrent }: { folder: Folder; isCurrent: boolean }) {
  // The folder All has no count, because it repeats the messages of other folders.
  const count = folder.role === 'drafts' ? folder.total : folder.role === 'all' ? 0 : folder.unread;
  return (
    <Place
      href={folderHash(folder)}
      icon={folder.role ?? 'folder'}
      name={folder.name}
      isCurrent={isCurrent}
      effect="move"
      onDrop={TAKES_NOTHING.includes(folder.role) ? null : (rows) => act.move(folder, rows)}
      count={
        count > 0 && (
          <span className={folder.role === 'drafts' ? 'muted small' : 'unread-count'}>
            {formatCount(count)}
            <span className="visually-hidden">
              {folder.role === 'drafts' ? ` ${t.draftsUnit}` : ` ${t.unreadUnit}`}
            </span>
          </span>
        )
      }
    />
  );
}

interface ViewProps {
  icon: IconName;
  name: string;
  view: { q: string; hash: string };
  onDrop: (rows: Row[]) => void;
}

function ViewLink({ icon, name, view: { q, hash }, onDrop }: ViewProps) {
  const isSettings = useRoute().parts[0] === 'settings';
  const isShown = useStore(mailbox, ({ source }) => source?.kind === 'search' && source.q === q);
  const isCurrent = isShown && !isSettings;
  return <Place href={hash} icon={icon} name={name} isCurrent={isCurrent} effect="copy" onDrop={onDrop} />;
}

function NewFolder() {
  const [isOpen, setOpen] = useState(false);
  if (!isOpen) {
    return (
      <button type="button" className="quiet small" onClick={() => setOpen(true)}>
        {t.newFolder}
      </button>
    );
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const name = String(new FormData(event.currentTarget).get('name') ?? '').trim();
        if (!name) return;
        callJson('/v1/folders', { body: { name } }).then(() => {
          setOpen(false);
          void refreshFolders();
        }, showError);
      }}
    >
      <input
        name="name"
        aria-label={t.nameNewFolder}
        ref={focusOnAppearing}
        onBlur={(event) => event.target.value === '' && setOpen(false)}
      />
    </form>
  );
}

export function Folders() {
  const folders = useStore(mailbox, (state) => state.folders);
  const source = useStore(mailbox, (state) => state.source);
  const names = useStore(labels, (state) => state.names);
  const profile = useStore(session, (state) => state.profile);
  const isSettings = useRoute().parts[0] === 'settings';
  const quota = profile?.quota;
  return (
    <nav className="folders" aria-label={t.folders}>
      <button type="button" className="primary write" data-tip={t.write} data-keys="c" onClick={() => startWriting()}>
        <Icon name="write" /> {t.write}
      </button>
      {sortFolders(folders).map((folder) => (
        <FolderLink
          key={folder.id}
          folder={folder}
          isCurrent={!isSettings && source?.kind === 'folder' && source.folderId === folder.id}
        />
      ))}
      <ViewLink
        icon="snooze"
        name={mailTexts.folders.snoozed}
        view={snoozedView()}
        onDrop={([row, ...others]) => {
          if (!row) return;
          if (others.length === 0) act.activate(row);
          openSnooze();
        }}
      />
      <NewFolder />
      {names.length > 0 && (
        <section className="folder-labels" aria-labelledby="labels-title">
          <h2 id="labels-title" className="small muted">
            {mailTexts.folders.labels}
          </h2>
          {names.map((name) => (
            <ViewLink
              key={name}
              icon="label"
              name={name}
              view={labelView(name)}
              onDrop={(rows) => act.label(name, true, rows)}
            />
          ))}
        </section>
      )}
      <span className="grow" />
      <a
        href={SETTINGS}
        className="folder"
        aria-current={isSettings ? 'page' : undefined}
        onClick={(event) => showOpenPlace(event, SETTINGS)}
      >
        <span className="sign" aria-hidden="true">
          <Icon name="settings" />
        </span>
        {texts.app.menu.settings}
      </a>
      <p className="small muted ellipsis account" title={profile?.email}>
        {profile?.email}
      </p>
      {quota && (
        <p className="quota small muted">
          <meter
            min={0}
            max={quota.limit_bytes}
            high={quota.limit_bytes * 0.9}
            value={quota.used_bytes}
            aria-label={t.spaceUsed}
          />
          {fill(t.usedOf, { usedBytes: formatBytes(quota.used_bytes), limitBytes: formatBytes(quota.limit_bytes) })}
        </p>
      )}
    </nav>
  );
}
