/**
 * Cloudflare Email Service by the binding EMAIL. Makes one call per recipient, of at most 5 MiB. Each call gets a Message-ID of its
 * own, which the outcome records so that a report can be matched to it.
 *
 * Gap: not tried in production. The binding returns no reply codes. Errors about the recipient or the message count as permanent,
 * all others as temporary.
 */
import { EmailMessage } from 'cloudflare:email';
import type { AttemptOutcome } from '../../domain/recipient-state.ts';
import type { OutgoingMessage, Transport } from './transport.ts';

/** Maximum size of a message: https://developers.cloudflare.com/email-service/platform/limits/ */
const MESSAGE_BYTES_MAX = 5 * 1024 * 1024;

/** Error codes of the binding that count as permanent, because no retry can repair them. */
const PERMANENT =
  /E_(?:RECIPIENT_(?:NOT_ALLOWED|SUPPRESSED)|SENDER_(?:NOT_VERIFIED|DOMAIN_NOT_AVAILABLE)|VALIDATION_ERROR|CONTENT_TOO_LARGE|FIELD_MISSING|TOO_MANY_RECIPIENTS)|destination address is not a verified/i;

export function createEmailServiceTransport(binding: SendEmail): Transport {
  async function sendTo(recipient: string, message: OutgoingMessage): Promise<AttemptOutcome> {
    if (message.sizeBytes > MESSAGE_BYTES_MAX) {
      const reply = `5.3.4 Cloudflare Email Service accepts at most ${MESSAGE_BYTES_MAX} bytes, this message has ${message.sizeBytes}`;
      return { kind: 'refused', code: 552, reply };
    }
    try {
      const sent = await binding.send(new EmailMessage(message.from, recipient, await message.openBody()));
      const messageId = (sent as { messageId?: string } | undefined)?.messageId;
      return { kind: 'sent', code: 250, reply: `250 accepted${messageId ? ` as ${messageId}` : ''}` };
    } catch (error) {
      const { code, message: text } = error as { code?: string; message?: string };
      const reply = `${code ?? ''} ${text ?? String(error)}`.trim().slice(0, 500);
      return PERMANENT.test(reply) ? { kind: 'refused', code: 550, reply } : { kind: 'deferred', code: null, reply };
    }
  }

  return {
    async send(message) {
      const outcomes: AttemptOutcome[] = [];
      for (const recipient of message.to) outcomes.push(await sendTo(recipient, message));
      return outcomes;
    },
    async close() {},
  };
}
