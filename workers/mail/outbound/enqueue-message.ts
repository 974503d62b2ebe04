/**
 * Enqueues mail that no user wrote (reports, forwards, automatic replies): first stores the bytes, then adds a row to the outbox.
 */

import { randomUUID } from 'node:crypto';
import type { OutboxKind } from '../../../durable-objects/mail/contract/outbox.ts';

import { createClock } from '../../shared/settings/clock.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { deleteBlobs, getBlob, inLargePieces, userPrefix } from '../bindings/blobs.ts';
import { hintOutbound } from '../bindings/hints.ts';
import { openMailbox } from '../bindings/mailbox.ts';
import { readTransportSettings } from '../bindings/transport-settings.ts';
import { createBodyHasher } from '../dkim/body-hash.ts';
import { parseMailPath } from '../domain/mail-path.ts';
import { storeRaw } from '../inbound/accept/store-raw.ts';
import { createLineEnder, toCrlf } from './compose-message.ts';
import { UNSIGNED } from './sign-outgoing.ts';

export interface AutomaticMessage {
  readonly kind: Exclude<OutboxKind, 'message'>;
  readonly raw: Uint8Array;
  /** Envelope sender; empty for the null sender. */
  readonly from: string;
  readonly to: string;
  /** False if the author may be someone other than From claims. The message then gets no DKIM signature of ours. */
  readonly isSigned?: boolean;
  /** Id of the outbox row. Set if a crash may repeat the call although the message must be sent only once. */
  readonly outboxId?: string;
}

/**
 * Enqueues a message that is in memory.
 * @returns false if the recipient is not a valid address.
 * @throws when a store cannot be reached; the caller retries.
 */
export async function enqueueMessage(env: Env, userId: string, message: AutomaticMessage): Promise<boolean> {
  const raw = toCrlf(message.raw);
  return enqueue(env, userId, message, raw.byteLength, [raw]);
}

/** Enqueues a message that is stored in R2. Streams it, with `prefix` (header fields) in front. */
export async function enqueueStored(
  env: Env,
  userId: string,
  sourceKey: string,
  message: Omit<AutomaticMessage, 'raw'> & { readonly prefix: Buffer },
): Promise<boolean> {
  const open = async () => {
    const stored = await getBlob(env, sourceKey);
    if (!stored) throw new Error('the message to forward is missing in every location');
    return stored;
  };
  const { body, size } = await open();
  const added = await countMissing(inLargePieces(body));
  const source = async function* () {
    yield message.prefix;
    const toLines = createLineEnder();
    for await (const piece of inLargePieces((await open()).body)) yield added === 0 ? piece : toLines(piece);
  };
  return enqueue(env, userId, message, message.prefix.byteLength + size + added, source());
}

/** Counts the bytes that must be added so that every line ends with CRLF. */
async function countMissing(pieces: AsyncIterable<Uint8Array>): Promise<number> {
  const toLines = createLineEnder();
  let added = 0;
  for await (const piece of pieces) added += toLines(piece).byteLength - piece.byteLength;
  return added;
}

async function enqueue(
  env: Env,
  userId: string,
  message: Omit<AutomaticMessage, 'raw'>,
  sizeBytes: number,
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<boolean> {
  const path = parseMailPath(message.to);
  if (!path) return false;
  const outboxId = message.outboxId ?? randomUUID();
  // Each attempt has its own key, because bytes that a row names must not change. The collector deletes keys without a row.
  const rawKey = `${userPrefix(userId)}out/${randomUUID()}`;
  const hasher = createBodyHasher();
  await storeRaw(env, rawKey, source, sizeBytes, (chunk) => hasher.push(chunk));
  const queued = await openMailbox(env, userId).enqueueOutbox(
    {
      outboxId,
      kind: message.kind,
      headerMessageId: null,
      rawKey,
      ownsRaw: true,
      sizeBytes,
      bodyHash: message.isSigned === false ? UNSIGNED : hasher.digest(),
      isEightBit: hasher.isEightBit(),
      envelopeFrom: message.from,
      recipients: [{ email: path.email, domain: path.domain }],
      holdUntil: 0,
    },
    readTransportSettings(env).automaticPerHour,
  );
  if (!queued.ok) {
    await deleteBlobs(env, [rawKey]).catch((error: unknown) => logError('raw_delete_failed', error));
    return false;
  }
  await hintOutbound(env, userId, Math.max(0, queued.value.holdUntil - createClock(env)()));
  return true;
}
