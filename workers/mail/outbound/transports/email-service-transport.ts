/**
 * Cloudflare Email Service by the binding EMAIL. Makes one call per recipient, of at most 5 MiB. Each call returns an id, by which the
 * service's delivery events name the recipient (`../delivery-events.ts`).
 *
 * Gap: not tried in production. The binding returns no reply codes. It refuses a message whose envelope sender is not its From, so
 * forwards cannot go this way; a relay takes them.
 */
import { EmailMessage } from 'cloudflare:email';
import { logError } from '../../../shared/telemetry/log.ts';
import type { SuppressionList } from '../../bindings/suppression-list.ts';
import { classifyEmailServiceError } from '../../domain/email-service-error.ts';
import type { AttemptOutcome } from '../../domain/recipient-state.ts';
import { EMAIL_SERVICE_BYTES_MAX } from '../../domain/transport-choice.ts';
import type { SendingRefusal } from '../../store/sending-problem-store.ts';
import type { OutgoingMessage, Transport } from './transport.ts';

const REPLY_LENGTH_MAX = 500;

export interface SendingObserver {
  readonly recordRefusal: (refusal: Omit<SendingRefusal, 'at'>) => Promise<void>;
  readonly countAccepted: (recipients: number) => void;
}

/**
 * @param suppressions null if the list cannot be read without a token.
 * @param observer `recordRefusal` records a refusal that the operator can repair, `countAccepted` the recipients that were accepted, each for a fee.
 */
export function createEmailServiceTransport(
  binding: SendEmail,
  suppressions: SuppressionList | null,
  { recordRefusal, countAccepted }: SendingObserver,
): Transport {
  async function sendTo(recipient: string, message: OutgoingMessage): Promise<AttemptOutcome> {
    if (message.sizeBytes > EMAIL_SERVICE_BYTES_MAX) {
      const reply = `5.3.4 Cloudflare Email Service accepts at most ${EMAIL_SERVICE_BYTES_MAX} bytes, this message has ${message.sizeBytes}`;
      return { kind: 'refused', code: 552, reply };
    }
    // The service has an envelope sender of its own, to which bounces go. It demands the address of From here.
    const from = message.from === '' ? message.author : message.from;
    try {
      const sent = await binding.send(new EmailMessage(from, recipient, await message.openBody()));
      const reference = (sent as { messageId?: string } | undefined)?.messageId;
      return reference
        ? { kind: 'sent', code: 250, reply: `250 accepted as ${reference}`, reference }
        : { kind: 'sent', code: 250, reply: '250 accepted' };
    } catch (error) {
      const { code, message: words } = error as { code?: string; message?: string };
      const reply = `${code ?? ''} ${words ?? String(error)}`.trim().slice(0, REPLY_LENGTH_MAX);
      const kind = classifyEmailServiceError(reply);
      const domain = from.slice(from.lastIndexOf('@') + 1).toLowerCase();
      if (kind === 'suppressed') return suppressedOutcome(suppressions, recipient, domain, reply);
      if (kind === 'refused') return { kind, code: 550, reply };
      // Mail that is not allowed yet, or is over a quota, waits like after any temporary failure.
      if (kind !== 'temporary') {
        logError(`email_service_${kind}`, new Error(reply));
        await recordRefusal({ domain, code: kind, reply }).catch((cause) => logError('error_record_failed', cause));
      }
      return { kind: 'deferred', code: null, reply };
    }
  }

  return {
    async send(message) {
      const outcomes: AttemptOutcome[] = [];
      for (const recipient of message.to) outcomes.push(await sendTo(recipient, message));
      const accepted = outcomes.filter(({ kind }) => kind === 'sent').length;
      if (accepted > 0) countAccepted(accepted);
      return outcomes;
    },
    async close() {},
  };
}

const ENTRIES_PER_ADDRESS_MAX = 50;

/** Reads when the suppression of an address ends. If the list does not answer, the attempt counts as deferred. */
async function suppressedOutcome(
  suppressions: SuppressionList | null,
  recipient: string,
  domain: string,
  reply: string,
): Promise<AttemptOutcome> {
  if (suppressions === null) return { kind: 'suppressed', reply, until: 'unknown' };
  try {
    const { entries } = await suppressions.list({ email: recipient, limit: ENTRIES_PER_ADDRESS_MAX });
    const ends = entries
      .filter((entry) => entry.domain === null || entry.domain === domain)
      .map(({ expiresAt }) => expiresAt ?? Number.POSITIVE_INFINITY);
    // The list loses an entry a little before the service stops to enforce it.
    if (ends.length === 0) return { kind: 'deferred', code: null, reply };
    const until = Math.max(...ends);
    return { kind: 'suppressed', reply, until: Number.isFinite(until) ? until : 'never' };
  } catch (error) {
    logError('suppression_list_failed', error);
    return { kind: 'deferred', code: null, reply };
  }
}
