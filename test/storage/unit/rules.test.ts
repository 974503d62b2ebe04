import { describe, expect, it } from 'vitest';
import { decideRange, doesIfRangeHold } from '../../../workers/shared/pure/http-range.ts';
import { decideAccess } from '../../../workers/storage/domain/access.ts';
import { toCannedGrants } from '../../../workers/storage/domain/acl.ts';
import { decideRead } from '../../../workers/storage/domain/conditions.ts';
import { type CorsRule, checkCorsRules, findCorsRule } from '../../../workers/storage/domain/cors.ts';
import { checkKey, isBucketName } from '../../../workers/storage/domain/naming.ts';
import { checkTags, parseTaggingHeader } from '../../../workers/storage/domain/tagging.ts';

describe('a range', () => {
  it.each([
    [null, 10, 'whole'],
    ['bytes=0-4', 10, [0, 4]],
    ['bytes=5-', 10, [5, 9]],
    ['bytes=-3', 10, [7, 9]],
    ['bytes=-30', 10, [0, 9]],
    ['bytes=0-99', 10, [0, 9]],
    ['bytes=10-', 10, 'unsatisfiable'],
    ['bytes=-0', 10, 'unsatisfiable'],
    ['bytes=0-', 0, 'unsatisfiable'],
    ['bytes=5-4', 10, 'whole'],
    ['bytes=0-1,4-5', 10, 'whole'],
    ['lines=0-1', 10, 'whole'],
    ['bytes=-', 10, 'whole'],
  ])('%s of %s bytes selects %j', (header, size, expected) => {
    const decision = decideRange(header, size);
    expect(decision.kind === 'part' ? [decision.range.first, decision.range.last] : decision.kind).toEqual(expected);
  });
  it('applies under If-Range only to the same version', () => {
    const at = Date.parse('2026-01-02T03:04:05Z') + 678;
    expect(doesIfRangeHold(null, '"e"', at)).toBe(true);
    expect(doesIfRangeHold('"e"', '"e"', at)).toBe(true);
    expect(doesIfRangeHold('W/"e"', '"e"', at)).toBe(false);
    expect(doesIfRangeHold('Fri, 02 Jan 2026 03:04:05 GMT', '"e"', at)).toBe(true);
    expect(doesIfRangeHold('Fri, 02 Jan 2026 03:04:06 GMT', '"e"', at)).toBe(false);
  });
});

describe('a conditional read', () => {
  const target = { etag: 'e', lastModifiedMs: Date.parse('2026-01-02T03:04:05Z') + 500 };
  const none = { ifMatch: null, ifNoneMatch: null, ifModifiedSince: null, ifUnmodifiedSince: null };
  const BEFORE = 'Fri, 02 Jan 2026 03:04:04 GMT';
  const SAME = 'Fri, 02 Jan 2026 03:04:05 GMT';
  it.each([
    [{}, 'proceed'],
    [{ ifMatch: '"x", "e"' }, 'proceed'],
    [{ ifMatch: '"x"' }, 'precondition_failed'],
    [{ ifMatch: '*' }, 'proceed'],
    [{ ifNoneMatch: '"e"' }, 'not_modified'],
    [{ ifNoneMatch: '*' }, 'not_modified'],
    [{ ifModifiedSince: SAME }, 'not_modified'],
    [{ ifModifiedSince: BEFORE }, 'proceed'],
    [{ ifModifiedSince: 'no date' }, 'proceed'],
    [{ ifUnmodifiedSince: BEFORE }, 'precondition_failed'],
    [{ ifUnmodifiedSince: SAME }, 'proceed'],
    // By RFC 9110 §13.2.2, an ETag condition overrides its date counterpart.
    [{ ifMatch: '"e"', ifUnmodifiedSince: BEFORE }, 'proceed'],
    [{ ifNoneMatch: '"x"', ifModifiedSince: SAME }, 'proceed'],
    [{ ifMatch: '"e"', ifNoneMatch: '"e"' }, 'not_modified'],
  ])('with %j returns %s', (conditions, decision) => {
    expect(decideRead({ ...none, ...conditions }, target)).toBe(decision);
  });
});

describe('names', () => {
  it.each(['abc', 'a.b-c', '1ab', 'a'.repeat(63)])('accept the bucket %s', (name) => {
    expect(isBucketName(name)).toBe(true);
  });
  it.each([
    'ab',
    'a'.repeat(64),
    'Abc',
    'a_b',
    '-ab',
    'ab-',
    'a..b',
    'a.-b',
    'a-.b',
    '192.168.1.1',
    'xn--a',
    'cdn-cgi',
    'a-s3alias',
  ])('refuse the bucket %s', (name) => {
    expect(isBucketName(name)).toBe(false);
  });
  it('limit the bytes of a key, not its characters', () => {
    expect(checkKey('é'.repeat(512)).ok).toBe(true);
    expect(checkKey('é'.repeat(513)).ok).toBe(false);
    expect(checkKey('😀'.repeat(256)).ok).toBe(true);
    expect(checkKey('a'.repeat(1025)).ok).toBe(false);
  });
});

describe('tags', () => {
  it('are parsed from a query string', () => {
    const expected = [
      { key: 'a b', value: 'c+d' },
      { key: 'e', value: '' },
    ];
    expect(parseTaggingHeader('a+b=c%2Bd&e')).toEqual({ ok: true, value: expected });
  });
  it.each([
    [[{ key: '', value: '' }]],
    [[{ key: 'k'.repeat(129), value: '' }]],
    [[{ key: 'k', value: 'v'.repeat(257) }]],
    [[{ key: 'k', value: '{' }]],
    [[{ key: 'aws:k', value: '' }]],
    [
      [
        { key: 'k', value: '1' },
        { key: 'k', value: '2' },
      ],
    ],
  ])('are refused as %j', (tags) => {
    expect(checkTags(tags)).toMatchObject({ ok: false, error: { code: 'InvalidTag' } });
  });
});

describe('a cross-origin rule', () => {
  const rule: CorsRule = {
    id: null,
    allowedOrigins: ['https://*.example'],
    allowedMethods: ['GET', 'PUT'],
    allowedHeaders: ['x-amz-*', 'Content-Type'],
    exposeHeaders: [],
    maxAgeSeconds: null,
  };
  it.each([
    ['https://a.example', 'GET', [], true],
    ['https://example', 'GET', [], false],
    ['http://a.example', 'GET', [], false],
    ['https://a.example', 'DELETE', [], false],
    ['https://a.example', 'PUT', ['x-amz-acl', 'content-type'], true],
    ['https://a.example', 'PUT', ['authorization'], false],
  ])('for %s, %s, %j allows: %s', (origin, method, headers, allowed) => {
    expect(findCorsRule([rule], origin, method, headers) !== null).toBe(allowed);
  });

  it('exposes headers by name, and has an id of at most 255 characters', () => {
    expect(checkCorsRules([{ ...rule, id: 'i'.repeat(255), exposeHeaders: ['ETag'] }]).ok).toBe(true);
    expect(checkCorsRules([{ ...rule, exposeHeaders: ['x-amz-*'] }]).ok).toBe(false);
    expect(checkCorsRules([{ ...rule, id: 'i'.repeat(256) }]).ok).toBe(false);
  });
});

describe('access', () => {
  const alice = { id: 'alice', displayName: null };
  const base = {
    action: 'GetObject',
    userId: 'alice' as string | null,
    identity: 'unlimited' as const,
    bucketPolicy: 'none' as const,
    isPolicyPublic: false,
    bucketOwnerId: 'alice',
    publicAccessBlock: null,
    ownership: 'ObjectWriter' as const,
    acl: null,
  };
  const read = (canned: Parameters<typeof toCannedGrants>[0]) => ({
    acl: { owner: alice, grants: toCannedGrants(canned, alice, alice) },
    permission: 'READ' as const,
  });
  const blocked = {
    blockPublicAcls: false,
    ignorePublicAcls: true,
    blockPublicPolicy: false,
    restrictPublicBuckets: true,
  };
  const bob = { ...base, userId: 'bob' };
  const anonymous = { ...base, userId: null };
  it('is granted to the owner only by default', () => {
    expect([decideAccess(base), decideAccess(bob), decideAccess(anonymous)]).toEqual([true, false, false]);
  });
  it('is denied by any policy, even to the owner', () => {
    expect(decideAccess({ ...base, bucketPolicy: 'deny' })).toBe(false);
    expect(decideAccess({ ...base, identity: 'deny' })).toBe(false);
  });
  it.each([
    'GetBucketPolicy',
    'PutBucketPolicy',
    'DeleteBucketPolicy',
    'GetBucketPublicAccessBlock',
    'PutBucketPublicAccessBlock',
  ])('to %s cannot be denied to the owner by the bucket policy', (action) => {
    expect(decideAccess({ ...base, action, bucketPolicy: 'deny' })).toBe(true);
    expect(decideAccess({ ...base, action, bucketPolicy: 'deny', identity: 'deny' })).toBe(false);
    expect(decideAccess({ ...base, action, bucketPolicy: 'deny', identity: 'none' })).toBe(false);
    expect(decideAccess({ ...bob, action, bucketPolicy: 'deny' })).toBe(false);
    expect(decideAccess({ ...anonymous, action, bucketPolicy: 'deny' })).toBe(false);
  });
  it('is granted by the bucket policy, unless it is public and restricted', () => {
    expect(decideAccess({ ...bob, bucketPolicy: 'allow' })).toBe(true);
    const restricted = { ...bob, bucketPolicy: 'allow' as const, isPolicyPublic: true, publicAccessBlock: blocked };
    expect(decideAccess(restricted)).toBe(false);
  });
  it('needs an Allow of the user’s own policies, if the user has any', () => {
    expect(decideAccess({ ...base, identity: 'none' })).toBe(false);
    expect(decideAccess({ ...bob, identity: 'allow' })).toBe(true);
  });
  it('is granted by ACL, unless ACLs are off or public ones are ignored', () => {
    expect(decideAccess({ ...anonymous, acl: read('public-read') })).toBe(true);
    expect(decideAccess({ ...anonymous, acl: read('authenticated-read') })).toBe(false);
    expect(decideAccess({ ...bob, acl: read('authenticated-read') })).toBe(true);
    expect(decideAccess({ ...bob, acl: read('private') })).toBe(false);
    expect(decideAccess({ ...anonymous, acl: read('public-read'), ownership: 'BucketOwnerEnforced' })).toBe(false);
    expect(decideAccess({ ...anonymous, acl: read('public-read'), publicAccessBlock: blocked })).toBe(false);
  });
});
