/**
 * Queue messages of outgoing mail. Each is only a hint to look into one outbox; hints of one batch share connections. The work
 * itself is recorded in the mailbox object, whose alarm also finds it, so a hint may be lost, repeated, late or out of order.
 * Incoming mail needs no hint: its acceptance sets the alarm.
 */
import { currentInvocation } from '../../shared/invocation.ts';
import { logError } from '../../shared/log.ts';
import { settingsOf } from '../../shared/settings.ts';

export interface MailHint {
  readonly user_id: string;
  /** Trace id of the event that sent the hint. */
  readonly trace_id?: string | undefined;
}

/** Cloudflare Queues delay a message by at most 12 hours. The mailbox alarm handles later work. */
const DELAY_SECONDS_MAX = 12 * 3600;

/** @param delayMs time until the message may be sent. */
export async function hintOutbound(env: Env, userId: string, delayMs: number): Promise<void> {
  if (delayMs <= DELAY_SECONDS_MAX * 1000) await send(env, userId, delayMs);
}

/**
 * Logs a failed send and does not throw. `MAIL_HINTS` (local only) breaks hints on purpose for tests: `lost`, `repeated` (three
 * times), or `late` (up to 4 seconds, so also out of order).
 */
async function send(env: Env, userId: string, delayMs: number): Promise<void> {
  const settings = settingsOf(env);
  const mode = settings.LOCAL === '1' ? settings.MAIL_HINTS : '';
  if (mode === 'lost') return;
  const hint: MailHint = { user_id: userId, trace_id: currentInvocation()?.traceId };
  const lateMs = mode === 'late' ? Math.random() * 4_000 : 0;
  const options = { delaySeconds: Math.ceil((delayMs + lateMs) / 1000) };
  try {
    for (let n = 0; n < (mode === 'repeated' ? 3 : 1); n++) await env.MAIL_OUTBOUND.send(hint, options);
  } catch (error) {
    logError('hint_send_failed', error);
  }
}

/** @returns the mailboxes of a batch, each once, with the trace of the last hint. Ignores malformed messages. */
export function readHints(batch: MessageBatch): Map<string, string | undefined> {
  const hints = batch.messages.map((message) => message.body as Partial<MailHint> | null);
  return new Map(
    hints.flatMap((hint) => (typeof hint?.user_id === 'string' && hint.user_id ? [[hint.user_id, hint.trace_id]] : [])),
  );
}
