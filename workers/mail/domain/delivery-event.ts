/**
 * Delivery events of Cloudflare Email Service, which arrive in a queue: https://developers.cloudflare.com/email-service/reference/event-subscriptions/.
 * An event may be late, repeated or out of order. Pure.
 *
 * By design, the recipient and the subject of an event are never read: the id of the message finds the recipient, and logs must not
 * have subjects.
 */

export const DELIVERY_EVENTS = ['delivered', 'deferred', 'bounced', 'failed', 'rejected', 'complained'] as const;
export type DeliveryEventKind = (typeof DELIVERY_EVENTS)[number];

export interface DeliveryEvent {
  readonly kind: DeliveryEventKind;
  /** Id that the binding returned when it accepted the message for the recipient. */
  readonly reference: string;
  /** Envelope sender in lower case. */
  readonly sender: string;
  readonly at: number;
  /** Reply code of the other server; null if no server replied. */
  readonly code: number | null;
  /** Words of the other server, or of Cloudflare if no server replied. */
  readonly reply: string;
}

const TYPE_PREFIX = 'cf.email.sending.message.';
const REPLY_LENGTH_MAX = 500;
const REFERENCE_LENGTH_MAX = 500;

type Members = Readonly<Record<string, unknown>>;
const membersOf = (value: unknown): Members => (typeof value === 'object' && value !== null ? (value as Members) : {});
const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');

/** Parses the body of a queue message. @returns null if it is not a delivery event of Email Service. */
export function parseDeliveryEvent(body: unknown): DeliveryEvent | null {
  const { type, payload, metadata } = membersOf(body);
  const kind = DELIVERY_EVENTS.find((each) => type === `${TYPE_PREFIX}${each}`);
  const { messageId, sender, ...details } = membersOf(payload);
  const reference = textOf(messageId);
  const at = Date.parse(textOf(membersOf(metadata).eventTimestamp));
  if (!kind || reference === '' || reference.length > REFERENCE_LENGTH_MAX || Number.isNaN(at)) return null;
  const code = Number(membersOf(details.delivery).smtpStatusCode);
  return {
    kind,
    reference,
    sender: textOf(sender).toLowerCase(),
    at,
    code: Number.isInteger(code) && code >= 200 && code < 600 ? code : null,
    reply: readReply(kind, details).slice(0, REPLY_LENGTH_MAX),
  };
}

function readReply(kind: DeliveryEventKind, { delivery, bounce, failure, rejection }: Members): string {
  const { reason, detail } = membersOf(rejection);
  const words = [membersOf(delivery).smtpResponse, membersOf(bounce).reason, detail, reason, membersOf(failure).reason];
  const said = words.map(textOf).find((text) => text !== '');
  if (kind === 'rejected' || kind === 'failed')
    return `${kind} by Cloudflare Email Service: ${said ?? 'no reason given'}`;
  return said ?? `${kind}, no reply given`;
}

/** What is known of a message that Cloudflare accepted for one recipient. */
export interface AcceptedDelivery {
  /** `sent` until the first event that it was delivered or failed. */
  readonly state: 'sent' | 'delivered' | 'failed';
  /** Time of the latest event `deferred`; null if there was none. */
  readonly deferredAt: number | null;
  readonly hasComplained: boolean;
}

export const ACCEPTED: AcceptedDelivery = { state: 'sent', deferredAt: null, hasComplained: false };

/**
 * Applies an event. The first of delivered and failed stands. `deferred` keeps the state, because Cloudflare itself tries again. A
 * complaint keeps it too.
 * @returns null if the event changes nothing, because it is a repetition or too late.
 */
export function applyDeliveryEvent(
  before: AcceptedDelivery,
  { kind, at }: Pick<DeliveryEvent, 'kind' | 'at'>,
): AcceptedDelivery | null {
  if (kind === 'complained') return before.hasComplained ? null : { ...before, hasComplained: true };
  if (before.state !== 'sent') return null;
  if (kind === 'delivered') return { ...before, state: 'delivered' };
  if (kind !== 'deferred') return { ...before, state: 'failed' };
  return before.deferredAt !== null && at <= before.deferredAt ? null : { ...before, deferredAt: at };
}
