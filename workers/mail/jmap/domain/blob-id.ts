/**
 * Ids of blobs. `m` with an email id is the raw message; `u` with an upload id is the upload. `-p` and a number after either is a
 * part of that message. The same id always has the same bytes. Pure.
 */

export interface BlobId {
  readonly kind: 'message' | 'upload';
  readonly id: string;
  /** Indexes of parts, from the outermost to the innermost: a part of the message, a part of that part, and so on. */
  readonly parts: readonly number[];
}

const BLOB_ID =
  /^([mu])([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?:-[1-9]\d{0,8})?)((?:-p\d{1,4}){0,10})$/;

export function parseBlobId(text: string): BlobId | null {
  const [, kind, id = '', parts = ''] = BLOB_ID.exec(text) ?? [];
  if (kind === undefined) return null;
  return { kind: kind === 'm' ? 'message' : 'upload', id, parts: parts.split('-p').slice(1).map(Number) };
}

export const toMessageBlobId = (emailId: string): string => `m${emailId}`;
export const toUploadBlobId = (uploadId: string): string => `u${uploadId}`;
export const toPartBlobId = (blobId: string, part: number): string => `${blobId}-p${part}`;
