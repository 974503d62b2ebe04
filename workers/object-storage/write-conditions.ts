/** Conditions on writes and deletes, which the engine decides inside its commit. */
import { err, ok, type Result } from '../shared/result.ts';
import { toBareEtag } from './domain/conditions.ts';
import { invalidArgument, type S3Failure } from './domain/failure.ts';
import type { Condition } from './engine/contract.ts';

type Readable = { get(name: string): string | null };

const toEtags = (header: string): string[] => header.split(',').map(toBareEtag);

/** `If-Match` and `If-None-Match` of PutObject, CopyObject and CompleteMultipartUpload. */
export function toWriteCondition(headers: Readable): { condition?: Condition } {
  const [ifMatch, ifNoneMatch] = [headers.get('if-match'), headers.get('if-none-match')];
  if (ifMatch === null && ifNoneMatch === null) return {};
  return {
    condition: {
      ...(ifMatch === null ? {} : { etags: toEtags(ifMatch) }),
      ...(ifNoneMatch === null
        ? {}
        : ifNoneMatch.trim() === '*'
          ? { absent: true }
          : { notEtags: toEtags(ifNoneMatch) }),
    },
  };
}

/** @param lastModified HTTP date or RFC 3339. @returns no condition when all are null. */
export function toDeleteCondition(
  etag: string | null,
  lastModified: string | null,
  size: string | null,
): Result<{ condition?: Condition }, S3Failure> {
  if (etag === null && lastModified === null && size === null) return ok({});
  const time = lastModified === null ? 0 : Date.parse(lastModified);
  if (Number.isNaN(time)) {
    return err(invalidArgument('x-amz-if-match-last-modified-time', lastModified ?? '', 'Invalid date.'));
  }
  if (size !== null && !/^\d+$/.test(size)) return err(invalidArgument('x-amz-if-match-size', size, 'Invalid size.'));
  return ok({
    condition: {
      ...(etag === null ? {} : { etags: toEtags(etag) }),
      ...(lastModified === null ? {} : { modifiedAtSeconds: Math.floor(time / 1000) }),
      ...(size === null ? {} : { size: Number(size) }),
    },
  });
}
