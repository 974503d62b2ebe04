/** The open conversation, oldest message first. Read messages are folded. */
import { useEffect, useRef, useState } from 'react';
import { describeError } from '../../shared/api.ts';
import { useStore } from '../../shared/store.ts';
import { act } from '../actions/actions.ts';
import { type OutgoingLetter, outbox } from '../compose/outbox.ts';
import { toMessageId } from '../compose/reply.ts';
import { loadThread, type Message } from '../model/api.ts';
import { changeMessages } from '../model/changes.ts';
import { onMessagesChanged } from '../model/events.ts';
import { folderByRole, mailbox } from '../model/mailbox.ts';
import { view } from '../model/view.ts';
import { MessageView } from './message-view.tsx';
import { OutgoingLetterView } from './outgoing-letter.tsx';

/** An opened message is marked as read after this time. */
const READ_AFTER_MS = 600;

/** Interval between reads of an outgoing message. It is longer while the message waits for another server. */
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

/** Messages of the outbox that answer one of the messages and are not among them yet. */
function useOutgoing(messages: readonly Message[] | null): OutgoingLetter[] {
  const letters = useStore(outbox, (state) => state.letters);
  return letters.filter(({ body, messageId }) => {
    if (!messages || messages.some((message) => message.id === messageId)) return false;
    return messages.some((message) => toMessageId(message.headers.message_id) === body.in_reply_to);
  });
}

function useThread(threadId: string) {
  const [messages, setMessages] = useState<Message[] | null>(null);
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
        (thread) => {
          if (!isCurrent) return;
          setMessages(thread);
          setError(null);
        },
        (cause: unknown) => isCurrent && setError(describeError(cause)),
      );
    void read();
    const stop = onMessagesChanged((changed, threads) => {
      const known = mailbox.get().rows.find((row) => row.threadId === threadId)?.messages ?? [];
      // A deleted message has no conversation any more.
      if (threads.has(threadId) || known.some((message) => changed.has(message.id))) void read();
    });
    // The server has a message of the outbox: it may belong to this conversation.
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
  return { messages, error };
}

/** Unfolded messages: the last one and the unread ones, until the user folds or unfolds them. */
function useOpen(messages: Message[] | null) {
  const [choice, setChoice] = useState<Record<string, boolean>>({});
  const [initial, setInitial] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    if (!messages) return;
    setInitial((before) => {
      const last = messages.at(-1)?.id;
      const open = messages.flatMap((message) => (message.id === last || !message.is_read ? message.id : []));
      return new Set([...before, ...open]);
    });
  }, [messages]);
  return {
    isOpen: (id: string) => choice[id] ?? initial.has(id),
    toggle: (id: string) => setChoice((now) => ({ ...now, [id]: !(now[id] ?? initial.has(id)) })),
  };
}

function Toolbar() {
  const inJunk = useStore(mailbox, (state) => state.folders.find((folder) => folder.role === 'junk')?.id);
  const source = useStore(mailbox, (state) => state.source);
  const isJunk = source?.kind === 'folder' && source.folderId === inJunk;
  return (
    <div className="reader-toolbar" role="toolbar" aria-label="Conversation">
      <button type="button" className="quiet back" onClick={() => act.close()}>
        ← Back
      </button>
      <button type="button" className="quiet" onClick={() => act.archive()} title="Archive (e)">
        Archive
      </button>
      <button type="button" className="quiet" onClick={() => act.trash()} title="Move to Trash (#)">
        Delete
      </button>
      {isJunk ? (
        <button type="button" className="quiet" onClick={() => act.toInbox()}>
          Not junk
        </button>
      ) : (
        <button type="button" className="quiet" onClick={() => act.junk()} title="Junk (!)">
          Junk
        </button>
      )}
      <button type="button" className="quiet" onClick={() => view.set({ isMoveOpen: true })} title="Move (v)">
        Move
      </button>
      <button type="button" className="quiet" onClick={() => view.set({ isLabelOpen: true })} title="Label (l)">
        Label
      </button>
      <button type="button" className="quiet" onClick={() => act.toggleRead()} title="Read or unread (U)">
        Unread
      </button>
    </div>
  );
}

function Labels({ threadId }: { threadId: string }) {
  const row = useStore(mailbox, (state) => state.rows.find((one) => one.threadId === threadId));
  if (!row || row.labels.length === 0) return null;
  return (
    <ul className="labels" aria-label="Labels">
      {row.labels.map((label) => (
        <li key={label} className="badge">
          {label}{' '}
          <button
            type="button"
            className="link"
            aria-label={`Remove the label ${label}`}
            onClick={() => act.label(label, false, [row])}
          >
            ✕
          </button>
        </li>
      ))}
    </ul>
  );
}

export function Reader({ threadId }: { threadId: string }) {
  const { messages, error } = useThread(threadId);
  const outgoing = useOutgoing(messages);
  // The draft of a message in the outbox disappears once the server has the message.
  const sentDrafts = new Set(outgoing.map((letter) => letter.body.draft_id));
  const { isOpen, toggle } = useOpen(messages);
  const draftsId = folderByRole('drafts')?.id;
  // Mark each message only once. If the user marks it as unread later, it stays unread.
  const seen = useRef(new Set<string>());
  useEffect(() => {
    const unread =
      messages?.flatMap((message) => (message.is_read || seen.current.has(message.id) ? [] : message.id)) ?? [];
    if (unread.length === 0) return;
    const timer = setTimeout(() => {
      for (const id of unread) seen.current.add(id);
      void changeMessages(unread, { is_read: true });
    }, READ_AFTER_MS);
    return () => clearTimeout(timer);
  }, [messages]);
  const last = messages?.at(-1);
  // A reply answers the last message that is not a draft.
  const answered = messages?.findLast((message) => message.folder_id !== draftsId) ?? last;
  useEffect(() => {
    if (answered) view.set({ messageId: answered.id });
  }, [answered]);
  return (
    <div className="reader-inner">
      <Toolbar />
      <div className="reader-scroll">
        {error && <p className="error-box">{error}</p>}
        {!messages && !error && <p className="muted loading">Loading…</p>}
        {messages && (
          <>
            <h1 className="thread-subject" dir="auto">
              {messages[0]?.subject || '(no subject)'}
            </h1>
            <Labels threadId={threadId} />
            {messages
              .filter((message) => !sentDrafts.has(message.id))
              .map((message) => (
                <MessageView
                  key={message.id}
                  message={message}
                  isOpen={isOpen(message.id)}
                  isDraft={message.folder_id === draftsId}
                  onToggle={() => toggle(message.id)}
                />
              ))}
            {outgoing.map((letter) => (
              <OutgoingLetterView key={letter.id} letter={letter} />
            ))}
          </>
        )}
      </div>
    </div>
  );
}
