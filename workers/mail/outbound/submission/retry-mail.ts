/** The operator's retry of a message in an outbox, or of a request that validation refused. */
import { findUserById } from '../../../identity/index.ts';
import { toValidationProblem } from '../../../shared/json/json-api.ts';
import { type Problem, problem } from '../../../shared/json/problem.ts';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { findInAny, userDatabaseOf } from '../../../shared/stores/directories.ts';
import { deleteBlobs, getBlob } from '../../bindings/blobs.ts';
import { hintOutbound } from '../../bindings/hints.ts';
import { openMailbox } from '../../bindings/mailbox.ts';
import { toBadRequest } from '../../schemas/errors.ts';
import { deleteError, type ErrorRow, findError, findOutboxUser } from '../../store/queue-store.ts';
import { submitSchema } from './request-schema.ts';
import { submitMessage } from './submit-message.ts';

const NOT_QUEUED = problem(404, 'not_queued', 'No queued or failed message has this id.');

/**
 * Retries a message.
 * @param recipients addresses of the recipients to retry, even failed ones; null for all recipients that wait.
 * @returns the number of recipients that are retried.
 */
export async function retryMail(
  env: Env,
  id: string,
  recipients: readonly string[] | null,
): Promise<Result<number, Problem>> {
  const refused = await findInAny(env, (database) => findError(database, id));
  if (refused?.requestKey) {
    if (recipients !== null) return err(toBadRequest('recipients', 'A refused request is submitted again as a whole.'));
    return resubmit(env, refused, refused.requestKey);
  }
  const userId = await findInAny(env, (database) => findOutboxUser(database, id));
  if (userId === null) return err(NOT_QUEUED);
  const named = recipients === null ? null : recipients.map((email) => email.toLowerCase());
  const retried = await openMailbox(env, userId).retryOutbox(id, named);
  if (!retried.ok) return err(NOT_QUEUED);
  const { count, unknown } = retried.value;
  const [stranger] = unknown;
  if (stranger !== undefined) return err(toBadRequest('recipients', `${stranger} is not a recipient of this message.`));
  if (count > 0) await hintOutbound(env, userId, 0);
  return ok(count);
}

/**
 * Validates and submits a refused request again. It succeeds if the limit that stopped it has changed. The id of the entry is the
 * idempotency key.
 */
async function resubmit(env: Env, refused: ErrorRow, requestKey: string): Promise<Result<number, Problem>> {
  const stored = await getBlob(env, requestKey);
  const user = await findUserById(env, refused.userId);
  if (!stored || !user) return err(NOT_QUEUED);
  const requestJson = await stored.text();
  const sender = { userId: refused.userId, name: user.name, email: user.email };
  const idempotencyKey = `retry:${refused.errorId}`;
  // A request that the schema refused is recorded too.
  const request = submitSchema.safeParse(JSON.parse(requestJson));
  if (!request.success) return err(toValidationProblem(request.error));
  const submitted = await submitMessage(env, sender, request.data, { idempotencyKey, requestJson, isRetry: true });
  if (!submitted.ok) return submitted;
  await deleteError(userDatabaseOf(env, refused.userId), refused.errorId);
  await deleteBlobs(env, [requestKey]);
  return ok(submitted.value.delivery.length);
}
