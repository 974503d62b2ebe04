/** Makes the answer to a refused submission, and records the request in the error queue. */
import { randomUUID } from 'node:crypto';
import { type Problem, problem } from '../../../shared/json/problem.ts';
import { createClock } from '../../../shared/settings/clock.ts';
import { userDatabaseOf } from '../../../shared/stores/directories.ts';
import { logError, logInfo } from '../../../shared/telemetry/log.ts';
import { putBlob, userPrefix } from '../../bindings/blobs.ts';
import type { SubmissionFault } from '../../domain/submission-policy.ts';
import { insertError } from '../../store/queue-store.ts';
import type { SubmitRequest } from './request-schema.ts';

export interface SubmitOptions {
  readonly idempotencyKey: string | null;
  /** JSON of the original request, for the error queue and to recognise a repetition. */
  readonly requestJson: string;
  /** True for a retry from the error queue. It gets no second entry there. */
  readonly isRetry?: boolean;
  /** Keeps the Worker running until the queue has stored the hint, which may be far away. If not set, the answer waits for that. */
  readonly waitUntil?: (work: Promise<unknown>) => void;
}

/** Records the whole request in the error queue, so that the operator can retry it after changing a limit. */
export async function refuseSubmission(
  env: Env,
  userId: string,
  request: SubmitRequest,
  options: SubmitOptions,
  faults: readonly SubmissionFault[],
): Promise<Problem> {
  const [worst] = [...faults].sort((a, b) => b.status - a.status);
  const code = worst?.code ?? 'bad_address';
  const errors = faults.map(({ path, message }) => ({ path, message }));
  const refusal = problem(worst?.status ?? 400, code, worst?.message, { errors });
  if (options.isRetry) return refusal;
  const errorId = randomUUID();
  const requestKey = `${userPrefix(userId)}errors/${errorId}.json`;
  try {
    await putBlob(env, requestKey, options.requestJson);
    await insertError(userDatabaseOf(env, userId), {
      errorId,
      userId,
      kind: 'validation',
      code,
      detail: faults
        .map((fault) => `${fault.path}: ${fault.message}`)
        .join(' ')
        .slice(0, 1_000),
      recipients: JSON.stringify(
        [...(request.to ?? []), ...(request.cc ?? []), ...(request.bcc ?? [])].map((a) => a.email),
      ),
      outboxId: null,
      requestKey,
      createdAt: createClock(env)(),
    });
  } catch (error) {
    // The sender gets the answer all the same. Only the operator's record is missing.
    logError('error_record_failed', error);
  }
  logInfo('submission_refused', { code });
  return refusal;
}

export type SubmitFailure = { readonly kind: string; readonly retryAfterMs?: number };

export function toSubmitProblem(error: SubmitFailure, draftId: string | null = null): Problem {
  switch (error.kind) {
    case 'rate_limited':
    case 'domain_limited': {
      const retryAfterSeconds = Math.ceil((error.retryAfterMs ?? 0) / 1000);
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
    default:
      throw new Error(`unexpected submission error ${error.kind}`);
  }
}
