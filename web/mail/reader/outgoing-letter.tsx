/** Shows a message of the outbox in its conversation, until the server's copy replaces it. */
import { useState } from 'react';
import { Avatar } from '../../shared/avatar.tsx';
import { fill } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { showError } from '../../shared/toasts.tsx';
import type { OutgoingLetter } from '../compose/outbox.ts';
import { undoLetter } from '../compose/sending.ts';
import { describeAddress } from '../model/addresses.ts';
import { session } from '../model/session.ts';
import { PlainText } from './plain-text.tsx';

const t = mailTexts.reader;

const states = (): Record<OutgoingLetter['state'], [text: string, style: string]> => ({
  sending: [t.states.sending, 'badge'],
  waiting: [t.waitingForNetwork, 'badge warn'],
  sent: [t.states.sending, 'badge'],
});

export function OutgoingLetterView({ letter }: { letter: OutgoingLetter }) {
  const { name = '', email = '' } = session.get().profile ?? {};
  const [isBusy, setBusy] = useState(false);
  const [text, style] = states()[letter.state];
  const recipients = [...letter.body.to, ...letter.body.cc, ...letter.body.bcc].map(describeAddress).join(', ');
  const undo = () => {
    setBusy(true);
    undoLetter(letter).then(
      () => setBusy(false),
      (error: unknown) => {
        setBusy(false);
        showError(error);
      },
    );
  };
  return (
    <article className="message open outgoing" aria-label={t.messageFromMe}>
      <header className="message-head">
        <div className="message-toggle row">
          <Avatar name={name || 'M'} id={email} />
          <span className="grow who">
            <strong>{t.me}</strong>
            <span className="muted small ellipsis" dir="auto">
              {fill(t.toPeople, { recipients })}
            </span>
          </span>
        </div>
      </header>
      <div className="message-body">
        <section className="delivery small row" aria-label={t.delivery} aria-live="polite">
          <span className={style}>{text}</span>
          {letter.state === 'waiting' && <span className="muted">{t.savedHere}</span>}
          <span className="grow" />
          <button type="button" className="small" disabled={isBusy} onClick={undo}>
            {t.undo}
          </button>
        </section>
        <PlainText body={letter.writing.body} />
        {letter.writing.quote && <p className="muted small">{t.quotedMessageFollows}</p>}
      </div>
    </article>
  );
}
