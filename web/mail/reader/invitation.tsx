/** Shows the event of an invitation, with buttons that answer it. */
import { useState } from 'react';
import { formatEvent } from '../../shared/format.ts';
import { Icon } from '../../shared/icons.tsx';
import { useStore } from '../../shared/store.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { showError } from '../../shared/toasts.tsx';
import { useLoaded } from '../../shared/use-loaded.ts';
import { toMessageId } from '../compose/reply.ts';
import { describeAddress } from '../model/addresses.ts';
import { type Invitation, loadInvitation, type Message } from '../model/api.ts';
import { queueChange, waiting } from '../model/change-queue.ts';
import { ANSWERS, type Answer, findAnswer } from '../model/invitation-answer.ts';
import type { InvitationReply } from '../model/invitation-reply.ts';
import { refreshAll } from '../model/list-reading.ts';
import { session, signOutIfUnauthorized } from '../model/session.ts';

const { invitation: t } = mailTexts;

const isCalendar = ({ content_type: type, file_name: name }: Message['attachments'][number]): boolean =>
  /^(?:text\/calendar|application\/ics)\b/i.test(type) || /\.ics$/i.test(name);

/** Whether a message may contain an invitation from another person. */
export const mayInvite = (message: Message): boolean =>
  !message.is_draft && message.delivery === undefined && message.attachments.some(isCalendar);

/** Finds the user's last answer to the invitation among the messages of the conversation. */
export function findLastAnswer(message: Message, thread: readonly Message[]): Answer | null {
  const id = toMessageId(message.headers.message_id);
  const answers = thread
    .filter(({ delivery, headers }) => delivery !== undefined && toMessageId(headers.in_reply_to) === id)
    .flatMap((one) => one.attachments.flatMap((file) => findAnswer(file.file_name) ?? []));
  return answers.at(-1) ?? null;
}

const toDate = (time: Invitation['start']): Date =>
  // A time without a known zone is shown as it was written.
  new Date(time.at ?? (time.local.length === 10 ? `${time.local}T00:00:00` : time.local));

function describeTime({ start, end, is_all_day: isAllDay }: Invitation): string {
  const last = end && toDate(end);
  // In iCalendar, the end of whole days is the day after the last, so subtract one.
  if (isAllDay && last) last.setDate(last.getDate() - 1);
  const zone = start.at === null && !isAllDay && start.time_zone ? ` (${start.time_zone})` : '';
  return formatEvent(toDate(start), last, isAllDay) + zone;
}

function toReply(message: Message, invitation: Invitation, email: string, answer: Answer): InvitationReply {
  const { name, email: organizer } = invitation.organizer ?? { name: '', email: '' };
  const inReplyTo = toMessageId(message.headers.message_id);
  const title = invitation.summary || message.subject;
  const me = session.get().profile?.name || email;
  return {
    messageId: message.id,
    fileName: invitation.file_name,
    email,
    answer,
    answeredAt: new Date().toISOString(),
    letter: {
      from: { email },
      to: [name ? { name, email: organizer } : { email: organizer }],
      cc: [],
      bcc: [],
      subject: fill(t.subjects[answer], { title }),
      body: fill(t.bodies[answer], { name: me, title }),
      ...(inReplyTo ? { in_reply_to: inReplyTo } : {}),
    },
    idempotencyKey: crypto.randomUUID(),
    attachmentId: null,
  };
}

/** The user's last answer that the server does not have yet. */
function useWaitingAnswer(messageId: string): Answer | null {
  const { changes, isBlocked } = useStore(waiting, (state) => state);
  const own = changes.flatMap((change) =>
    change.kind === 'answer' && change.reply.messageId === messageId ? change.reply.answer : [],
  );
  return isBlocked ? (own.at(-1) ?? null) : null;
}

export function InvitationCard({ message, thread }: { message: Message; thread: readonly Message[] }) {
  // Without an event, the calendar file is shown only as an attachment.
  const { value } = useLoaded(() => loadInvitation(message.id), [message.id]);
  const own = useStore(session, (state) => state.profile?.addresses ?? []);
  const [given, setGiven] = useState<Answer | null>(null);
  const [isSending, setSending] = useState(false);
  const kept = useWaitingAnswer(message.id);
  if (!value) return null;
  const isOwn = (email: string) => own.some((one) => one.toLowerCase() === email.toLowerCase());
  const invited = value.attendees.find((person) => isOwn(person.email));
  const email = invited?.email ?? own[0] ?? '';
  const isCancelled = value.method === 'cancel' || value.status === 'cancelled';
  const canAnswer = value.method === 'request' && !isCancelled && value.organizer && !isOwn(value.organizer.email);
  const answered = findLastAnswer(message, thread) ?? ANSWERS.find((one) => one === invited?.response) ?? null;
  const last = kept ?? given ?? answered;
  const answer = async (next: Answer) => {
    setSending(true);
    try {
      const reply = toReply(message, value, email, next);
      await queueChange({ kind: 'answer', reply }, () => setSending(false));
      setGiven(next);
      refreshAll();
    } catch (error) {
      signOutIfUnauthorized(error);
      showError(error);
    }
    setSending(false);
  };
  return (
    <section className="invitation" aria-label={t.title}>
      <Icon name="calendar" size={22} />
      <div className="grow">
        <h2 dir="auto">{value.summary || t.untitled}</h2>
        {isCancelled && <p className="danger-text">{t.cancelled}</p>}
        <p>{describeTime(value)}</p>
        {value.recurrence && <p className="muted small">{t.recurs}</p>}
        {value.location && <p dir="auto">{value.location}</p>}
        <p className="muted small">
          {value.organizer && fill(t.organizer, { name: describeAddress(value.organizer) })}
          {value.attendees.length > 1 && ` · ${fill(t.people, { count: String(value.attendees.length) })}`}
        </p>
        {canAnswer && (
          <fieldset className="row wrap" aria-label={t.answer}>
            {ANSWERS.map((one) => (
              <button
                key={one}
                type="button"
                aria-pressed={last === one}
                disabled={isSending}
                className={last === one ? 'primary small' : 'small'}
                onClick={() => void answer(one)}
              >
                {t.buttons[one]}
              </button>
            ))}
            {last && (
              <span className="muted small" role="status">
                {t.given[last]} {kept && mailTexts.offline.kept}
              </span>
            )}
          </fieldset>
        )}
      </div>
    </section>
  );
}
