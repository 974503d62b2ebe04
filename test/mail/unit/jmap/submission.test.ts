/** The delivery status of a submission (RFC 8621 §7), by what is known of each recipient. */
import { expect, it } from 'vitest';
import type { DeliveryState } from '../../../../durable-objects/mail/contract/messages.ts';
import { toSubmission } from '../../../../workers/mail/jmap/objects/submission.ts';

const state = (given: Partial<DeliveryState>): DeliveryState => ({
  ...{ email: 'bob@far.test', state: 'sent', attempts: 1, nextAttemptAt: null, lastCode: 250, lastReply: '250 ok' },
  ...{ isUncertain: false, ...given },
});
const statusOf = (given: Partial<DeliveryState>) =>
  toSubmission({
    ...{ id: 's', identityId: 'i', emailId: 'e', threadId: 't', sendAt: 0, isCanceled: false },
    ...{ envelope: { from: 'ann@example.test', to: ['bob@far.test'] }, recipients: [state(given)] },
  }).deliveryStatus as Record<string, unknown>;

it.each([
  [{}, 'unknown', '250 ok'],
  [{ lastReply: null }, 'unknown', '250 2.0.0 Queued'],
  [{ state: 'delivered', lastReply: '250 2.0.0 OK - gsmtp' }, 'yes', '250 2.0.0 OK - gsmtp'],
  [{ lastCode: 451, lastReply: '451 4.2.0 Temporary mailbox error' }, 'queued', '451 4.2.0 Temporary mailbox error'],
  [{ state: 'failed', lastCode: 550, lastReply: '550 5.1.1 User unknown' }, 'no', '550 5.1.1 User unknown'],
  [{ state: 'failed', lastCode: 550, lastReply: '5.1.1 User\nunknown' }, 'no', '550 5.1.1 User unknown'],
  [{ state: 'deferred', lastCode: null, lastReply: 'no connection' }, 'queued', '250 no connection'],
] as const)('of %j is %s, with the reply of the server', (given, delivered, smtpReply) => {
  expect(statusOf(given)).toEqual({ 'bob@far.test': { smtpReply, delivered, displayed: 'unknown' } });
});
