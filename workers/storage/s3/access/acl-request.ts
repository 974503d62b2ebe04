/** Reads ACLs from requests: PutBucketAcl, PutObjectAcl and uploads. */
import { err, type Result } from '../../../shared/pure/result.ts';
import { type Acl, isPublicAcl, type Owner } from '../../domain/acl.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';
import { readDocument } from '../bodies/document-body.ts';
import { hasAclHeaders, parseAclDocument, parseAclHeaders, serializeAcl } from '../documents/acl-document.ts';
import type { BucketContext } from '../protocol/operation.ts';
import { ownerOf, ownershipOf, publicAccessBlockOf } from './bucket-configuration.ts';

/** Reads the new ACL of PutBucketAcl or PutObjectAcl from the headers or from the body. */
export async function readAclRequest(context: BucketContext, owner: Owner): Promise<Result<Acl, S3Failure>> {
  const { request, caller, bucket, users } = context;
  if (ownershipOf(bucket) === 'BucketOwnerEnforced') return err(s3Failure('AccessControlListNotSupported'));
  const fromHeaders = await parseAclHeaders(request.headers, owner, ownerOf(bucket), users);
  if (!fromHeaders.ok) return fromHeaders;
  const text = await readDocument(request, caller.payload);
  if (!text.ok) return text;
  const acl =
    fromHeaders.value && text.value.trim() === ''
      ? ({ ok: true, value: fromHeaders.value } as const)
      : fromHeaders.value
        ? err(s3Failure('InvalidRequest', 'This request does not support content'))
        : await parseAclDocument(text.value, owner, users);
  if (!acl.ok) return acl;
  if (publicAccessBlockOf(bucket)?.blockPublicAcls && isPublicAcl(acl.value)) return err(s3Failure('AccessDenied'));
  return acl;
}

/** Reads the ACL of a new object. @returns its stored form; null when the object is private to its owner. */
export async function readUploadAcl(
  context: BucketContext,
  headers: { get(name: string): string | null },
  owner: Owner,
): Promise<Result<string | null, S3Failure>> {
  const { bucket, users } = context;
  if (!hasAclHeaders(headers)) return { ok: true, value: null };
  if (ownershipOf(bucket) === 'BucketOwnerEnforced') {
    // If ACLs are disabled: "PUT requests that don't specify an ACL or specify bucket owner full control ACLs … Requests that
    // contain other ACLs fail" (User Guide, "Disabling ACLs"). `private` is such an other ACL.
    const isHarmless = headers.get('x-amz-acl') === 'bucket-owner-full-control';
    return isHarmless ? { ok: true, value: null } : err(s3Failure('AccessControlListNotSupported'));
  }
  const acl = await parseAclHeaders(headers, owner, ownerOf(bucket), users);
  if (!acl.ok) return acl;
  if (acl.value === null) return { ok: true, value: null };
  if (publicAccessBlockOf(bucket)?.blockPublicAcls && isPublicAcl(acl.value)) return err(s3Failure('AccessDenied'));
  return { ok: true, value: headers.get('x-amz-acl') === 'private' ? null : serializeAcl(acl.value) };
}

/**
 * The owner of a new object: the uploader, or the bucket's owner if the ownership setting requires it or the upload is anonymous.
 */
export function ownerOfUpload({ bucket, caller }: BucketContext, cannedAcl: string | null): Owner {
  const bucketOwner = ownerOf(bucket);
  const { principal } = caller;
  if (principal === null) return bucketOwner;
  const ownership = ownershipOf(bucket);
  if (ownership === 'BucketOwnerEnforced') return bucketOwner;
  if (ownership === 'BucketOwnerPreferred' && cannedAcl === 'bucket-owner-full-control') return bucketOwner;
  return { id: principal.userId, displayName: principal.name };
}
