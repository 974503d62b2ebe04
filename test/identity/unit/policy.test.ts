import { describe, expect, it } from 'vitest';
import {
  evaluatePolicies,
  findConditionKeyFault,
  isPublicPolicy,
  type Policy,
  type PolicyKind,
  parsePolicy,
} from '../../../workers/identity/domain/policy.ts';
import { matchWildcard } from '../../../workers/identity/domain/policy-patterns.ts';

function parse(statement: Record<string, unknown>, kind: PolicyKind = 'bucket'): Policy {
  const parsed = parsePolicy({ Version: '2012-10-17', Statement: [statement] }, kind);
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.value;
}
const GET = { Action: 's3:GetObject', Resource: 'arn:aws:s3:::b/*' };
const ask = (policies: Policy[], more: Partial<Parameters<typeof evaluatePolicies>[1]> = {}) =>
  evaluatePolicies(policies, {
    action: 's3:GetObject',
    resource: 'arn:aws:s3:::b/a/key',
    userId: 'u1',
    context: {},
    ...more,
  });

describe('a policy', () => {
  it('makes no decision about actions that it does not name', () => {
    const policy = parse({ Effect: 'Allow', Principal: '*', ...GET });
    expect(ask([policy])).toBe('allow');
    expect(ask([policy], { action: 's3:PutObject' })).toBe('none');
    expect(ask([policy], { resource: 'arn:aws:s3:::other/a' })).toBe('none');
  });
  it('denies even if another statement allows', () => {
    const allow = parse({ Effect: 'Allow', Principal: '*', ...GET });
    const deny = parse({ Effect: 'Deny', Principal: '*', Action: 's3:*', Resource: 'arn:aws:s3:::b/a/*' });
    expect(ask([allow, deny])).toBe('deny');
  });
  it.each(['arn:aws:iam::u1:root', 'arn:aws:iam::u1:user/anyone', 'arn:aws:iam:::user/u1', 'u1'])(
    'matches a user named as %s',
    (principal) => {
      const policy = parse({ Effect: 'Allow', Principal: { AWS: [principal] }, ...GET });
      expect([ask([policy]), ask([policy], { userId: 'u2' }), ask([policy], { userId: null })]).toEqual([
        'allow',
        'none',
        'none',
      ]);
    },
  );
  it('inverts the match with NotPrincipal, NotAction and NotResource', () => {
    const policy = parse({
      Effect: 'Deny',
      NotPrincipal: { AWS: 'u1' },
      NotAction: 's3:PutObject',
      NotResource: 'arn:aws:s3:::b/open/*',
    });
    expect(ask([policy])).toBe('none');
    expect(ask([policy], { userId: 'u2' })).toBe('deny');
    expect(ask([policy], { userId: 'u2', action: 's3:PutObject' })).toBe('none');
    expect(ask([policy], { userId: 'u2', resource: 'arn:aws:s3:::b/open/x' })).toBe('none');
  });
  it('replaces variables, and matches nothing if a variable is unknown or contains a wildcard', () => {
    const statement = { Effect: 'Allow', Action: 's3:GetObject', Resource: `arn:aws:s3:::b/\${aws:username}/*` };
    const policy = parse(statement, 'identity');
    expect(ask([policy], { context: { 'aws:username': 'a' } })).toBe('allow');
    expect(ask([policy], { context: { 'aws:username': '*' } })).toBe('none');
    expect(ask([policy])).toBe('none');
  });
  it.each([
    [{ StringEquals: { 's3:prefix': ['x', 'y'] } }, { 's3:prefix': 'y' }, true],
    [{ StringEquals: { 's3:prefix': 'x' } }, {}, false],
    [{ StringNotEquals: { 's3:prefix': ['x', 'y'] } }, { 's3:prefix': 'y' }, false],
    [{ StringNotEquals: { 's3:prefix': 'x' } }, {}, true],
    [{ StringEqualsIfExists: { 's3:prefix': 'x' } }, {}, true],
    [{ StringLike: { 'aws:Referer': 'http://*.example/*' } }, { 'aws:referer': 'http://a.example/b' }, true],
    [{ IpAddress: { 'aws:SourceIp': '192.0.2.0/24' } }, { 'aws:sourceip': '192.0.2.77' }, true],
    [{ NotIpAddress: { 'aws:SourceIp': '192.0.2.0/24' } }, { 'aws:sourceip': '192.0.2.77' }, false],
    [{ IpAddress: { 'aws:SourceIp': '2001:db8::/32' } }, { 'aws:sourceip': '2001:db8:1::1' }, true],
    [{ IpAddress: { 'aws:SourceIp': '192.0.2.77/32' } }, { 'aws:sourceip': '192.0.2.78' }, false],
    [{ NumericLessThanEquals: { 's3:max-keys': '10' } }, { 's3:max-keys': '10' }, true],
    [
      { DateGreaterThan: { 'aws:CurrentTime': '2020-01-01T00:00:00Z' } },
      { 'aws:currenttime': '2019-01-01T00:00:00Z' },
      false,
    ],
    [{ Bool: { 'aws:SecureTransport': 'false' } }, { 'aws:securetransport': 'false' }, true],
    [{ Null: { 's3:x-amz-acl': 'true' } }, {}, true],
    [{ 'ForAllValues:StringEquals': { keys: ['a', 'b'] } }, { keys: ['a'] }, true],
    [{ 'ForAnyValue:StringEquals': { keys: ['a', 'b'] } }, { keys: ['c', 'd'] }, false],
  ])('a statement with %j and the context %j applies: %s', (Condition, context, applies) => {
    const policy = parse({ Effect: 'Allow', Principal: '*', ...GET, Condition });
    expect(ask([policy], { context: context as Record<string, string> })).toBe(applies ? 'allow' : 'none');
  });
  it.each([
    [{ Effect: 'Allow', ...GET }],
    [{ Effect: 'Maybe', Principal: '*', ...GET }],
    [{ Effect: 'Allow', Principal: '*', Action: 's3:GetObject' }],
    [{ Effect: 'Allow', Principal: '*', ...GET, Extra: 1 }],
    [{ Effect: 'Allow', Principal: '*', ...GET, Condition: { Sometimes: {} } }],
    [{ Effect: 'Allow', Principal: { AWS: 'arn:aws:iam:::nobody' }, ...GET }],
  ])('is refused as %j', (statement) => {
    expect(parsePolicy({ Statement: statement }, 'bucket').ok).toBe(false);
  });
  it(`reads \${*}, \${?} and \${$} in a Resource as the characters themselves`, () => {
    const policy = parse({ Effect: 'Allow', Principal: '*', ...GET, Resource: `arn:aws:s3:::b/\${*}\${?}\${$}/*` });
    expect(ask([policy], { resource: 'arn:aws:s3:::b/*?$/key' })).toBe('allow');
    expect(ask([policy], { resource: 'arn:aws:s3:::b/secret/x$/key' })).toBe('none');
  });
  it('matches no resource with an unknown variable, not even U+FFFF', () => {
    const policy = parse({ Effect: 'Allow', Principal: '*', ...GET, Resource: `arn:aws:s3:::b/\${unknown}` });
    expect(ask([policy], { resource: 'arn:aws:s3:::b/\uffff' })).toBe('none');
  });
  it('is public if it allows everyone without a condition on the callers', () => {
    expect(isPublicPolicy(parse({ Effect: 'Allow', Principal: '*', ...GET }))).toBe(true);
    expect(isPublicPolicy(parse({ Effect: 'Allow', Principal: { AWS: 'u1' }, ...GET }))).toBe(false);
    const Condition = { IpAddress: { 'aws:SourceIp': '192.0.2.0/24' } };
    expect(isPublicPolicy(parse({ Effect: 'Allow', Principal: '*', ...GET, Condition }))).toBe(false);
  });
});

describe('the condition keys of a policy that is to be stored', () => {
  const faultOf = (key: string, operator = 'StringEquals') =>
    findConditionKeyFault(parse({ Effect: 'Deny', Principal: '*', ...GET, Condition: { [operator]: { [key]: '1' } } }));

  it.each([
    'aws:SecureTransport',
    'AWS:sourceip',
    'aws:PrincipalOrgID',
    'aws:PrincipalTag/team',
    'aws:RequestTag/a/b',
    's3:TlsVersion',
    's3:signatureAge',
    's3:x-amz-server-side-encryption-customer-algorithm',
    's3:ExistingObjectTag/public',
    's3:RequestObjectTagKeys',
    's3:object-lock-remaining-retention-days',
    's3:ResourceAccount',
  ])('may be %s', (key) => {
    expect(faultOf(key)).toBeNull();
  });
  it.each([
    's3:prefixes',
    's3:maxkeys',
    'aws:SourceIpAddress',
    'prefix',
    '',
    'kms:ViaService',
    's3:prefix/a',
    'aws:PrincipalTag',
    'aws:PrincipalTag/',
    'constructor',
  ])('may not be %j', (key) => {
    expect(faultOf(key)).toBe(`Policy has an invalid condition key: ${key.toLowerCase()}`);
    expect(faultOf(key, 'Null')).not.toBeNull();
  });
});

describe('a wildcard', () => {
  it.each([
    ['*', '', true],
    ['a*c', 'abbc', true],
    ['a*c', 'ab', false],
    ['a?c', 'abc', true],
    ['*a*b*', 'xxaxxbxx', true],
    ['*.txt', 'a.txt.gz', false],
  ])('matches %s with %s: %s', (pattern, text, expected) => {
    expect(matchWildcard(pattern, text)).toBe(expected);
  });
  it('matches a hostile pattern in bounded time', () => {
    expect(matchWildcard(`${'*a'.repeat(50)}b`, 'a'.repeat(20_000))).toBe(false);
  });
});
