/** The window in which a message is written. */
import { type DragEvent, type KeyboardEvent, useLayoutEffect, useRef, useState } from 'react';
import { formatBytes } from '../../shared/format.ts';
import { useStore } from '../../shared/store.ts';
import { session } from '../model/session.ts';
import { change, closeWriting, discard, makePlain } from './compose-state.ts';
import { type ComposeState, compose } from './compose-store.ts';
import { DraftChoice } from './draft-choice-panel.tsx';
import { Recipients } from './recipients.tsx';
import { send } from './sending.ts';
import { attach, detach } from './uploads.ts';
import type { Upload, Writing } from './writing.ts';

const SAVED: Record<ComposeState['saved'], string> = {
  no: '',
  here: 'Kept in this browser',
  drafts: 'Saved in Drafts',
  failed: 'Kept in this browser',
  changed: 'Kept in this browser',
};

function Files({ uploads }: { uploads: Upload[] }) {
  return (
    <ul className="uploads" aria-label="Attachments">
      {uploads.map((upload) => (
        <li key={upload.key}>
          <span className="ellipsis grow">{upload.fileName}</span>
          <span className="muted small">{formatBytes(upload.size)}</span>
          {upload.error ? (
            <span className="danger-text small" role="alert">
              {upload.error}
            </span>
          ) : (
            upload.attachmentId === null && (
              <progress value={upload.progress} aria-label={`${upload.fileName} on its way`} />
            )
          )}
          <button
            type="button"
            className="quiet icon"
            aria-label={`Remove ${upload.fileName}`}
            onClick={() => detach(upload.key)}
          >
            ✕
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Local time without a zone, for `datetime-local`. */
const toLocalInput = (date: Date) =>
  new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

function nextMorning(weekday: number | null): Date {
  const date = new Date();
  date.setDate(date.getDate() + 1);
  while (weekday !== null && date.getDay() !== weekday) date.setDate(date.getDate() + 1);
  date.setHours(8, 0, 0, 0);
  return date;
}

function Schedule({ onPick }: { onPick: (at: Date) => void }) {
  const [custom, setCustom] = useState(toLocalInput(nextMorning(null)));
  const picked = new Date(custom);
  return (
    <fieldset className="schedule">
      <legend>Send later</legend>
      <button type="button" onClick={() => onPick(nextMorning(null))}>
        Tomorrow, 8:00
      </button>
      <button type="button" onClick={() => onPick(nextMorning(1))}>
        Monday, 8:00
      </button>
      <input
        type="datetime-local"
        aria-label="Date and time"
        value={custom}
        min={toLocalInput(new Date())}
        onChange={(event) => setCustom(event.target.value)}
      />
      <button type="button" disabled={!(picked.getTime() > Date.now())} onClick={() => onPick(picked)}>
        At this time
      </button>
    </fieldset>
  );
}

/** Choice of the sender. Hidden if the user has only one address. */
function Sender({ writing }: { writing: Writing }) {
  const own = useStore(session, (state) => state.profile?.addresses);
  if (!own || own.length < 2) return null;
  return (
    <label className="compose-line">
      <span>From</span>
      <select value={writing.from || own[0]} onChange={(event) => change({ from: event.target.value })}>
        {own.map((email) => (
          <option key={email}>{email}</option>
        ))}
      </select>
    </label>
  );
}

function Head({ writing }: { writing: Writing }) {
  const [areMoreOpen, setMoreOpen] = useState(writing.cc !== '' || writing.bcc !== '');
  return (
    <div className="compose-head">
      <Sender writing={writing} />
      <Recipients label="To" value={writing.to} onChange={(to) => change({ to })} isFirst />
      {areMoreOpen ? (
        <>
          <Recipients label="Cc" value={writing.cc} onChange={(cc) => change({ cc })} />
          <Recipients label="Bcc" value={writing.bcc} onChange={(bcc) => change({ bcc })} />
        </>
      ) : (
        <button type="button" className="quiet small more" onClick={() => setMoreOpen(true)}>
          Cc, Bcc
        </button>
      )}
      <label className="compose-line">
        <span>Subject</span>
        <input value={writing.subject} onChange={(event) => change({ subject: event.target.value })} />
      </label>
    </div>
  );
}

export function Compose() {
  const { writing, saved, trouble, theirs, isSending } = useStore(compose, (state) => state);
  const [error, setError] = useState<string | null>(null);
  const [isScheduling, setScheduling] = useState(false);
  const [isOver, setOver] = useState(false);
  const body = useRef<HTMLTextAreaElement>(null);
  const key = writing?.key;
  // On closing, the focus returns to the element that had it. It is read while rendering, before a field takes the
  // focus.
  const [before] = useState(() => document.activeElement);
  useLayoutEffect(
    () => () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    },
    [before],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: resets the window for another message
  useLayoutEffect(() => {
    setError(null);
    setScheduling(false);
    if (compose.get().writing?.to) {
      body.current?.focus();
      body.current?.setSelectionRange(0, 0);
      body.current?.scrollTo(0, 0);
    }
  }, [key]);
  // When the choice between two versions closes, its button is gone: focus the text.
  const hadChoice = useRef(false);
  useLayoutEffect(() => {
    if (hadChoice.current && !theirs) body.current?.focus();
    hadChoice.current = theirs !== null;
  }, [theirs]);
  if (!writing) return null;

  const sendAt = async (at: Date | null) => setError(await send(at));
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      void sendAt(null);
    }
    if (event.key === 'Escape') void closeWriting();
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    attach(event.dataTransfer.files);
  };
  return (
    <section
      className={isOver ? 'compose over' : 'compose'}
      aria-label="New message"
      onKeyDown={onKeyDown}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={onDrop}
    >
      <header className="compose-title">
        <h2 className="grow ellipsis">{writing.subject || 'New message'}</h2>
        <span className="small muted" role="status">
          {SAVED[saved]}
          {saved === 'failed' && trouble ? `; ${trouble}` : ''}
        </span>
        <button
          type="button"
          className="quiet icon"
          aria-label="Close and keep in Drafts"
          onClick={() => void closeWriting()}
        >
          ✕
        </button>
      </header>
      {theirs && <DraftChoice writing={writing} theirs={theirs} />}
      <Head key={writing.key} writing={writing} />
      {writing.html !== null && (
        <p className="compose-line small">
          <span className="grow">Formatted in another program. It is kept and sent as it is.</span>
          <button type="button" className="small" onClick={makePlain}>
            Go on in plain text
          </button>
        </p>
      )}
      <textarea
        ref={body}
        className="compose-body"
        aria-label="Message"
        value={writing.body}
        readOnly={writing.html !== null}
        onChange={(event) => change({ body: event.target.value })}
      />
      <Files uploads={writing.attachments} />
      {error && (
        <p className="error-box small" role="alert">
          {error}
        </p>
      )}
      {isScheduling && <Schedule onPick={(at) => void sendAt(at)} />}
      <footer className="compose-foot">
        <button
          type="button"
          className="primary"
          disabled={isSending}
          onClick={() => void sendAt(null)}
          title="Ctrl+Enter"
        >
          Send
        </button>
        <button type="button" aria-expanded={isScheduling} onClick={() => setScheduling(!isScheduling)}>
          Later
        </button>
        <label className="button attach">
          Attach
          <input
            type="file"
            multiple
            className="visually-hidden"
            onChange={(event) => {
              attach(event.target.files ?? []);
              event.target.value = '';
            }}
          />
        </label>
        <span className="grow" />
        <button type="button" className="quiet" onClick={() => void discard()}>
          Discard
        </button>
      </footer>
    </section>
  );
}
