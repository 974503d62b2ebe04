/**
 * Delivery events as Cloudflare Email Service puts them into a queue, after the examples of
 * https://developers.cloudflare.com/email-service/reference/event-subscriptions/ (July 2026).
 */
import type { DeliveryEventKind } from '../../../workers/mail/domain/delivery-event.ts';

interface About {
  readonly reference: string;
  readonly sender?: string;
  readonly recipient?: string;
  readonly at?: number;
}

const DETAILS: Readonly<Record<DeliveryEventKind, Readonly<Record<string, unknown>>>> = {
  delivered: {
    delivery: {
      status: 'delivered',
      provider: 'gmail',
      deliveryTimeMs: 1234,
      smtpStatusCode: '250',
      smtpEnhancedStatusCode: '2.0.0',
      smtpResponse: '250 2.0.0 OK 1714820445 a1b2c3 - gsmtp',
    },
  },
  deferred: {
    delivery: {
      status: 'deferred',
      provider: 'external_smtp',
      deliveryTimeMs: 2143,
      smtpStatusCode: '451',
      smtpEnhancedStatusCode: '4.2.0',
      smtpResponse: '451 4.2.0 Temporary mailbox error',
    },
    bounce: { type: 'soft', classification: 'temporary_failure', reason: '451 4.2.0 Temporary mailbox error' },
  },
  bounced: {
    delivery: {
      status: 'bounced',
      provider: 'external_smtp',
      deliveryTimeMs: 2143,
      smtpStatusCode: '550',
      smtpEnhancedStatusCode: '5.1.1',
      smtpResponse: '550 5.1.1 User unknown',
    },
    bounce: { type: 'hard', classification: 'permanent_failure', reason: '550 5.1.1 User unknown' },
  },
  failed: { delivery: { status: 'failed' }, failure: { reason: 'delivery_failed' } },
  rejected: {
    delivery: { status: 'rejected' },
    rejection: { reason: 'suppressed', party: 'recipient', detail: 'Recipient is suppressed' },
  },
  complained: { delivery: { status: 'complained' }, complaint: { type: 'abuse' } },
};

export const SECRET_SUBJECT = 'A subject that no log may have';

/** Makes an event. Only a complaint has no subject. */
export function toDeliveryEvent(kind: DeliveryEventKind, about: About) {
  const { reference, sender = 'ann@example.test', recipient = 'user@example.net' } = about;
  return {
    type: `cf.email.sending.message.${kind}`,
    source: { type: 'email.sending', zoneId: '023e105f4ecef8ad9ca31a8372d0c353', domain: 'example.test' },
    payload: {
      eventId: crypto.randomUUID(),
      messageId: reference,
      sender,
      recipient,
      ...(kind === 'complained' ? {} : { subject: SECRET_SUBJECT }),
      terminal: kind !== 'deferred',
      ...DETAILS[kind],
    },
    metadata: {
      accountId: 'f9f79265f388666de8122cfb508d7776',
      eventSubscriptionId: '1830c4bb612e43c3af7f4cada31fbf3f',
      eventSchemaVersion: 1,
      eventTimestamp: new Date(about.at ?? Date.parse('2026-06-01T02:48:57.132Z')).toISOString(),
    },
  };
}
