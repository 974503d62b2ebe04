/**
 * Queue messages of mail. Each is only a hint to look into one mailbox. The work itself is recorded in the mailbox object,
 * whose alarm also finds it, so a hint may be lost, repeated, late or out of order.
 */
import { currentInvocation } from '../../shared/invocation.ts';
import { logError } from '../../shared/log.ts';
import { settingsOf } from '../../shared/settings.ts';

export interface MailHint {
  readonly user_id: string;
  /** Of the event that sent it. */
  readonly trace_id?: string | undefined;
}

/** Cloudflare Queues delay a message by at most 12 hours. The mailbox alarm handles later work. */
const DELAY_SECONDS_MAX = 12 * 3600;

export async function hintIncoming(env: Env, userId: string): Promise<void> {
  await send(env, env.MAIL_INBOUND, userId, 0);
}

/** @param delayMs time until the message may be sent. */
export async function hintOutbound(env: Env, userId: string, delayMs: number): Promise<void> {
  if (delayMs <= DELAY_SECONDS_MAX * 1000) await send(env, env.MAIL_OUTBOUND, userId, delayMs);
}

/**
 * Logs a failed send and does not throw. `MAIL_HINTS` (local only) breaks hints on purpose for tests: `lost`, `repeated` (three
 * times), or `late` (up to 4 seconds, so also out of order).
 */
async function send(env: Env, queue: Queue, userId: string, delayMs: number): Promise<void> {
  const settings = settingsOf(env);
  const mode = settings.LOCAL === '1' ? settings.MAIL_HINTS : '';
  if (mode === 'lost') return;
  const hint: MailHint = { user_id: userId, trace_id: currentInvocation()?.traceId };
  const lateMs = mode === 'late' ? Math.random() * 4_000 : 0;
  const options = { delaySeconds: Math.ceil((delayMs + lateMs) / 1000) };
  try {
    for (let n = 0; n < (mode === 'repeated' ? 3 : 1); n++) await queue.send(hint, options);
  } catch (error) {
    logError('hint_send_failed', error, { queue: queue === env.MAIL_INBOUND ? 'inbound' : 'outbound' });
  }
}

/** @returns the mailboxes of a batch, each once, with the trace of the last hint. Ignores malformed messages. */
export function readHints(batch: MessageBatch): Map<string, string | undefined> {
  const hints = batch.messages.map((message) => message.body as Partial<MailHint> | null);
  return new Map(
    hints.flatMap((hint) => (typeof hint?.user_id === 'string' && hint.user_id ? [[hint.user_id, hint.trace_id]] : [])),
  );
}
