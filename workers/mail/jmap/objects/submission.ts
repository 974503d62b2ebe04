/** Converts submissions for JMAP (RFC 8621 §7). Messages that the web app sends are not submissions. */
import type { SubmissionRecord } from '../../../../durable-objects/mail/contract/jmap.ts';
import type { DeliveryState } from '../../../../durable-objects/mail/contract/messages.ts';

import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { isDelayed } from '../../domain/recipient-state.ts';
import { QUERY_LIMIT_MAX } from '../protocol/limits.ts';
import { type Arguments, type Call, type MethodError, toMethodError } from '../protocol/method.ts';
import { toUtcDate } from './email.ts';

export const SUBMISSION_PROPERTIES = [
  'id',
  'identityId',
  'emailId',
  'threadId',
  'envelope',
  'sendAt',
  'undoStatus',
  'deliveryStatus',
  'dsnBlobIds',
  'mdnBlobIds',
] as const;

export interface Submission extends Arguments {
  readonly id: string;
  readonly identityId: string;
  readonly emailId: string;
  readonly threadId: string;
  readonly sendAt: string;
  readonly undoStatus: 'pending' | 'final' | 'canceled';
}

export async function readSubmissions(
  call: Call,
  ids: readonly string[] | null,
): Promise<Result<{ state: string; submissions: Submission[] }, MethodError>> {
  const read = await call.ask((mailbox) => mailbox.readSubmissions(ids, QUERY_LIMIT_MAX));
  if (!read.ok) return err(toMethodError(read.error));
  return ok({ state: read.value.state, submissions: read.value.submissions.map((record) => toSubmission(record)) });
}

export function toSubmission(record: SubmissionRecord): Submission {
  const { id, identityId, emailId, threadId, envelope, sendAt, recipients } = record;
  return {
    id,
    identityId,
    emailId,
    threadId,
    envelope: {
      mailFrom: { email: envelope.from, parameters: null },
      rcptTo: envelope.to.map((email) => ({ email, parameters: null })),
    },
    sendAt: toUtcDate(sendAt),
    undoStatus: record.isCanceled ? 'canceled' : decideUndoStatus(recipients.map(({ state }) => state)),
    deliveryStatus: Object.fromEntries(
      recipients.map((recipient) => [
        recipient.email,
        {
          smtpReply: toSmtpReply(recipient),
          delivered: isDelayed(recipient) ? 'queued' : (DELIVERED[recipient.state] ?? 'unknown'),
          displayed: 'unknown',
        },
      ]),
    ),
    dsnBlobIds: [],
    mdnBlobIds: [],
  };
}

/** The reply in the form of RFC 8621 §7. Most replies of servers begin with their code. */
function toSmtpReply({ lastCode, lastReply }: Pick<DeliveryState, 'lastCode' | 'lastReply'>): string {
  if (lastReply === null) return '250 2.0.0 Queued';
  const text = /^[2-5]\d\d[ -]/.test(lastReply) ? lastReply : `${lastCode ?? 250} ${lastReply}`;
  return text.replace(/\s+/g, ' ');
}

/**
 * `deliveryStatus` by state of a recipient. In state `sent`, another server accepted the message, but its further delivery is
 * unknown.
 */
const DELIVERED: Readonly<Record<string, string>> = {
  queued: 'queued',
  held: 'queued',
  deferred: 'queued',
  sent: 'unknown',
  delivered: 'yes',
  failed: 'no',
  canceled: 'no',
};

function decideUndoStatus(states: readonly string[]): Submission['undoStatus'] {
  if (states.some((state) => state === 'held')) return 'pending';
  return states.length > 0 && states.every((state) => state === 'canceled') ? 'canceled' : 'final';
}
