/** Reads the version that a request names: found, missing, or a delete marker. */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { parseTimeuuid } from '../../../shared/pure/timeuuid.ts';
import { invalidArgument, type S3Failure, s3Failure } from '../../domain/failure.ts';
import type { Bucket, ReadError, StoredVersion, VersionFacts } from '../../engine/model/contract.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import { toVersionHeaders } from './object-headers.ts';

/** Checks the version id of a request. @returns undefined when the request has none. */
export function parseVersionId(text: string | undefined): Result<string | undefined, S3Failure> {
  if (text === undefined || text === 'null') return ok(text);
  if (text === '') return err(invalidArgument('versionId', '', 'Version id cannot be the empty string'));
  if (parseTimeuuid(text) === null) return err(invalidArgument('versionId', text, 'Invalid version id specified'));
  return ok(text.toLowerCase());
}

/**
 * Returns the version that a request names, or the error of a missing one.
 * @param versionId id in the request.
 * @param mayList whether the caller may list. Other callers must not learn that a name is free (GetObject, "Permissions").
 */
export function requireObject(
  found: Result<StoredVersion, ReadError>,
  bucket: Bucket,
  key: string,
  versionId: string | undefined,
  mayList: () => boolean,
): Result<StoredVersion, S3Failure> {
  if (found.ok && !found.value.isMarker) return found;
  if (found.ok) return err(mayList() ? toMarkerFailure(found.value, bucket, versionId) : s3Failure('AccessDenied'));
  const { kind } = found.error;
  if (kind !== 'no_such_key' && kind !== 'no_such_version') return err(toS3Error(found.error));
  if (!mayList()) return err(s3Failure('AccessDenied'));
  if (versionId === undefined) return err(s3Failure('NoSuchKey', undefined, { details: { Key: key } }));
  return err(s3Failure('NoSuchVersion', undefined, { details: { Key: key, VersionId: versionId } }));
}

/**
 * A current delete marker is a 404. A marker that is addressed by its id may only be deleted (User Guide, "Working with delete
 * markers").
 */
function toMarkerFailure(marker: VersionFacts, bucket: Bucket, versionId: string | undefined): S3Failure {
  const headers = { 'x-amz-delete-marker': 'true', ...toVersionHeaders(bucket, marker) };
  if (versionId === undefined) return s3Failure('NoSuchKey', undefined, { headers, details: { Key: marker.name } });
  return s3Failure('MethodNotAllowed', undefined, {
    headers: { ...headers, allow: 'DELETE', 'last-modified': new Date(marker.modifiedAt).toUTCString() },
    details: { Method: 'GET', ResourceType: 'DeleteMarker' },
  });
}
