/**
 * Access control lists (Amazon S3 User Guide, "Access control list (ACL) overview"): grants, canned ACLs, and the
 * permissions that they give.
 */

export type AclPermission = 'FULL_CONTROL' | 'READ' | 'WRITE' | 'READ_ACP' | 'WRITE_ACP';
export const ACL_PERMISSIONS: readonly AclPermission[] = ['FULL_CONTROL', 'READ', 'WRITE', 'READ_ACP', 'WRITE_ACP'];

export const ALL_USERS = 'http://acs.amazonaws.com/groups/global/AllUsers';
export const AUTHENTICATED_USERS = 'http://acs.amazonaws.com/groups/global/AuthenticatedUsers';
export const LOG_DELIVERY = 'http://acs.amazonaws.com/groups/s3/LogDelivery';
export const GROUPS: readonly string[] = [ALL_USERS, AUTHENTICATED_USERS, LOG_DELIVERY];

export type Grantee =
  | { readonly kind: 'user'; readonly id: string; readonly displayName: string | null }
  | { readonly kind: 'group'; readonly uri: string };

export interface Grant {
  readonly grantee: Grantee;
  readonly permission: AclPermission;
}

export interface Owner {
  readonly id: string;
  readonly displayName: string | null;
}

export interface Acl {
  readonly owner: Owner;
  readonly grants: readonly Grant[];
}

export const CANNED_ACLS = [
  'private',
  'public-read',
  'public-read-write',
  'authenticated-read',
  'aws-exec-read',
  'bucket-owner-read',
  'bucket-owner-full-control',
  'log-delivery-write',
] as const;
export type CannedAcl = (typeof CANNED_ACLS)[number];

export const isCannedAcl = (text: string): text is CannedAcl => (CANNED_ACLS as readonly string[]).includes(text);

const toUser = (owner: Owner): Grantee => ({ kind: 'user', ...owner });
const group = (uri: string, permission: AclPermission): Grant => ({ grantee: { kind: 'group', uri }, permission });

/**
 * Converts a canned ACL to grants.
 * @param bucketOwner owner of the bucket that holds the object; the same as `owner` for the ACL of a bucket.
 */
export function toCannedGrants(canned: CannedAcl, owner: Owner, bucketOwner: Owner): Grant[] {
  const own: Grant = { grantee: toUser(owner), permission: 'FULL_CONTROL' };
  const isForeign = bucketOwner.id !== owner.id;
  switch (canned) {
    case 'private':
    case 'aws-exec-read':
      return [own];
    case 'public-read':
      return [group(ALL_USERS, 'READ'), own];
    case 'public-read-write':
      return [group(ALL_USERS, 'READ'), group(ALL_USERS, 'WRITE'), own];
    case 'authenticated-read':
      return [group(AUTHENTICATED_USERS, 'READ'), own];
    case 'bucket-owner-read':
      return isForeign ? [own, { grantee: toUser(bucketOwner), permission: 'READ' }] : [own];
    case 'bucket-owner-full-control':
      return isForeign ? [own, { grantee: toUser(bucketOwner), permission: 'FULL_CONTROL' }] : [own];
    case 'log-delivery-write':
      return [own, group(LOG_DELIVERY, 'WRITE'), group(LOG_DELIVERY, 'READ_ACP')];
  }
}

/** Whether an ACL grants a permission to a user. @param userId user who makes the request; null for an anonymous caller. */
export function doesAclAllow(
  acl: Acl,
  userId: string | null,
  permission: Exclude<AclPermission, 'FULL_CONTROL'>,
  ignorePublic = false,
): boolean {
  // The owner of a bucket or object can always read and write its ACL, regardless of the grants.
  if (userId !== null && userId === acl.owner.id && (permission === 'READ_ACP' || permission === 'WRITE_ACP'))
    return true;
  return acl.grants.some((grant) => {
    if (grant.permission !== permission && grant.permission !== 'FULL_CONTROL') return false;
    if (grant.grantee.kind === 'user') return userId !== null && grant.grantee.id === userId;
    if (ignorePublic) return false;
    return grant.grantee.uri === ALL_USERS || (grant.grantee.uri === AUTHENTICATED_USERS && userId !== null);
  });
}

/** Whether the ACL grants anything to the public or to all authenticated users. */
export const isPublicAcl = (acl: Pick<Acl, 'grants'>): boolean =>
  acl.grants.some(
    ({ grantee }) => grantee.kind === 'group' && (grantee.uri === ALL_USERS || grantee.uri === AUTHENTICATED_USERS),
  );
