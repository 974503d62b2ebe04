import { describe, expect, it } from 'vitest';
import { type AccessQuestion, decideAccess } from '../../../workers/storage/domain/access.ts';
import {
  type Acl,
  ALL_USERS,
  AUTHENTICATED_USERS,
  CANNED_ACLS,
  doesAclAllow,
  isCannedAcl,
  isPublicAcl,
  LOG_DELIVERY,
  toCannedGrants,
} from '../../../workers/storage/domain/acl.ts';

const ALICE = { id: 'alice', displayName: 'Alice' };
const BOB = { id: 'bob', displayName: null };
const full = (owner: typeof ALICE | typeof BOB) => ({
  grantee: { kind: 'user', ...owner },
  permission: 'FULL_CONTROL',
});
const group = (uri: string, permission: string) => ({ grantee: { kind: 'group', uri }, permission });
const acl = (...grants: Acl['grants']): Acl => ({ owner: ALICE, grants });
const toUser = (id: string, permission: Acl['grants'][number]['permission']) =>
  ({ grantee: { kind: 'user', id, displayName: null }, permission }) as const;
const toGroup = (uri: string, permission: Acl['grants'][number]['permission']) =>
  ({ grantee: { kind: 'group', uri }, permission }) as const;

describe('a canned ACL', () => {
  it.each([
    ['private', [full(ALICE)]],
    ['aws-exec-read', [full(ALICE)]],
    ['public-read', [group(ALL_USERS, 'READ'), full(ALICE)]],
    ['public-read-write', [group(ALL_USERS, 'READ'), group(ALL_USERS, 'WRITE'), full(ALICE)]],
    ['authenticated-read', [group(AUTHENTICATED_USERS, 'READ'), full(ALICE)]],
    ['bucket-owner-read', [full(ALICE), { ...full(BOB), permission: 'READ' }]],
    ['bucket-owner-full-control', [full(ALICE), full(BOB)]],
    ['log-delivery-write', [full(ALICE), group(LOG_DELIVERY, 'WRITE'), group(LOG_DELIVERY, 'READ_ACP')]],
  ] as const)('%s grants what AWS documents to an object in a bucket of another user', (canned, grants) => {
    expect(toCannedGrants(canned, ALICE, BOB)).toEqual(grants);
  });
  it('names the owner once if the owner also owns the bucket', () => {
    for (const canned of ['bucket-owner-read', 'bucket-owner-full-control'] as const) {
      expect(toCannedGrants(canned, ALICE, ALICE)).toEqual([full(ALICE)]);
    }
  });
  it('has one of eight names', () => {
    expect([CANNED_ACLS.length, isCannedAcl('public-read'), isCannedAcl('public')]).toEqual([8, true, false]);
  });
});

describe('an ACL', () => {
  it('lets its owner read and write the ACL without a grant, and nothing else', () => {
    const empty = acl();
    expect(doesAclAllow(empty, 'alice', 'READ_ACP')).toBe(true);
    expect(doesAclAllow(empty, 'alice', 'WRITE_ACP')).toBe(true);
    expect(doesAclAllow(empty, 'alice', 'READ')).toBe(false);
    expect(doesAclAllow(empty, 'alice', 'WRITE')).toBe(false);
    for (const userId of ['bob', null]) {
      expect(doesAclAllow(empty, userId, 'READ_ACP')).toBe(false);
      expect(doesAclAllow(empty, userId, 'WRITE_ACP')).toBe(false);
    }
  });
  it('grants a permission to the named user', () => {
    const toBob = acl(toUser('bob', 'READ'));
    expect(doesAclAllow(toBob, 'bob', 'READ')).toBe(true);
    expect(doesAclAllow(toBob, 'bob', 'WRITE')).toBe(false);
    expect(doesAclAllow(toBob, 'carol', 'READ')).toBe(false);
    expect(doesAclAllow(toBob, null, 'READ')).toBe(false);
  });
  it('grants every permission with FULL_CONTROL', () => {
    for (const permission of ['READ', 'WRITE', 'READ_ACP', 'WRITE_ACP'] as const) {
      expect(doesAclAllow(acl(toUser('bob', 'FULL_CONTROL')), 'bob', permission)).toBe(true);
    }
  });
  it('grants to all callers, to authenticated callers, or to log delivery, which matches no caller', () => {
    const can = (uri: string, userId: string | null) => doesAclAllow(acl(toGroup(uri, 'READ')), userId, 'READ');
    expect([can(ALL_USERS, 'bob'), can(ALL_USERS, null)]).toEqual([true, true]);
    expect([can(AUTHENTICATED_USERS, 'bob'), can(AUTHENTICATED_USERS, null)]).toEqual([true, false]);
    expect([can(LOG_DELIVERY, 'bob'), can(LOG_DELIVERY, null)]).toEqual([false, false]);
  });
  it('loses grants to groups and keeps grants to users when public ACLs are ignored', () => {
    const both = acl(toGroup(ALL_USERS, 'READ'), toUser('bob', 'READ'));
    expect(doesAclAllow(both, 'carol', 'READ', true)).toBe(false);
    expect(doesAclAllow(both, 'bob', 'READ', true)).toBe(true);
  });
  it('is public if it grants something to all callers or to all authenticated callers', () => {
    expect(isPublicAcl(acl(toUser('bob', 'READ'), toGroup(ALL_USERS, 'READ')))).toBe(true);
    expect(isPublicAcl(acl(toGroup(AUTHENTICATED_USERS, 'WRITE_ACP')))).toBe(true);
    expect(isPublicAcl(acl(toUser('bob', 'FULL_CONTROL'), toGroup(LOG_DELIVERY, 'WRITE')))).toBe(false);
    expect(isPublicAcl(acl())).toBe(false);
  });
});

describe('an access decision', () => {
  const question: AccessQuestion = {
    action: 's3:GetObject',
    userId: 'bob',
    identity: 'unlimited',
    bucketPolicy: 'none',
    isPolicyPublic: false,
    bucketOwnerId: 'alice',
    publicAccessBlock: null,
    ownership: 'ObjectWriter',
    acl: null,
  };
  const block = {
    blockPublicAcls: false,
    ignorePublicAcls: false,
    blockPublicPolicy: false,
    restrictPublicBuckets: false,
  };
  const publicRead = { acl: acl(...toCannedGrants('public-read', ALICE, ALICE)), permission: 'READ' } as const;

  it('allows by a public policy if RestrictPublicBuckets is off', () => {
    const allowed = { ...question, bucketPolicy: 'allow', isPolicyPublic: true } as const;
    expect(decideAccess(allowed)).toBe(true);
    expect(decideAccess({ ...allowed, publicAccessBlock: block })).toBe(true);
    expect(decideAccess({ ...allowed, publicAccessBlock: { ...block, restrictPublicBuckets: true } })).toBe(false);
  });
  it('allows by a policy that is not public under RestrictPublicBuckets', () => {
    const publicAccessBlock = { ...block, restrictPublicBuckets: true };
    expect(decideAccess({ ...question, bucketPolicy: 'allow', publicAccessBlock })).toBe(true);
  });
  it('allows the owner by a public policy, even with RestrictPublicBuckets and a limited identity policy', () => {
    const publicAccessBlock = { ...block, restrictPublicBuckets: true };
    const own = {
      ...question,
      userId: 'alice',
      identity: 'none',
      bucketPolicy: 'allow',
      isPolicyPublic: true,
    } as const;
    expect(decideAccess({ ...own, publicAccessBlock })).toBe(true);
    expect(decideAccess({ ...own, userId: null, identity: 'unlimited', publicAccessBlock })).toBe(false);
  });
  it('limits a user to the user’s own policies, but not an anonymous caller', () => {
    expect(decideAccess({ ...question, identity: 'none', acl: publicRead })).toBe(false);
    expect(decideAccess({ ...question, userId: null, identity: 'none', acl: publicRead })).toBe(true);
  });
  it('treats the writer as owner of an object, unless the bucket owner owns all objects', () => {
    const bobs = { acl: { owner: BOB, grants: [] }, permission: 'READ' } as const;
    expect(decideAccess({ ...question, acl: bobs })).toBe(true);
    expect(decideAccess({ ...question, acl: bobs, ownership: 'BucketOwnerEnforced' })).toBe(false);
    expect(decideAccess({ ...question, userId: 'alice', acl: bobs })).toBe(false);
    expect(decideAccess({ ...question, userId: 'alice', acl: bobs, ownership: 'BucketOwnerEnforced' })).toBe(true);
  });
  it('ignores public ACLs on request, except for the owner of the bucket', () => {
    const bobs = { acl: { owner: BOB, grants: toCannedGrants('public-read', BOB, BOB) }, permission: 'READ' } as const;
    const publicAccessBlock = { ...block, ignorePublicAcls: true };
    const decide = (userId: string | null, of = publicAccessBlock) =>
      decideAccess({ ...question, userId, acl: bobs, publicAccessBlock: of });
    expect([decide('carol'), decide(null), decide('alice'), decide('bob')]).toEqual([false, false, true, true]);
    expect([decide('carol', block), decide(null, block)]).toEqual([true, true]);
  });
});
