/**
 * Webhooks as Standard Webhooks describes them (https://www.standardwebhooks.com): an HMAC-SHA256 over id, time and body. Delivery
 * is at least once. The caller stores undelivered messages and retries them.
 */
import { createHmac } from 'node:crypto';

const TIMEOUT_MS = 10_000;
const RETRY_MS_MIN = 30_000;
const RETRY_MS_MAX = 3_600_000;
/** A message that could not be delivered for this long is dropped. */
export const WEBHOOK_AGE_MS_MAX = 3 * 86_400_000;
/** An invocation has six connections, and the database needs one. */
export const WEBHOOKS_PARALLEL_MAX = 5;

export interface Webhook {
  readonly url: string;
  /** The same for every attempt, so that receivers recognise a repeated message. */
  readonly id: string;
  readonly body: string;
  /** Usually one. During a rotation also the earlier one: receivers accept a signature by either. */
  readonly secrets: readonly Uint8Array[];
}

export function signWebhook({ id, body, secrets }: Omit<Webhook, 'url'>, nowMs: number): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const sign = (secret: Uint8Array) =>
    `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': secrets.map(sign).join(' ') };
}

/**
 * @param mayCall `isPublicUrl`. Asked again for each attempt.
 * @returns the status of the answer; null if the URL may not be called. @throws if there is no answer.
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

/** @param attempts that failed before this one. */
export const retryAfter = (attempts: number): number => Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** attempts);

/** Formats a secret as Standard Webhooks does. */
export const toWebhookSecret = (secret: Uint8Array): string => `whsec_${Buffer.from(secret).toString('base64')}`;
