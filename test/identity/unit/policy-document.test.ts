import { describe, expect, it } from 'vitest';
import {
  evaluatePolicies,
  isPublicPolicy,
  type PolicyKind,
  parsePolicy,
  toPrincipalUserId,
} from '../../../workers/identity/domain/policy.ts';

const GET = { Action: 's3:GetObject', Resource: 'arn:aws:s3:::b/*' };
const ALLOW = { Effect: 'Allow', Principal: '*', ...GET };

const parse = (document: unknown, kind: PolicyKind = 'bucket') => {
  const parsed = parsePolicy(document, kind);
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.value;
};
const errorOf = (document: unknown, kind: PolicyKind = 'bucket') => {
  const parsed = parsePolicy(document, kind);
  return parsed.ok ? null : parsed.error;
};
const withoutStatementMember = (name: string) =>
  Object.fromEntries(Object.entries(ALLOW).filter(([member]) => member !== name));
const decide = (statement: Record<string, unknown>, userId: string | null) =>
  evaluatePolicies([parse({ Statement: statement })], {
    action: 's3:GetObject',
    resource: 'arn:aws:s3:::b/key',
    userId,
    context: {},
  });

describe('a policy document', () => {
  it.each([[null], ['text'], [7], [undefined], [[]]])('is rejected if it is %j', (document) => {
    expect(errorOf(document)).toBe("Policies must be valid JSON and the first byte must be '{'");
  });
  it.each(['2012-10-17', '2008-10-17', undefined])('accepts the version %s', (Version) => {
    expect(errorOf({ Version, Statement: ALLOW })).toBeNull();
  });
  it.each(['2012-10-18', '', null])('rejects the version %j', (Version) => {
    expect(errorOf({ Version, Statement: ALLOW })).toBe('The policy must contain a valid version string');
  });
  it('keeps its Id, which must be a string', () => {
    expect(parse({ Id: 'p1', Statement: ALLOW }).id).toBe('p1');
    expect(parse({ Statement: ALLOW }).id).toBeNull();
    expect(errorOf({ Id: 1, Statement: ALLOW })).toBe('Id must be a string');
  });
  it('rejects fields that AWS does not define', () => {
    expect(errorOf({ Statement: ALLOW, Statements: [] })).toBe('Unknown field Statements');
    expect(errorOf({ Statement: { ...ALLOW, Actions: '*' } })).toBe('Unknown field Actions');
  });
  it('has one statement, or a list of at least one', () => {
    expect(parse({ Statement: ALLOW }).statements).toHaveLength(1);
    expect(parse({ Statement: [ALLOW, ALLOW] }).statements).toHaveLength(2);
    expect(errorOf({ Statement: [] })).toBe('Missing required field Statement');
    expect(errorOf({})).toBe('Missing required field Statement');
  });
});

describe('a statement', () => {
  it.each([[null], ['text'], [[ALLOW]]])('is rejected if it is %j', (item) => {
    expect(errorOf({ Statement: [item] })).toBe('Statement must be an object');
  });
  it.each(['Effect', 'Principal', 'Action', 'Resource'])('needs %s in a bucket policy', (name) => {
    expect(errorOf({ Statement: withoutStatementMember(name) })).toBe(`Missing required field ${name}`);
  });
  it('must not have a Principal in an identity policy', () => {
    expect(errorOf({ Statement: withoutStatementMember('Principal') }, 'identity')).toBeNull();
    expect(errorOf({ Statement: ALLOW }, 'identity')).toBe('An identity policy has no Principal');
    const { Principal, ...rest } = ALLOW;
    expect(errorOf({ Statement: { ...rest, NotPrincipal: Principal } }, 'identity')).toBe(
      'An identity policy has no Principal',
    );
  });
  it('has the effect Allow or Deny', () => {
    expect(errorOf({ Statement: { ...ALLOW, Effect: 'allow' } })).toBe('Invalid effect: allow');
  });
  it('must not combine Allow with NotPrincipal, which would allow all other users', () => {
    const { Principal: _, ...rest } = ALLOW;
    const statement = { ...rest, NotPrincipal: { AWS: 'u1' } };
    expect(errorOf({ Statement: statement })).toBe('Allow with NotPrincipal is not allowed');
    expect(errorOf({ Statement: { ...statement, Effect: 'Deny' } })).toBeNull();
  });
  it.each(['Principal', 'Action', 'Resource'])('has %s or its negation, but not both', (name) => {
    const statement = { ...ALLOW, [`Not${name}`]: 'x:y' };
    expect(errorOf({ Statement: statement })).toBe(`${name} and Not${name} exclude each other`);
  });
  it.each(['Action', 'Resource'])('has one %s, or a list of at least one', (name) => {
    const message = `${name} must be a string or a list of strings`;
    const text = name === 'Action' ? 's3:*' : '*';
    expect(errorOf({ Statement: { ...ALLOW, [name]: [text, text] } })).toBeNull();
    for (const wrong of [[], 5, [text, 5], [null], { text }]) {
      expect(errorOf({ Statement: { ...ALLOW, [name]: wrong } })).toBe(message);
    }
  });
  it.each(['s3', 's3:', 's3:Get-Object', ':GetObject', 's3:GetObject '])('rejects the action %j', (action) => {
    expect(errorOf({ Statement: { ...ALLOW, Action: [action] } })).toBe('Policy has invalid action');
  });
  it('reports errors in its conditions', () => {
    expect(errorOf({ Statement: { ...ALLOW, Condition: [] } })).toBe('Condition must be an object');
  });
});

describe('a principal', () => {
  it.each([
    ['u1'],
    [[]],
    [{ Everyone: '*' }],
    [{ AWS: 5 }],
    [{ AWS: ['u1', null] }],
    [{ AWS: 'arn:aws:iam:::group/x' }],
    [{ AWS: ['u1', 'arn:aws:s3:::b'] }],
  ])('is rejected if it is %j', (Principal) => {
    expect(errorOf({ Statement: { ...ALLOW, Principal } })).toBe('Invalid principal in policy');
  });
  it('{"AWS": "*"} matches all callers, authenticated or anonymous', () => {
    const statement = { ...ALLOW, Principal: { AWS: ['*'] } };
    expect([decide(statement, 'u1'), decide(statement, null)]).toEqual(['allow', 'allow']);
  });
  it('CanonicalUser matches a user id, and a star in it is literal', () => {
    const one = { ...ALLOW, Principal: { CanonicalUser: ['u1'] } };
    expect([decide(one, 'u1'), decide(one, 'u2'), decide(one, null)]).toEqual(['allow', 'none', 'none']);
    const star = { ...ALLOW, Principal: { CanonicalUser: '*' } };
    expect([decide(star, 'u1'), decide(star, null)]).toEqual(['none', 'none']);
  });
  it('with a user id never matches an anonymous caller', () => {
    expect(decide({ ...ALLOW, Principal: { CanonicalUser: 'arn:aws:s3:::b' } }, null)).toBe('none');
  });
  it('accepts Service and Federated, which match no user', () => {
    for (const type of ['Service', 'Federated']) {
      expect(decide({ ...ALLOW, Principal: { [type]: 'u1' } }, 'u1')).toBe('none');
      expect(errorOf({ Statement: { ...ALLOW, Principal: { [type]: 'arn:aws:iam:::saml-provider/p' } } })).toBeNull();
    }
  });
  it.each([
    ['arn:aws:iam::u1:root', 'u1'],
    ['arn:aws-cn:sts::u1:assumed-role/r/s', 'u1'],
    ['arn:aws:iam:::user/path/u1', 'u1'],
    ['arn:aws:iam:::user/', null],
    ['arn:aws:iam:::role/u1', null],
    ['arn:aws:iam::u1:', null],
    ['arn:aws:s3:::u1', null],
    ['u1', 'u1'],
  ])('%s matches the user %s', (principal, userId) => {
    expect(toPrincipalUserId(principal)).toBe(userId);
  });
});

describe('a public policy', () => {
  const isPublic = (statement: Record<string, unknown>) => isPublicPolicy(parse({ Statement: statement }));
  const under = (Condition: unknown) => isPublic({ ...ALLOW, Condition });

  it('has an Allow statement', () => {
    expect(isPublic({ ...ALLOW, Effect: 'Deny' })).toBe(false);
  });
  it('is a bucket policy, because an identity policy applies to one user', () => {
    const { Principal: _, ...statement } = ALLOW;
    expect(isPublicPolicy(parse({ Statement: statement }, 'identity'))).toBe(false);
  });
  it('has a statement without conditions, or with conditions that do not restrict the callers', () => {
    expect(under({ StringEquals: { 's3:prefix': 'x' } })).toBe(true);
    expect(under({ StringLike: { 's3:prefix': '*' } })).toBe(true);
  });
  it('is not public if a condition restricts the callers', () => {
    expect(under({ IpAddress: { 'aws:SourceIp': '192.0.2.0/24' } })).toBe(false);
    expect(under({ StringEquals: { 'AWS:UserId': ['u1', 'u2'] } })).toBe(false);
  });
  it.each([
    [{ IpAddress: { 'aws:SourceIp': ['192.0.2.0/24', '0.0.0.0/0'] } }],
    [{ IpAddress: { 'aws:SourceIp': '::/0' } }],
    [{ StringLike: { 'aws:userid': '*' } }],
    [{ NotIpAddress: { 'aws:SourceIp': '192.0.2.0/24' } }],
    [{ StringNotEquals: { 'aws:userid': 'u1' } }],
  ])('is public under %j, which excludes few or no callers', (Condition) => {
    expect(under(Condition)).toBe(true);
  });
  it('is not public if a second, open condition follows a restricting one', () => {
    const narrow = { IpAddress: { 'aws:SourceIp': '192.0.2.0/24' } };
    expect(under({ ...narrow, StringLike: { 'aws:userid': '*' } })).toBe(false);
    expect(under({ ...narrow, StringEquals: { 's3:prefix': 'x' } })).toBe(false);
  });
});
