/** Reads stored attachments: from the raw message, or from R2 objects of their own. */
import type { StoredAttachment } from '../../../../durable-objects/mail/contract/delivered-message.ts';
import type { ByteRange } from '../../../shared/pure/http-range.ts';
import { getBlob, inLargePieces } from '../../bindings/blobs.ts';
import { readRange } from '../../mime/raw-range.ts';

/** Where the bytes of an attachment are stored. */
export type AttachmentPlace = Pick<StoredAttachment, 'r2Key' | 'range' | 'sizeBytes'>;

/** Reads an attachment. @throws if its bytes are missing in every location. */
export async function readAttachment(
  env: Env,
  rawKey: string | null,
  { r2Key, range, sizeBytes }: AttachmentPlace,
  part?: ByteRange,
): Promise<AsyncIterable<Uint8Array> | Iterable<Uint8Array>> {
  const read = async (key: string | null, bytes?: R2Range) => {
    const found = key === null ? null : await getBlob(env, key, bytes);
    if (!found) throw new Error(`bytes are missing in every location: ${key}`);
    return inLargePieces(found.body);
  };
  if (range) return readRange((bytes) => read(rawKey, bytes), range, sizeBytes, part);
  return read(r2Key, part && { offset: part.first, length: part.last - part.first + 1 });
}
