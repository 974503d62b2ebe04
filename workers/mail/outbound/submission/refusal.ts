/** What is said to a user whose message was not taken, and the entry in the error queue that keeps it. */
import { randomUUID } from 'node:crypto';
import { createClock } from '../../../shared/clock.ts';
import { logError, logInfo } from '../../../shared/log.ts';
import { type Problem, problem } from '../../../shared/problem.ts';
import { putBlob, userPrefix } from '../../bindings/blobs.ts';
import { insertError } from '../../store/queue-store.ts';
import type { SubmissionFault } from '../domain/submission-policy.ts';
import type { SubmitRequest } from './request-schema.ts';

export interface SubmitOptions {
  readonly idempotencyKey: string | null;
  /** The request as it came, for the error queue and for comparing repetitions. */
  readonly requestJson: string;
  /** True when it is tried from the error queue, which then needs no second entry. */
  readonly isRetry?: boolean;
}

/** An entry in the error queue with the whole request, so that it can be tried again when a limit was the reason. */
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
    await insertError(env.DIRECTORY, {
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
    // The sender is told all the same; only the operator's copy is missing.
    logError('error_queue_not_written', error);
  }
  logInfo('mail_refused', { code });
  return refusal;
}

type SubmitFailure = { readonly kind: string; readonly retryAfterMs?: number };

export function toSubmitProblem(error: SubmitFailure, draftId: string | null = null): Problem {
  switch (error.kind) {
    case 'rate_limited': {
      const retryAfterSeconds = Math.ceil((error.retryAfterMs ?? 0) / 1000);
      const kept = draftId === null ? '' : ` The message is kept as the draft ${draftId}.`;
      const detail = `You have sent as much as an account may in an hour.${kept}`;
      return problem(429, 'send_limit_reached', detail, { retryAfterSeconds });
    }
    case 'over_quota':
      return problem(413, 'over_quota', 'The mailbox is full: what you send is kept in Sent. Erase something first.');
    case 'idempotency_conflict':
      return problem(409, 'idempotency_conflict', 'This Idempotency-Key was used for another message.');
    case 'no_mailbox':
      return problem(404, 'no_mailbox', 'This user has no mailbox.');
    case 'no_draft':
      return problem(404, 'no_draft', 'There is no such draft, or it was sent already.');
    case 'draft_changed':
      return problem(409, 'draft_changed', 'The draft was saved again meanwhile: it was not sent.');
    default:
      throw new Error(`sending ended in ${error.kind}`);
  }
}
