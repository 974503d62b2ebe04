/** Stores uploads. An upload is deleted after a day if no message uses it. */

import { randomUUID } from 'node:crypto';
import type { Upload } from '../../../../durable-objects/mail/contract/drafts.ts';

import type { Problem } from '../../../shared/json/problem.ts';
import { ok, type Result } from '../../../shared/pure/result.ts';
import { deleteBlobs, putBlobStream, userPrefix } from '../../bindings/blobs.ts';
import { cleanFileName } from '../../domain/attachment-name.ts';
import { callMailbox } from '../../routes/route.ts';

export async function storeUpload(
  env: Env,
  userId: string,
  {
    contentType,
    sizeBytes,
    source,
  }: { contentType: string; sizeBytes: number; source: AsyncIterable<Uint8Array> | Iterable<Uint8Array> },
): Promise<Result<Upload, Problem>> {
  const attachmentId = randomUUID();
  const upload: Upload = {
    attachmentId,
    fileName: cleanFileName(null, contentType),
    contentType,
    sizeBytes,
    r2Key: `${userPrefix(userId)}upload/${attachmentId}`,
  };
  await putBlobStream(env, upload.r2Key, source, sizeBytes);
  const stored = await callMailbox(env, userId, (mailbox) => mailbox.insertUpload(upload));
  if (stored.ok) return ok(upload);
  await deleteBlobs(env, [upload.r2Key]);
  return stored;
}

/** @returns a media type that is valid in a header; application/octet-stream for any other text. */
export const toMediaType = (text: string): string =>
  /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:\s*;[\x20-\x7e]*)?$/.test(text) ? text.slice(0, 200) : 'application/octet-stream';
