/** `/_/mail`: folders, list and conversation. Other parts are loaded when they are needed. */
import { lazy, Suspense, useEffect, useLayoutEffect } from 'react';
import { type Account, MenuItem } from '../shared/account-menu.tsx';
import { useCommands } from '../shared/commands.ts';
import { ConfirmationDialog } from '../shared/confirmation.tsx';
import { formatCount } from '../shared/format.ts';
import { go, toHash, useRoute } from '../shared/hash-route.ts';
import { IconButton } from '../shared/icon-button.tsx';
import { Icon } from '../shared/icons.tsx';
import { AccountButton, mount, Rail } from '../shared/page.tsx';
import { useStore } from '../shared/store.ts';
import { texts } from '../shared/texts/index.ts';
import { mailTexts } from '../shared/texts/mail.ts';
import { ResetPage } from './account-recovery.tsx';
import { showAddressed, threadOf } from './actions/addresses.ts';
import { followBack } from './actions/back.ts';
import { listMailCommands } from './actions/commands.ts';
import { KeysDialog, LabelDialog, MoveDialog } from './actions/dialogs.tsx';
import { listenToKeys } from './actions/keys.ts';
import { SnoozeDialog } from './actions/snooze.tsx';
import { useReturnToMail } from './company-sign-in.tsx';
import { onNeededFiles, resumeWriting, startWriting } from './compose/compose-state.ts';
import { CLOSED_COMPOSE, compose } from './compose/compose-store.ts';
import { handleDraftChanges, retrySave } from './compose/draft-saving.ts';
import { listenForDroppedFiles } from './compose/drop.ts';
import { sendLetters, startOutbox, stopOutbox } from './compose/outbox.ts';
import { SENDING } from './compose/sending.ts';
import { Connect } from './connect.tsx';
import { FirstSteps, useFirstSteps } from './list/first-steps.tsx';
import { Folders } from './list/folders.tsx';
import { ListHead } from './list/list-head.tsx';
import { MessageList } from './list/message-list.tsx';
import { OfflineBanner } from './list/offline-banner.tsx';
import { SearchBox } from './list/search-box.tsx';
import { titleOfSearch } from './list/views.ts';
import { useAskedConnection } from './model/asked-connection.ts';
import { sendChanges, startChanges, stopChanges } from './model/change-queue.ts';
import { forgetUndo } from './model/changes.ts';
import { connection, onMessagesChanged, watchMailbox } from './model/events.ts';
import { startFirstReads } from './model/first-reads.ts';
import { forgetAnswers } from './model/kept-answers.ts';
import { forgetLabels, refreshLabels } from './model/labels.ts';
import { forgetLists } from './model/left-lists.ts';
import { openSource, refreshAll, refreshFolders } from './model/list-reading.ts';
import { forgetMailbox, mailbox, type Source } from './model/mailbox.ts';
import { registerOfflinePage } from './model/offline-page.ts';
import { watchOwnReplies } from './model/own-replies.ts';
import { resumeSession, session, signOut } from './model/session.ts';
import { CLOSED, view } from './model/view.ts';
import { Reader } from './reader/reader.tsx';
import { SignInPage } from './sign-in.tsx';
import './mail.css';

const t = mailTexts.main;

const loadCompose = () => import('./compose/compose.tsx').then((module) => ({ default: module.Compose }));
const Compose = lazy(loadCompose);
const SecurityReview = lazy(() =>
  import('./settings/security-review.tsx').then((module) => ({ default: module.SecurityReview })),
);
const Settings = lazy(() => import('./settings/settings.tsx').then((module) => ({ default: module.Settings })));

const COMPOSE_AFTER_MS = 1500;

/** Shows the number of unread messages in the document's title, so that it is visible on a background tab. */
function useTitle(): void {
  const unread = useStore(mailbox, (state) => state.folders.find((one) => one.role === 'inbox')?.unread ?? 0);
  useEffect(() => {
    document.title = unread > 0 ? `(${formatCount(unread)}) ${t.mail} · Tessera` : `${t.mail} · Tessera`;
    return () => {
      document.title = `${t.mail} · Tessera`;
    };
  }, [unread]);
}

/** Opens the list that the hash names (`#/inbox`, `#/<folder id>`, `#/search?q=`), and its conversation (`#/inbox/t/<thread>`). */
function useRoutedSource(): { title: string; isUnknown: boolean } {
  const route = useRoute();
  const folders = useStore(mailbox, (state) => state.folders);
  const [named = 'inbox'] = route.parts;
  const name = named === 'register' ? 'inbox' : named;
  const q = route.query.get('q') ?? '';
  const folder = folders.find((one) => one.role === name || one.id === name);
  const folderId = folder?.id;
  const threadId = threadOf(route);
  // Any change of the address closes the folders, those of the settings too.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the route is the reason
  useEffect(() => view.set({ isFoldersOpen: false }), [route]);
  useEffect(() => {
    let source: Source | null = null;
    if (name === 'search') source = { kind: 'search', q };
    else if (folderId) source = { kind: 'folder', folderId };
    if (source && name !== 'settings') void openSource(source);
    showAddressed();
  }, [name, q, folderId]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another conversation in the address opens it
  useEffect(showAddressed, [threadId]);
  // True for a mistyped or old link: folders are loaded, and none has this name.
  const isUnknown = name !== 'search' && name !== 'settings' && folders.length > 0 && !folder;
  return { title: name === 'search' ? titleOfSearch(q) : (folder?.name ?? t.mail), isUnknown };
}

function NoSuchFolder() {
  return (
    <section className="list-scroll" aria-label={t.noSuchFolder}>
      <div className="muted empty">
        <Icon name="folder" />
        <p>{t.noSuchFolderText}</p>
        <p className="small">{t.noSuchFolderWhy}</p>
        <p>
          <a href={toHash(['inbox'])}>{t.goToInbox}</a>
        </p>
      </div>
    </section>
  );
}

function Panes() {
  const { title, isUnknown } = useRoutedSource();
  const route = useRoute();
  const threadId = useStore(view, (state) => state.threadId);
  const isFoldersOpen = useStore(view, (state) => state.isFoldersOpen);
  const source = useStore(mailbox, (state) => state.source);
  const sentId = useStore(mailbox, (state) => state.folders.find((folder) => folder.role === 'sent')?.id);
  const draftsId = useStore(mailbox, (state) => state.folders.find((folder) => folder.role === 'drafts')?.id);
  const isOutgoing = source?.kind === 'folder' && (source.folderId === sentId || source.folderId === draftsId);
  const isSettings = route.parts[0] === 'settings';
  const firstSteps = useFirstSteps();
  return (
    <div className={`panes ${threadId ? 'reading' : 'listing'} ${isFoldersOpen ? 'folders-open' : ''}`}>
      <Folders />
      {isFoldersOpen && (
        <button
          type="button"
          className="folders-shade"
          aria-label={texts.app.close}
          onClick={() => view.set({ isFoldersOpen: false })}
        />
      )}
      {isSettings ? (
        <main id="main" className="settings">
          <Suspense fallback={<p className="muted loading">{t.loading}</p>}>
            <Settings tab={route.parts[1] ?? 'profile'} />
          </Suspense>
        </main>
      ) : (
        <main id="main" className="mail-main">
          <div className="list-pane">
            {isUnknown ? (
              <NoSuchFolder />
            ) : (
              <>
                <ListHead title={title} />
                <MessageList isOutgoing={isOutgoing} title={title} />
              </>
            )}
            <button type="button" className="primary write-round" aria-label={t.write} onClick={() => startWriting()}>
              <Icon name="write" />
            </button>
          </div>
          <section id="reader" className="reader" aria-label={t.conversation}>
            {threadId ? (
              <Reader key={threadId} threadId={threadId} />
            ) : firstSteps.isShown ? (
              <FirstSteps onFinish={firstSteps.finish} />
            ) : (
              <div className="muted nothing-open">
                <Icon name="inbox" />
                <p>
                  {mailTexts.list.choose} <kbd>?</kbd>
                </p>
              </div>
            )}
          </section>
        </main>
      )}
    </div>
  );
}

const SETTINGS = toHash(['settings', 'profile']);
const { menu } = texts.app;

function useAccount(): Account {
  const profile = useStore(session, (state) => state.profile);
  const { name = '', email = '' } = profile ?? {};
  const onSignOut = () => void signOut().then(() => go(toHash([]), { replace: true }));
  return { name: name || email, detail: email, onSignOut };
}

function Mail() {
  const { isHelpOpen, isMoveOpen, isLabelOpen, isSnoozeOpen, isFoldersOpen } = useStore(view, (state) => state);
  useTitle();
  const isWriting = useStore(compose, (state) => state.writing !== null);
  // Register the keyboard listener before the first paint, so that a key pressed on a visible page always works.
  useLayoutEffect(listenToKeys, []);
  useEffect(() => {
    void refreshFolders();
    void refreshLabels();
    void resumeWriting();
    // Load the code of the compose window in advance, after everything else, so that the window opens at once.
    const userId = session.get().profile?.user_id ?? '';
    const preload = setTimeout(() => {
      void loadCompose();
      registerOfflinePage();
      // A failed renewal of the push subscription is ignored: the next start of the page tries again.
      import('./model/push.ts').then(({ renewPush }) => renewPush(userId)).catch(() => undefined);
    }, COMPOSE_AFTER_MS);
    const files = onNeededFiles(async (message, { pictures, isForwarded }) => {
      const { attachCopies, attachPictures } = await import('./compose/uploads.ts');
      await attachPictures(message, pictures);
      await attachCopies(message, isForwarded);
    });
    startChanges(userId, refreshAll);
    void startOutbox(userId, SENDING);
    const resend = () => {
      void sendChanges();
      void sendLetters();
    };
    addEventListener('online', resend);
    const onReturn = () => {
      retrySave();
      resend();
    };
    const stops = [
      watchOwnReplies(),
      watchMailbox(onReturn),
      listenForDroppedFiles(),
      followBack(),
      files,
      onMessagesChanged(handleDraftChanges),
    ];
    return () => {
      removeEventListener('online', resend);
      stopChanges();
      stopOutbox();
      clearTimeout(preload);
      for (const stop of stops) stop();
    };
  }, []);
  const account = useAccount();
  useCommands(listMailCommands);
  return (
    <div className="mail">
      <Rail current="mail" account={account}>
        <MenuItem icon="settings" onClick={() => go(SETTINGS)}>
          {menu.settings}
        </MenuItem>
        <MenuItem icon="keys" onClick={() => view.set({ isHelpOpen: true })}>
          <span className="grow of-keys">{menu.keys}</span> <kbd>?</kbd>
        </MenuItem>
      </Rail>
      <div className="page-bar">
        <IconButton
          icon="menu"
          label={t.folders}
          className="folders-button"
          isExpanded={isFoldersOpen}
          onClick={() => view.set({ isFoldersOpen: !view.get().isFoldersOpen })}
        />
        <SearchBox />
        <span className="narrow-only">
          <AccountButton account={account} />
        </span>
      </div>
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
      {isSnoozeOpen && <SnoozeDialog />}
      <ConfirmationDialog />
    </div>
  );
}

function App() {
  const status = useStore(session, (state) => state.status);
  const hasReview = useStore(session, (state) => state.profile?.security_review ?? false);
  const route = useRoute();
  const returned = useReturnToMail();
  const isAsked = useAskedConnection(route);
  useEffect(() => {
    void resumeSession();
  }, []);
  useEffect(() => {
    if (status !== 'out') return;
    forgetMailbox();
    forgetLabels();
    forgetLists();
    forgetUndo();
    void forgetAnswers();
    view.set(CLOSED);
    connection.set({ status: 'connecting', state: '' });
    // The message being written stays in this browser, under the id of the user who wrote it.
    compose.set(CLOSED_COMPOSE);
  }, [status]);
  // A link for a new password works in a signed-in browser too, so it is checked before the session.
  const resetToken = route.parts[0] === 'reset' ? (route.parts[1] ?? '') : null;
  if (resetToken !== null) {
    return (
      <>
        <Rail current="mail" />
        <main id="main">
          <ResetPage token={resetToken} />
        </main>
      </>
    );
  }
  if (status === 'in' && isAsked && !hasReview && !returned.isFinishing) return <Connect />;
  if (status === 'in' && !hasReview && !returned.isFinishing) return <Mail />;
  return (
    <>
      <Rail current="mail" />
      <main id="main">
        {status === 'in' && !returned.isFinishing && (
          <Suspense fallback={<p className="muted loading">{t.loading}</p>}>
            <SecurityReview />
          </Suspense>
        )}
        {returned.isFinishing && <p className="muted loading">{t.loading}</p>}
        {status === 'out' && !returned.isFinishing && <SignInPage failure={returned.error} />}
        {status === 'away' && (
          <div className="card sign-in stack">
            <h1>{t.mailboxCannotBeReached}</h1>
            <button type="button" className="primary" onClick={() => void resumeSession()}>
              {t.tryAgain}
            </button>
          </div>
        )}
      </main>
    </>
  );
}

startFirstReads();
mount(<App />, 'mail');
