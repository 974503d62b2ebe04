/** Signs webhooks as Standard Webhooks describes (https://www.standardwebhooks.com): HMAC-SHA256 over id, time and body. */
import { createHmac } from 'node:crypto';

/** @param id the same for every attempt, so that receivers recognise a repeated message. */
export function signWebhook(secret: Uint8Array, id: string, nowMs: number, body: string): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}
