/** Delivery events of Cloudflare Email Service: their form, and what they do to the state of a recipient. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ACCEPTED,
  type AcceptedDelivery,
  applyDeliveryEvent,
  DELIVERY_EVENTS,
  parseDeliveryEvent,
} from '../../../../workers/mail/domain/delivery-event.ts';
import { toDeliveryEvent } from '../../../support/mail/delivery-events.ts';

const reference = '0101018f7d0c4d9a-msg-deadbeef';

describe('an event', () => {
  it.each([
    ['delivered', 250, '250 2.0.0 OK 1714820445 a1b2c3 - gsmtp'],
    ['deferred', 451, '451 4.2.0 Temporary mailbox error'],
    ['bounced', 550, '550 5.1.1 User unknown'],
    ['failed', null, 'failed by Cloudflare Email Service: delivery_failed'],
    ['rejected', null, 'rejected by Cloudflare Email Service: Recipient is suppressed'],
    ['complained', null, 'complained, no reply given'],
  ] as const)('%s has the code and the words of the other server', (kind, code, reply) => {
    const body = toDeliveryEvent(kind, { reference, sender: 'Ann@Example.test' });
    const at = Date.parse('2026-06-01T02:48:57.132Z');
    expect(parseDeliveryEvent(body)).toEqual({ kind, reference, sender: 'ann@example.test', at, code, reply });
  });

  it.each([
    null,
    'text',
    {},
    { type: 'cf.email.sending.message.opened' },
    { ...toDeliveryEvent('delivered', { reference: '' }) },
    { ...toDeliveryEvent('delivered', { reference }), metadata: { eventTimestamp: 'yesterday' } },
    { ...toDeliveryEvent('delivered', { reference }), payload: [] },
  ])('that is malformed is recognised: %j', (body) => {
    expect(parseDeliveryEvent(body)).toBeNull();
  });

  it('with any members never throws', () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), (payload, metadata) => {
        parseDeliveryEvent({ type: 'cf.email.sending.message.bounced', payload, metadata });
      }),
    );
  });
});

describe('the state of a recipient', () => {
  const events = fc.array(fc.record({ kind: fc.constantFrom(...DELIVERY_EVENTS), at: fc.nat({ max: 9 }) }), {
    maxLength: 12,
  });
  const applyAll = (list: readonly { kind: (typeof DELIVERY_EVENTS)[number]; at: number }[]): AcceptedDelivery =>
    list.reduce<AcceptedDelivery>((state, event) => applyDeliveryEvent(state, event) ?? state, ACCEPTED);

  it('is the first of delivered and failed, whatever else comes', () => {
    fc.assert(
      fc.property(events, (list) => {
        const first = list.find(({ kind }) => kind !== 'deferred' && kind !== 'complained');
        const expected = first === undefined ? 'sent' : first.kind === 'delivered' ? 'delivered' : 'failed';
        expect(applyAll(list).state).toBe(expected);
      }),
    );
  });

  it('does not change if each event comes twice', () => {
    fc.assert(
      fc.property(events, (list) => {
        expect(applyAll(list.flatMap((event) => [event, event]))).toEqual(applyAll(list));
        expect(applyAll(list.map((event) => event).concat(list)).hasComplained).toBe(applyAll(list).hasComplained);
      }),
    );
  });

  it('keeps the words of the latest deferral, although an earlier one comes after it', () => {
    const later = applyDeliveryEvent(ACCEPTED, { kind: 'deferred', at: 5 });
    expect(later).toMatchObject({ state: 'sent', deferredAt: 5 });
    expect(applyDeliveryEvent(later ?? ACCEPTED, { kind: 'deferred', at: 4 })).toBeNull();
  });
});
