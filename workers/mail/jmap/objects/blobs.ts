/** Opens blobs: raw messages, their parts, and uploads. */
import { readBlob } from '../../bindings/blobs.ts';
import { openMailbox } from '../../bindings/mailbox.ts';
import { type OpenedMessage, openBytes, openStored } from '../../checks/opened-message.ts';
import { parseEmailId } from '../../domain/email-id.ts';
import { readPieces, streamPieces } from '../../inbound/process/delivery.ts';
import { memoryBudget } from '../../mime/memory-budget.ts';
import { toPieces } from '../../mime/parse.ts';
import { composeDraft, streamDraft } from '../../outbound/compose-draft.ts';
import { type BlobId, parseBlobId } from '../domain/blob-id.ts';

export interface OpenBlob {
  readonly sizeBytes: number;
  /** Media type of the blob: as uploaded, or as the header of the part says. */
  readonly type: string;
  readonly read: () => Promise<AsyncIterable<Uint8Array> | Iterable<Uint8Array>>;
}

/** A blob and where its bytes are. */
export interface BlobSource {
  readonly id: BlobId;
  readonly sizeBytes: number;
  readonly type: string;
  /** R2 key of the bytes. Null for a draft that was written in the app, whose raw message is composed when it is read. */
  readonly r2Key: string | null;
}

/** Finds a blob. @returns null if the caller has no such blob. */
export async function findBlobSource(env: Env, userId: string, blobId: string): Promise<BlobSource | null> {
  const id = parseBlobId(blobId);
  if (!id) return null;
  const mailbox = openMailbox(env, userId);
  if (id.kind === 'upload') {
    const found = await mailbox.readUploads([id.id]);
    const [upload] = found.ok ? found.value : [];
    return upload ? { id, sizeBytes: upload.sizeBytes, type: upload.contentType, r2Key: upload.r2Key } : null;
  }
  const found = await mailbox.readEmails([id.id]);
  const [email] = found.ok ? found.value.emails : [];
  return email ? { id, sizeBytes: email.sizeBytes, type: 'message/rfc822', r2Key: email.rawKey } : null;
}

export async function openBlob(env: Env, userId: string, blobId: string): Promise<OpenBlob | null> {
  const source = await findBlobSource(env, userId, blobId);
  if (!source) return null;
  if (source.id.parts.length > 0) return openPart(env, userId, source);
  const { r2Key, type, sizeBytes } = source;
  if (r2Key === null) {
    const draft = await openDraft(env, userId, source.id.id);
    return draft && { sizeBytes: draft.byteLength, type, read: async () => [draft] };
  }
  return { sizeBytes, type, read: () => readBlob(env, r2Key) };
}

/** Opens a blob as a message: a raw message, or a message that is attached to one. @returns null if its bytes do not exist. */
export async function openMessageBlob(env: Env, userId: string, source: BlobSource): Promise<OpenedMessage | null> {
  const whole = { ...source, id: { ...source.id, parts: [] } };
  let message = await memoryBudget.use(source.sizeBytes, () => openWhole(env, userId, whole));
  for (const index of source.id.parts) {
    const part = message?.tree.parts[index];
    if (!message || !part) return null;
    message = openBytes(await readPieces(streamPieces(message, toPieces(part, message.cuts))));
  }
  return message;
}

async function openWhole(env: Env, userId: string, { r2Key, id }: BlobSource): Promise<OpenedMessage | null> {
  if (r2Key !== null) return openStored(env, r2Key);
  const draft = await openDraft(env, userId, id.id);
  return draft && openBytes(draft);
}

async function openPart(env: Env, userId: string, source: BlobSource): Promise<OpenBlob | null> {
  const parts = source.id.parts.slice(0, -1);
  const message = await openMessageBlob(env, userId, { ...source, id: { ...source.id, parts } });
  const part = message?.tree.parts[source.id.parts.at(-1) ?? 0];
  if (!message || !part) return null;
  const pieces = toPieces(part, message.cuts);
  const sizeBytes = pieces.reduce((sum, piece) => sum + ('cut' in piece ? piece.sizeBytes : piece.byteLength), 0);
  return { sizeBytes, type: part.type, read: async () => streamPieces(message, pieces) };
}

/** Composes the raw message of one revision of a draft. Another revision is another blob. */
async function openDraft(env: Env, userId: string, emailId: string): Promise<Uint8Array | null> {
  const id = parseEmailId(emailId);
  const found = id && (await openMailbox(env, userId).readDraft(id.messageId));
  if (!found?.ok || found.value.revision !== id?.revision) return null;
  return readPieces(streamDraft(env, found.value, await composeDraft(found.value)));
}
