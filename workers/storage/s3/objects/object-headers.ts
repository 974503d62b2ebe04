/** Reads object metadata from the headers of an upload, and writes it to the headers of an answer. */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import type { Owner } from '../../domain/acl.ts';
import { CHECKSUM_ALGORITHMS, type ChecksumType, toChecksumHeader } from '../../domain/checksums.ts';
import type { CustomerKey } from '../../domain/customer-key.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';
import { DAY_MS, findAbort, findExpiry } from '../../domain/lifecycle.ts';
import type { Bucket, Checksums, ObjectMetadata, UploadFacts, VersionFacts } from '../../engine/model/contract.ts';
import { lifecycleOf } from '../access/bucket-configuration.ts';
import { refuseUnsupportedUpload } from '../protocol/unsupported-headers.ts';

/** Standard headers that are stored with an object and returned with it. */
const SYSTEM_HEADERS = ['cache-control', 'content-disposition', 'content-encoding', 'content-language', 'expires'];
/**
 * Maximum size in bytes of all names and values of user metadata together (Amazon S3 User Guide, "User-defined object metadata").
 */
export const USER_METADATA_BYTES_MAX = 2048;
const DEFAULT_CONTENT_TYPE = 'binary/octet-stream';
const USER_PREFIXES = ['x-amz-meta-', 'x-meta-'] as const;

export const STORAGE_CLASSES = [
  'STANDARD',
  'REDUCED_REDUNDANCY',
  'STANDARD_IA',
  'ONEZONE_IA',
  'INTELLIGENT_TIERING',
  'GLACIER',
  'DEEP_ARCHIVE',
  'GLACIER_IR',
];

/**
 * Header of every answer about an object or a part that no customer-provided key encrypts. All locations encrypt at rest with AES-256, as S3 does since January 2023 (User
 * Guide, "Setting default server-side encryption behavior").
 */
const ENCRYPTED = { 'x-amz-server-side-encryption': 'AES256' } as const;

/** The headers that say how an object or a part is encrypted. @param key the customer-provided key; null for SSE-S3. */
export const toEncryptionHeaders = (key: CustomerKey | null): Record<string, string> =>
  key === null
    ? ENCRYPTED
    : {
        'x-amz-server-side-encryption-customer-algorithm': 'AES256',
        'x-amz-server-side-encryption-customer-key-MD5': key.md5,
      };

type Readable = { get(name: string): string | null };

/**
 * Reads the metadata of a new object from the headers of its upload.
 * @param names names of all headers, in lower case.
 * @param owner owner of the new object.
 */
export function parseObjectMetadata(
  headers: Readable,
  names: Iterable<string>,
  owner: Owner | null,
): Result<ObjectMetadata, S3Failure> {
  const refused = refuseUnsupportedUpload(headers);
  if (refused) return err(refused);
  const kept: Record<string, string> = {};
  const contentType = headers.get('content-type');
  kept['content-type'] = contentType ? contentType : DEFAULT_CONTENT_TYPE;
  for (const name of SYSTEM_HEADERS) {
    const value = name === 'content-encoding' ? withoutAwsChunked(headers.get(name)) : headers.get(name);
    if (value) kept[name] = value;
  }
  const redirect = headers.get('x-amz-website-redirect-location');
  if (redirect !== null) {
    if (!/^(\/|https?:\/\/)/.test(redirect)) {
      return err(
        s3Failure(
          'InvalidRequest',
          "The website redirect location must have a prefix of 'http://' or 'https://' or '/'.",
        ),
      );
    }
    kept['x-amz-website-redirect-location'] = redirect;
  }
  const storageClass = headers.get('x-amz-storage-class');
  if (storageClass !== null && storageClass !== 'STANDARD') {
    if (!STORAGE_CLASSES.includes(storageClass)) {
      return err(s3Failure('InvalidStorageClass', undefined, { details: { StorageClassRequested: storageClass } }));
    }
    kept['x-amz-storage-class'] = storageClass;
  }
  const user = parseUserMetadata(headers, names);
  if (!user.ok) return user;
  return ok({
    headers: kept,
    user: user.value,
    ownerId: owner?.id ?? null,
    ...(owner?.displayName ? { extra: { ownerName: owner.displayName } } : {}),
  });
}

/** Reads user metadata from `x-amz-meta-` and `x-meta-` headers. If both have the same key, `x-amz-meta-` takes precedence. */
function parseUserMetadata(headers: Readable, names: Iterable<string>): Result<Record<string, string>, S3Failure> {
  // The record has no prototype, because `x-amz-meta-__proto__` is a valid key.
  const user: Record<string, string> = Object.create(null);
  let size = 0;
  for (const prefix of [...USER_PREFIXES].reverse()) {
    for (const name of names) {
      if (!name.startsWith(prefix)) continue;
      user[name.slice(prefix.length)] = headers.get(name) ?? '';
    }
  }
  for (const [name, value] of Object.entries(user)) size += name.length + Buffer.byteLength(value);
  if (size > USER_METADATA_BYTES_MAX) {
    return err(
      s3Failure('MetadataTooLarge', undefined, {
        details: { Size: String(size), MaxSizeAllowed: String(USER_METADATA_BYTES_MAX) },
      }),
    );
  }
  return ok(user);
}

/** Removes `aws-chunked` from Content-Encoding, because it describes the transfer and not the stored content. */
function withoutAwsChunked(value: string | null): string | null {
  if (value === null) return null;
  const kept = value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '' && item.toLowerCase() !== 'aws-chunked');
  return kept.length === 0 ? null : kept.join(', ');
}

const COMPRESSIONS = /\b(?:gzip|br|zstd|deflate)\b|\*/i;
export const acceptsCompression = (acceptedEncodings: string): boolean => COMPRESSIONS.test(acceptedEncodings);

/**
 * Adds `no-transform` to Cache-Control, so that the edge does not compress the body: without `no-transform`, a client that accepts
 * gzip would get no Content-Length and a weak ETag. The stored Cache-Control stays as it is: HEAD, clients that accept no
 * compression, such as the AWS SDKs, and requests signed in the header get exactly that value, because programs such as rclone write it
 * into their copies. For those, `npm run deploy` adds a rule to the zone.
 * https://developers.cloudflare.com/speed/optimization/content/compression/
 */
export function forbidTransformation(headers: Headers, acceptedEncodings: string): void {
  if (!acceptsCompression(acceptedEncodings) || headers.has('content-encoding')) return;
  const stored = headers.get('cache-control');
  if (/\bno-transform\b/i.test(stored ?? '')) return;
  headers.set('cache-control', stored === null ? 'no-transform' : `${stored}, no-transform`);
}

export const quoteEtag = (etag: string): string => `"${etag}"`;

/**
 * Like `toVersionHeaders`, for the answer to a write. The version id is shown "in case the bucket has versioning turned
 * on" (CompleteMultipartUpload), and not when the null version was written.
 */
export function toWrittenHeaders(
  bucket: Bucket,
  version: VersionFacts,
  key: CustomerKey | null,
): Record<string, string> {
  const { 'x-amz-version-id': versionId, ...others } = toVersionHeaders(bucket, version);
  return {
    ...(versionId === undefined || version.isNull ? {} : { 'x-amz-version-id': versionId }),
    ...others,
    ...toEncryptionHeaders(key),
    ...toExpirationHeaders(bucket, version),
  };
}

/**
 * The header that says when the lifecycle rules expire a current version, and by which rule (API reference, `x-amz-expiration`).
 */
function toExpirationHeaders(bucket: Bucket, version: VersionFacts): Record<string, string> {
  const expiry = version.isLatest ? findExpiry(lifecycleOf(bucket)?.rules ?? [], version) : null;
  if (expiry === null) return {};
  const { id, atMs } = expiry;
  return {
    'x-amz-expiration': `expiry-date="${new Date(atMs).toUTCString()}", rule-id="${encodeURIComponent(id)}"`,
  };
}

/** The headers that say when the lifecycle rules abort an upload, and by which rule (API reference, CreateMultipartUpload). */
export function toAbortHeaders(bucket: Bucket, { name, initiatedAt }: UploadFacts): Record<string, string> {
  const abort = findAbort(lifecycleOf(bucket)?.rules ?? [], name, initiatedAt, DAY_MS);
  if (abort === null) return {};
  return {
    'x-amz-abort-date': new Date(abort.atMs).toUTCString(),
    'x-amz-abort-rule-id': encodeURIComponent(abort.id),
  };
}

/** Headers about a version in an answer. S3 shows no version id in a bucket that was never versioned. */
export function toVersionHeaders(
  bucket: Bucket,
  version: Pick<VersionFacts, 'versionId' | 'isNull' | 'objectId'>,
): Record<string, string> {
  return {
    ...(bucket.versioning === 'never' ? {} : { 'x-amz-version-id': shownVersionId(version) }),
    'x-object-version': version.versionId,
    'x-object-id': version.objectId,
  };
}

export const shownVersionId = (version: Pick<VersionFacts, 'versionId' | 'isNull'>): string =>
  version.isNull ? 'null' : version.versionId;

export function toChecksumHeaders(checksums: Checksums, type: ChecksumType | null): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const algorithm of CHECKSUM_ALGORITHMS) {
    const value = checksums[algorithm];
    if (value !== undefined) headers[toChecksumHeader(algorithm)] = value;
  }
  if (Object.keys(headers).length > 0) headers['x-amz-checksum-type'] = type ?? 'FULL_OBJECT';
  return headers;
}

/** All headers of a version in the answers to GET and HEAD, except its length and range. */
export function toObjectHeaders(bucket: Bucket, version: VersionFacts, key: CustomerKey | null): Headers {
  const headers = new Headers(version.metadata.headers);
  for (const [name, value] of Object.entries(version.metadata.user)) {
    for (const prefix of USER_PREFIXES) headers.set(`${prefix}${name}`, value);
  }
  headers.set('etag', quoteEtag(version.etag));
  headers.set('last-modified', new Date(version.modifiedAt).toUTCString());
  headers.set('accept-ranges', 'bytes');
  for (const [name, value] of Object.entries({
    ...toVersionHeaders(bucket, version),
    ...toEncryptionHeaders(key),
    ...toExpirationHeaders(bucket, version),
  })) {
    headers.set(name, value);
  }
  const tagCount = Object.keys(version.tags ?? {}).length;
  if (tagCount > 0) headers.set('x-amz-tagging-count', String(tagCount));
  return headers;
}
