/** Sends push messages to the URLs that clients registered (RFC 8620 §7.2, RFC 8030). */
import type { DuePush, PushOutcome } from '../../../durable-objects/mail/contract/push.ts';

import { deriveSecret } from '../../identity/index.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { isPublicUrl } from '../../shared/settings/public-url.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { openMailbox } from '../bindings/mailbox.ts';
import { encryptPush, signVapid, toVapidKey, type VapidKey } from './web-push.ts';

const TIMEOUT_MS = 10_000;
/** Time that a worker has for one push: the timeout of its request, and 5 s for the rest. */
const PUSH_LEASE_MS = TIMEOUT_MS + 5_000;
/** Time for which a push service keeps a message for a device that is off. Only the newest state is kept. */
const TTL_SECONDS = 24 * 3_600;

/**
 * @returns the VAPID key, which is derived from MASTER_KEY. When MASTER_KEY is rotated, browsers subscribe again with the new key
 * (RFC 9749 §3).
 */
export async function readVapidKey(env: Env): Promise<VapidKey> {
  const seed = deriveSecret('web-push vapid', settingsOf(env));
  const name = seed.toString('hex');
  if (known?.name === name) return known.key;
  known = { name, key: await toVapidKey(seed) };
  return known.key;
}

/** The last VAPID key of this isolate, and the secret that it was derived from, in hexadecimal. */
let known: { readonly name: string; readonly key: VapidKey } | null = null;

/** Sends the due pushes one at a time, because a user has few devices and an invocation has few connections. */
export async function sendPushes(env: Env, userId: string): Promise<void> {
  const mailbox = openMailbox(env, userId);
  const startedAt = Date.now();
  const due = await mailbox.claimPushes(PUSH_LEASE_MS);
  if (!due.ok || due.value.length === 0) return;
  const endsAt = startedAt + due.value.length * PUSH_LEASE_MS;
  const vapid = await readVapidKey(env);
  const outcomes: PushOutcome[] = [];
  for (const push of due.value) {
    // The lease ends, so another worker sends the rest.
    if (Date.now() + TIMEOUT_MS > endsAt) break;
    outcomes.push({ id: push.id, result: await sendPush(env, push, vapid) });
  }
  await mailbox.recordPushes(due.value, outcomes);
}

async function sendPush(env: Env, { url, keys, body }: DuePush, vapid: VapidKey): Promise<PushOutcome['result']> {
  if (body === null) return 'done';
  try {
    if (!isPublicUrl(env, url)) return 'gone';
    const contact = `mailto:postmaster@${settingsOf(env).MAIL_DOMAINS[0] ?? 'localhost'}`;
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: {
        'content-type': 'application/json',
        ttl: String(TTL_SECONDS),
        urgency: 'normal',
        authorization: await signVapid(url, vapid, contact, createClock(env)()),
        ...(keys ? { 'content-encoding': 'aes128gcm' } : {}),
      },
      body: keys ? await encryptPush(body, keys) : body,
    });
    await response.body?.cancel();
    if (response.ok) return 'done';
    return response.status === 404 || response.status === 410 ? 'gone' : 'failed';
  } catch {
    return 'failed';
  }
}
