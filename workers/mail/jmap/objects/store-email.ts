/**
 * Stores a raw message that a client composed or imported: first the bytes in a quorum of the locations, then one call of the
 * mailbox.
 */

import { randomUUID } from 'node:crypto';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { deleteBlobs } from '../../bindings/blobs.ts';
import { openMailbox } from '../../bindings/mailbox.ts';
import { openStored } from '../../checks/opened-message.ts';
import { toMarks } from '../../domain/keywords.ts';
import { toFlagPatch } from '../../domain/message-flags.ts';
import { storeRaw } from '../../inbound/accept/store-raw.ts';
import { putDelivery, toRawKey } from '../../inbound/process/delivery.ts';
import { memoryBudget } from '../../mime/memory-budget.ts';
import { toMessageBlobId } from '../domain/blob-id.ts';
import type { Arguments, Call, SetError } from '../protocol/method.ts';
import { invalidProperties, resolveId } from '../protocol/standard.ts';

export interface RawEmail {
  readonly mailboxIds: readonly string[];
  readonly keywords: readonly string[];
  readonly receivedAt: number;
  readonly sizeBytes: number;
  readonly read: () => Promise<AsyncIterable<Uint8Array> | Iterable<Uint8Array>>;
}

/** Stores a message. @returns the properties that the server set (RFC 8621 §4.6). */
export async function storeEmail(call: Call, raw: RawEmail): Promise<Result<Arguments, SetError>> {
  const { env, user } = call;
  const { marks, bad } = toMarks(raw.keywords);
  if (bad.length > 0) return err(invalidProperties(['keywords'], `Not a keyword: ${bad[0]?.slice(0, 100)}`));
  const deliveryKey = `jmap:${randomUUID()}`;
  const rawKey = toRawKey(user.userId, deliveryKey);
  await storeRaw(env, rawKey, await raw.read(), raw.sizeBytes);
  return memoryBudget.use(raw.sizeBytes, async () => {
    const message = await openStored(env, rawKey);
    if (!message) throw new Error('a message that was just stored is missing');
    const { input, written } = await putDelivery(env, {
      userId: user.userId,
      deliveryKey,
      rawKey,
      message,
      receivedAt: Math.min(raw.receivedAt, call.now),
      origin: 'imported',
      folder: '',
      isRead: marks.isRead,
      isFlagged: marks.isFlagged,
      labels: [...marks.labels],
      envelopeFrom: '',
      envelopeTo: null,
      spam: null,
      authentication: null,
      applyRules: false,
      enforceQuota: true,
    });
    const folderIds = raw.mailboxIds.map((id) => resolveId(call, id));
    const stored = await openMailbox(env, user.userId).createEmail(input, folderIds, toFlagPatch(marks));
    if (!stored.ok) {
      await deleteBlobs(env, [rawKey, ...written]);
      return err(toStoreError(stored.error));
    }
    const { email, duplicate } = stored.value;
    if (duplicate) return err({ type: 'alreadyExists', existingId: email.id });
    return ok({ id: email.id, blobId: toMessageBlobId(email.id), threadId: email.threadId, size: email.sizeBytes });
  });
}

function toStoreError(error: { readonly kind: string }): SetError {
  switch (error.kind) {
    case 'over_quota':
      return { type: 'overQuota' };
    case 'bad_folder':
    case 'no_folder':
    case 'no_folder_left':
      return invalidProperties(['mailboxIds']);
    case 'too_many_folders':
      return { type: 'tooManyMailboxes' };
    default:
      return { type: 'serverFail' };
  }
}
