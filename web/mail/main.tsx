/** `/_/mail`: folders, list and conversation. Other parts are loaded when they are needed. */
import { lazy, Suspense, useEffect, useLayoutEffect } from 'react';
import { formatCount } from '../shared/format.ts';
import { useRoute } from '../shared/hash-route.ts';
import { Icon } from '../shared/icons.tsx';
import { mount, TopBar } from '../shared/page.tsx';
import { useStore } from '../shared/store.ts';
import { KeysDialog, LabelDialog, MoveDialog } from './actions/dialogs.tsx';
import { listenToKeys } from './actions/keys.ts';
import { onForward, resumeWriting, startWriting } from './compose/compose-state.ts';
import { CLOSED_COMPOSE, compose } from './compose/compose-store.ts';
import { handleDraftChanges, retrySave } from './compose/draft-saving.ts';
import { listenForDroppedFiles } from './compose/drop.ts';
import { AccountLinks, Folders } from './list/folders.tsx';
import { ListHead } from './list/list-head.tsx';
import { MessageList } from './list/message-list.tsx';
import { SearchBox } from './list/search-box.tsx';
import { forgetUndo } from './model/changes.ts';
import { connection, onMessagesChanged, watchMailbox } from './model/events.ts';
import { openSource, refreshFolders } from './model/list-reading.ts';
import { forgetMailbox, mailbox, type Source } from './model/mailbox.ts';
import { resumeSession, session } from './model/session.ts';
import { CLOSED, view } from './model/view.ts';
import { Reader } from './reader/reader.tsx';
import { SignInPage } from './sign-in.tsx';
import './mail.css';

const loadCompose = () => import('./compose/compose.tsx').then((module) => ({ default: module.Compose }));
const Compose = lazy(loadCompose);
const Settings = lazy(() => import('./settings/settings.tsx').then((module) => ({ default: module.Settings })));

const COMPOSE_AFTER_MS = 1500;

function OfflineBanner() {
  const state = useStore(connection, (value) => value.status);
  if (state !== 'away') return null;
  return (
    <div className="banner" role="alert">
      You are offline. What you write is kept in this browser; the mailbox catches up by itself.
    </div>
  );
}

/** Shows the number of unread messages in the title, so that a background tab shows it too. */
function useTitle(): void {
  const unread = useStore(mailbox, (state) => state.folders.find((one) => one.role === 'inbox')?.unread ?? 0);
  useEffect(() => {
    document.title = unread > 0 ? `(${formatCount(unread)}) Mail · Tessera` : 'Mail · Tessera';
    return () => {
      document.title = 'Mail · Tessera';
    };
  }, [unread]);
}

/** Opens the list that the hash names: `#/inbox`, `#/<folder id>`, `#/search?q=`. */
function useRoutedSource(): string {
  const route = useRoute();
  const folders = useStore(mailbox, (state) => state.folders);
  const name = route.parts[0] ?? 'inbox';
  const q = route.query.get('q') ?? '';
  const folder = folders.find((one) => one.role === name || one.id === name);
  const folderId = folder?.id;
  useEffect(() => {
    let source: Source | null = null;
    if (name === 'search') source = { kind: 'search', q };
    else if (folderId) source = { kind: 'folder', folderId };
    if (!source || name === 'settings') return;
    view.set({ threadId: null, messageId: null, isFoldersOpen: false });
    void openSource(source);
  }, [name, q, folderId]);
  return name === 'search' ? `Search: ${q}` : (folder?.name ?? 'Mail');
}

function Panes() {
  const title = useRoutedSource();
  const route = useRoute();
  const threadId = useStore(view, (state) => state.threadId);
  const isFoldersOpen = useStore(view, (state) => state.isFoldersOpen);
  const source = useStore(mailbox, (state) => state.source);
  const sentId = useStore(mailbox, (state) => state.folders.find((folder) => folder.role === 'sent')?.id);
  const draftsId = useStore(mailbox, (state) => state.folders.find((folder) => folder.role === 'drafts')?.id);
  const isOutgoing = source?.kind === 'folder' && (source.folderId === sentId || source.folderId === draftsId);
  const isSettings = route.parts[0] === 'settings';
  return (
    <div className={`panes ${threadId ? 'reading' : 'listing'} ${isFoldersOpen ? 'folders-open' : ''}`}>
      <Folders />
      {isSettings ? (
        <main id="main" className="settings">
          <Suspense fallback={<p className="muted loading">Loading …</p>}>
            <Settings tab={route.parts[1] ?? 'profile'} />
          </Suspense>
        </main>
      ) : (
        <main id="main" className="mail-main">
          <div className="list-pane">
            <ListHead title={title} />
            <MessageList isOutgoing={isOutgoing} title={title} />
            <button type="button" className="primary write-round" aria-label="Write" onClick={() => startWriting()}>
              <Icon name="write" />
            </button>
          </div>
          <section id="reader" className="reader" aria-label="Conversation">
            {threadId ? (
              <Reader key={threadId} threadId={threadId} />
            ) : (
              <div className="muted nothing-open">
                <Icon name="inbox" />
                <p>
                  Choose a conversation, or press <kbd>?</kbd> for the keys.
                </p>
              </div>
            )}
          </section>
        </main>
      )}
    </div>
  );
}

function Mail() {
  const { isHelpOpen, isMoveOpen, isLabelOpen, isFoldersOpen } = useStore(view, (state) => state);
  useTitle();
  const isWriting = useStore(compose, (state) => state.writing !== null);
  // Listen before the first paint, so that a key pressed on a visible page always works.
  useLayoutEffect(listenToKeys, []);
  useEffect(() => {
    void refreshFolders();
    void resumeWriting();
    // Load the compose window in advance, after everything else, so that it opens at once.
    const preload = setTimeout(loadCompose, COMPOSE_AFTER_MS);
    const forward = onForward(
      (message) => void import('./compose/uploads.ts').then(({ attachCopies }) => attachCopies(message)),
    );
    const stops = [watchMailbox(retrySave), listenForDroppedFiles(), forward, onMessagesChanged(handleDraftChanges)];
    return () => {
      clearTimeout(preload);
      for (const stop of stops) stop();
    };
  }, []);
  return (
    <div className="mail">
      <TopBar
        current="mail"
        menu={
          <button
            type="button"
            className="quiet icon folders-button"
            aria-label="Folders"
            aria-expanded={isFoldersOpen}
            onClick={() => view.set({ isFoldersOpen: !view.get().isFoldersOpen })}
          >
            <Icon name="menu" />
          </button>
        }
      >
        <SearchBox />
        <span className="wide-only row">
          <AccountLinks />
        </span>
      </TopBar>
      <OfflineBanner />
      <Panes />
      {isWriting && (
        <Suspense fallback={null}>
          <Compose />
        </Suspense>
      )}
      {isHelpOpen && <KeysDialog />}
      {isMoveOpen && <MoveDialog />}
      {isLabelOpen && <LabelDialog />}
    </div>
  );
}

function App() {
  const status = useStore(session, (state) => state.status);
  useEffect(() => {
    void resumeSession();
  }, []);
  useEffect(() => {
    if (status !== 'out') return;
    forgetMailbox();
    forgetUndo();
    view.set(CLOSED);
    connection.set({ status: 'connecting', state: '' });
    // The message being written stays in this browser, under the id of the user who wrote it.
    compose.set(CLOSED_COMPOSE);
  }, [status]);
  if (status === 'in') return <Mail />;
  return (
    <>
      <TopBar current="mail" />
      <main id="main">
        {status === 'out' && <SignInPage />}
        {status === 'away' && (
          <div className="card sign-in stack">
            <h1>The mailbox cannot be reached</h1>
            <button type="button" className="primary" onClick={() => void resumeSession()}>
              Try again
            </button>
          </div>
        )}
      </main>
    </>
  );
}

mount(<App />);
