/**
 * Decides access to a bucket and its objects: identity policies, the bucket's policy, ACLs, object ownership and the public
 * access block together (Amazon S3 User Guide, "How Amazon S3 authorizes a request"). Pure.
 *
 * By design: a user is an account of its own. With no Allow in its policies it owns what it creates and reaches what others
 * grant; once a policy allows it something, its policies say all it may do by itself, in anybody's buckets.
 *
 * The owner of a bucket can always repair it: no bucket policy denies the owner the actions in `OWNER_ACTIONS`, as at AWS
 * none denies the account's root user the first three (Amazon S3 API Reference, PutBucketPolicy). The owner's own
 * policies, which the operator sets, still count.
 */
import type { Acl, AclPermission } from './acl.ts';
import { doesAclAllow } from './acl.ts';

export type PolicyVerdict = 'allow' | 'deny' | 'none';

export interface PublicAccessBlock {
  readonly blockPublicAcls: boolean;
  readonly ignorePublicAcls: boolean;
  readonly blockPublicPolicy: boolean;
  readonly restrictPublicBuckets: boolean;
}

export type ObjectOwnership = 'BucketOwnerEnforced' | 'BucketOwnerPreferred' | 'ObjectWriter';

/** Actions on a bucket that its policy cannot deny to its owner. Without `s3:`. */
const OWNER_ACTIONS: readonly string[] = [
  'DeleteBucketPolicy',
  'GetBucketPolicy',
  'PutBucketPolicy',
  'GetBucketPublicAccessBlock',
  'PutBucketPublicAccessBlock',
];

/** All that the decision depends on. */
export interface AccessQuestion {
  /** Without `s3:`. */
  readonly action: string;
  /** Null: anonymous. */
  readonly userId: string | null;
  /** What the caller's own policies say; `unlimited` when they allow nothing anywhere and so do not limit it. */
  readonly identity: PolicyVerdict | 'unlimited';
  readonly bucketPolicy: PolicyVerdict;
  /** Whether that policy grants something to everybody. */
  readonly isPolicyPublic: boolean;
  readonly bucketOwnerId: string;
  readonly publicAccessBlock: PublicAccessBlock | null;
  readonly ownership: ObjectOwnership;
  /** The ACL that may grant this action, and what it would have to grant; null: no ACL can. */
  readonly acl: { readonly acl: Acl; readonly permission: Exclude<AclPermission, 'FULL_CONTROL'> } | null;
}

export function decideAccess(question: AccessQuestion): boolean {
  const { userId, identity, bucketPolicy, publicAccessBlock } = question;
  const isOwner = userId !== null && userId === question.bucketOwnerId;
  const canBucketPolicyDeny = !isOwner || !OWNER_ACTIONS.includes(question.action);
  if (identity === 'deny' || (bucketPolicy === 'deny' && canBucketPolicyDeny)) return false;
  if (identity === 'allow') return true;
  // A policy that is public counts only for the owner while RestrictPublicBuckets is on.
  const isRestricted = question.isPolicyPublic && publicAccessBlock?.restrictPublicBuckets === true && !isOwner;
  if (bucketPolicy === 'allow' && !isRestricted) return true;
  if (userId !== null && identity === 'none') return false;
  const aclOwnerId = question.acl?.acl.owner.id ?? question.bucketOwnerId;
  const isEnforced = question.ownership === 'BucketOwnerEnforced';
  if (userId !== null && userId === (isEnforced ? question.bucketOwnerId : aclOwnerId)) return true;
  if (question.acl === null || isEnforced) return false;
  return doesAclAllow(
    question.acl.acl,
    userId,
    question.acl.permission,
    publicAccessBlock?.ignorePublicAcls === true && !isOwner,
  );
}
