/**
 * The engine's interface to the S3 API. `versions.ts`, `uploads.ts` and `listings.ts` have its types; `engine/index.ts` creates an engine.
 *
 * Names of objects are JS strings of valid Unicode (the S3 API refuses lone surrogates), ordered by their UTF-8 bytes.
 * Times are milliseconds since 1970 UTC. Ids and versions are lower-case UUID text. MD5 and SHA-256 digests are hex; S3
 * checksums are Base64, as S3 shows them.
 *
 * Every expected failure is a value. Any call that uses a store may return `unavailable` (a store does not answer or a
 * location refuses a write: 503) or `no_such_bucket`.
 */

import type { Result } from '../../../shared/pure/result.ts';
import type { Source } from '../../../shared/stores/replica.ts';
import type {
  ListPage,
  ListRequest,
  ListUploadsPage,
  ListUploadsRequest,
  ListVersionsPage,
  ListVersionsRequest,
} from './listings.ts';
import type {
  CompleteError,
  CompleteUploadRequest,
  CopyPartRequest,
  CreateUploadRequest,
  ObjectPart,
  PartFacts,
  PutPartRequest,
  UploadError,
  UploadFacts,
} from './uploads.ts';
import type {
  BodyError,
  Bucket,
  ByteRange,
  CommonError,
  CopyRequest,
  CreateBucketError,
  DeleteBucketError,
  DeleteError,
  DeleteItem,
  DeleteOutcome,
  IdentityProof,
  ListedVersion,
  LockChange,
  LockError,
  PartRange,
  Proven,
  PutError,
  PutRequest,
  QuotaState,
  ReadError,
  StoredVersion,
  Unavailable,
  VersionChoice,
  VersionFacts,
  Versioning,
} from './versions.ts';

export type * from './listings.ts';
export type * from './uploads.ts';
export type * from './versions.ts';

export interface Engine {
  /** The engine of the same request, once its caller is known. @param principalId the user; null for a request without a credential. */
  actingFor(principalId: string | null): Engine;

  // ── buckets
  createBucket(request: {
    readonly name: string;
    readonly ownerId: string;
    readonly region?: string | null;
    readonly versioning?: Versioning;
    readonly configuration?: Readonly<Record<string, string>>;
  }): Promise<Result<Bucket, CreateBucketError>>;
  /**
   * Gets a bucket. Owner and configuration are never stale if read from DIRECTORY's primary; if read from a replica, they need a
   * proof.
   */
  getBucket(name: string, source?: Source): Promise<Result<Bucket, CommonError>>;
  listBuckets(request: {
    readonly ownerId: string;
    readonly prefix?: string;
    /** Lists only buckets with names greater than this one. */
    readonly after?: string;
    readonly limit: number;
  }): Promise<Result<{ readonly buckets: readonly Bucket[]; readonly isTruncated: boolean }, CommonError>>;
  deleteBucket(bucket: Bucket): Promise<Result<null, DeleteBucketError>>;
  setVersioning(bucket: Bucket, versioning: 'enabled' | 'suspended'): Promise<Result<null, CommonError>>;
  /** Replaces the Object Lock configuration of a bucket whose versioning is enabled. Versioning can no longer be suspended then. */
  setObjectLock(bucket: Bucket, document: string): Promise<Result<null, CommonError>>;
  /** Gets limits and use of a bucket; null for a bucket without a quota of its own. */
  getQuota(bucket: Bucket): Promise<Result<QuotaState | null, CommonError>>;
  /** Whether the deployment allows event notifications to this URL. */
  mayNotify(url: string): boolean;
  /** Gets the secret that signs the webhooks of a bucket: `whsec_…`. */
  webhookSecretOf(bucket: Bucket): string;
  /** Sets or removes one configuration document of a bucket. @param document null removes the configuration. */
  setConfiguration(bucket: Bucket, kind: string, document: string | null): Promise<Result<null, CommonError>>;

  // ── reading
  /**
   * Starts to load a version before the bucket is known. If this isolate has cached the bucket's map, the version loads in parallel
   * with `getBucket` and authentication, and `open` only checks that the map was right. Never rejects.
   */
  beginRead(bucketName: string, name: string, choice?: VersionChoice): PendingRead;
  getVersion(bucket: Bucket, name: string, choice?: VersionChoice): Promise<Result<StoredVersion, ReadError>>;
  /**
   * Opens the content of a version: bytes when it is small, else a stream of known length. The content never has a wrong byte. If
   * no location has a segment intact, the stream fails; if that happens before the first byte, the result is `data_lost`.
   */
  readVersion(
    version: StoredVersion,
    range?: ByteRange,
  ): Promise<
    Result<Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>, { readonly kind: 'data_lost' } | Unavailable>
  >;
  /**
   * Finds the byte range of a part; null when the object has no such part. An object that was not uploaded in parts has one part,
   * which is all of it.
   */
  findPart(version: StoredVersion, partNumber: number): Promise<Result<PartRange | null, CommonError>>;
  /**
   * Lists the parts of an object and where they start.
   * @param request `from`: position in the object; parts that end before it are left out. Default: 0.
   */
  listObjectParts(
    version: StoredVersion,
    request: { readonly after: number; readonly limit: number; readonly from?: number },
  ): Promise<Result<{ readonly parts: readonly ObjectPart[]; readonly isTruncated: boolean }, CommonError>>;

  // ── writing
  putObject<E = never>(request: PutRequest<E>): Promise<Proven<VersionFacts, PutError<E>>>;
  copyObject(request: CopyRequest): Promise<Proven<VersionFacts, PutError<never> | ReadError>>;
  deleteObject(bucket: Bucket, item: DeleteItem): Promise<Proven<DeleteOutcome, DeleteError>>;
  /** Deletes the items. The outcomes are in the order of the items. */
  deleteObjects(bucket: Bucket, items: readonly DeleteItem[]): Promise<readonly Proven<DeleteOutcome, DeleteError>[]>;
  /** Sets the tags of a version. @param bucket bucket whose notification rules apply; without it, no event is sent. */
  setTags(
    version: StoredVersion,
    tags: Readonly<Record<string, string>> | null,
    bucket?: Bucket,
  ): Promise<Result<null, ReadError>>;
  setAcl(version: StoredVersion, acl: string | null, bucket?: Bucket): Promise<Result<null, ReadError>>;
  /** Changes retention or legal hold. No caller can shorten or remove a retention in the mode COMPLIANCE. */
  setLock(version: StoredVersion, change: LockChange): Promise<Result<null, ReadError | LockError>>;
  setTakenDown(version: StoredVersion, isTakenDown: boolean): Promise<Result<null, ReadError>>;

  // ── multipart
  createUpload(request: CreateUploadRequest): Promise<Proven<UploadFacts, CommonError>>;
  getUpload(bucket: Bucket, name: string, uploadId: string): Promise<Proven<UploadFacts, UploadError>>;
  putPart<E = never>(
    request: PutPartRequest<E>,
  ): Promise<Proven<PartFacts, UploadError | BodyError | { readonly kind: 'refused'; readonly error: E }>>;
  copyPart(request: CopyPartRequest): Promise<Proven<PartFacts, UploadError | ReadError>>;
  /** Completes an upload. A repeat with the same parts gets the same answer while the version exists, for at most 7 days. */
  completeUpload<E = never>(
    request: CompleteUploadRequest<E>,
  ): Promise<Proven<VersionFacts, CompleteError | { readonly kind: 'refused'; readonly error: E }>>;
  abortUpload(bucket: Bucket, name: string, uploadId: string): Promise<Proven<null, UploadError>>;
  listParts(
    bucket: Bucket,
    name: string,
    uploadId: string,
    request: { readonly after: number; readonly limit: number },
  ): Promise<
    Proven<
      { readonly upload: UploadFacts; readonly parts: readonly PartFacts[]; readonly isTruncated: boolean },
      UploadError
    >
  >;
  listUploads(request: ListUploadsRequest): Promise<Proven<ListUploadsPage, CommonError>>;

  // ── listings
  /**
   * Requests the first page of a listing by the bucket's name, before caller and bucket are known. If `listObjects` of this engine
   * is then called for the same names, it uses that page. Does nothing if the bucket may be in several shards.
   */
  beginListing(bucketName: string, names: Omit<ListRequest, 'bucket'>): void;
  listObjects(request: ListRequest): Promise<Proven<ListPage<ListedVersion>, CommonError>>;
  listVersions(request: ListVersionsRequest): Promise<Proven<ListVersionsPage, CommonError>>;
}

/** Returned by a read that could not prove that the copies of DIRECTORY which authorised it are current. */
export interface Unproven {
  readonly kind: 'unproven';
  /** Whether the shard knows a generation of identity, with which it can prove that a credential is current. */
  readonly knowsIdentity: boolean;
}

export interface PendingRead {
  /** Starts to look up the version in the shard that this copy of the bucket names, if the look-up has not started yet. */
  begin(bucket: Bucket): void;
  /**
   * Like `open`, for a bucket and a credential that were read from replicas. The answer proves that both were current after the
   * request arrived.
   * @param identity generation of identity in the copy that had the credential; null without a credential.
   * @param isWholeRead whether the whole object will probably be read. Its bytes may then be read while the row is on the way.
   */
  openProven(
    bucket: Bucket,
    identity: IdentityProof | null,
    isWholeRead?: boolean,
  ): Promise<Result<StoredVersion, ReadError | Unproven>>;
  /**
   * Opens the version.
   * @param bucket the bucket as DIRECTORY has it now. It decides whether the version that was loaded early may be used.
   */
  open(bucket: Bucket): Promise<Result<StoredVersion, ReadError>>;
}
