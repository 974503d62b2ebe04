/** Conditions of deletes. The engine decides them inside its commit. */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { invalidArgument, type S3Failure } from '../../domain/failure.ts';
import type {
  Bucket,
  Condition,
  DeleteError,
  DeleteItem,
  DeleteOutcome,
  Engine,
  Proven,
} from '../../engine/model/contract.ts';
import { held } from '../../engine/model/proof.ts';
import { toEtags } from './object-upload.ts';

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

type Deleted = Proven<DeleteOutcome, DeleteError>;

/**
 * Deletes an object under a condition. If there is nothing to delete, a condition on size or time alone holds ("if the size matches
 * or if the object doesn't exist, the operation returns a 204", DeleteObject). A delete marker has neither size nor time.
 * `If-Match` requires an object; without one the answer is 404.
 */
export async function deleteUnderCondition(engine: Engine, bucket: Bucket, item: DeleteItem): Promise<Deleted> {
  const deleted = await engine.deleteObject(bucket, item);
  return settleMissing(engine, bucket, item, deleted);
}

export async function settleMissing(
  engine: Engine,
  bucket: Bucket,
  item: DeleteItem,
  deleted: Deleted,
): Promise<Deleted> {
  if (deleted.ok || deleted.error.kind !== 'no_such_key') return deleted;
  if (item.condition === undefined || item.condition.etags !== undefined) return deleted;
  const found = await engine.getVersion(bucket, item.name, { versionId: item.versionId });
  if (found.ok) return { ...deleted, error: { kind: 'precondition_failed' } };
  return held({ isMarker: false, versionId: null, isNull: false, existed: false });
}
