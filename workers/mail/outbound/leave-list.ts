/** Unsubscribes a user from a mailing list, by the method that a message of the list offers. Runs only at the user's request. */
import type { MessageDetail } from '../../../durable-objects/mail/contract/messages.ts';

import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { isPublicUrl } from '../../shared/settings/public-url.ts';
import { logError, logInfo } from '../../shared/telemetry/log.ts';
import type { DkimVerdict } from '../checks/verdicts.ts';
import { readUnsubscribe, type Unsubscribe } from '../domain/unsubscribe.ts';
import { MAILBOX_UNAVAILABLE } from '../schemas/errors.ts';
import { findMaskedRecipient } from '../store/masked-store.ts';
import { decideFrom, type Sender } from './submission/sender-address.ts';
import { submitMessage } from './submission/submit-message.ts';

const TIMEOUT_MS = 10_000;
/** Maximum of addresses in To and Cc that are compared with the user's, to find the subscribed one. */
const ADDRESSES_MAX = 10;

/**
 * @returns how the reader of a stored message can leave its mailing list; null if the message offers no way, or the user wrote it.
 */
export function findUnsubscribe(env: Env, message: MessageDetail): Unsubscribe | null {
  if (message.origin !== 'received' && message.origin !== 'imported') return null;
  const authentication = JSON.parse(message.authentication ?? '{}') as { dkim?: readonly DkimVerdict[] };
  const isCovered = (authentication.dkim ?? []).some((one) => one.result === 'pass' && one.unsubscribe === true);
  return readUnsubscribe(message.headers, isCovered, (url) => isPublicUrl(env, url));
}

const UNAVAILABLE = 'unsubscribe_unavailable';
/** Another address would tell the list whose the masked one was. */
const ENDED = problem(409, UNAVAILABLE, 'The masked address to which the message came has ended.');

export async function leaveList(
  env: Env,
  sender: Sender,
  message: MessageDetail,
): Promise<Result<'one_click' | 'mail', Problem>> {
  const way = findUnsubscribe(env, message);
  if (way === null) return err(problem(409, UNAVAILABLE, 'The message does not say how to leave its list.'));
  if (way.method === 'web') return err(problem(409, UNAVAILABLE, 'Open the page that the message names.'));
  return way.method === 'mail' ? leaveByMail(env, sender, message, way) : leaveByPost(way.url);
}

/**
 * RFC 8058 §3.2: the request has no cookies and no credentials. Redirects are not followed, because they may lead into a private
 * network.
 */
async function leaveByPost(url: string): Promise<Result<'one_click', Problem>> {
  let status = 0;
  try {
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'List-Unsubscribe=One-Click',
    });
    status = response.status;
    await response.body?.cancel();
  } catch (error) {
    logError('unsubscribe_failed', error);
  }
  logInfo('unsubscribe_sent', { method: 'one_click', status });
  if (status >= 200 && status < 300) return ok('one_click');
  const reason = status === 0 ? 'did not answer' : `answered with status ${status}`;
  return err(problem(502, 'unsubscribe_failed', `The server of the list ${reason}.`));
}

/**
 * Sends the unsubscribe message from the address at which the list's message arrived. A repeated request sends no further message.
 */
async function leaveByMail(
  env: Env,
  sender: Sender,
  message: MessageDetail,
  { email, subject, body }: Extract<Unsubscribe, { method: 'mail' }>,
): Promise<Result<'mail', Problem>> {
  const masked = await findMaskedRecipient(env, sender.userId, message);
  if (masked?.state === 'deleted') return err(ENDED);
  const from = masked?.email ?? (await findOwnAddress(env, sender, message));
  const request = { ...(from === null ? {} : { from: { email: from } }), to: [{ email }], subject, body };
  try {
    const sent = await submitMessage(env, sender, request, {
      idempotencyKey: `unsubscribe:${message.messageId}`,
      requestJson: JSON.stringify(request),
    });
    return sent.ok ? ok('mail') : sent;
  } catch (error) {
    logError('submission_failed', error);
    return err(MAILBOX_UNAVAILABLE);
  }
}

async function findOwnAddress(env: Env, sender: Sender, message: MessageDetail): Promise<string | null> {
  for (const { email } of [...message.to, ...message.cc].slice(0, ADDRESSES_MAX)) {
    if ((await decideFrom(env, sender, { email }, 'primary')).ok) return email;
  }
  return null;
}
