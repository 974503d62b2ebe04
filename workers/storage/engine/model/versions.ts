/** Types of buckets, of versions, and of their changes. `contract.ts` has the calls and re-exports these types. */
import type { Result } from '../../../shared/pure/result.ts';
import type { ChecksumAlgorithm } from '../../domain/checksums.ts';

export type Versioning = 'never' | 'enabled' | 'suspended';

/**
 * A bucket in DIRECTORY. `configuration` holds documents of the S3 API, one text per kind; of these the engine reads
 * only the destinations of event notifications.
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
  /** Shard of each of the bucket's 256 slots. Callers pass it back to the engine without reading it. */
  readonly placement: Placement;
  /** Number of changes of the bucket. If a shard has a higher number, this copy is out of date. */
  readonly generation: number;
  /** What a shard has to prove before the request takes effect. Absent if the request is authorised for its one effect soon after. */
  readonly proof?: Proof;
}

/** A bucket of a request that was authorised again. It always has a proof, so that its next write is guarded as well. */
export type RenewedBucket = Bucket & { readonly proof: Proof };

/** The generation of identity in the copy of a user database that had the credential of a request. */
export interface IdentityProof {
  /** Number of the database: 0 for DIRECTORY, n for DIRECTORY_n. */
  readonly home: number;
  readonly generation: number;
}

/**
 * The rows of DIRECTORY that authorised a request. A shard proves that they are current. Each write is compared with the shard,
 * because it may have waited.
 */
export interface Proof {
  /** Set if the rows are from DIRECTORY's primary. They were current when they were read. */
  readonly isPrimary?: true;
  /**
   * Generation of identity in the copy that had the credential. Null without a credential, and for a POST form that is not read
   * yet.
   */
  readonly identity: IdentityProof | null;
}

/**
 * What a call of a shard showed about the rows of DIRECTORY that authorised it. `held`: they were current. `refused`: the shard
 * knows a later change or revocation, or cannot tell, and nothing took effect. `open`: the shard did not compare them.
 */
export type ProofState = 'open' | 'held' | 'refused';

/** A result, and what the call proved. An error without `proof` is `open`. */
export type Proven<T, E> =
  | { readonly ok: true; readonly value: T; readonly proof: 'open' | 'held' }
  | { readonly ok: false; readonly error: E; readonly proof?: ProofState | undefined };

export interface Placement {
  readonly version: number;
  /** The shard number of each of the 256 slots. */
  readonly shards: Uint8Array;
}

/** Metadata that the engine stores with a version without interpreting it. S3 limits it to about 10 KB. */
export interface ObjectMetadata {
  /** Headers that a read returns: `content-type`, `cache-control`, … */
  readonly headers: Readonly<Record<string, string>>;
  /** User metadata, with names that lack the prefix `x-amz-meta-`. */
  readonly user: Readonly<Record<string, string>>;
  readonly ownerId: string | null;
  readonly extra?: Readonly<Record<string, unknown>>;
}

export type Checksums = Readonly<Partial<Record<ChecksumAlgorithm, string>>>;

/** Retention and legal hold of one version (S3 Object Lock). */
export interface ObjectLock {
  readonly mode: 'GOVERNANCE' | 'COMPLIANCE' | null;
  readonly retainUntilMs: number | null;
  /** Whether the version has a legal hold; null if it was never set. */
  readonly isHeld: boolean | null;
}

export const NO_LOCK: ObjectLock = { mode: null, retainUntilMs: null, isHeld: null };

export interface VersionFacts {
  readonly name: string;
  /** Id of the version, a TIMEUUID. Always set; S3 shows `null` when `isNull`. */
  readonly versionId: string;
  /** Whether this is S3's `null` version, one written while versioning was not enabled. */
  readonly isNull: boolean;
  readonly isMarker: boolean;
  readonly isLatest: boolean;
  /** Id of the object that the extents refer to; all zeros for a delete marker. */
  readonly objectId: string;
  readonly size: number;
  /** ETag without its quotes; empty for a delete marker. */
  readonly etag: string;
  readonly modifiedAt: number;
  /** SHA-256 of the object's whole content; null for a multipart object. */
  readonly sha256: string | null;
  readonly checksums: Checksums;
  /** Type of the object's checksums; null for an object without checksums. */
  readonly checksumType: 'FULL_OBJECT' | 'COMPOSITE' | null;
  /** Number of the object's parts; null for an object that was not uploaded in parts. */
  readonly partCount: number | null;
  readonly metadata: ObjectMetadata;
  readonly tags: Readonly<Record<string, string>> | null;
  /** The ACL document of the S3 API, as text that the engine does not interpret. */
  readonly acl: string | null;
  readonly lock: ObjectLock;
}

/** Facts of a version or a delete marker that listings show. */
export type ListedVersion = Omit<VersionFacts, 'objectId' | 'sha256' | 'partCount' | 'tags' | 'acl'>;

/** A version with everything that is needed to read it without another query. */
export interface StoredVersion extends VersionFacts {
  readonly handle: ReadHandle;
  /** Whether the operator has taken the version down. Callers refuse to return it; the engine only reports it. */
  readonly isTakenDown: boolean;
  /** Whether every location has the blobs of the version, of its first 32 extents; null for bytes that wait to be packed, and for none. */
  readonly hasAllCopies: boolean | null;
}

/** Where a version's data is: the shard, and the inline data or the first extents. Only the engine reads it. */
export interface ReadHandle {
  readonly shard: number;
  readonly bucketId: string;
  readonly inline: { readonly data: string; readonly crc32: number } | null;
  readonly extents: readonly Extent[];
  readonly ahead?: ReadAhead;
}

/** Bytes that were read from the cache before the row arrived. They count only if the row has the same extent. */
export interface ReadAhead {
  readonly extent: Extent;
  /** Null if the cache does not have them intact. */
  readonly bytes: Promise<Uint8Array<ArrayBuffer> | null>;
}

/** A range of a blob that is a range of an object, with the facts needed to fetch and check it. */
export interface Extent {
  readonly start: number;
  readonly length: number;
  readonly blobId: string;
  readonly blobStart: number;
  readonly blobSize: number;
  /** CRC-32 of the whole extent; null if the segments of its blob are checked instead. */
  readonly crc32: number | null;
  /** CRC-32 of each segment of the blob, as 8 hex digits each. */
  readonly segments: string;
  readonly locations: number;
  readonly isLost: boolean;
}

/** Choice of a version of a name: absent for the current one, `null` for S3's `null` version, or a TIMEUUID. */
export type VersionChoice = { readonly versionId?: string | undefined };

/**
 * Condition of a write. It is checked inside the commit against the current version of the name. A delete marker counts as no
 * version.
 */
export interface Condition {
  /** Set by `If-None-Match: *`: the name must have no current version. */
  readonly absent?: boolean;
  /**
   * Set by `If-Match`: the current ETag must be one of these (without quotes); `*` matches any. Without a current version the error
   * is `no_such_key`.
   */
  readonly etags?: readonly string[];
  /** Set by `If-None-Match: "etag"…`: the current ETag must be none of these. */
  readonly notEtags?: readonly string[];
  /** Set by conditional deletes: expected time of last modification (in seconds) and size. */
  readonly modifiedAtSeconds?: number;
  readonly size?: number;
  /** Id of the expected newest version of the name, which may be a delete marker; null if it must have none. Set by jobs. */
  readonly newest?: string | null;
}

export interface BodyDigests {
  readonly size: number;
  readonly md5: string;
  readonly sha256: string;
  readonly crc32: string;
  /** CRC32, SHA256 and the requested checksums of the body, in Base64. */
  readonly checksums: Checksums;
}

/**
 * ETag and checksums of a new version. The caller decides them after the whole body has been read and before anything is committed.
 */
export interface Verdict {
  /** ETag of the new version. Default: the MD5 of the body, as in S3. */
  readonly etag?: string;
  /** Checksums that are stored with the version. */
  readonly checksums?: Checksums;
}

/** The attributes of a new version that depend on the caller and on the bucket's configuration. */
export interface VersionAttributes {
  readonly metadata: ObjectMetadata;
  readonly tags?: Readonly<Record<string, string>> | null;
  /** The ACL document of the S3 API as text; null for an object that is private to its owner. */
  readonly acl?: string | null;
  readonly lock?: ObjectLock;
}

export interface PutRequest<E> extends VersionAttributes {
  readonly bucket: Bucket;
  readonly name: string;
  readonly body: ReadableStream<Uint8Array> | Uint8Array;
  /** Length of the decoded body in bytes; null if unknown. */
  readonly size: number | null;
  readonly condition?: Condition;
  /**
   * Authorises the write again with DIRECTORY's primary when the proof of the bucket was refused. The client cannot be asked to send
   * the body again. Called at most `RENEWALS_MAX` times.
   */
  readonly renew?: () => Promise<Result<VersionAttributes & { readonly bucket: RenewedBucket }, E>>;
  /** Kind of the event that notifications of this write have. Default: `ObjectCreated:Put`. */
  readonly event?: 'ObjectCreated:Post' | 'ObjectCreated:Copy';
  /** Id of the request that all attempts of the client to send it have (`amz-sdk-invocation-id`). */
  readonly attemptId?: string;
  /** Algorithms of further checksums to compute while the body streams. */
  readonly checksums?: readonly ChecksumAlgorithm[];
  /**
   * Compares the declared digests (Content-MD5, checksum headers, trailers) with the received body. After an error
   * nothing is stored.
   */
  readonly verify?: (digests: BodyDigests) => Result<Verdict, E> | Promise<Result<Verdict, E>>;
}

/** Error: a store or a location does not answer. The S3 API returns 503. */
export type Unavailable = { readonly kind: 'unavailable'; readonly reason: string };

export type CommonError =
  | Unavailable
  | { readonly kind: 'no_such_bucket' }
  /** Error of writes: the quota has no room left, even after the unused shares of other shards have been recalled. */
  | { readonly kind: 'quota_exceeded' };

export type ConditionError = { readonly kind: 'precondition_failed' } | { readonly kind: 'no_such_key' };

/**
 * Errors of reading an upload's body. `body_failed` has the error of the body's stream: a bad chunk signature, or a closed
 * connection.
 */
export type BodyError =
  | { readonly kind: 'body_failed'; readonly cause: unknown }
  | { readonly kind: 'body_incomplete'; readonly received: number; readonly expected: number };

export type PutError<E> = CommonError | ConditionError | BodyError | { readonly kind: 'refused'; readonly error: E };

export type ReadError =
  | CommonError
  | { readonly kind: 'no_such_key' }
  | { readonly kind: 'no_such_version' }
  /** Error: no location has an intact copy. Reported to the operator; the S3 API returns 500. */
  | { readonly kind: 'data_lost' };

export interface DeleteItem {
  readonly name: string;
  /** Version to delete: a TIMEUUID, or `null` for S3's `null` version. If absent, the delete is by name and may write a marker. */
  readonly versionId?: string;
  readonly condition?: Condition;
  /** Whether the delete may also remove a version that is retained in the mode GOVERNANCE. */
  readonly bypassesGovernance?: boolean;
  /**
   * Facts on which a lifecycle rule or a job decided to delete. If the version no longer matches them at the commit, the delete is
   * refused as `precondition_failed`.
   */
  readonly due?: DueVersion;
  /** Facts to keep with the delete marker that the delete writes, as `extra` of its metadata. */
  readonly markerExtra?: Readonly<Record<string, unknown>>;
  /** Set if a lifecycle rule deletes; event notifications then have the kinds of lifecycle. */
  readonly isLifecycle?: true;
}

/**
 * Facts on which a lifecycle rule or a job based its decision to delete. Other versions of the name, or new tags, can change them.
 */
export interface DueVersion {
  readonly versionId: string;
  /**
   * Position of the version in its name. `current`: the newest version. `alone`: a delete marker that is the only version.
   * `noncurrent`: a version that is not the newest.
   */
  readonly kind: 'current' | 'alone' | 'noncurrent';
  /** The version's tags as stored. Set if the rule selects by tags. */
  readonly tags?: string;
  /** Time in milliseconds by which the next newer version must have been written. */
  readonly since?: number;
  /** Minimum number of newer versions with data that the name must have, without the current one. */
  readonly newerVersions?: number;
}

export interface DeleteOutcome {
  /** Whether a marker was written, or the deleted version was a marker. */
  readonly isMarker: boolean;
  /** Id of the written marker or of the deleted version; null if the answer shows none. */
  readonly versionId: string | null;
  /** Whether the written marker or deleted version is S3's `null` version. */
  readonly isNull: boolean;
  /** Whether the deleted version or object existed. */
  readonly existed: boolean;
}

export type DeleteError = CommonError | ConditionError | LockError;

/** Error: Object Lock protects the version, or forbids the change of its retention. */
export type LockError = { readonly kind: 'object_locked' };

export type LockChange =
  | (Omit<ObjectLock, 'isHeld'> & { readonly bypassesGovernance: boolean })
  | Pick<ObjectLock, 'isHeld'>;

export interface CopyRequest extends VersionAttributes {
  readonly bucket: Bucket;
  readonly name: string;
  readonly source: StoredVersion;
  readonly condition?: Condition;
  /** Algorithm of a checksum that the copy must have. If the source lacks it, the bytes are read once. */
  readonly checksum?: ChecksumAlgorithm;
  /** Whether a copy within a shard keeps ETag, checksums and parts, so that no bytes are read. Set by jobs. */
  readonly keepsParts?: true;
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

export type CreateBucketError =
  | Unavailable
  | { readonly kind: 'bucket_exists'; readonly ownerId: string }
  | { readonly kind: 'too_many_buckets'; readonly limit: number };

export type DeleteBucketError = CommonError | { readonly kind: 'bucket_not_empty' } | { readonly kind: 'conflict' };

/** Limits and use of a quota. A null limit means unlimited. Bytes are those of all versions and of open uploads. */
export interface QuotaState {
  readonly limits: { readonly bytes: number | null; readonly objects: number | null };
  readonly used: { readonly bytes: number; readonly objects: number };
}
