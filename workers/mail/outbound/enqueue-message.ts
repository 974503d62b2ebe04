/** Mail that no user wrote (reports, forwards, automatic replies): bytes first, then a row in the outbox. */
import { randomUUID } from 'node:crypto';
import type { OutboxKind } from '../../../durable-objects/mailbox/outbox-store.ts';
import { logError } from '../../shared/log.ts';
import { deleteBlobs, userPrefix } from '../blobs.ts';
import { parseMailPath } from '../domain/mail-path.ts';
import { hintOutbound } from '../hints.ts';
import { storeRawBytes } from '../inbound/store-raw.ts';
import { openTransport } from '../mailbox-transport.ts';
import { toCrlf } from './compose-message.ts';
import { createBodyHasher } from './dkim/body-hash.ts';

export interface AutomaticMessage {
  readonly kind: Exclude<OutboxKind, 'message'>;
  readonly raw: Uint8Array;
  /** Envelope sender; empty for the null sender. */
  readonly from: string;
  readonly to: string;
}

/** @returns false when the recipient is no address. Throws when a store cannot be reached: the caller tries again. */
export async function enqueueMessage(env: Env, userId: string, message: AutomaticMessage): Promise<boolean> {
  const path = parseMailPath(message.to);
  if (!path) return false;
  const outboxId = randomUUID();
  const rawKey = `${userPrefix(userId)}out/${outboxId}`;
  const raw = toCrlf(message.raw);
  const hasher = createBodyHasher();
  hasher.push(raw);
  await storeRawBytes(env, rawKey, raw);
  const queued = await openTransport(env, userId).enqueueOutbox({
    outboxId,
    kind: message.kind,
    headerMessageId: null,
    rawKey,
    ownsRaw: true,
    sizeBytes: raw.byteLength,
    bodyHash: hasher.digest(),
    isEightBit: hasher.isEightBit(),
    envelopeFrom: message.from,
    recipients: [{ email: path.email, domain: path.domain }],
    holdUntil: 0,
  });
  if (!queued.ok) {
    await deleteBlobs(env, [rawKey]).catch((error: unknown) => logError('raw_not_removed', error));
    return false;
  }
  await hintOutbound(env, userId, 0);
  return true;
}
