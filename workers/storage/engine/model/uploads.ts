/** Types of multipart uploads. */
import type { Result } from '../../../shared/pure/result.ts';
import type { ChecksumAlgorithm } from '../../domain/checksums.ts';
import type {
  Bucket,
  ByteRange,
  Checksums,
  CommonError,
  Condition,
  ConditionError,
  ObjectLock,
  ObjectMetadata,
  PutRequest,
  RenewedBucket,
  StoredVersion,
  VersionAttributes,
} from './versions.ts';

export interface PartFacts {
  readonly partNumber: number;
  readonly size: number;
  readonly etag: string;
  readonly modifiedAt: number;
  readonly checksums: Checksums;
}

/** A part of a completed object. */
export interface ObjectPart extends PartFacts {
  /** Position of its first byte in the object. */
  readonly start: number;
}

export interface UploadFacts {
  readonly uploadId: string;
  readonly name: string;
  readonly initiatedAt: number;
  readonly metadata: ObjectMetadata;
  readonly tags: Readonly<Record<string, string>> | null;
  readonly acl: string | null;
  readonly lock: ObjectLock;
  readonly checksumAlgorithm: ChecksumAlgorithm | null;
  readonly checksumType: 'FULL_OBJECT' | 'COMPOSITE' | null;
}

export interface CreateUploadRequest extends VersionAttributes {
  readonly bucket: Bucket;
  readonly name: string;
  readonly checksumAlgorithm?: ChecksumAlgorithm | null;
  readonly checksumType?: 'FULL_OBJECT' | 'COMPOSITE' | null;
}

export interface PutPartRequest<E> {
  readonly bucket: Bucket;
  readonly name: string;
  readonly uploadId: string;
  readonly partNumber: number;
  readonly body: ReadableStream<Uint8Array> | Uint8Array;
  readonly size: number | null;
  readonly checksums?: readonly ChecksumAlgorithm[];
  readonly verify?: PutRequest<E>['verify'];
  /** Authorises the part again, as `renew` of `PutRequest` does. */
  readonly renew?: () => Promise<Result<RenewedBucket, E>>;
}

export interface CopyPartRequest {
  readonly bucket: Bucket;
  readonly name: string;
  readonly uploadId: string;
  readonly partNumber: number;
  readonly source: StoredVersion;
  /** Range of the source to copy; absent for the whole source. */
  readonly range?: ByteRange;
  /** Checksum algorithm of the upload. If the copy's source has no such checksum, it is computed by reading the source. */
  readonly checksum?: ChecksumAlgorithm | null;
}

export interface CompletedPart {
  readonly partNumber: number;
  readonly etag: string;
  readonly checksum?: { readonly algorithm: ChecksumAlgorithm; readonly value: string };
}

export interface CompleteUploadRequest<E = never> {
  readonly bucket: Bucket;
  readonly name: string;
  readonly uploadId: string;
  /**
   * Parts to complete, in ascending order of number (the S3 API rejects others as InvalidPartOrder). A composite upload needs the
   * checksum of every part.
   */
  readonly parts: readonly CompletedPart[];
  readonly condition?: Condition;
  /** The checksum of the whole object as the caller declared it; `…-N` for a composite one. */
  readonly checksum?: string;
  readonly size?: number;
  /** Minimum size of every part except the last (S3: 5 MiB). 0 disables the check. */
  readonly partBytesMin: number;
  /** Compares the request with the upload that it completes. After an error nothing changes. */
  readonly check?: (upload: UploadFacts) => Result<unknown, E>;
}

export type UploadError = CommonError | { readonly kind: 'no_such_upload' };

export type CompleteError =
  | UploadError
  | ConditionError
  | { readonly kind: 'invalid_part'; readonly partNumber: number }
  | { readonly kind: 'part_too_small'; readonly partNumber: number; readonly size: number; readonly etag: string }
  | { readonly kind: 'checksum_missing'; readonly partNumber: number; readonly algorithm: ChecksumAlgorithm }
  | { readonly kind: 'bad_checksum'; readonly partNumber: number | null }
  | { readonly kind: 'size_mismatch'; readonly size: number }
  | { readonly kind: 'too_large'; readonly size: number };
