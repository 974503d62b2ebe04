/**
 * What the engine offers to the wire: the shapes only. `engine.ts` makes one (`createEngine`).
 *
 * Names of objects are JS strings of valid Unicode (no lone surrogates; the wire refuses those), ordered by their UTF-8
 * bytes. Times are milliseconds since 1970 UTC. Ids and versions are lower-case UUID text. Digests: MD5 and SHA-256 in
 * hex, S3 checksums in base64 as S3 shows them.
 *
 * Every expected failure is a value. `unavailable` (a store does not answer, a location refuses a write: 503) and
 * `no_such_bucket` may come from every call that touches a store.
 */

import type { Result } from '../../shared/result.ts';
import type { ChecksumAlgorithm } from '../domain/checksums.ts';

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

export type CommonError =
  | { readonly kind: 'unavailable'; readonly reason: string }
  | { readonly kind: 'no_such_bucket' };

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
  | { readonly kind: 'unavailable'; readonly reason: string }
  | { readonly kind: 'bucket_exists'; readonly ownerId: string }
  | { readonly kind: 'too_many_buckets'; readonly limit: number };

export type DeleteBucketError = CommonError | { readonly kind: 'bucket_not_empty' } | { readonly kind: 'conflict' };

export interface Engine {
  // ── buckets
  createBucket(request: {
    readonly name: string;
    readonly ownerId: string;
    readonly region?: string | null;
    readonly configuration?: Readonly<Record<string, string>>;
  }): Promise<Result<Bucket, CreateBucketError>>;
  /** Always asks DIRECTORY: what it says of owner and configuration is never stale. */
  getBucket(name: string): Promise<Result<Bucket, CommonError>>;
  listBuckets(request: {
    readonly ownerId: string;
    readonly prefix?: string;
    /** Names greater than this one. */
    readonly after?: string;
    readonly limit: number;
  }): Promise<Result<{ readonly buckets: readonly Bucket[]; readonly isTruncated: boolean }, CommonError>>;
  deleteBucket(bucket: Bucket): Promise<Result<null, DeleteBucketError>>;
  setVersioning(bucket: Bucket, versioning: 'enabled' | 'suspended'): Promise<Result<null, CommonError>>;
  /** @param document null removes it. */
  setConfiguration(bucket: Bucket, kind: string, document: string | null): Promise<Result<null, CommonError>>;

  // ── reading
  /**
   * Starts the question for a version before the bucket is known: with a map of the bucket in this isolate's cache it
   * runs beside `getBucket` and identity, and `open` only checks that the map was right. Never rejects.
   */
  beginRead(bucketName: string, name: string, choice?: VersionChoice): PendingRead;
  getVersion(bucket: Bucket, name: string, choice?: VersionChoice): Promise<Result<StoredVersion, ReadError>>;
  /**
   * The answer's body: bytes when it is small, else a stream of known length. It never carries a wrong byte: what no
   * location has right breaks the stream off, or is `data_lost` when it shows before the first byte.
   */
  readVersion(
    version: StoredVersion,
    range?: ByteRange,
  ): Promise<
    Result<
      Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>,
      { readonly kind: 'data_lost' } | { readonly kind: 'unavailable'; readonly reason: string }
    >
  >;
  /** Where part `partNumber` lies in the object; null when there is no such part. Part 1 of an object that was put whole is all of it. */
  findPart(version: StoredVersion, partNumber: number): Promise<Result<PartRange | null, CommonError>>;
  /** For GetObjectAttributes. */
  listObjectParts(
    version: StoredVersion,
    request: { readonly after: number; readonly limit: number },
  ): Promise<Result<{ readonly parts: readonly PartFacts[]; readonly isTruncated: boolean }, CommonError>>;

  // ── writing
  putObject<E = never>(request: PutRequest<E>): Promise<Result<VersionFacts, PutError<E>>>;
  copyObject(request: CopyRequest): Promise<Result<VersionFacts, PutError<never> | ReadError>>;
  deleteObject(bucket: Bucket, item: DeleteItem): Promise<Result<DeleteOutcome, DeleteError>>;
  /** Outcomes stand in the order of the items. */
  deleteObjects(bucket: Bucket, items: readonly DeleteItem[]): Promise<readonly Result<DeleteOutcome, DeleteError>[]>;
  setTags(version: StoredVersion, tags: Readonly<Record<string, string>> | null): Promise<Result<null, ReadError>>;
  setAcl(version: StoredVersion, acl: string | null): Promise<Result<null, ReadError>>;

  // ── multipart
  createUpload(request: CreateUploadRequest): Promise<Result<UploadFacts, CommonError>>;
  getUpload(bucket: Bucket, name: string, uploadId: string): Promise<Result<UploadFacts, UploadError>>;
  putPart<E = never>(
    request: PutPartRequest<E>,
  ): Promise<Result<PartFacts, UploadError | BodyError | { readonly kind: 'refused'; readonly error: E }>>;
  copyPart(request: CopyPartRequest): Promise<Result<PartFacts, UploadError | ReadError>>;
  /** Repeating it with the same parts gives the same answer for as long as the version exists (and at most 7 days). */
  completeUpload(request: CompleteUploadRequest): Promise<Result<VersionFacts, CompleteError>>;
  abortUpload(bucket: Bucket, name: string, uploadId: string): Promise<Result<null, UploadError>>;
  listParts(
    bucket: Bucket,
    name: string,
    uploadId: string,
    request: { readonly after: number; readonly limit: number },
  ): Promise<
    Result<
      { readonly upload: UploadFacts; readonly parts: readonly PartFacts[]; readonly isTruncated: boolean },
      UploadError
    >
  >;
  listUploads(request: ListUploadsRequest): Promise<Result<ListUploadsPage, CommonError>>;

  // ── listings
  listObjects(request: ListRequest): Promise<Result<ListPage<VersionFacts>, CommonError>>;
  listVersions(request: ListVersionsRequest): Promise<Result<ListVersionsPage, CommonError>>;
}

export interface PendingRead {
  /** @param bucket the fresh bucket, which decides whether what was read early may be used. */
  open(bucket: Bucket): Promise<Result<StoredVersion, ReadError>>;
}
