/** The common part of uploads: the attributes of the new object, from headers or form fields, and the condition of the write. */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { toBareEtag } from '../../domain/conditions.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';
import { parseTaggingHeader } from '../../domain/tagging.ts';
import type { Condition, VersionAttributes } from '../../engine/model/contract.ts';
import { ownerOfUpload, readUploadAcl } from '../access/acl-request.ts';
import { toRequestTags } from '../access/authorise.ts';
import { toTagRecord } from '../documents/tag-document.ts';
import type { AccessNeed, BucketContext } from '../protocol/operation.ts';
import { refuseConditions } from '../protocol/unsupported-headers.ts';
import { parseObjectMetadata } from './object-headers.ts';
import { readNewLock } from './object-lock.ts';

export type UploadHeaders = { get(name: string): string | null; readonly names: readonly string[] };

export const uploadHeadersOf = ({ request }: BucketContext): UploadHeaders => ({
  get: (name) => request.headers.get(name),
  names: request.headerNames,
});

/** Reads the attributes of a new object from the headers of its upload. @param tags tags that replace those of the header. */
export async function readNewObject(
  context: BucketContext,
  headers: UploadHeaders,
  key: string,
  tags?: Readonly<Record<string, string>> | null,
): Promise<Result<VersionAttributes, S3Failure>> {
  const owner = ownerOfUpload(context, headers.get('x-amz-acl'));
  const metadata = parseObjectMetadata(headers, headers.names, owner);
  if (!metadata.ok) return metadata;
  const acl = await readUploadAcl(context, headers, owner);
  if (!acl.ok) return acl;
  const header = headers.get('x-amz-tagging');
  const parsed = header === null ? null : parseTaggingHeader(header);
  if (parsed && !parsed.ok) return parsed;
  const tagRecord = tags === undefined ? (parsed ? toTagRecord(parsed.value) : null) : tags;
  // The uploader becomes the owner of the new object, and an owner may set the ACL.
  const created = { metadata: metadata.value, acl: null, tags: null };
  if (acl.value !== null && !mayAlso(context, 'PutObjectAcl', key, {}) && !maySetAcl(context, key, created)) {
    return err(s3Failure('AccessDenied'));
  }
  if (tagRecord !== null) {
    const requestTags = toRequestTags(Object.entries(tagRecord));
    if (!mayAlso(context, 'PutObjectTagging', key, requestTags)) return err(s3Failure('AccessDenied'));
  }
  const lock = readNewLock(context, headers, key);
  if (!lock.ok) return lock;
  const locked = lock.value === null ? {} : { lock: lock.value };
  return ok({ metadata: metadata.value, tags: tagRecord, acl: acl.value, ...locked });
}

/** Parses a list of ETags, without their quotes. */
export const toEtags = (header: string): string[] => header.split(',').map(toBareEtag);

/** Reads the `If-Match` and `If-None-Match` of PutObject, CopyObject and CompleteMultipartUpload. */
export function readWriteCondition(context: BucketContext): Result<{ condition?: Condition }, S3Failure> {
  const { headers, key } = context.request;
  const refused = refuseConditions(headers, ['if-modified-since', 'if-unmodified-since']);
  if (refused) return err(refused);
  const [ifMatch, ifNoneMatch] = [headers.get('if-match'), headers.get('if-none-match')];
  if (ifMatch === null && ifNoneMatch === null) return ok({});
  if (!mayCompare(context, key, ifMatch)) return err(s3Failure('AccessDenied'));
  return ok({
    condition: {
      ...(ifMatch === null ? {} : { etags: toEtags(ifMatch) }),
      ...(ifNoneMatch === null
        ? {}
        : ifNoneMatch.trim() === '*'
          ? { absent: true }
          : { notEtags: toEtags(ifNoneMatch) }),
    },
  });
}

/**
 * A caller that compares an ETag learns something about the object's content, so a conditional write requires `s3:GetObject` too
 * (User Guide, "How to prevent object overwrites with conditional writes", "How to perform conditional deletes"). A write grant in
 * the bucket's ACL includes it.
 */
export const mayCompare = (context: BucketContext, key: string, etag: string | null): boolean =>
  etag === null ||
  etag.trim() === '*' ||
  context.may({
    action: 'GetObject',
    key,
    acl: { of: 'bucket', permission: 'WRITE' },
    bucket: context.bucket,
    caller: context.caller,
  });

const maySetAcl = (context: BucketContext, key: string, version: NonNullable<AccessNeed['version']>): boolean =>
  context.may({
    action: 'PutObjectAcl',
    key,
    acl: { of: 'object', permission: 'WRITE_ACP' },
    bucket: context.bucket,
    caller: context.caller,
    version,
  });

/**
 * Whether the caller has a further permission that the upload needs. An upload with an ACL or with tags requires the permissions
 * for these too (PutObject, "Permissions"). A write grant in the bucket's ACL includes them.
 */
const mayAlso = (
  context: BucketContext,
  action: string,
  key: string,
  more: Record<string, string | readonly string[] | undefined>,
): boolean =>
  context.may({
    action,
    key,
    acl: { of: 'bucket', permission: 'WRITE' },
    bucket: context.bucket,
    caller: context.caller,
    context: more,
  });
