/** Types of the engine's requests and results. `contract.ts` has the calls and re-exports them. */
import type { Result } from '../../../shared/result.ts';
import type { ChecksumAlgorithm } from '../../domain/checksums.ts';

export type Versioning = 'never' | 'enabled' | 'suspended';

/**
 * A bucket in DIRECTORY. `configuration` holds documents of the S3 API, one text per kind; the engine never reads them.
 */
export interface Bucket {
  readonly bucketId: string;
  readonly name: string;
  readonly ownerId: string;
  readonly createdAt: number;
  readonly versioning: Versioning;
  /** The location constraint that the creator gave; null when none was given. */
  readonly region: string | null;
  readonly configuration: Readonly<Partial<Record<string, string>>>;
  /** The shard of each of the 256 slots. Callers pass it back unread. */
  readonly placement: Placement;
  /** Counts the changes of the bucket. A shard that has a higher one proves that this copy is out of date. */
  readonly generation: number;
}

export interface Placement {
  readonly version: number;
  /** 256 shard numbers. */
  readonly shards: Uint8Array;
}

/** Metadata that the engine stores with a version without interpreting it. S3 limits it to about 10 KB. */
export interface ObjectMetadata {
  /** `content-type`, `cache-control`, … for the answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** User metadata without its prefix. */
  readonly user: Readonly<Record<string, string>>;
  readonly ownerId: string | null;
  readonly extra?: Readonly<Record<string, unknown>>;
}

export type Checksums = Readonly<Partial<Record<ChecksumAlgorithm, string>>>;

/** S3 Object Lock of one version. */
export interface ObjectLock {
  readonly mode: 'GOVERNANCE' | 'COMPLIANCE' | null;
  readonly retainUntilMs: number | null;
  /** Legal hold. */
  /** Null: never set. */
  readonly isHeld: boolean | null;
}

export const NO_LOCK: ObjectLock = { mode: null, retainUntilMs: null, isHeld: null };

export interface VersionFacts {
  readonly name: string;
  /** TIMEUUID. Always set; S3 shows `null` when `isNull`. */
  readonly versionId: string;
  /** Written while versioning was not enabled: S3's `null` version. */
  readonly isNull: boolean;
  readonly isMarker: boolean;
  readonly isLatest: boolean;
  /** All zeros for a deletion marker. */
  readonly objectId: string;
  readonly size: number;
  /** Without quotes; empty for a marker. */
  readonly etag: string;
  readonly modifiedAt: number;
  /** SHA-256 of the whole content; null for a multipart object. */
  readonly sha256: string | null;
  readonly checksums: Checksums;
  /** Type of the checksums; null for an object without checksums. */
  readonly checksumType: 'FULL_OBJECT' | 'COMPOSITE' | null;
  /** Number of parts; null for an object that was not uploaded in parts. */
  readonly partCount: number | null;
  readonly metadata: ObjectMetadata;
  readonly tags: Readonly<Record<string, string>> | null;
  /** The ACL document of the S3 API, unread. */
  readonly acl: string | null;
  readonly lock: ObjectLock;
}

/** A version with what is needed to read it without another query. */
export interface StoredVersion extends VersionFacts {
  readonly handle: ReadHandle;
  /** The operator keeps it from being read. Callers refuse it; the engine only reports it. */
  readonly isTakenDown: boolean;
}

/** Private to the engine: the shard of the version, and its data or the first of its extents. */
export interface ReadHandle {
  readonly shard: number;
  readonly bucketId: string;
  readonly inline: { readonly data: string; readonly crc32: number } | null;
  readonly extents: readonly Extent[];
}

/** A piece of an object's data, with the facts needed to fetch and check it. */
export interface Extent {
  readonly start: number;
  readonly length: number;
  readonly blobId: string;
  readonly blobStart: number;
  readonly blobSize: number;
  /** CRC-32 of the whole extent; null if segments are checked instead. */
  readonly crc32: number | null;
  /** CRC-32 of each segment of the blob, 8 hex digits each. */
  readonly segments: string;
  readonly locations: number;
  readonly isLost: boolean;
}

/** Which version of a name: the current one, S3's `null` version, or one by its TIMEUUID. */
export type VersionChoice = { readonly versionId?: string | undefined };

/** Checked inside the commit against the current version of the name. A deletion marker counts as no version. */
export interface Condition {
  /** `If-None-Match: *` */
  readonly absent?: boolean;
  /** `If-Match`: one of these etags, without quotes; `*` is any. No current version gives `no_such_key`. */
  readonly etags?: readonly string[];
  /** `If-None-Match: "etag"…` */
  readonly notEtags?: readonly string[];
  /** Conditional deletes: last modified (to the second) and size. */
  readonly modifiedAtSeconds?: number;
  readonly size?: number;
}

export interface BodyDigests {
  readonly size: number;
  readonly md5: string;
  readonly sha256: string;
  readonly crc32: string;
  /** The requested checksums, and always CRC32 and SHA256. Base64. */
  readonly checksums: Checksums;
}

/** The caller's decision once the whole body has been read and before anything is committed. */
export interface Verdict {
  /** Defaults to the MD5, as in S3. */
  readonly etag?: string;
  /** Stored with the version. */
  readonly checksums?: Checksums;
}

/** The attributes of a new version that depend on the caller and on the bucket's configuration. */
export interface VersionAttributes {
  readonly metadata: ObjectMetadata;
  readonly tags?: Readonly<Record<string, string>> | null;
  readonly acl?: string | null;
  readonly lock?: ObjectLock;
}

/**
 * States which copies of DIRECTORY a write was authorised with. Its commit fails if the shard knows of a later change of the
 * bucket or a later revocation, so a write needs no look-up in DIRECTORY's primary.
 */
export interface AuthorizationProof<E> {
  readonly generation: number;
  /** Null if no credential was needed. */
  readonly identityGeneration: number | null;
  /** Authorises the write again with DIRECTORY's primary. The engine calls it at most once. */
  renew(): Promise<Result<VersionAttributes, E>>;
}

export interface PutRequest<E> extends VersionAttributes {
  readonly bucket: Bucket;
  readonly name: string;
  readonly body: ReadableStream<Uint8Array> | Uint8Array;
  /** Bytes of the decoded body; null if unknown. */
  readonly size: number | null;
  readonly condition?: Condition;
  /** Absent if DIRECTORY's primary authorised the write. */
  readonly proof?: AuthorizationProof<E>;
  /** Further checksums to compute while the body streams. */
  readonly checksums?: readonly ChecksumAlgorithm[];
  /**
   * Compares the declared digests (Content-MD5, checksum headers, trailers) with the received body. After an error
   * nothing is stored.
   */
  readonly verify?: (digests: BodyDigests) => Result<Verdict, E> | Promise<Result<Verdict, E>>;
}

/** A store or a location does not answer; answered with 503. */
export type Unavailable = { readonly kind: 'unavailable'; readonly reason: string };

export type CommonError =
  | Unavailable
  | { readonly kind: 'no_such_bucket' }
  /** Of writes only. Unused shares of the quota were recalled before. */
  | { readonly kind: 'quota_exceeded' };

export type ConditionError = { readonly kind: 'precondition_failed' } | { readonly kind: 'no_such_key' };

/** `body_failed` carries the error of the body's stream: a bad chunk signature, or a closed connection. */
export type BodyError =
  | { readonly kind: 'body_failed'; readonly cause: unknown }
  | { readonly kind: 'body_incomplete'; readonly received: number; readonly expected: number };

export type PutError<E> = CommonError | ConditionError | BodyError | { readonly kind: 'refused'; readonly error: E };

export type ReadError =
  | CommonError
  | { readonly kind: 'no_such_key' }
  | { readonly kind: 'no_such_version' }
  /** No location has a good copy. Reported to the operator; answered with 500. */
  | { readonly kind: 'data_lost' };

export interface DeleteItem {
  readonly name: string;
  /** A TIMEUUID, or `null` for S3's null version. Absent: deletes by name, which may write a marker. */
  readonly versionId?: string;
  readonly condition?: Condition;
  /** Removes a version that is retained in the mode GOVERNANCE too. */
  readonly bypassesGovernance?: boolean;
  /** Of a delete by a lifecycle rule: refused as `precondition_failed` if it is not so at the commit. */
  readonly due?: DueVersion;
}

/** What a lifecycle rule decided by. Names cannot change it, but other versions of the name and tags can. */
export interface DueVersion {
  readonly versionId: string;
  /** The newest version; a deletion marker that is the only version; or a version that is not the newest. */
  readonly kind: 'current' | 'alone' | 'noncurrent';
  /** The tags as stored, if the rule selects by tags. */
  readonly tags?: string;
  /** The next newer version was written by then. */
  readonly since?: number;
  /** As many versions with data are newer, without the current one. */
  readonly newerVersions?: number;
}

export interface DeleteOutcome {
  /** A marker was written, or the version deleted was one. */
  readonly isMarker: boolean;
  /** Id of the marker written or of the version deleted; null when there is none to show. */
  readonly versionId: string | null;
  /** That version is S3's `null` version. */
  readonly isNull: boolean;
  /** Whether there was something to delete. */
  readonly existed: boolean;
}

export type DeleteError = CommonError | ConditionError | LockError;

/** Object Lock keeps the version, or its retention. */
export type LockError = { readonly kind: 'object_locked' };

export type LockChange =
  | (Omit<ObjectLock, 'isHeld'> & { readonly bypassesGovernance: boolean })
  | Pick<ObjectLock, 'isHeld'>;

export interface CopyRequest {
  readonly bucket: Bucket;
  readonly name: string;
  readonly source: StoredVersion;
  readonly metadata: ObjectMetadata;
  readonly tags: Readonly<Record<string, string>> | null;
  readonly acl: string | null;
  readonly lock?: ObjectLock;
  readonly condition?: Condition;
  /** A checksum that the copy must have. If the source lacks it, the bytes are read once. */
  readonly checksum?: ChecksumAlgorithm;
}

/** An inclusive byte range inside the object: `start` ≤ `end` < size. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface PartRange extends ByteRange {
  readonly partNumber: number;
  readonly partCount: number;
}

export interface PartFacts {
  readonly partNumber: number;
  readonly size: number;
  readonly etag: string;
  readonly modifiedAt: number;
  readonly checksums: Checksums;
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

export interface CreateUploadRequest {
  readonly bucket: Bucket;
  readonly name: string;
  readonly metadata: ObjectMetadata;
  readonly tags?: Readonly<Record<string, string>> | null;
  readonly acl?: string | null;
  readonly lock?: ObjectLock;
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
}

export interface CopyPartRequest {
  readonly bucket: Bucket;
  readonly name: string;
  readonly uploadId: string;
  readonly partNumber: number;
  readonly source: StoredVersion;
  /** The whole source when absent. */
  readonly range?: ByteRange;
  /** The checksum algorithm of the upload. If the source has no such checksum, it is computed by reading the source. */
  readonly checksum?: ChecksumAlgorithm | null;
}

export interface CompletedPart {
  readonly partNumber: number;
  readonly etag: string;
  readonly checksum?: { readonly algorithm: ChecksumAlgorithm; readonly value: string };
}

export interface CompleteUploadRequest {
  readonly bucket: Bucket;
  readonly name: string;
  readonly uploadId: string;
  /** In ascending order of number (the S3 API rejects others as InvalidPartOrder). A composite upload needs the checksum of every part. */
  readonly parts: readonly CompletedPart[];
  readonly condition?: Condition;
  /** The checksum of the whole object that the caller declared: `…-N` for a composite one. */
  readonly checksum?: string;
  readonly size?: number;
  /** Minimum size of every part except the last (S3: 5 MiB). 0 disables the check. */
  readonly partBytesMin: number;
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

export interface ListRequest {
  readonly bucket: Bucket;
  readonly prefix: string;
  /** Empty: none. */
  readonly delimiter: string;
  /**
   * Inclusive lower bound of names: '' from the start; `nameAfter(marker)` past a name; `nameAfterPrefix(prefix)` past a
   * common prefix (both in `domain/name-order.ts`); or the `next` of the page before.
   */
  readonly from: string;
  readonly limit: number;
}

export type Listed<T> =
  | { readonly kind: 'item'; readonly item: T }
  | { readonly kind: 'prefix'; readonly prefix: string };

export interface ListPage<T> {
  readonly entries: readonly Listed<T>[];
  /** Start of the next page (as `from`); null at the end. */
  readonly next: string | null;
}

export interface ListVersionsRequest extends ListRequest {
  /** With `from` equal to a name: only its versions older than this one (a TIMEUUID or `null`), then the names after it. */
  readonly versionsAfter?: string;
}

export interface ListVersionsPage extends ListPage<VersionFacts> {
  /** Set when the next page continues inside the versions of the name `next`; pass it as `versionsAfter`. */
  readonly nextVersion: string | null;
}

export interface ListUploadsRequest extends ListRequest {
  /** With `from` equal to a name: only its uploads initiated after this one. */
  readonly uploadsAfter?: string;
}

export interface ListUploadsPage extends ListPage<UploadFacts> {
  readonly nextUpload: string | null;
}

export type CreateBucketError =
  | Unavailable
  | { readonly kind: 'bucket_exists'; readonly ownerId: string }
  | { readonly kind: 'too_many_buckets'; readonly limit: number };

export type DeleteBucketError = CommonError | { readonly kind: 'bucket_not_empty' } | { readonly kind: 'conflict' };
