/** Actions for the sender of a message: leave the list, trust, block, filter. */
import { useState } from 'react';
import { describeError } from '../../shared/api.ts';
import { Dialog } from '../../shared/dialog.tsx';
import { focusOnAppearing } from '../../shared/focus.ts';
import { go, toHash } from '../../shared/hash-route.ts';
import { Menu, type MenuCommand } from '../../shared/menu.tsx';
import { useStore } from '../../shared/store.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { showError } from '../../shared/toasts.tsx';
import { useLoaded } from '../../shared/use-loaded.ts';
import { describeAddress } from '../model/addresses.ts';
import type { Message } from '../model/api.ts';
import { waiting } from '../model/change-queue.ts';
import { decideSender, leaveListOf } from '../model/changes.ts';
import { UNSUBSCRIBED_LABEL } from '../model/labels.ts';
import { readListState } from '../model/left-lists.ts';
import { entriesOf, type Sender } from '../model/senders.ts';
import { signOutIfUnauthorized } from '../model/session.ts';
import { Original } from './original.tsx';

const { reader: t, senders } = mailTexts;
const DECISIONS = entriesOf(senders.decisions);
const ICONS = { blocked: 'block', trusted: 'trust' } as const satisfies Record<Sender['status'], MenuCommand['icon']>;

function LeaveListDialog({ message, onClose }: { message: Message; onClose: () => void }) {
  const [isSending, setSending] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const way = message.unsubscribe;
  if (!way) return null;
  const name = describeAddress(message.from);
  const leave = async () => {
    setSending(true);
    try {
      await leaveListOf(message.id, name);
      onClose();
    } catch (cause) {
      setError(describeError(cause));
      setSending(false);
    }
  };
  const explanation = { one_click: t.leave.oneClick, mail: t.leave.mail, web: t.leave.web }[way.method];
  const values = {
    name,
    email: way.method === 'mail' ? way.email : '',
    host: way.method === 'mail' ? '' : new URL(way.url).host,
  };
  return (
    <Dialog title={fill(t.leave.title, { name })} onClose={onClose}>
      <div className="stack">
        <p>{fill(explanation, values)}</p>
        {error && (
          <p className="error-box" role="alert">
            {error}
          </p>
        )}
        <div className="row wrap">
          {way.method === 'web' ? (
            <a
              className="button primary"
              href={way.url}
              target="_blank"
              rel="noreferrer noopener"
              onClick={onClose}
              ref={focusOnAppearing}
            >
              {t.leave.open}
            </a>
          ) : (
            <button
              type="button"
              className="primary"
              disabled={isSending}
              onClick={() => void leave()}
              ref={focusOnAppearing}
            >
              {t.leave.button}
            </button>
          )}
          <button type="button" onClick={onClose}>
            {t.leave.cancel}
          </button>
        </div>
      </div>
    </Dialog>
  );
}

/** The button beside the sender of a list's message, and the menu of every received message. */
export function SenderMenu({ message, isOwn }: { message: Message; isOwn: boolean }) {
  const [isLeaving, setLeaving] = useState(false);
  const [isOriginalShown, setOriginalShown] = useState(false);
  const isLeavingLater = useStore(
    waiting,
    ({ changes, isBlocked }) =>
      isBlocked && changes.some((change) => change.kind === 'leave' && change.messageId === message.id),
  );
  const email = message.from?.email ?? '';
  const decide = (status: Sender['status']) =>
    void decideSender(email, status).catch((error: unknown) => {
      signOutIfUnauthorized(error);
      showError(error);
    });
  const aboutSender: MenuCommand[] =
    isOwn || !email
      ? []
      : [
          ...DECISIONS.map(([status, { command }]) => ({
            icon: ICONS[status],
            title: fill(command, { email }),
            run: () => decide(status),
          })),
          {
            icon: 'filter',
            title: senders.filter,
            run: () => go(toHash(['settings', 'filters'], { from: email })),
          },
        ];
  const { value } = useLoaded(() => readListState(message), [message]);
  // Until the rest of the list is known, the message itself decides.
  const list = value ?? (message.labels.includes(UNSUBSCRIBED_LABEL) ? 'left' : 'member');
  const canLeave = message.unsubscribe && !isLeavingLater && list === 'member';
  const leaving: MenuCommand[] = canLeave
    ? [{ icon: 'signOut', title: t.unsubscribe, run: () => setLeaving(true) }]
    : [];
  return (
    <>
      {message.unsubscribe && !canLeave && (
        <span className={`unsubscribe small ${list}`}>
          {list === 'member' ? t.leave.waiting : t.leave[list]}{' '}
          {list === 'arriving' && (
            <button type="button" className="link" onClick={() => decide('blocked')}>
              {t.leave.block}
            </button>
          )}
        </span>
      )}
      {canLeave && (
        <button type="button" className="quiet small unsubscribe" onClick={() => setLeaving(true)}>
          {t.unsubscribe}
        </button>
      )}
      <Menu
        icon="more"
        label={fill(t.more, { name: describeAddress(message.from) })}
        commands={[...leaving, ...aboutSender, { icon: 'file', title: t.original, run: () => setOriginalShown(true) }]}
      />
      {isLeaving && <LeaveListDialog message={message} onClose={() => setLeaving(false)} />}
      {isOriginalShown && <Original messageId={message.id} onClose={() => setOriginalShown(false)} />}
    </>
  );
}
