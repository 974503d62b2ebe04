/** Conditions on writes and deletes, which the engine decides inside its commit. */
import { err, ok, type Result } from '../shared/result.ts';
import { toBareEtag } from './domain/conditions.ts';
import { invalidArgument, type S3Failure } from './domain/failure.ts';
import type { Bucket, Condition, DeleteError, DeleteItem, DeleteOutcome, Engine } from './engine/contract.ts';

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

/**
 * A condition on size or time alone holds when nothing is there to be deleted ("if the size matches or if the object doesn't
 * exist, the operation returns a 204", DeleteObject); a deletion marker that is there has neither. `If-Match` asks for an
 * object, and none is a 404.
 */
export async function deleteUnderCondition(
  engine: Engine,
  bucket: Bucket,
  item: DeleteItem,
): Promise<Result<DeleteOutcome, DeleteError>> {
  const deleted = await engine.deleteObject(bucket, item);
  return deleted.ok ? deleted : settleMissing(engine, bucket, item, deleted.error);
}

export async function settleMissing(
  engine: Engine,
  bucket: Bucket,
  item: DeleteItem,
  error: DeleteError,
): Promise<Result<DeleteOutcome, DeleteError>> {
  if (error.kind !== 'no_such_key' || item.condition === undefined || item.condition.etags !== undefined)
    return err(error);
  const found = await engine.getVersion(bucket, item.name, { versionId: item.versionId });
  if (found.ok) return err({ kind: 'precondition_failed' });
  return ok({ isMarker: false, versionId: null, isNull: false, existed: false });
}
