/** Suggestions for a new user, shown in place of a conversation until the mailbox is in use or the user is done. */
import { useState } from 'react';
import { toHash } from '../../shared/hash-route.ts';
import { Icon, type IconName } from '../../shared/icons.tsx';
import { useStore } from '../../shared/store.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { useLoaded } from '../../shared/use-loaded.ts';
import { startWriting } from '../compose/compose-state.ts';
import type { FolderRole } from '../model/api.ts';
import { hasImported, hasPasskey } from '../model/done-steps.ts';
import { mailbox } from '../model/mailbox.ts';
import { session } from '../model/session.ts';

const { firstSteps: t } = mailTexts;
const KEY = 'tessera.mail.first-steps';
/** The introduction is shown only in mailboxes with at most this many messages. */
const MESSAGES_MAX = 5;

function isDone(userId: string): boolean {
  try {
    return localStorage.getItem(`${KEY}.${userId}`) !== null;
  } catch {
    return false;
  }
}

const useTotal = (role: FolderRole): number =>
  useStore(mailbox, (state) => state.folders.find((folder) => folder.role === role)?.total ?? -1);

/** Whether the introduction is shown. */
export function useFirstSteps(): { isShown: boolean; finish: () => void } {
  const userId = useStore(session, (state) => state.profile?.user_id ?? '');
  const [isFinished, setFinished] = useState(() => isDone(userId));
  const total = useTotal('all');
  const finish = () => {
    setFinished(true);
    try {
      localStorage.setItem(`${KEY}.${userId}`, '1');
    } catch {
      // Storage is unavailable, so the introduction is shown again at the next visit.
    }
  };
  return { isShown: !isFinished && total >= 0 && total <= MESSAGES_MAX, finish };
}

interface StepProps {
  icon: IconName;
  title: string;
  text: string;
  isTicked: boolean;
  action: { label: string; href?: string; onClick?: () => void };
}

function Step({ icon, title, text, isTicked, action }: StepProps) {
  return (
    <li className="step">
      <span className={isTicked ? 'step-sign done' : 'step-sign'}>
        <Icon name={isTicked ? 'check' : icon} />
      </span>
      <div className="grow">
        <h3>
          {title}
          {isTicked && <span className="visually-hidden"> {t.ticked}</span>}
        </h3>
        <p className="muted small">{text}</p>
      </div>
      {action.href === undefined ? (
        <button type="button" onClick={action.onClick}>
          {action.label}
        </button>
      ) : (
        <a className="button" href={action.href}>
          {action.label}
        </a>
      )}
    </li>
  );
}

export function FirstSteps({ onFinish }: { onFinish: () => void }) {
  const profile = useStore(session, (state) => state.profile);
  const sent = useTotal('sent');
  const { value: isPasskeyThere } = useLoaded(hasPasskey, []);
  const { email = '', name = '' } = profile ?? {};
  const write = () => startWriting({ to: email, subject: t.subject, body: fill(t.body, { name }) });
  return (
    <section className="first-steps" aria-labelledby="first-steps">
      <h2 id="first-steps">{fill(t.title, { name: name.split(' ')[0] ?? '' })}</h2>
      <p className="muted">{fill(t.lead, { email })}</p>
      <ol className="plain-list">
        <Step
          icon="send"
          title={t.send}
          text={t.sendText}
          isTicked={sent > 0}
          action={{ label: t.sendButton, onClick: write }}
        />
        <Step
          icon="inbox"
          title={t.import}
          text={t.importText}
          isTicked={hasImported()}
          action={{ label: t.importButton, href: toHash(['settings', 'transfer']) }}
        />
        <Step
          icon="key"
          title={t.protect}
          text={t.protectText}
          isTicked={profile?.totp_enabled === true || isPasskeyThere === true}
          action={{ label: t.protectButton, href: toHash(['settings', 'security']) }}
        />
      </ol>
      <p>
        <button type="button" className="quiet" onClick={onFinish}>
          {t.finish}
        </button>
      </p>
    </section>
  );
}
