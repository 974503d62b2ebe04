/** The operator's "try again": a message of an outbox, or a request that validation refused. */
import { createIdentityStore } from '../../identity/store.ts';
import { type Problem, problem } from '../../shared/problem.ts';
import { err, ok, type Result } from '../../shared/result.ts';
import { deleteBlobs, getBlob } from '../blobs.ts';
import { hintOutbound } from '../hints.ts';
import { openMailbox } from '../mailbox.ts';
import { deleteError, type ErrorRow, findError, findOutboxUser } from './queue-store.ts';
import { submitMessage } from './submit-message.ts';
import type { SubmitRequest } from './submit-schema.ts';

const NOT_QUEUED = problem(404, 'not_queued', 'Nothing waits or failed under this id.');

/** @returns how many recipients are tried again. */
export async function retryMail(env: Env, id: string): Promise<Result<number, Problem>> {
  const refused = await findError(env.DIRECTORY, id);
  if (refused?.requestKey) return submitAgain(env, refused, refused.requestKey);
  const userId = await findOutboxUser(env.DIRECTORY, id);
  if (userId === null) return err(NOT_QUEUED);
  const retried = await openMailbox(env, userId).retryOutbox(id);
  if (!retried.ok) return err(NOT_QUEUED);
  if (retried.value > 0) await hintOutbound(env, userId, 0);
  return ok(retried.value);
}

/** Through the same validation again: it passes when the limit that stopped it has changed. The entry's id makes it once. */
async function submitAgain(env: Env, refused: ErrorRow, requestKey: string): Promise<Result<number, Problem>> {
  const stored = await getBlob(env, requestKey);
  const user = await createIdentityStore(env.DIRECTORY).findUser(refused.userId);
  if (!stored || !user) return err(NOT_QUEUED);
  const requestJson = await stored.text();
  const sender = { userId: refused.userId, name: user.name };
  const idempotencyKey = `retry:${refused.errorId}`;
  const request = JSON.parse(requestJson) as SubmitRequest;
  const submitted = await submitMessage(env, sender, request, { idempotencyKey, requestJson, isRetry: true });
  if (!submitted.ok) return submitted;
  await deleteError(env.DIRECTORY, refused.errorId);
  await deleteBlobs(env, [requestKey]);
  return ok(submitted.value.delivery.length);
}
