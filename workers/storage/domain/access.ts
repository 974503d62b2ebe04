/**
 * Decides access to a bucket and its objects from identity policies, bucket policy, ACLs, object ownership and the
 * public access block (Amazon S3 User Guide, "How Amazon S3 authorizes a request"). Pure.
 *
 * By design: each user is an account of its own. A user whose policies have no Allow owns what it creates and may use
 * what others grant. Once a policy allows something, the user's policies define everything that it may do on its own,
 * in any bucket.
 *
 * The owner of a bucket can always repair it: no bucket policy denies the owner the actions in `OWNER_ACTIONS`. At AWS no bucket
 * policy denies the account's root user the first three of them (Amazon S3 API Reference, PutBucketPolicy). The owner's own
 * policies, which the operator sets, still apply.
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

/** Actions on a bucket that its policy cannot deny to its owner. Names are without the prefix `s3:`. */
const OWNER_ACTIONS: readonly string[] = [
  'DeleteBucketPolicy',
  'GetBucketPolicy',
  'PutBucketPolicy',
  'GetBucketPublicAccessBlock',
  'PutBucketPublicAccessBlock',
];

/** All facts on which the decision about access depends. */
export interface AccessQuestion {
  /** Name of the requested action, without the prefix `s3:`. */
  readonly action: string;
  /** User who makes the request; null for an anonymous caller. */
  readonly userId: string | null;
  /** Verdict of the caller's own policies about the action; `unlimited` when they have no Allow and so do not limit the caller. */
  readonly identity: PolicyVerdict | 'unlimited';
  readonly bucketPolicy: PolicyVerdict;
  /** Whether the bucket policy grants something to the public. */
  readonly isPolicyPublic: boolean;
  readonly bucketOwnerId: string;
  readonly publicAccessBlock: PublicAccessBlock | null;
  readonly ownership: ObjectOwnership;
  /** ACL that may grant the action, and the permission that it must grant; null if no ACL can grant it. */
  readonly acl: { readonly acl: Acl; readonly permission: Exclude<AclPermission, 'FULL_CONTROL'> } | null;
}

export function decideAccess(question: AccessQuestion): boolean {
  const { userId, identity, bucketPolicy, publicAccessBlock } = question;
  const isOwner = userId !== null && userId === question.bucketOwnerId;
  const canBucketPolicyDeny = !isOwner || !OWNER_ACTIONS.includes(question.action);
  if (identity === 'deny' || (bucketPolicy === 'deny' && canBucketPolicyDeny)) return false;
  if (identity === 'allow') return true;
  // While RestrictPublicBuckets is on, a public policy applies to the owner only.
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
