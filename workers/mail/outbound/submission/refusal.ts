/** Makes the answer to a refused submission, and records each refused mail in the error queue. */
import { randomUUID } from 'node:crypto';
import type { NoMailbox } from '../../../../durable-objects/mail/contract/mailbox.ts';
import type { SubmitError } from '../../../../durable-objects/mail/contract/outbox.ts';
import { type Problem, problem } from '../../../shared/json/problem.ts';
import type { ProblemCode } from '../../../shared/json/problem-codes/index.ts';
import { createClock } from '../../../shared/settings/clock.ts';
import { userDatabaseOf } from '../../../shared/stores/directories.ts';
import { countEvent, REFUSED_SUBMISSIONS } from '../../../shared/telemetry/counters.ts';
import { logError, logInfo } from '../../../shared/telemetry/log.ts';
import { putBlob, userPrefix } from '../../bindings/blobs.ts';
import type { SubmissionFault } from '../../domain/submission-policy.ts';
import { countRefusals, insertError } from '../../store/queue-store.ts';

export interface SubmitOptions {
  readonly idempotencyKey: string | null;
  /** JSON of the original request, for the error queue and to recognise a repetition. */
  readonly requestJson: string;
  /** True for a retry from the error queue. It gets no second entry there. */
  readonly isRetry?: boolean;
  /** Revision of the draft that was approved. Another one is not sent. */
  readonly approvedRevision?: number;
  /** Keeps the Worker running until the queue has stored the hint, which may be far away. If not set, the answer waits for that. */
  readonly waitUntil?: (work: Promise<unknown>) => void;
}

/** Makes the problem for a message whose addresses or files are not accepted. */
export function toFaultProblem(faults: readonly SubmissionFault[]): Problem {
  const [worst] = [...faults].sort((a, b) => b.status - a.status);
  const code = worst?.code ?? 'bad_address';
  const errors = faults.map(({ path, message }) => ({ path, message }));
  return problem(worst?.status ?? 400, code, worst?.message, { errors });
}

/** Problems for which a mail is recorded. Others, such as a limit, keep it as a draft, or are about the caller. */
const RECORDED: ReadonlySet<string> = new Set<ProblemCode>([
  ...(['bad_address', 'bad_attachment', 'blocked_attachment', 'foreign_sender', 'invalid_request'] as const),
  ...(['no_draft', 'no_recipient', 'over_quota', 'too_large', 'too_many_recipients'] as const),
]);
/** A larger request is recorded without its content, so it cannot be retried. */
const REQUEST_BYTES_MAX = 64 * 1024;
const REFUSALS_PER_HOUR_MAX = 100;
const RECIPIENTS_MAX = 200;
const ADDRESS_LENGTH_MAX = 320;
const HOUR_MS = 3_600_000;

/** A submission that was refused. */
export interface RefusedMail {
  /** JSON of the request for a retry, which may have any form; null if it cannot be made again. */
  readonly requestJson: string | null;
  /** Recipients as far as they are known, in any form. */
  readonly recipients: readonly string[];
}

/**
 * Records a refused mail in the error queue: who, when, why, and the request. Broken JSON and unknown members are no mail. Beyond a
 * hundred refusals per hour and account, they are only counted.
 */
export async function recordRefusal(env: Env, userId: string, refusal: Problem, refused: RefusedMail): Promise<void> {
  const { code, detail = '', errors = [] } = refusal;
  if (!RECORDED.has(code)) return;
  const { requestJson } = refused;
  const database = userDatabaseOf(env, userId);
  const now = createClock(env)();
  let isRecorded = false;
  try {
    isRecorded = (await countRefusals(database, userId, now - HOUR_MS)) < REFUSALS_PER_HOUR_MAX;
    if (isRecorded) {
      const errorId = randomUUID();
      const isKept = requestJson !== null && Buffer.byteLength(requestJson) <= REQUEST_BYTES_MAX;
      const requestKey = isKept ? `${userPrefix(userId)}errors/${errorId}.json` : null;
      if (requestKey !== null && requestJson !== null) await putBlob(env, requestKey, requestJson);
      const why = errors.map(({ path, message }) => `${path}: ${message}`).join(' ') || detail;
      const recipients = JSON.stringify(
        refused.recipients.slice(0, RECIPIENTS_MAX).map((email) => email.slice(0, ADDRESS_LENGTH_MAX)),
      );
      await insertError(database, {
        ...{ errorId, userId, kind: 'validation', code, detail: why.slice(0, 1_000), recipients },
        ...{ outboxId: null, requestKey, createdAt: now },
      });
    }
  } catch (error) {
    // The sender gets the answer all the same. Only the operator's record is missing.
    logError('error_record_failed', error);
  }
  countEvent(env, REFUSED_SUBMISSIONS, isRecorded ? 'recorded' : 'counted');
  logInfo('submission_refused', { code, is_recorded: isRecorded });
}

/** Lists the recipients in a request that may have any form. */
export function listRecipients(request: unknown): string[] {
  const { to, cc, bcc } = request as Partial<Record<'to' | 'cc' | 'bcc', unknown>>;
  const lists = [to, cc, bcc].flatMap((list): unknown[] => (Array.isArray(list) ? list : []));
  const emails = lists.map((each) => (each as { email?: unknown } | null)?.email);
  return emails.flatMap((email) => (typeof email === 'string' ? email : []));
}

/** Why a submission fails: what the mailbox refuses, and the limit of the sender's domain. */
export type SubmitFailure =
  | SubmitError
  | NoMailbox
  | { readonly kind: 'domain_limited'; readonly retryAfterMs: number };

export function toSubmitProblem(error: SubmitFailure, draftId: string | null = null): Problem {
  switch (error.kind) {
    case 'rate_limited':
    case 'domain_limited': {
      const retryAfterSeconds = Math.ceil(error.retryAfterMs / 1000);
      const kept = draftId === null ? '' : ` The message is kept as the draft ${draftId}.`;
      return error.kind === 'rate_limited'
        ? problem(
            429,
            'send_limit_reached',
            `The message has more recipients than the account may send to now.${kept}`,
            { retryAfterSeconds },
          )
        : problem(
            429,
            'domain_send_limit_reached',
            `The accounts of this domain together have reached their sending limit for this hour.${kept}`,
            { retryAfterSeconds },
          );
    }
    case 'over_quota':
      return problem(
        413,
        'over_quota',
        'The mailbox is full, and sent mail is stored in Sent. Delete some mail first.',
      );
    case 'idempotency_conflict':
      return problem(409, 'idempotency_conflict', 'This Idempotency-Key was used for a different message.');
    case 'no_mailbox':
      return problem(404, 'no_mailbox', 'This user has no mailbox.');
    case 'no_draft':
      return problem(404, 'no_draft', 'Draft not found, or already sent.');
    case 'draft_changed':
      return problem(409, 'draft_changed', 'The draft was changed meanwhile. The message was not sent.');
    default: {
      // `submitWithShare` repeats the first, and every mailbox has the folder Sent. Any other kind needs a case.
      const { kind } = error satisfies { readonly kind: 'share_taken' | 'no_folder' };
      throw new Error(`unexpected submission error ${kind}`);
    }
  }
}
