/**
 * The shapes that the engine takes and gives; what each call does with them is in `contract.ts`, which hands them on.
 */
import type { Result } from '../../../shared/result.ts';
import type { ChecksumAlgorithm } from '../../domain/checksums.ts';

export type Versioning = 'never' | 'enabled' | 'suspended';

/** A bucket as DIRECTORY holds it. `configuration` holds the wire's own documents, one text a kind, never read by the engine. */
export interface Bucket {
  readonly bucketId: string;
  readonly name: string;
  readonly ownerId: string;
  readonly createdAt: number;
  readonly versioning: Versioning;
  /** The location constraint as the creator gave it; null when none was given. */
  readonly region: string | null;
  readonly configuration: Readonly<Partial<Record<string, string>>>;
  /** Which database holds each of the 256 slots. The wire hands it back, and looks no deeper. */
  readonly placement: Placement;
}

export interface Placement {
  readonly version: number;
  /** 256 shard numbers. */
  readonly shards: Uint8Array;
}

/** What the wire keeps with a version and the engine does not interpret. Small: S3 bounds it to some 10 KB. */
export interface ObjectMetadata {
  /** `content-type`, `cache-control`, … as they are answered. */
  readonly headers: Readonly<Record<string, string>>;
  /** User metadata without its prefix. */
  readonly user: Readonly<Record<string, string>>;
  readonly ownerId: string | null;
  readonly extra?: Readonly<Record<string, unknown>>;
}

export type Checksums = Readonly<Partial<Record<ChecksumAlgorithm, string>>>;

export interface VersionFacts {
  readonly name: string;
  /** TIMEUUID. Always there; what S3 shows is `null` when `isNull`. */
  readonly versionId: string;
  /** Written while the bucket was not (or no longer) versioned: S3's `null` version. */
  readonly isNull: boolean;
  readonly isMarker: boolean;
  readonly isLatest: boolean;
  /** All zeros for a deletion marker. */
  readonly objectId: string;
  readonly size: number;
  /** Without quotes. Empty for a marker. */
  readonly etag: string;
  readonly modifiedAt: number;
  /** Of the whole content; null for a multipart object. */
  readonly sha256: string | null;
  readonly checksums: Checksums;
  /** How the checksums of a multipart object were made; null for an object that has none. */
  readonly checksumType: 'FULL_OBJECT' | 'COMPOSITE' | null;
  /** How many parts it was uploaded in; null when not by multipart. */
  readonly partCount: number | null;
  readonly metadata: ObjectMetadata;
  readonly tags: Readonly<Record<string, string>> | null;
  /** The wire's ACL document, as it was given. */
  readonly acl: string | null;
}

/** A version that was found, and what is needed to read it without another question to the database. */
export interface StoredVersion extends VersionFacts {
  readonly handle: ReadHandle;
}

/** Private to the engine: where the version was found, and its data or the first of its extents. */
export interface ReadHandle {
  readonly shard: number;
  readonly bucketId: string;
  readonly inline: { readonly data: string; readonly crc32: number } | null;
  readonly extents: readonly Extent[];
}

/** A piece of an object's data, with what is needed to fetch and check it. */
export interface Extent {
  readonly start: number;
  readonly length: number;
  readonly blobId: string;
  readonly blobStart: number;
  readonly blobSize: number;
  /** Of the whole extent; null where segments are checked. */
  readonly crc32: number | null;
  /** CRC-32 of each segment of the blob, 8 hex digits each. */
  readonly segments: string;
  readonly locations: number;
  readonly isLost: boolean;
}

/** Which version of a name: the current one, S3's `null` version, or one by its TIMEUUID. */
export type VersionChoice = { readonly versionId?: string | undefined };

/** Decided inside the commit, against the current version of the name (a deletion marker counts as none). */
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
  /** What was asked for, and always CRC32 and SHA256. Base64. */
  readonly checksums: Checksums;
}

/** What the wire decides once the whole body has been read and before anything is committed. */
export interface Verdict {
  /** S3's own is the MD5, which is the default. */
  readonly etag?: string;
  /** Kept with the version and answered with it. */
  readonly checksums?: Checksums;
}

export interface PutRequest<E> {
  readonly bucket: Bucket;
  readonly name: string;
  readonly body: ReadableStream<Uint8Array> | Uint8Array;
  /** Bytes of the (decoded) body; null when the caller did not say. */
  readonly size: number | null;
  readonly metadata: ObjectMetadata;
  readonly tags?: Readonly<Record<string, string>> | null;
  readonly acl?: string | null;
  readonly condition?: Condition;
  /** Which further checksums to compute while the body streams. */
  readonly checksums?: readonly ChecksumAlgorithm[];
  /** Compares what was promised (Content-MD5, checksum headers, trailers) with what came. An error leaves nothing behind. */
  readonly verify?: (digests: BodyDigests) => Result<Verdict, E> | Promise<Result<Verdict, E>>;
}

/** A store or a location does not answer: 503. */
export type Unavailable = { readonly kind: 'unavailable'; readonly reason: string };

export type CommonError = Unavailable | { readonly kind: 'no_such_bucket' };

export type ConditionError = { readonly kind: 'precondition_failed' } | { readonly kind: 'no_such_key' };

/** `body_failed` carries what the body's stream threw (a bad chunk signature, a caller who left). */
export type BodyError =
  | { readonly kind: 'body_failed'; readonly cause: unknown }
  | { readonly kind: 'body_incomplete'; readonly received: number; readonly expected: number };

export type PutError<E> = CommonError | ConditionError | BodyError | { readonly kind: 'refused'; readonly error: E };

export type ReadError =
  | CommonError
  | { readonly kind: 'no_such_key' }
  | { readonly kind: 'no_such_version' }
  /** No location has a good copy left. Reported to the operator; a 500. */
  | { readonly kind: 'data_lost' };

export interface DeleteItem {
  readonly name: string;
  /** A TIMEUUID, or `null` for S3's null version. Absent: delete by name, which may write a marker. */
  readonly versionId?: string;
  readonly condition?: Condition;
}

export interface DeleteOutcome {
  /** A marker was written, or the version deleted was one. */
  readonly isMarker: boolean;
  /** Of the marker written, or of the version deleted; null when there was nothing to show. */
  readonly versionId: string | null;
  /** That version is S3's `null` version. */
  readonly isNull: boolean;
  /** Whether something was there to delete. */
  readonly existed: boolean;
}

export type DeleteError = CommonError | ConditionError;

export interface CopyRequest {
  readonly bucket: Bucket;
  readonly name: string;
  readonly source: StoredVersion;
  readonly metadata: ObjectMetadata;
  readonly tags: Readonly<Record<string, string>> | null;
  readonly acl: string | null;
  readonly condition?: Condition;
  /** A checksum that the copy shall have and the source has not: the bytes are then read once. */
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
  readonly checksumAlgorithm: ChecksumAlgorithm | null;
  readonly checksumType: 'FULL_OBJECT' | 'COMPOSITE' | null;
}

export interface CreateUploadRequest {
  readonly bucket: Bucket;
  readonly name: string;
  readonly metadata: ObjectMetadata;
  readonly tags?: Readonly<Record<string, string>> | null;
  readonly acl?: string | null;
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
  /** The checksum the upload was created with: computed by reading the source when it is not known. */
  readonly checksum?: ChecksumAlgorithm | null;
}

export interface CompleteUploadRequest {
  readonly bucket: Bucket;
  readonly name: string;
  readonly uploadId: string;
  /** In ascending order of number (the wire answers InvalidPartOrder otherwise). `checksum` is compared when given. */
  readonly parts: readonly { readonly partNumber: number; readonly etag: string; readonly checksum?: string }[];
  readonly condition?: Condition;
  /** The checksum of the whole object as the caller promised it: `…-N` for a composite one. */
  readonly checksum?: string;
  readonly size?: number;
  /** Bytes that every part but the last must have (S3: 5 MiB). 0 lifts it. */
  readonly partBytesMin: number;
}

export type UploadError = CommonError | { readonly kind: 'no_such_upload' };

export type CompleteError =
  | UploadError
  | ConditionError
  | { readonly kind: 'invalid_part'; readonly partNumber: number }
  | { readonly kind: 'part_too_small'; readonly partNumber: number; readonly size: number; readonly etag: string }
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
  /** Where the next page begins (as `from`); null at the end. */
  readonly next: string | null;
}

export interface ListVersionsRequest extends ListRequest {
  /** With `from` equal to a name: only its versions older than this one (a TIMEUUID or `null`), then the names after it. */
  readonly versionsAfter?: string;
}

export interface ListVersionsPage extends ListPage<VersionFacts> {
  /** Set when the next page goes on inside the versions of the name `next`: hand it back as `versionsAfter`. */
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
