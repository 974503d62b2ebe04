/** The fields above the text of the message being written: sender, recipients, subject. */
import { useStore } from '../../shared/store.ts';
import { mailComposeTexts } from '../../shared/texts/mail-compose.ts';
import { session } from '../model/session.ts';
import { change } from './compose-state.ts';
import { compose } from './compose-store.ts';
import { Recipients } from './recipients.tsx';
import type { Writing } from './writing.ts';

const { window: t } = mailComposeTexts;

export type CopyField = 'cc' | 'bcc';

/** Keys of the fields for copies, the same as in Gmail. */
export const COPY_KEYS: Readonly<Record<CopyField, string>> = { cc: 'Ctrl+Shift+C', bcc: 'Ctrl+Shift+B' };

/** Finds the field that a key press asks for. */
export function findCopyField(event: {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
}): CopyField | null {
  if (!event.shiftKey || !(event.ctrlKey || event.metaKey)) return null;
  return ({ c: 'cc', b: 'bcc' } as const)[event.key.toLowerCase()] ?? null;
}

/** Choice of the sender, among the user's addresses and the masked one of the message. Hidden if there is only one. */
function Sender({ writing }: { writing: Writing }) {
  const own = useStore(session, (state) => state.profile?.addresses);
  const offered = own && (writing.from === '' || own.includes(writing.from) ? own : [...own, writing.from]);
  if (!offered || offered.length < 2) return null;
  return (
    <label className="compose-line">
      <span>{t.from}</span>
      <select value={writing.from || offered[0]} onChange={(event) => change({ from: event.target.value })}>
        {offered.map((email) => (
          <option key={email}>{email}</option>
        ))}
      </select>
    </label>
  );
}

interface Props {
  writing: Writing;
  /** Whether the fields for copies are open although they are empty. */
  areCopiesOpen: boolean;
  onOpenCopies: () => void;
}

export function Head({ writing, areCopiesOpen, onOpenCopies }: Props) {
  const isReplyToShown = useStore(compose, (state) => state.isReplyToShown) || writing.replyTo !== '';
  return (
    <div className="compose-head">
      <Sender writing={writing} />
      <Recipients label={t.to} value={writing.to} onChange={(to) => change({ to })} isFirst />
      {areCopiesOpen || writing.cc !== '' || writing.bcc !== '' ? (
        <>
          <Recipients label={t.cc} name="cc" value={writing.cc} onChange={(cc) => change({ cc })} />
          <Recipients label={t.bcc} name="bcc" value={writing.bcc} onChange={(bcc) => change({ bcc })} />
        </>
      ) : (
        // Not in the tab order: after the recipients, Tab leads to the subject. The keys open the fields too.
        <button
          type="button"
          className="quiet small more"
          tabIndex={-1}
          aria-keyshortcuts={`${COPY_KEYS.cc} ${COPY_KEYS.bcc}`}
          data-tip={t.ccBcc}
          data-keys={`${COPY_KEYS.cc} ${COPY_KEYS.bcc}`}
          onClick={onOpenCopies}
        >
          {t.ccBcc}
        </button>
      )}
      {isReplyToShown && (
        <Recipients label={t.replyTo} value={writing.replyTo} onChange={(replyTo) => change({ replyTo })} />
      )}
      <label className="compose-line">
        <span>{t.subject}</span>
        <input dir="auto" value={writing.subject} onChange={(event) => change({ subject: event.target.value })} />
        {writing.importance !== 'normal' && <span className="badge">{t.importances[writing.importance]}</span>}
      </label>
    </div>
  );
}
