/**
 * Delivers a raw message to a mailbox: first puts the bytes in a quorum of the locations in R2, then runs one transaction of the
 * mailbox. Idempotent: all R2 keys derive from the delivery key, and the mailbox stores a delivery key once.
 */
import { createHash } from 'node:crypto';
import type {
  ParsedMessage,
  StoredMessage,
  StoredText,
  StoreMessageError,
  StoreMessageInput,
} from '../../../../durable-objects/mail/contract/delivered-message.ts';
import type { Result } from '../../../shared/pure/result.ts';
import { deleteBlobs, putBlob, putBlobStream, userPrefix } from '../../bindings/blobs.ts';
import { openMailbox } from '../../bindings/mailbox.ts';
import { decodeCut, type OpenedMessage, type RawReader } from '../../checks/opened-message.ts';
import { HIDDEN_RECIPIENT } from '../../domain/written-fields.ts';
import { type ParsedAttachment, type ParsedRaw, parseMessage } from '../../mime/parse.ts';
import { toStoredStructure } from '../../mime/structure.ts';

/** Texts over this size are stored in R2. */
export const INLINE_TEXT_BYTES_MAX = 1_000_000;

export type RawDelivery = Omit<StoreMessageInput, 'rawKey' | 'rawSha256' | 'sizeBytes' | 'parsed'> & {
  readonly userId: string;
  readonly message: OpenedMessage;
  /** R2 key of the raw bytes if they are in R2 already, under `mail/<user_id>/`. */
  readonly rawKey?: string;
  /** The parsed message, if it was parsed already. */
  readonly parsedRaw?: ParsedRaw;
  /** Bcc recipients, for the sender's own copy. The raw message must not contain them. */
  readonly bcc?: ParsedMessage['bcc'];
  /** Whether the message came to a masked address. Its headers then name the address if neither To nor Cc does. */
  readonly isMasked?: boolean;
};

/** @returns the R2 key of the raw bytes of a delivery. */
export function toRawKey(userId: string, deliveryKey: string): string {
  return `${toDeliveryPrefix(userId, deliveryKey)}raw`;
}

const toDeliveryPrefix = (userId: string, deliveryKey: string) =>
  `${userPrefix(userId)}${createHash('sha256').update(deliveryKey).digest('hex').slice(0, 40)}/`;

type Store = (input: StoreMessageInput) => Promise<Result<StoredMessage, StoreMessageError>>;

/**
 * Delivers a message.
 * @param store runs the mailbox transaction. The default only stores the message.
 * @returns the stored message, or the mailbox's error.
 * @throws when a store cannot be reached; retry with the same delivery key.
 */
export async function deliverRaw(
  env: Env,
  delivery: RawDelivery,
  store: Store = (input) => openMailbox(env, delivery.userId).storeMessage(input),
): Promise<Result<StoredMessage, StoreMessageError>> {
  const { input, written } = await putDelivery(env, delivery);
  const outcome = await store(input);
  if (!outcome.ok) await deleteBlobs(env, written);
  return outcome;
}

/**
 * Stores the bytes of a delivery, which is its first half.
 * @returns the arguments for the mailbox, and the R2 keys to delete if the mailbox refuses.
 */
export async function putDelivery(
  env: Env,
  delivery: RawDelivery,
): Promise<{ readonly input: StoreMessageInput; readonly written: readonly string[] }> {
  const { userId, message, rawKey: givenRawKey, parsedRaw, bcc, isMasked, ...rest } = delivery;
  const read = parsedRaw ?? (await parseMessage(message.bytes, message));
  const parsed = withHiddenRecipient(read, isMasked === true ? (rest.deliveredTo ?? null) : null);
  const rawKey = givenRawKey ?? toRawKey(userId, delivery.deliveryKey);
  const prefix = toDeliveryPrefix(userId, delivery.deliveryKey);
  const parts = new PartWriter(env);
  if (givenRawKey === undefined) await parts.put(rawKey, message.bytes);
  const stored = { ...(await storeParts(parsed, prefix, parts)), structure: await toStoredStructure(message) };
  const input = {
    ...rest,
    rawKey,
    rawSha256: message.sha256,
    sizeBytes: message.sizeBytes,
    parsed: bcc ? { ...stored, bcc } : stored,
  };
  return { input, written: parts.written };
}

/** @param email the masked address that received the message, or null. */
function withHiddenRecipient(parsed: ParsedRaw, email: string | null): ParsedRaw {
  const headers = parsed.headers.filter(({ name }) => name.toLowerCase() !== HIDDEN_RECIPIENT.toLowerCase());
  const isShown = [...parsed.to, ...parsed.cc].some((shown) => shown.email.toLowerCase() === email);
  return {
    ...parsed,
    headers: email === null || isShown ? headers : [...headers, { name: HIDDEN_RECIPIENT, value: email }],
  };
}

/** Stores files and texts of a message as objects of their own. */
export class PartWriter {
  readonly #env: Env;
  readonly #written: string[] = [];

  constructor(env: Env) {
    this.#env = env;
  }

  /** Every R2 key that may have been written. */
  get written(): readonly string[] {
    return this.#written;
  }

  async put(key: string, bytes: Uint8Array | string): Promise<void> {
    this.#written.push(key);
    await putBlob(this.#env, key, bytes);
  }

  /** @param sizeBytes size of all pieces. */
  async putStream(key: string, pieces: Parameters<typeof putBlobStream>[2], sizeBytes: number): Promise<void> {
    this.#written.push(key);
    await putBlobStream(this.#env, key, pieces, sizeBytes);
  }
}

export async function* streamPieces(
  message: RawReader,
  pieces: ParsedAttachment['pieces'],
): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    if (!('cut' in piece)) yield piece;
    else if (piece.isDecoded) yield* decodeCut(message, piece.cut);
    else yield* await message.readPieces(piece.cut);
  }
}

export async function readPieces(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const piece of pieces) chunks.push(piece);
  return Buffer.concat(chunks);
}

/** @returns the R2 key of a file that is stored as an object of its own. */
export const toPartKey = (prefix: string, at: number): string => `${prefix}part-${at}`;

/**
 * Stores the texts that are too long for a row, and the files that are not a range of the raw message. Deterministic: the same
 * message gives the same keys.
 */
export async function storeParts(parsed: ParsedRaw, prefix: string, parts: PartWriter): Promise<ParsedMessage> {
  const { text, html, attachments, isComplete: _, ...rest } = parsed;
  const storeText = async (value: string, name: string): Promise<StoredText> => {
    if (Buffer.byteLength(value) <= INLINE_TEXT_BYTES_MAX) return { value, r2Key: null };
    await parts.put(prefix + name, value);
    return { value: value.slice(0, INLINE_TEXT_BYTES_MAX / 4), r2Key: prefix + name };
  };
  const stored: ParsedMessage['attachments'][number][] = [];
  for (const [at, { pieces, range, ...attachment }] of attachments.entries()) {
    const sizeBytes = pieces.reduce((sum, piece) => sum + ('cut' in piece ? piece.sizeBytes : piece.byteLength), 0);
    const r2Key = range ? null : toPartKey(prefix, at);
    if (r2Key !== null) await parts.put(r2Key, Buffer.concat(pieces.filter((piece) => !('cut' in piece))));
    stored.push({ ...attachment, sizeBytes, r2Key, ...(range ? { range } : {}) });
  }
  return {
    ...rest,
    text: await storeText(text, 'text'),
    html: html === null ? null : await storeText(html, 'html'),
    attachments: stored,
  };
}
