/** Maps every failure of the engine to AWS's error codes. */
import { type S3Failure, s3Failure } from '../../domain/failure.ts';
import type {
  BodyError,
  CommonError,
  CompleteError,
  ConditionError,
  CreateBucketError,
  DeleteBucketError,
  LockError,
  ProofState,
  ReadError,
  UploadError,
} from '../../engine/model/contract.ts';

export type EngineError =
  | CommonError
  | ConditionError
  | BodyError
  | ReadError
  | UploadError
  | CompleteError
  | CreateBucketError
  | DeleteBucketError
  | LockError
  | { readonly kind: 'refused'; readonly error: S3Failure };

/** Error that the stream of an invalid body throws. */
export class BodyFailure extends Error {
  readonly failure: S3Failure;
  constructor(failure: S3Failure) {
    super(failure.code);
    this.failure = failure;
  }
}

/** The failure of an operation after a call of the engine, with what the call proved. */
export const toFailure = ({ error, proof }: { readonly error: EngineError; readonly proof?: ProofState | undefined }) =>
  ({ ok: false, error: toS3Error(error), proof }) as const;

export function toS3Error(error: EngineError): S3Failure {
  switch (error.kind) {
    case 'unavailable':
      return s3Failure('ServiceUnavailable', 'Please try again.', { headers: { 'retry-after': '1' } });
    case 'no_such_bucket':
      return s3Failure('NoSuchBucket');
    case 'quota_exceeded':
      return s3Failure('QuotaExceeded');
    case 'precondition_failed':
      return s3Failure('PreconditionFailed');
    case 'object_locked':
      return s3Failure('AccessDenied', 'Access Denied because object protected by object lock.');
    case 'no_such_key':
      return s3Failure('NoSuchKey');
    case 'no_such_version':
      return s3Failure('NoSuchVersion');
    case 'no_such_upload':
      return s3Failure('NoSuchUpload');
    case 'data_lost':
      return s3Failure('InternalError', 'No intact copy of this object is left. The operator has been notified.');
    case 'body_failed':
      return error.cause instanceof BodyFailure ? error.cause.failure : s3Failure('IncompleteBody');
    case 'body_incomplete':
      return s3Failure('IncompleteBody');
    case 'refused':
      return error.error;
    case 'invalid_part':
      return s3Failure('InvalidPart', undefined, { details: { PartNumber: String(error.partNumber) } });
    case 'part_too_small':
      return s3Failure('EntityTooSmall', undefined, {
        details: {
          PartNumber: String(error.partNumber),
          ProposedSize: String(error.size),
          MinSizeAllowed: String(PART_BYTES_MIN),
          ETag: error.etag,
        },
      });
    case 'bad_checksum':
      return s3Failure('BadDigest', 'The checksum that you specified did not match the calculated checksum.', {
        ...(error.partNumber === null ? {} : { details: { PartNumber: String(error.partNumber) } }),
      });
    case 'checksum_missing':
      return s3Failure(
        'InvalidRequest',
        `The upload was created using a ${error.algorithm.toLowerCase()} checksum. The complete request must include the checksum for each part. It was missing for part ${error.partNumber} in the request.`,
      );
    case 'size_mismatch':
      return s3Failure(
        'InvalidRequest',
        'The provided "x-amz-mp-object-size" header value does not match what was computed.',
      );
    case 'too_large':
      return s3Failure('EntityTooLarge', undefined, {
        details: { ProposedSize: String(error.size), MaxSizeAllowed: String(OBJECT_BYTES_MAX) },
      });
    case 'bucket_exists':
      return s3Failure('BucketAlreadyExists');
    case 'too_many_buckets':
      return s3Failure('TooManyBuckets');
    case 'bucket_not_empty':
      return s3Failure('BucketNotEmpty');
    case 'conflict':
      return s3Failure('OperationAborted');
  }
}

/** Limits of multipart uploads ("Amazon S3 multipart upload limits"). */
export const PART_BYTES_MIN = 5 * 1024 ** 2;
export const PUT_BYTES_MAX = 5 * 1024 ** 3;
export const OBJECT_BYTES_MAX = 5 * 1024 ** 4;
export const PART_NUMBER_MAX = 10_000;
