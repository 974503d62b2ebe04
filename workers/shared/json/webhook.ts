/**
 * Webhooks as Standard Webhooks describes them (https://www.standardwebhooks.com): an HMAC-SHA256 over id, time and body. Delivery
 * is at least once. The caller stores undelivered messages and retries them.
 */
import { createHmac } from 'node:crypto';

const TIMEOUT_MS = 10_000;
const RETRY_MS_MIN = 30_000;
const RETRY_MS_MAX = 3_600_000;
/** Age in milliseconds at which an undelivered message is dropped. */
export const WEBHOOK_AGE_MS_MAX = 3 * 86_400_000;
/** Maximum number of deliveries at the same time. An invocation has six connections, and the database needs one. */
export const WEBHOOKS_PARALLEL_MAX = 5;

export interface Webhook {
  readonly url: string;
  /** Id of the message. It is the same for every attempt, so that receivers recognise a repeated message. */
  readonly id: string;
  readonly body: string;
  /**
   * Secrets that sign the message, usually one. During a rotation the previous one signs too, and receivers accept either
   * signature.
   */
  readonly secrets: readonly Uint8Array[];
}

export function signWebhook({ id, body, secrets }: Omit<Webhook, 'url'>, nowMs: number): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const sign = (secret: Uint8Array) =>
    `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': secrets.map(sign).join(' ') };
}

/**
 * Sends a message to its URL.
 * @param mayCall `isPublicUrl`; it is asked again for each attempt.
 * @returns the status of the answer; null if the URL may not be called.
 * @throws if there is no answer.
 */
export async function sendWebhook(
  webhook: Webhook,
  mayCall: (url: string) => boolean,
  nowMs: number,
): Promise<number | null> {
  if (!mayCall(webhook.url)) return null;
  const response = await fetch(webhook.url, {
    method: 'POST',
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: { 'content-type': 'application/json', ...signWebhook(webhook, nowMs) },
    body: webhook.body,
  });
  await response.body?.cancel();
  return response.status;
}

export const isDelivered = (status: number | null): boolean => status !== null && status >= 200 && status < 300;

/** Time to wait until the next attempt, in milliseconds. @param attempts number of attempts that failed before this one. */
export const retryAfter = (attempts: number): number => Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** attempts);

/** Formats a secret as Standard Webhooks requires: `whsec_…`. */
export const toWebhookSecret = (secret: Uint8Array): string => `whsec_${Buffer.from(secret).toString('base64')}`;
