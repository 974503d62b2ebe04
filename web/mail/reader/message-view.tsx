/** One message of a conversation: sender, date, text, attachments and delivery status. */
import { useState } from 'react';
import type { Authentication, SpamVerdict } from '../../../workers/mail/checks/verdicts.ts';
import { Avatar } from '../../shared/avatar.tsx';
import { formatDateTime, formatFull, formatRelative, formatWhen } from '../../shared/format.ts';
import { IconButton } from '../../shared/icon-button.tsx';
import { useStore } from '../../shared/store.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { showError } from '../../shared/toasts.tsx';
import { continueDraft, startReply } from '../compose/compose-state.ts';
import { cancelAndEdit } from '../compose/sending.ts';
import { describeAddress, formatAddresses } from '../model/addresses.ts';
import { type Address, type Delivery, type Message, rawPath } from '../model/api.ts';
import { useMaskedOf } from '../model/masked.ts';
import { session } from '../model/session.ts';
import { Attachments } from './attachments.tsx';
import { InvitationCard, mayInvite } from './invitation.tsx';
import { MessageFrame } from './message-frame.tsx';
import { PlainText } from './plain-text.tsx';
import { SenderMenu } from './sender-menu.tsx';
import { describeAuthentication, describeSpam } from './verdicts.ts';

const { reader: t } = mailTexts;

const states = (): Record<Delivery['state'], [string, string]> => ({
  queued: [t.states.sending, 'badge'],
  held: [t.states.sending, 'badge'],
  deferred: [t.states.retrying, 'badge warn'],
  sent: [t.states.sent, 'badge good'],
  delivered: [t.states.delivered, 'badge good'],
  failed: [t.states.failed, 'badge bad'],
  canceled: [t.sendCancelled, 'badge'],
});

/** Delay in milliseconds above which an outgoing message counts as scheduled. A shorter hold lets the user undo the send. */
const HOLD_MS_MAX = 120_000;

function toState({ state, delayed, next_attempt_at: next }: Delivery): [text: string, style: string] {
  const isScheduled = state === 'held' && Date.parse(next ?? '') - Date.now() > HOLD_MS_MAX;
  if (isScheduled) return [t.states.scheduled, 'badge'];
  return delayed ? [t.states.delayed, 'badge warn'] : (states()[state] ?? [state, 'badge']);
}

/** Label of the time `next_attempt_at`, by state of the delivery. */
const next = (): Partial<Record<Delivery['state'], string>> => ({
  held: t.sends,
  queued: t.sends,
  deferred: t.nextAttempt,
});

function DeliveryList({ message }: { message: Message }) {
  const delivery = message.delivery ?? [];
  if (delivery.length === 0) return null;
  const isHeld = delivery.some((one) => one.state === 'held' || one.state === 'queued');
  const cancel = () => void cancelAndEdit(message.id).catch(showError);
  return (
    <section className="delivery small" aria-label={t.delivery}>
      <ul>
        {delivery.map((one) => (
          <li key={one.email}>
            <span className={toState(one)[1]}>{toState(one)[0]}</span> {one.email}
            {one.next_attempt_at && Date.parse(one.next_attempt_at) > Date.now() && next()[one.state] && (
              <span className="muted next-attempt" title={formatFull(one.next_attempt_at)}>
                {fill(next()[one.state] ?? '', { when: formatRelative(one.next_attempt_at) })}
              </span>
            )}
            {one.last_reply && (one.state === 'deferred' || one.state === 'failed' || one.delayed) && (
              <div className="muted mono">{one.last_reply}</div>
            )}
          </li>
        ))}
      </ul>
      {isHeld && (
        <button type="button" onClick={cancel}>
          {t.undoSend}
        </button>
      )}
    </section>
  );
}

function Reasons({ title, reasons }: { title: string; reasons: string[] }) {
  if (reasons.length === 0) return null;
  return (
    <section className="reasons" aria-label={title}>
      <h3>{title}</h3>
      <ul>
        {reasons.map((reason) => (
          // The reasons are sentences of the server, in English.
          <li key={reason} lang="en">
            {reason}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Results of the sender checks and of the spam filter, with reasons. */
function Verdicts({ message }: { message: Message }) {
  const findings = describeAuthentication(message.authentication as Authentication | null);
  const spam = describeSpam(message.spam as SpamVerdict | null);
  if (findings.length === 0 && !spam) return null;
  return (
    <section className="verdicts small" aria-label={t.checks}>
      <ul>
        {findings.map((finding) => (
          <li
            key={finding.text}
            className={`${finding.tone === 'warn' ? 'warning' : finding.tone === 'bad' ? 'danger' : finding.tone}-text`}
          >
            {finding.text}
          </li>
        ))}
      </ul>
      {spam && (
        <>
          <p>
            <strong>{spam.title}.</strong>
          </p>
          <Reasons title={t.signsOfJunk} reasons={spam.against} />
          <Reasons title={t.signsOfGood} reasons={spam.inFavour} />
        </>
      )}
    </section>
  );
}

function Details({ message }: { message: Message }) {
  const rows: [string, string][] = [
    [t.fields.from, formatAddresses(message.from ? [message.from] : [])],
    [t.fields.to, formatAddresses(message.to)],
    [t.fields.cc, formatAddresses(message.cc)],
    [t.fields.bcc, formatAddresses(message.bcc)],
    [t.fields.replyToAddress, formatAddresses(message.reply_to ?? [])],
    [t.fields.date, formatFull(message.date)],
    [t.fields.received, formatFull(message.received_at)],
  ];
  return (
    <div className="details small">
      <dl>
        {rows
          .filter(([, value]) => value)
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
      <Verdicts message={message} />
    </div>
  );
}

/**
 * A difference between the Date header and the time of arrival above this is pointed out, because the sender chooses the header
 * freely.
 */
const DATE_TOLERANCE_MS = 24 * 3_600_000;

/** Where the user gave away the masked address to which the message came. */
function MaskedNote({ message }: { message: Message }) {
  const masked = useMaskedOf(message);
  if (!masked || message.delivery !== undefined) return null;
  const note = masked.note || masked.for_domain || t.noNote;
  return <p className="muted small">{fill(t.toMasked, { email: masked.email, note })}</p>;
}

/** What a reader of the message should know first. */
const Notes = ({ message }: { message: Message }) => (
  <>
    <MaskedNote message={message} />
    {message.importance === 'high' && <p className="badge warn">{t.highImportance}</p>}
    {message.is_truncated && (
      <p className="row wrap">
        <span className="badge warn">{t.cutShort}</span>
        <a href={rawPath(message.id)} download={`${message.id}.eml`}>
          {t.download}
        </a>
      </p>
    )}
  </>
);

/** The date of arrival in a folded message, as in the list. An open message shows its Date header. */
function When({ message, isOpen }: { message: Message; isOpen: boolean }) {
  const { date, received_at: receivedAt } = message;
  if (!isOpen) {
    return (
      <time className="muted small" dateTime={receivedAt} title={formatFull(receivedAt)}>
        {formatWhen(receivedAt)}
      </time>
    );
  }
  const isFar = Math.abs(Date.parse(date) - Date.parse(receivedAt)) > DATE_TOLERANCE_MS;
  return (
    <span className="muted small when-open">
      <time dateTime={date} title={formatFull(date)}>
        {formatDateTime(date)}
      </time>
      {isFar && (
        <time className="warning-text" dateTime={receivedAt} title={formatFull(receivedAt)}>
          {fill(t.received, { receivedAt: formatDateTime(receivedAt) })}
        </time>
      )}
    </span>
  );
}

interface Props {
  message: Message;
  /** All messages of the open conversation. */
  thread: readonly Message[];
  isOpen: boolean;
  isDraft: boolean;
  onToggle: () => void;
}

export function MessageView({ message, thread, isOpen, isDraft, onToggle }: Props) {
  const [areDetailsOpen, setDetailsOpen] = useState(false);
  const isForged = (message.authentication as Authentication | null)?.dmarc?.result === 'fail';
  const who = isDraft ? t.draft : describeAddress(message.from);
  const own = useStore(session, (state) => state.profile?.addresses);
  // With several addresses, it matters which one.
  const toName = (address: Address) => (own?.join() === address.email ? mailTexts.list.me : describeAddress(address));
  const recipients = [...message.to, ...message.cc].map(toName).join(', ');
  return (
    <article
      className={isOpen ? 'message open' : 'message'}
      aria-label={isDraft ? t.draft : fill(t.messageFrom, { who })}
    >
      <header className="message-head">
        <button type="button" className="quiet message-toggle" aria-expanded={isOpen} onClick={onToggle}>
          <Avatar name={who} id={message.from?.email ?? who} />
          <span className="grow who">
            <strong dir="auto" className={isDraft ? 'ellipsis danger-text' : 'ellipsis'}>
              {who}
            </strong>
            <span className="muted small ellipsis" dir="auto">
              {isOpen
                ? fill(t.toPeople, { recipients: recipients || (isDraft ? t.noRecipients : t.undisclosed) })
                : message.preview || message.body.slice(0, 140)}
            </span>
          </span>
          <When message={message} isOpen={isOpen} />
        </button>
        {isOpen && (
          <span className="head-actions">
            {!isDraft && (
              <IconButton
                icon="reply"
                label={fill(t.replyTo, { name: who })}
                onClick={() => void startReply('reply', message)}
              />
            )}
            <IconButton
              icon="info"
              label={t.details}
              isExpanded={areDetailsOpen}
              onClick={() => setDetailsOpen(!areDetailsOpen)}
            />
            <SenderMenu message={message} isOwn={isDraft || message.delivery !== undefined} />
          </span>
        )}
      </header>
      {isOpen && (
        <div className="message-body">
          {isForged && <p className="error-box small">{fill(t.forged, { email: message.from?.email ?? '' })}</p>}
          <Notes message={message} />
          {areDetailsOpen && <Details message={message} />}
          <DeliveryList message={message} />
          {mayInvite(message) && <InvitationCard message={message} thread={thread} />}
          {message.html ? (
            <MessageFrame messageId={message.id} html={message.html} attachments={message.attachments} />
          ) : (
            <PlainText body={message.body} />
          )}
          <Attachments messageId={message.id} attachments={message.attachments} />
          {isDraft && (
            <div className="message-actions">
              <button type="button" className="primary" onClick={() => void continueDraft(message.id)}>
                {t.goOnWriting}
              </button>
            </div>
          )}
        </div>
      )}
    </article>
  );
}
