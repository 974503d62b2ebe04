/**
 * Queue messages about outgoing mail. Each is only a hint to look into one outbox; the hints of one batch share connections. The
 * mailbox object records the work itself, and its alarm finds it too. So a hint may be lost, repeated, late or out of order.
 * Incoming mail needs no hint: accepting it sets the alarm.
 */

import { settingsOf } from '../../shared/settings/settings.ts';
import { currentInvocation } from '../../shared/telemetry/invocation.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { HINT_DELAY_MS_MAX } from '../domain/recipient-state.ts';

export interface MailHint {
  readonly user_id: string;
  /** Trace id of the request or event that sent the hint. */
  readonly trace_id?: string | undefined;
}

/**
 * Sends a hint about outgoing mail. For an attempt that is later than a queue can delay a hint, none is sent: the mailbox's alarm makes it.
 * @param delayMs time until the attempt.
 */
export async function hintOutbound(env: Env, userId: string, delayMs: number): Promise<void> {
  if (delayMs <= HINT_DELAY_MS_MAX) await send(env, userId, delayMs);
}

/**
 * Sends a hint. A failure is logged and not thrown. The setting `MAIL_HINTS` (local only) breaks hints on purpose for tests:
 * `lost`, `repeated` (three times), or `late` (by up to 4 seconds, so also out of order).
 */
async function send(env: Env, userId: string, delayMs: number): Promise<void> {
  const settings = settingsOf(env);
  const mode = settings.LOCAL === '1' ? settings.MAIL_HINTS : '';
  if (mode === 'lost') return;
  const hint: MailHint = { user_id: userId, trace_id: currentInvocation()?.traceId };
  const lateMs = mode === 'late' ? Math.random() * 4_000 : 0;
  const options = { delaySeconds: Math.ceil(Math.min(delayMs + lateMs, HINT_DELAY_MS_MAX) / 1000) };
  try {
    for (let n = 0; n < (mode === 'repeated' ? 3 : 1); n++) await env.MAIL_OUTBOUND.send(hint, options);
  } catch (error) {
    logError('hint_send_failed', error);
  }
}

/**
 * @returns the users of a batch whose mailboxes to look into, each once, with the trace of the last hint. Ignores malformed
 * messages.
 */
export function readHints(batch: MessageBatch): Map<string, string | undefined> {
  const hints = batch.messages.map((message) => message.body as Partial<MailHint> | null);
  return new Map(
    hints.flatMap((hint) => (typeof hint?.user_id === 'string' && hint.user_id ? [[hint.user_id, hint.trace_id]] : [])),
  );
}
