/**
 * What the engine offers to the wire: the calls, and by way of `shapes.ts` what they take and give. `engine.ts` makes
 * one (`createEngine`).
 *
 * Names of objects are JS strings of valid Unicode (no lone surrogates; the wire refuses those), ordered by their UTF-8
 * bytes. Times are milliseconds since 1970 UTC. Ids and versions are lower-case UUID text. Digests: MD5 and SHA-256 in
 * hex, S3 checksums in base64 as S3 shows them.
 *
 * Every expected failure is a value. `unavailable` (a store does not answer, a location refuses a write: 503) and
 * `no_such_bucket` may come from every call that touches a store.
 */

import type { Result } from '../../../shared/result.ts';
import type {
  BodyError,
  Bucket,
  ByteRange,
  CommonError,
  CompleteError,
  CompleteUploadRequest,
  CopyPartRequest,
  CopyRequest,
  CreateBucketError,
  CreateUploadRequest,
  DeleteBucketError,
  DeleteError,
  DeleteItem,
  DeleteOutcome,
  ListPage,
  ListRequest,
  ListUploadsPage,
  ListUploadsRequest,
  ListVersionsPage,
  ListVersionsRequest,
  PartFacts,
  PartRange,
  PutError,
  PutPartRequest,
  PutRequest,
  ReadError,
  StoredVersion,
  Unavailable,
  UploadError,
  UploadFacts,
  VersionChoice,
  VersionFacts,
} from './versions.ts';

export type * from './versions.ts';

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
    Result<Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>, { readonly kind: 'data_lost' } | Unavailable>
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
