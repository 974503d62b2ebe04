/** Adds AWS's extra elements to error documents of some codes, if the operation did not add any. */
import type { S3ErrorCode } from '../../domain/error-codes.ts';
import type { S3Failure } from '../../domain/failure.ts';
import type { S3Request } from './request.ts';

/** Error codes that concern a bucket as a whole. Their error document names the bucket. */
const OF_BUCKET: ReadonlySet<S3ErrorCode> = new Set<S3ErrorCode>([
  'BucketAlreadyExists',
  'BucketAlreadyOwnedByYou',
  'BucketNotEmpty',
  'MetadataConfigurationNotFound',
  'NoSuchBucket',
  'NoSuchBucketPolicy',
  'NoSuchCORSConfiguration',
  'NoSuchConfiguration',
  'NoSuchLifecycleConfiguration',
  'NoSuchPublicAccessBlockConfiguration',
  'NoSuchTagSet',
  'NoSuchWebsiteConfiguration',
  'ObjectLockConfigurationNotFoundError',
  'OwnershipControlsNotFoundError',
  'ReplicationConfigurationNotFoundError',
  'ServerSideEncryptionConfigurationNotFoundError',
]);

export function withDetails(failure: S3Failure, request: S3Request): S3Failure {
  if (failure.details !== undefined) return failure;
  const details = toDetails(failure.code, request);
  return details === null ? failure : { ...failure, details };
}

function toDetails(code: S3ErrorCode, { bucket, key, query, headers }: S3Request): Record<string, string> | null {
  if (OF_BUCKET.has(code)) return { BucketName: bucket };
  switch (code) {
    case 'NoSuchKey':
      return { Key: key };
    case 'NoSuchUpload':
      return { UploadId: query.get('uploadId') ?? '' };
    case 'PreconditionFailed': {
      const name = ['If-Match', 'If-Unmodified-Since', 'If-None-Match'].find((header) => headers.has(header));
      return name === undefined ? null : { Condition: name };
    }
    default:
      return null;
  }
}
