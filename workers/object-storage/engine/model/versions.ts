/** Types of buckets, versions, and what changes them. `contract.ts` has the calls and re-exports them. */
import type { Result } from '../../../shared/result.ts';
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
  /** The shard of each of the 256 slots. Callers pass it back without reading it. */
  readonly placement: Placement;
  /** Counts the changes of the bucket. A shard that has a higher one proves that this copy is out of date. */
  readonly generation: number;
  /** Set for a bucket from a replica. Absent if DIRECTORY's primary authorised the request. */
  readonly proof?: Proof;
}

/** Whether the copies of DIRECTORY that authorised a request are current. The first call of a shard that succeeds settles it. */
export interface Proof {
  /** Generation of the copy that had the credential. Null without a credential, and for a form that is not read yet. */
  identityGeneration: number | null;
  state: 'open' | 'held' | 'refused';
}

export interface Placement {
  readonly version: number;
  /** 256 shard numbers. */
  readonly shards: Uint8Array;
}

/** Metadata that the engine stores with a version without interpreting it. S3 limits it to about 10 KB. */
export interface ObjectMetadata {
  /** Headers of the answer: `content-type`, `cache-control`, … */
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
  /** Whether a legal hold is on; null if it was never set. */
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
  /** The ACL document of the S3 API, as text that the engine does not interpret. */
  readonly acl: string | null;
  readonly lock: ObjectLock;
}

/** Facts of a version or a deletion marker that a listing shows. */
export type ListedVersion = Omit<VersionFacts, 'objectId' | 'sha256' | 'tags' | 'acl'>;

/** A version with everything that a read of it needs without another query. */
export interface StoredVersion extends VersionFacts {
  readonly handle: ReadHandle;
  /** Whether the operator has taken the version down. Callers refuse to return it; the engine only reports it. */
  readonly isTakenDown: boolean;
}

/** Private to the engine: the shard of the version, and its inline data or its first extents. */
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

/** Choice of a version of a name: absent for the current one, `null` for S3's `null` version, or a TIMEUUID. */
export type VersionChoice = { readonly versionId?: string | undefined };

/** Checked inside the commit against the current version of the name. A deletion marker counts as no version. */
export interface Condition {
  /** `If-None-Match: *` */
  readonly absent?: boolean;
  /** `If-Match`: one of these ETags, without quotes; `*` matches any. Without a current version the error is `no_such_key`. */
  readonly etags?: readonly string[];
  /** `If-None-Match: "etag"…` */
  readonly notEtags?: readonly string[];
  /** Conditional deletes: last modified (to the second) and size. */
  readonly modifiedAtSeconds?: number;
  readonly size?: number;
  /** Set by jobs: the expected newest version of the name, which may be a deletion marker. */
  readonly newest?: string;
}

export interface BodyDigests {
  readonly size: number;
  readonly md5: string;
  readonly sha256: string;
  readonly crc32: string;
  /** CRC32, SHA256 and the requested checksums, in Base64. */
  readonly checksums: Checksums;
}

/** The caller's decision after the whole body has been read and before anything is committed. */
export interface Verdict {
  /** Default: the MD5, as in S3. */
  readonly etag?: string;
  /** Checksums to store with the version. */
  readonly checksums?: Checksums;
}

/** The attributes of a new version that depend on the caller and on the bucket's configuration. */
export interface VersionAttributes {
  readonly metadata: ObjectMetadata;
  readonly tags?: Readonly<Record<string, string>> | null;
  readonly acl?: string | null;
  readonly lock?: ObjectLock;
}

export interface PutRequest<E> extends VersionAttributes {
  readonly bucket: Bucket;
  readonly name: string;
  readonly body: ReadableStream<Uint8Array> | Uint8Array;
  /** Bytes of the decoded body; null if unknown. */
  readonly size: number | null;
  readonly condition?: Condition;
  /**
   * Authorises the write again with DIRECTORY's primary, because the body cannot be sent again. Called at most once, if the
   * bucket's proof was refused.
   */
  readonly renew?: () => Promise<Result<VersionAttributes & { readonly bucket: Bucket }, E>>;
  /** How the object is created, for event notifications. Default: `ObjectCreated:Put`. */
  readonly event?: 'ObjectCreated:Post' | 'ObjectCreated:Copy';
  /** Further checksums to compute while the body streams. */
  readonly checksums?: readonly ChecksumAlgorithm[];
  /**
   * Compares the declared digests (Content-MD5, checksum headers, trailers) with the received body. After an error
   * nothing is stored.
   */
  readonly verify?: (digests: BodyDigests) => Result<Verdict, E> | Promise<Result<Verdict, E>>;
}

/** A store or a location does not answer. The S3 API returns 503. */
export type Unavailable = { readonly kind: 'unavailable'; readonly reason: string };

export type CommonError =
  | Unavailable
  | { readonly kind: 'no_such_bucket' }
  /** Writes only. Unused shares of the quota have been recalled before. */
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
  /** No location has an intact copy. Reported to the operator; the S3 API returns 500. */
  | { readonly kind: 'data_lost' };

export interface DeleteItem {
  readonly name: string;
  /** A TIMEUUID, or `null` for S3's `null` version. If absent, the delete is by name and may write a marker. */
  readonly versionId?: string;
  readonly condition?: Condition;
  /** Whether the delete may also remove a version that is retained in the mode GOVERNANCE. */
  readonly bypassesGovernance?: boolean;
  /**
   * Set by lifecycle rules and jobs. If the version no longer matches it at the commit, the delete is refused as
   * `precondition_failed`.
   */
  readonly due?: DueVersion;
  /** Set for a delete by a lifecycle rule, for event notifications. */
  readonly isLifecycle?: true;
}

/**
 * Facts on which a lifecycle rule or a job based its decision to delete. Other versions of the name, or new tags, can change them.
 */
export interface DueVersion {
  readonly versionId: string;
  /**
   * `current`: the newest version. `alone`: a deletion marker that is the only version. `noncurrent`: a version that is not the
   * newest.
   */
  readonly kind: 'current' | 'alone' | 'noncurrent';
  /** The tags as stored, if the rule selects by tags. */
  readonly tags?: string;
  /** Time by which the next newer version had been written. */
  readonly since?: number;
  /** Minimum number of newer versions with data, without the current one. */
  readonly newerVersions?: number;
}

export interface DeleteOutcome {
  /** Whether a marker was written, or the deleted version was a marker. */
  readonly isMarker: boolean;
  /** Id of the written marker or of the deleted version; null if the answer shows none. */
  readonly versionId: string | null;
  /** Whether that version is S3's `null` version. */
  readonly isNull: boolean;
  /** Whether there was something to delete. */
  readonly existed: boolean;
}

export type DeleteError = CommonError | ConditionError | LockError;

/** Object Lock protects the version, or forbids the change of its retention. */
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
  /** Set by jobs: within a shard the copy keeps ETag, checksums and parts, so no bytes are read. */
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

/** Limits and use. A null limit means unlimited. Bytes are those of all versions and of open uploads. */
export interface QuotaState {
  readonly limits: { readonly bytes: number | null; readonly objects: number | null };
  readonly used: { readonly bytes: number; readonly objects: number };
}
