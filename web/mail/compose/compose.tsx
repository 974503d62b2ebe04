/** The window in which a message is written. */
import {
  type ClipboardEvent,
  type DragEvent,
  type KeyboardEvent,
  type RefObject,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { createPortal, flushSync } from 'react-dom';
import { FileButton } from '../../shared/files.tsx';
import { IconButton } from '../../shared/icon-button.tsx';
import { Icon } from '../../shared/icons.tsx';
import { Menu, type MenuCommand } from '../../shared/menu.tsx';
import { isLayerOpen } from '../../shared/open-layers.ts';
import { useStore } from '../../shared/store.ts';
import { mailComposeTexts } from '../../shared/texts/mail-compose.ts';
import { showError } from '../../shared/toasts.tsx';
import { makeMasked } from '../model/masked.ts';
import { view } from '../model/view.ts';
import { type CopyField, findCopyField, Head } from './compose-head.tsx';
import { change, closeWriting, discard, makePlain } from './compose-state.ts';
import { type ComposeState, compose } from './compose-store.ts';
import './editor.css';
import { DraftChoice } from './draft-choice-panel.tsx';
import type { Editor } from './editor.ts';
import { Files } from './files.tsx';
import { FormatBar } from './format-bar.tsx';
import { pasteIntoPlain, switchToPlain, switchToRich } from './format-switch.ts';
import { formatTools, showTools } from './format-tools.ts';
import { plainChoice } from './plain-choice.ts';
import { QuotedMessage } from './quoted-message.tsx';
import { RichEditor } from './rich-editor.tsx';
import { Schedule } from './schedule.tsx';
import { findSendQuestion } from './send-questions.ts';
import { findSendProblem, send } from './sending.ts';
import { attach } from './uploads.ts';
import type { Writing } from './writing.ts';

const { window: t } = mailComposeTexts;

const SAVED: Record<ComposeState['saved'], string> = {
  no: '',
  here: t.savedOnThisDevice,
  drafts: t.saveState,
  failed: t.savedOnThisDevice,
  changed: t.savedOnThisDevice,
};

/** Asks for a confirmation if the message probably has a mistake, for example no attachment. Sending is the default. */
function Question({ text, onSend, onBack }: { text: string; onSend: () => void; onBack: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => button.current?.focus(), []);
  return (
    <div className="send-question small" role="alert">
      <span className="grow">{text}</span>
      <button ref={button} type="button" className="primary small" onClick={onSend}>
        {t.sendAnyway}
      </button>
      <button type="button" className="small" onClick={onBack}>
        {t.goBack}
      </button>
    </div>
  );
}

/** Menu entries of options that few messages need, such as the importance. */
const listOptions = ({ importance, html }: Writing, isRich: boolean): MenuCommand[] => [
  ...(html === null
    ? [
        isRich
          ? { icon: 'plain' as const, title: t.plain, run: switchToPlain }
          : { icon: 'format' as const, title: t.format, run: switchToRich },
      ]
    : []),
  ...(['high', 'normal', 'low'] as const)
    .filter((one) => one !== importance)
    .map((one) => ({
      icon: 'flagged' as const,
      title: t.importances[one],
      run: () => change({ importance: one }),
    })),
  { icon: 'reply', title: t.setReplyTo, run: () => compose.set({ isReplyToShown: true }) },
  { icon: 'key', title: t.fromMasked, run: () => void sendFromMasked() },
];

/** Makes an address to give away, and makes it the sender of the message. */
async function sendFromMasked(): Promise<void> {
  try {
    const { email } = await makeMasked(compose.get().writing?.to.slice(0, 200) ?? '');
    change({ from: email });
  } catch (error) {
    showError(error);
  }
}

interface TextProps {
  writing: Writing;
  isRich: boolean;
  body: RefObject<HTMLElement | null>;
  onEditor: (editor: Editor | null) => void;
}

/** The text of the message: the editor, or a field of plain text. */
function Text({ writing, isRich, body, onEditor }: TextProps) {
  if (isRich) return <RichEditor writing={writing} body={body} onEditor={onEditor} />;
  const onPaste = (event: ClipboardEvent) => {
    if (writing.html === null) pasteIntoPlain(event);
  };
  return (
    <textarea
      ref={body as RefObject<HTMLTextAreaElement>}
      className="compose-body"
      aria-label={t.message}
      dir="auto"
      value={writing.body}
      readOnly={writing.html !== null}
      onChange={(event) => change({ body: event.target.value })}
      onPaste={onPaste}
    />
  );
}

interface FootProps {
  writing: Writing;
  isRich: boolean;
  isSending: boolean;
  isScheduling: boolean;
  onSend: () => void;
  onSchedule: () => void;
}

/** The buttons below the text. */
function Foot({ writing, isRich, isSending, isScheduling, onSend, onSchedule }: FootProps) {
  const areToolsShown = useStore(formatTools, (state) => state.areShown);
  return (
    <footer className="compose-foot">
      <button
        type="button"
        className="primary"
        disabled={isSending}
        onClick={onSend}
        data-tip={t.send}
        data-keys="Ctrl+Enter"
      >
        <Icon name="send" /> {t.send}
      </button>
      <IconButton icon="clock" label={t.later} isExpanded={isScheduling} onClick={onSchedule} />
      <FileButton icon="clip" label={t.attach} className="quiet icon" onFiles={attach} />
      {writing.html === null && (
        <IconButton
          icon="format"
          label={isRich ? t.tools.show : t.format}
          {...(isRich ? { isExpanded: areToolsShown } : {})}
          onClick={isRich ? () => showTools(!areToolsShown) : switchToRich}
        />
      )}
      {/* Not in the corner: on a phone, the button that opens this window is there, and a second tap must not discard. */}
      <IconButton icon="trash" label={t.discard} className="discard" onClick={() => void discard()} />
      <Menu icon="more" label={t.options} commands={listOptions(writing, isRich)} />
    </footer>
  );
}

interface Asked {
  text: string;
  sendAt: Date | null;
}

export function Compose() {
  const { writing, saved, trouble, theirs, isSending, isFull, error: refusal } = useStore(compose, (state) => state);
  const writesPlain = useStore(plainChoice, (state) => state.isPlain);
  const areToolsShown = useStore(formatTools, (state) => state.areShown);
  const [editor, setEditor] = useState<Editor | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [asked, setAsked] = useState<Asked | null>(null);
  const answered = useRef(new Set<string>());
  const [isScheduling, setScheduling] = useState(false);
  const [isOver, setOver] = useState(false);
  /** Key of the message whose fields for copies are open. */
  const [copiesOf, setCopiesOf] = useState<string | null>(null);
  const body = useRef<HTMLElement>(null);
  const key = writing?.key;
  const slot = useStore(view, (state) => state.replySlot);
  // When the window closes, the focus returns to the element that had it. Read that element while rendering, before a field takes
  // the focus.
  const [before] = useState(() => document.activeElement);
  useLayoutEffect(
    () => () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    },
    [before],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: resets the window for another message
  useLayoutEffect(() => {
    setProblem(null);
    setAsked(null);
    setScheduling(false);
  }, [key]);
  const focused = useRef<string | undefined>(undefined);
  useLayoutEffect(() => {
    // If a reply moves from its conversation into a window, the focus stays where it is.
    const isSeen = focused.current === key && slot === null;
    focused.current = key;
    if (isSeen || !compose.get().writing?.to) return;
    body.current?.focus();
    if (body.current instanceof HTMLTextAreaElement) body.current.setSelectionRange(0, 0);
    body.current?.scrollTo(0, 0);
    slot?.scrollIntoView({ block: 'nearest' });
  }, [key, slot]);
  // When the user has chosen one of two versions, the button of the choice is gone: focus the text.
  const hadChoice = useRef(false);
  useLayoutEffect(() => {
    if (hadChoice.current && !theirs) body.current?.focus();
    hadChoice.current = theirs !== null;
  }, [theirs]);
  if (!writing) return null;

  // Text without formatting is edited as the user prefers, formatted text always in the editor.
  const isRich = writing.html === null && (writing.rich !== null || !writesPlain);
  const error = problem ?? refusal;
  const sendAt = async (at: Date | null) => {
    if (asked) {
      answer(true);
      return;
    }
    // A keyboard shortcut may arrive before the page has drawn the last change, so read the current message from the store.
    const current = compose.get().writing ?? writing;
    const text = answered.current.has(current.key) ? null : findSendQuestion(current);
    if (text === null || findSendProblem(current) !== null) setProblem(await send(at));
    else {
      setProblem(null);
      setAsked({ text, sendAt: at });
    }
  };
  const answer = (isSend: boolean) => {
    answered.current.add(writing.key);
    setAsked(null);
    if (isSend) void send(asked?.sendAt ?? null).then(setProblem);
    else body.current?.focus();
  };
  const openCopies = (field: CopyField) => {
    flushSync(() => setCopiesOf(writing.key));
    document.querySelector<HTMLElement>(`.compose [data-recipients="${field}"]`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation();
    const field = findCopyField(event);
    if (field) {
      event.preventDefault();
      openCopies(field);
    }
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      void sendAt(null);
    }
    // Escape closes only the menu, if one is open.
    if (event.key === 'Escape' && !isLayerOpen()) void closeWriting();
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    attach(event.dataTransfer.files);
  };
  const setFull = (isOn: boolean) => {
    compose.set({ isFull: isOn, isPoppedOut: true });
    body.current?.focus();
  };
  const classes = ['compose', isOver ? 'over' : '', slot ? 'inline' : '', isFull && !slot ? 'full' : ''];
  const window = (
    <section
      className={classes.filter(Boolean).join(' ')}
      hidden={isSending}
      aria-label={t.newMessage}
      onKeyDown={onKeyDown}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDropCapture={() => setOver(false)}
      onDrop={onDrop}
    >
      <header className="compose-title">
        <h2 className="grow ellipsis">{writing.subject || t.newMessage}</h2>
        <span className="small muted" role="status">
          {SAVED[saved]}
          {saved === 'failed' && trouble ? `; ${trouble}` : ''}
        </span>
        {slot && <IconButton icon="popOut" label={t.popOut} onClick={() => compose.set({ isPoppedOut: true })} />}
        <IconButton
          icon={isFull ? 'shrink' : 'grow'}
          label={isFull ? t.leaveFull : t.full}
          className="full-button"
          isPressed={isFull}
          onClick={() => setFull(!isFull)}
        />
        <IconButton icon="close" label={t.close} keys="Esc" onClick={() => void closeWriting()} />
      </header>
      {theirs && <DraftChoice writing={writing} theirs={theirs} />}
      <Head
        key={writing.key}
        writing={writing}
        areCopiesOpen={copiesOf === writing.key}
        onOpenCopies={() => openCopies('cc')}
      />
      {writing.html !== null && (
        <p className="compose-line small">
          <span className="grow">{t.foreignFormat}</span>
          <button type="button" className="small" onClick={() => makePlain()}>
            {t.switchToPlainText}
          </button>
        </p>
      )}
      <Text key={`text of ${writing.key}`} writing={writing} isRich={isRich} body={body} onEditor={setEditor} />
      {writing.quote && <QuotedMessage key={`quote of ${writing.key}`} writing={writing} html={writing.quote.html} />}
      <Files uploads={writing.attachments} />
      {error && (
        <p className="error-box small" role="alert">
          {error}
        </p>
      )}
      {asked && <Question text={asked.text} onSend={() => answer(true)} onBack={() => answer(false)} />}
      {isScheduling && <Schedule onPick={(at) => void sendAt(at)} />}
      {isRich && areToolsShown && <FormatBar editor={editor} />}
      <Foot
        writing={writing}
        isRich={isRich}
        isSending={isSending}
        isScheduling={isScheduling}
        onSend={() => void sendAt(null)}
        onSchedule={() => setScheduling(!isScheduling)}
      />
    </section>
  );
  return slot ? createPortal(window, slot) : window;
}
