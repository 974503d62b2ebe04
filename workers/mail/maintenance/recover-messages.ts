/**
 * Restores the messages of a lost mailbox from their raw bytes in R2. Folders, flags, labels and Bcc are not in the bytes:
 * received and imported mail is put into the inbox, sent mail into Sent, all of it read and labelled.
 */

import { listLocations, userPrefix } from '../bindings/blobs.ts';
import { openMailbox } from '../bindings/mailbox.ts';
import { openStored } from '../checks/opened-message.ts';
import type { RawDelivery } from '../inbound/delivery.ts';
import { deliverRaw } from '../inbound/delivery.ts';
import { parseMessage } from '../mime/parse.ts';

export const RECOVERED_LABEL = 'recovered';

/** Raw messages under a user's prefix: accepted, sent, imported. `out/` has further copies of messages that are on their way. */
const RAW_KEY = /^(in\/[^/]+|sent\/[^/]+\/raw|[0-9a-f]{40}\/raw)$/;

/**
 * Restores each raw message that is older than the mailbox and that no row of it names. What is younger was refused or is
 * being delivered. If interrupted, run it again. @returns the number of restored messages.
 */
export async function recoverMessages(env: Env, userId: string): Promise<number> {
  const prefix = userPrefix(userId);
  let recovered = 0;
  // A location that was lost and refilled may lack keys that another one has.
  for (const bucket of listLocations(env)) {
    for (let startAfter: string | undefined = prefix; startAfter !== undefined; ) {
      const page: R2Objects = await bucket.list({ prefix, startAfter });
      const raws = page.objects.filter(({ key }) => RAW_KEY.test(key.slice(prefix.length)));
      const answer = await openMailbox(env, userId).listUnheld(raws.map(({ key }) => key));
      if (!answer.ok) return recovered;
      const unheld = new Set(answer.value.keys);
      for (const { key, uploaded } of raws) {
        const storedAt = uploaded.getTime();
        if (!unheld.has(key) || storedAt > answer.value.createdAt) continue;
        if (await recover(env, userId, key, key.slice(prefix.length), storedAt)) recovered++;
      }
      startAfter = page.truncated ? page.objects.at(-1)?.key : undefined;
    }
  }
  return recovered;
}

async function recover(env: Env, userId: string, key: string, name: string, storedAt: number): Promise<boolean> {
  const message = await openStored(env, key);
  if (!message) return false;
  const parsedRaw = await parseMessage(message.bytes, message);
  const origin = toOrigin(name);
  const outcome = await deliverRaw(env, {
    userId,
    deliveryKey: `recovered:${key}`,
    message,
    rawKey: key,
    parsedRaw,
    receivedAt: origin === 'imported' ? Math.min(parsedRaw.sentAt ?? storedAt, storedAt) : storedAt,
    origin,
    folder: origin === 'sent' ? 'sent' : 'inbox',
    isRead: true,
    isFlagged: false,
    labels: [RECOVERED_LABEL],
    envelopeFrom: '',
    envelopeTo: null,
    spam: null,
    authentication: null,
    applyRules: false,
    enforceQuota: false,
  });
  return outcome.ok && !outcome.value.duplicate;
}

function toOrigin(name: string): RawDelivery['origin'] {
  if (name.startsWith('in/')) return 'received';
  return name.startsWith('sent/') ? 'sent' : 'imported';
}
