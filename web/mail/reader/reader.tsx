/** The open conversation, oldest message first. Read messages are folded. */
import { useCallback, useEffect, useState } from 'react';
import { describeError } from '../../shared/api.ts';
import { formatCount, formatDateTime } from '../../shared/format.ts';
import { IconButton } from '../../shared/icon-button.tsx';
import { Icon, type IconName } from '../../shared/icons.tsx';
import { Menu } from '../../shared/menu.tsx';
import { useStore } from '../../shared/store.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { act, isNarrow, openSnooze } from '../actions/actions.ts';
import { startReply } from '../compose/compose-state.ts';
import { compose } from '../compose/compose-store.ts';
import { type OutgoingLetter, outbox } from '../compose/outbox.ts';
import { toMessageId } from '../compose/reply.ts';
import { replyRecipients } from '../model/addresses.ts';
import { loadThread, type Message, type Thread } from '../model/api.ts';
import { waiting } from '../model/change-queue.ts';
import { onMessagesChanged } from '../model/events.ts';
import { folderByRole, mailbox, noteOpenedRow } from '../model/mailbox.ts';
import { session } from '../model/session.ts';
import { view } from '../model/view.ts';
import { MessageView } from './message-view.tsx';
import { OutgoingLetterView } from './outgoing-letter.tsx';
import { useReadMarks } from './read-marks.ts';

const { reader: t } = mailTexts;

/** Time after which an opened message is marked as read. */

/** Interval at which the state of an outgoing message is read. It is longer while the message waits for another server. */
const DELIVERY_READ_MS = { queued: 2000, held: 2000, deferred: 10_000 } as const;

function nextReadMs(messages: readonly Message[] | null): number | null {
  const waits = (messages ?? [])
    .flatMap((message) => message.delivery ?? [])
    .flatMap(({ state }) =>
      state in DELIVERY_READ_MS ? DELIVERY_READ_MS[state as keyof typeof DELIVERY_READ_MS] : [],
    );
  return waits.length > 0 ? Math.min(...waits) : null;
}

const countSent = (): number => outbox.get().letters.filter((letter) => letter.state === 'sent').length;

/** Messages of the outbox that answer a message of the conversation, and whose copy from the server is not among them yet. */
function useOutgoing(messages: readonly Message[] | null): OutgoingLetter[] {
  const letters = useStore(outbox, (state) => state.letters);
  return letters.filter(({ body, messageId }) => {
    if (!messages || messages.some((message) => message.id === messageId)) return false;
    return messages.some((message) => toMessageId(message.headers.message_id) === body.in_reply_to);
  });
}

function useThread(threadId: string) {
  const [thread, setThread] = useState<Thread | null>(null);
  const messages = thread?.messages ?? null;
  const [error, setError] = useState<string | null>(null);
  const [readCount, setReadCount] = useState(0);
  useEffect(() => {
    const waitMs = nextReadMs(messages);
    if (waitMs === null) return;
    const timer = setTimeout(() => setReadCount((now) => now + 1), waitMs);
    return () => clearTimeout(timer);
  }, [messages]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new value of `readCount` starts another read
  useEffect(() => {
    let isCurrent = true;
    const read = () =>
      loadThread(threadId).then(
        (read) => {
          if (!isCurrent) return;
          setThread(read);
          setError(null);
          noteOpenedRow(threadId, read.messages);
        },
        (cause: unknown) => isCurrent && setError(describeError(cause)),
      );
    void read();
    const stop = onMessagesChanged((changed, threads) => {
      const known = mailbox.get().rows.find((row) => row.threadId === threadId)?.messages ?? [];
      // The event of a deleted message names no conversation, so the ids of the known messages are compared too.
      if (threads.has(threadId) || known.some((message) => changed.has(message.id))) void read();
    });
    // When the server has received a message of the outbox, read again: it may belong to this conversation.
    let sent = countSent();
    const stopOutbox = outbox.subscribe(() => {
      const now = countSent();
      if (now > sent) void read();
      sent = now;
    });
    return () => {
      isCurrent = false;
      stop();
      stopOutbox();
    };
  }, [threadId, readCount]);
  const { changes, isBlocked } = useStore(waiting, (state) => state);
  const muting = changes.findLast((change) => change.kind === 'mute' && change.threadId === threadId);
  const isMuted = isBlocked && muting?.kind === 'mute' ? muting.isMuted : thread?.isMuted;
  return { messages, isMuted: isMuted ?? false, error };
}

/** Unfolded messages: the last one, drafts and unread ones, until the user folds or unfolds them. */
function useOpen(messages: Message[] | null) {
  const [choice, setChoice] = useState<Record<string, boolean>>({});
  const [initial, setInitial] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    if (!messages) return;
    setInitial((before) => {
      const last = messages.findLast((message) => !message.is_draft)?.id;
      const open = messages.flatMap((message) =>
        message.id === last || !message.is_read || message.is_draft ? message.id : [],
      );
      return new Set([...before, ...open]);
    });
  }, [messages]);
  return {
    isOpen: (id: string) => choice[id] ?? initial.has(id),
    toggle: (id: string) => setChoice((now) => ({ ...now, [id]: !(now[id] ?? initial.has(id)) })),
  };
}

function Toolbar({ answered, isMuted }: { answered: Message | undefined; isMuted: boolean }) {
  const inJunk = useStore(mailbox, (state) => state.folders.find((folder) => folder.role === 'junk')?.id);
  const source = useStore(mailbox, (state) => state.source);
  const isJunk = source?.kind === 'folder' && source.folderId === inJunk;
  return (
    <div className="reader-toolbar" role="toolbar" aria-label={t.toolbar}>
      <IconButton icon="archive" label={t.archive} keys="e" onClick={() => act.archive()} />
      <IconButton icon="trash" label={t.delete} keys="#" onClick={() => act.trash()} />
      {isJunk ? (
        <IconButton icon="inbox" label={t.notJunk} onClick={() => act.toInbox()} />
      ) : (
        <IconButton icon="junk" label={t.junk} keys="!" onClick={() => act.junk()} />
      )}
      <span className="toolbar-line" />
      <IconButton icon="move" label={t.move} keys="v" onClick={() => view.set({ isMoveOpen: true })} />
      <IconButton icon="snooze" label={t.snooze} keys="b" onClick={openSnooze} />
      <IconButton icon="unread" label={t.unread} keys="U" onClick={() => act.toggleRead()} />
      <Menu
        icon="more"
        label={t.moreActions}
        commands={[
          { icon: 'label', title: t.label, keys: 'l', run: () => view.set({ isLabelOpen: true }) },
          isMuted
            ? { icon: 'mute', title: t.unmute, run: () => act.mute(false) }
            : { icon: 'mute', title: t.mute, keys: 'm', run: () => act.mute() },
          { icon: 'print', title: t.print, run: () => print() },
        ]}
      />
      <span className="grow wide-only" />
      {answered && (
        <IconButton
          icon="reply"
          label={t.reply}
          className="narrow-only"
          onClick={() => void startReply('reply', answered)}
        />
      )}
    </div>
  );
}

/** The end of the conversation: buttons for answering it, or the reply that is being written. */
function ReplyEnd({ answered, isWritten }: { answered: Message; isWritten: boolean }) {
  const own = useStore(session, (state) => state.profile?.addresses);
  const hasRoom = isWritten && !isNarrow();
  const slot = useCallback((element: HTMLElement | null) => view.set({ replySlot: element }), []);
  // Different keys make React replace the element, so that the ref is cleared.
  if (hasRoom) return <div key="slot" className="reply-slot" ref={slot} />;
  const { to, cc } = replyRecipients(answered, own ?? [], true);
  return (
    <div key="buttons" className="row wrap message-actions reply-end">
      <button type="button" onClick={() => void startReply('reply', answered)}>
        <Icon name="reply" /> {t.reply}
      </button>
      {to.length + cc.length > 1 && (
        <button type="button" onClick={() => void startReply('all', answered)}>
          <Icon name="replyAll" /> {t.replyAll}
        </button>
      )}
      <button type="button" onClick={() => void startReply('forward', answered)}>
        <Icon name="forward" /> {t.forward}
      </button>
    </div>
  );
}

/** Minimum of consecutive read messages that are folded into one line. */
const FOLDED_MIN = 3;

/** Splits the messages into single ones to show, and lists of folded ones between the first and the last. */
function foldRuns(messages: readonly Message[], isOpen: (id: string) => boolean): (Message | Message[])[] {
  const parts: (Message | Message[])[] = [];
  let run: Message[] = [];
  const flush = () => {
    if (run.length >= FOLDED_MIN) parts.push(run);
    else parts.push(...run);
    run = [];
  };
  for (const [at, message] of messages.entries()) {
    if (at > 0 && at < messages.length - 1 && !isOpen(message.id)) run.push(message);
    else {
      flush();
      parts.push(message);
    }
  }
  flush();
  return parts;
}

/** Tells why the conversation is not in the Inbox, with a button that moves it back. */
function Notice({ icon, text, action, run }: { icon: IconName; text: string; action: string; run: () => void }) {
  return (
    <p className="row notice small">
      <Icon name={icon} size={16} /> <span className="grow">{text}</span>
      <button type="button" className="small" onClick={run}>
        {action}
      </button>
    </p>
  );
}

function Labels({ threadId }: { threadId: string }) {
  const row = useStore(mailbox, (state) => state.rows.find((one) => one.threadId === threadId));
  if (!row || row.labels.length === 0) return null;
  return (
    <ul className="labels" aria-label={t.labels}>
      {row.labels.map((label) => (
        <li key={label} className="badge">
          {label}{' '}
          <button
            type="button"
            className="link"
            aria-label={fill(t.removeLabel, { label })}
            onClick={() => act.label(label, false, [row])}
          >
            ✕
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Drafts that another program stored are known only by their folder. The folders may arrive after the conversation. */
const isDraft = (message: Message): boolean => message.is_draft || message.folder_id === folderByRole('drafts')?.id;

export function Reader({ threadId }: { threadId: string }) {
  const { messages, isMuted, error } = useThread(threadId);
  const outgoing = useOutgoing(messages);
  // Hide the draft of a message in the outbox. Once the server has the message, it deletes the draft.
  const sentDrafts = new Set(outgoing.map((letter) => letter.body.draft_id));
  const { isOpen, toggle } = useOpen(messages);
  const [areAllShown, setAllShown] = useState(false);
  useReadMarks(threadId, messages);
  const last = messages?.at(-1);
  const snoozedUntil = messages?.findLast((message) => message.snoozed_until)?.snoozed_until;
  // The message that a reply answers: the last one that is not a draft.
  const answered = messages?.findLast((message) => !isDraft(message)) ?? last;
  useEffect(() => {
    if (answered) view.set({ messageId: answered.id });
  }, [answered]);
  const writing = useStore(compose, (state) => (state.isPoppedOut ? null : state.writing));
  const isWritten =
    writing?.inReplyTo != null &&
    (messages ?? []).some((message) => toMessageId(message.headers.message_id) === writing.inReplyTo);
  const shown = (messages ?? []).filter(
    ({ id }) => !sentDrafts.has(id) && !(isWritten && !isNarrow() && id === writing.draftId),
  );
  const parts = areAllShown ? shown : foldRuns(shown, isOpen);
  const toView = (message: Message) => (
    <MessageView
      key={message.id}
      message={message}
      thread={messages ?? []}
      isOpen={isOpen(message.id)}
      isDraft={isDraft(message)}
      onToggle={() => toggle(message.id)}
    />
  );
  return (
    <div className="reader-inner">
      <Toolbar answered={answered} isMuted={isMuted} />
      <div className="reader-scroll">
        <div className="reader-width">
          <div className="row reader-head">
            <IconButton icon="back" label={t.back} keys="u" className="back" onClick={() => act.close()} />
            {messages && (
              <h1 className="thread-subject" dir="auto">
                {messages[0]?.subject || mailTexts.list.noSubject}
              </h1>
            )}
          </div>
          {error && <p className="error-box">{error}</p>}
          {!messages && !error && <p className="muted loading">{mailTexts.list.loading}</p>}
          {messages && (
            <>
              <Labels threadId={threadId} />
              {isMuted && <Notice icon="mute" text={t.muted} action={t.unmute} run={() => act.mute(false)} />}
              {snoozedUntil && (
                <Notice
                  icon="snooze"
                  text={fill(t.snoozed, { when: formatDateTime(snoozedUntil) })}
                  action={t.wake}
                  run={() => act.toInbox()}
                />
              )}
              {parts.map((part) =>
                Array.isArray(part) ? (
                  <button
                    key={`before ${part.at(-1)?.id}`}
                    type="button"
                    className="quiet earlier"
                    onClick={() => setAllShown(true)}
                  >
                    {fill(t.earlier, { count: formatCount(part.length) })}
                  </button>
                ) : (
                  toView(part)
                ),
              )}
              {outgoing.map((letter) => (
                <OutgoingLetterView key={letter.id} letter={letter} />
              ))}
              {answered && !isDraft(answered) && <ReplyEnd answered={answered} isWritten={isWritten} />}
            </>
          )}
        </div>
      </div>
    </div>
  );
}
