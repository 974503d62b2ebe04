/** One message of a conversation: sender, date, text, attachments and delivery status. */
import { useState } from 'react';
import type { Authentication, SpamVerdict } from '../../../workers/mail/checks/verdicts.ts';
import { formatDateTime, formatFull, formatRelative, formatWhen } from '../../shared/format.ts';
import { showError, showToast } from '../../shared/toasts.tsx';
import { continueDraft, startReply } from '../compose/compose-state.ts';
import { describeAddress, formatAddresses } from '../model/addresses.ts';
import { cancelSend, type Delivery, type Message, rawPath } from '../model/api.ts';
import { refreshAll } from '../model/list-reading.ts';
import { Attachments } from './attachments.tsx';
import { MessageFrame } from './message-frame.tsx';
import { PlainText } from './plain-text.tsx';
import { describeAuthentication, describeSpam } from './verdicts.ts';

const STATES: Record<Delivery['state'], [string, string]> = {
  queued: ['Waiting to leave', 'badge'],
  held: ['Held', 'badge warn'],
  deferred: ['Will be tried again', 'badge warn'],
  sent: ['Sent', 'badge good'],
  delivered: ['Delivered', 'badge good'],
  failed: ['Failed', 'badge bad'],
  canceled: ['Taken back', 'badge'],
};

/** Label of `next_attempt_at`. */
const NEXT: Partial<Record<Delivery['state'], string>> = {
  held: 'Leaves',
  queued: 'Leaves',
  deferred: 'Next attempt',
};

function DeliveryList({ message }: { message: Message }) {
  const delivery = message.delivery ?? [];
  if (delivery.length === 0) return null;
  const isHeld = delivery.some((one) => one.state === 'held' || one.state === 'queued');
  const cancel = () =>
    cancelSend(message.id).then(
      () => {
        showToast('Taken back.');
        refreshAll();
      },
      (error: unknown) => showError(error),
    );
  return (
    <section className="delivery small" aria-label="Delivery">
      <ul>
        {delivery.map((one) => (
          <li key={one.email}>
            <span className={STATES[one.state]?.[1] ?? 'badge'}>{STATES[one.state]?.[0] ?? one.state}</span> {one.email}
            {one.next_attempt_at && NEXT[one.state] && (
              <span className="muted next-attempt" title={formatFull(one.next_attempt_at)}>
                {NEXT[one.state]} {formatRelative(one.next_attempt_at)}
              </span>
            )}
            {one.last_reply && (one.state === 'deferred' || one.state === 'failed') && (
              <div className="muted mono">{one.last_reply}</div>
            )}
          </li>
        ))}
      </ul>
      {isHeld && (
        <button type="button" onClick={cancel}>
          Take it back
        </button>
      )}
    </section>
  );
}

/** Results of the sender checks and of the spam filter, with reasons. */
function Verdicts({ message }: { message: Message }) {
  const findings = describeAuthentication(message.authentication as Authentication | null);
  const spam = describeSpam(message.spam as SpamVerdict | null);
  if (findings.length === 0 && !spam) return null;
  return (
    <section className="verdicts small" aria-label="Checks">
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
        <p>
          <strong>{spam.title}.</strong> {spam.reasons.join(' · ')}
        </p>
      )}
    </section>
  );
}

function Details({ message }: { message: Message }) {
  const rows: [string, string][] = [
    ['From', formatAddresses(message.from ? [message.from] : [])],
    ['To', formatAddresses(message.to)],
    ['Cc', formatAddresses(message.cc)],
    ['Bcc', formatAddresses(message.bcc)],
    ['Reply to', formatAddresses(message.reply_to ?? [])],
    ['Date', formatFull(message.date)],
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
      <a href={rawPath(message.id)} target="_blank" rel="noopener">
        The message as it came
      </a>
    </div>
  );
}

interface Props {
  message: Message;
  isOpen: boolean;
  isDraft: boolean;
  onToggle: () => void;
}

export function MessageView({ message, isOpen, isDraft, onToggle }: Props) {
  const [areDetailsOpen, setDetailsOpen] = useState(false);
  const isForged = (message.authentication as Authentication | null)?.dmarc?.result === 'fail';
  const who = isDraft ? 'Draft' : describeAddress(message.from);
  const recipients = [...message.to, ...message.cc].map(describeAddress).join(', ');
  return (
    <article className={isOpen ? 'message open' : 'message'} aria-label={isDraft ? 'Draft' : `Message from ${who}`}>
      <header className="message-head">
        <button type="button" className="quiet message-toggle" aria-expanded={isOpen} onClick={onToggle}>
          <span className="avatar" aria-hidden="true">
            {isDraft ? '✎' : who.slice(0, 1).toUpperCase()}
          </span>
          <span className="grow who">
            <strong className={isDraft ? 'ellipsis danger-text' : 'ellipsis'}>{who}</strong>
            <span className="muted small ellipsis">
              {isOpen
                ? `to ${recipients || (isDraft ? 'nobody yet' : 'undisclosed recipients')}`
                : message.preview || message.body.slice(0, 140)}
            </span>
          </span>
          <time className="muted small" dateTime={message.date} title={formatFull(message.date)}>
            {isOpen ? formatDateTime(message.date) : formatWhen(message.date)}
          </time>
        </button>
        {isOpen && (
          <button
            type="button"
            className="quiet small"
            aria-expanded={areDetailsOpen}
            onClick={() => setDetailsOpen(!areDetailsOpen)}
          >
            Details
          </button>
        )}
      </header>
      {isOpen && (
        <div className="message-body">
          {isForged && (
            <p className="error-box small">
              This message says it is from {message.from?.email}, but that domain does not vouch for it. Do not trust
              its links.
            </p>
          )}
          {areDetailsOpen && <Details message={message} />}
          <DeliveryList message={message} />
          {message.html ? (
            <MessageFrame messageId={message.id} html={message.html} attachments={message.attachments} />
          ) : (
            <PlainText body={message.body} />
          )}
          <Attachments messageId={message.id} attachments={message.attachments} />
          <div className="row wrap message-actions">
            {isDraft ? (
              <button type="button" className="primary" onClick={() => void continueDraft(message.id)}>
                Go on writing
              </button>
            ) : (
              <>
                <button type="button" onClick={() => startReply('reply', message)}>
                  Reply
                </button>
                <button type="button" onClick={() => startReply('all', message)}>
                  Reply to all
                </button>
                <button type="button" onClick={() => startReply('forward', message)}>
                  Forward
                </button>
              </>
            )}
          </div>
        </div>
      )}
    </article>
  );
}
