/** Conditions of writes and deletes. The engine decides them inside its commit. */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { toBareEtag } from '../../domain/conditions.ts';
import { invalidArgument, type S3Failure, s3Failure } from '../../domain/failure.ts';
import type { Bucket, Condition, DeleteError, DeleteItem, DeleteOutcome, Engine } from '../../engine/model/contract.ts';
import type { BucketContext } from '../protocol/operation.ts';
import { refuseConditions } from '../protocol/unsupported-headers.ts';

const toEtags = (header: string): string[] => header.split(',').map(toBareEtag);

/** Reads the `If-Match` and `If-None-Match` of PutObject, CopyObject and CompleteMultipartUpload. */
export function readWriteCondition(context: BucketContext): Result<{ condition?: Condition }, S3Failure> {
  const { headers, key } = context.request;
  const refused = refuseConditions(headers, ['if-modified-since', 'if-unmodified-since']);
  if (refused) return err(refused);
  const [ifMatch, ifNoneMatch] = [headers.get('if-match'), headers.get('if-none-match')];
  if (ifMatch === null && ifNoneMatch === null) return ok({});
  if (!mayCompare(context, key, ifMatch)) return err(s3Failure('AccessDenied'));
  return ok({
    condition: {
      ...(ifMatch === null ? {} : { etags: toEtags(ifMatch) }),
      ...(ifNoneMatch === null
        ? {}
        : ifNoneMatch.trim() === '*'
          ? { absent: true }
          : { notEtags: toEtags(ifNoneMatch) }),
    },
  });
}

/**
 * A caller that compares an ETag learns something about the object's content, so a conditional write requires `s3:GetObject` too
 * (User Guide, "How to prevent object overwrites with conditional writes", "How to perform conditional deletes"). A write grant in
 * the bucket's ACL includes it.
 */
export const mayCompare = (context: BucketContext, key: string, etag: string | null): boolean =>
  etag === null ||
  etag.trim() === '*' ||
  context.may({
    action: 'GetObject',
    key,
    acl: { of: 'bucket', permission: 'WRITE' },
    bucket: context.bucket,
    caller: context.caller,
  });

/** Reads the condition of a delete. @param lastModified HTTP date or RFC 3339. @returns no condition if all parameters are null. */
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
 * Deletes an object under a condition. If there is nothing to delete, a condition on size or time alone holds ("if the size matches
 * or if the object doesn't exist, the operation returns a 204", DeleteObject). A delete marker has neither size nor time.
 * `If-Match` requires an object; without one the answer is 404.
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
