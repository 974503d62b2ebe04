import { describe, expect, it } from 'vitest';
import {
  areConditionsMet,
  type ConditionContext,
  parseConditionBlock,
} from '../../../workers/identity/domain/policy-conditions.ts';
import { matchWildcard, substituteVariables } from '../../../workers/identity/domain/policy-patterns.ts';

const errorOf = (block: unknown) => {
  const parsed = parseConditionBlock(block);
  return parsed.ok ? null : parsed.error;
};
const isMet = (block: unknown, context: ConditionContext, effect: 'Allow' | 'Deny' = 'Allow') => {
  const parsed = parseConditionBlock(block);
  if (!parsed.ok) throw new Error(parsed.error);
  return areConditionsMet(parsed.value, context, effect);
};
/** Returns whether `operator` holds for the actual values, with `expected` in the policy. */
const holds = (operator: string, expected: string, actuals: readonly string[]) =>
  actuals.map((actual) => isMet({ [operator]: { key: expected } }, { key: actual }));

describe('a condition block', () => {
  it('holds if it is absent or empty', () => {
    expect([isMet(undefined, {}), isMet({}, {})]).toEqual([true, true]);
  });
  it.each([[null], [5], [true], ['text'], [[]]])('is rejected if it is %j', (block) => {
    expect(errorOf(block)).toBe('Condition must be an object');
  });
  it.each([[null], [5], ['text'], [[]]])('is rejected if an operator maps to %j', (keys) => {
    expect(errorOf({ StringEquals: keys })).toBe('Condition must map keys to values');
  });
  it.each(['StringIs', 'String Equals', 'ForSomeValues:StringEquals', '', 'IfExists'])(
    'is rejected with the operator %j',
    (name) => {
      expect(errorOf({ [name]: {} })).toBe(`Invalid Condition type : ${name}`);
    },
  );
  it('accepts operators in any case', () => {
    expect(isMet({ stringequalsIfExists: { 's3:prefix': 'a' } }, {})).toBe(true);
  });
  it.each(['IpAddress', 'NotIpAddress'])('accepts only addresses and networks under %s', (name) => {
    const block = { [name]: { 'aws:SourceIp': ['192.0.2.1', 'here'] } };
    expect(errorOf(block)).toBe('Invalid IP address in Conditions: 192.0.2.1, here');
    expect(errorOf({ [name]: { 'aws:SourceIp': ['192.0.2.1', '2001:db8::/32'] } })).toBeNull();
  });
  it('holds only if all its keys hold', () => {
    const block = { StringEquals: { a: '1', b: '2' } };
    expect([isMet(block, { a: '1', b: '2' }), isMet(block, { a: '1' }), isMet(block, { b: '2' })]).toEqual([
      true,
      false,
      false,
    ]);
  });
});

describe('a condition operator', () => {
  it.each([
    ['StringEquals', 'b', ['a', 'b', 'B'], [false, true, false]],
    ['StringNotEquals', 'b', ['a', 'b', 'B'], [true, false, true]],
    ['StringEqualsIgnoreCase', 'b', ['a', 'B'], [false, true]],
    ['StringNotEqualsIgnoreCase', 'b', ['a', 'B'], [true, false]],
    ['StringLike', 'b*', ['a', 'bc'], [false, true]],
    ['StringNotLike', 'b*', ['a', 'bc'], [true, false]],
    ['NumericEquals', '2', ['1', '2.0', '3'], [false, true, false]],
    ['NumericNotEquals', '2', ['1', '2.0', '3'], [true, false, true]],
    ['NumericLessThan', '2', ['1', '2', '10'], [true, false, false]],
    ['NumericLessThanEquals', '2', ['1', '2', '10'], [true, true, false]],
    ['NumericGreaterThan', '2', ['1', '2', '10'], [false, false, true]],
    ['NumericGreaterThanEquals', '2', ['1', '2', '10'], [false, true, true]],
    ['Bool', 'True', ['true', 'false'], [true, false]],
    ['BinaryEquals', 'YQ==', ['YQ==', 'yq=='], [true, false]],
    ['IpAddress', '192.0.2.0/24', ['192.0.2.9', '192.0.3.9'], [true, false]],
    ['NotIpAddress', '192.0.2.0/24', ['192.0.2.9', '192.0.3.9'], [false, true]],
    ['ArnEquals', 'arn:aws:s3:::b*', ['arn:aws:s3:::bc', 'arn:aws:s3:::c'], [true, false]],
    ['ArnLike', 'arn:aws:s3:::b*', ['arn:aws:s3:::bc', 'arn:aws:s3:::c'], [true, false]],
    ['ArnNotEquals', 'arn:aws:s3:::b*', ['arn:aws:s3:::bc', 'arn:aws:s3:::c'], [false, true]],
    ['ArnNotLike', 'arn:aws:s3:::b*', ['arn:aws:s3:::bc', 'arn:aws:s3:::c'], [false, true]],
  ])('%s %s holds for %j: %j', (operator, expected, actuals, results) => {
    expect(holds(operator, expected, actuals)).toEqual(results);
  });
  const YEARS = ['2019-12-31T23:59:59Z', '2020-01-01T00:00:00Z', '2020-01-01T00:00:01Z'];
  it.each([
    ['DateEquals', [false, true, false]],
    ['DateNotEquals', [true, false, true]],
    ['DateLessThan', [true, false, false]],
    ['DateLessThanEquals', [true, true, false]],
    ['DateGreaterThan', [false, false, true]],
    ['DateGreaterThanEquals', [false, true, true]],
  ])('%s compares times in ISO 8601 or in seconds since 1970', (operator, results) => {
    expect(holds(operator, '2020-01-01T00:00:00Z', YEARS)).toEqual(results);
    expect(holds(operator, '1577836800', YEARS)).toEqual(results);
  });
  it('Null tests whether the key is absent', () => {
    expect([
      isMet({ Null: { 's3:prefix': 'true' } }, {}),
      isMet({ Null: { 's3:prefix': 'true' } }, { 's3:prefix': '' }),
    ]).toEqual([true, false]);
    expect([
      isMet({ Null: { 's3:prefix': 'FALSE' } }, {}),
      isMet({ Null: { 's3:prefix': 'FALSE' } }, { 's3:prefix': '' }),
    ]).toEqual([false, true]);
  });
  it('holds for a list if any value matches, or if none does when negated', () => {
    expect(holds('StringEquals', 'a', ['a'])).toEqual([true]);
    const values = { key: ['a', 'b'] };
    expect([isMet({ StringEquals: values }, { key: 'b' }), isMet({ StringEquals: values }, { key: 'c' })]).toEqual([
      true,
      false,
    ]);
    expect([isMet({ StringNotLike: values }, { key: 'b' }), isMet({ StringNotLike: values }, { key: 'c' })]).toEqual([
      false,
      true,
    ]);
  });
  it('fails on an absent key, unless it is negated or ends in IfExists', () => {
    expect(isMet({ StringEquals: { 's3:prefix': 'a' } }, {})).toBe(false);
    expect(isMet({ StringNotEquals: { 's3:prefix': 'a' } }, {})).toBe(true);
    expect(isMet({ StringEqualsIfExists: { 's3:prefix': 'a' } }, {})).toBe(true);
    expect(isMet({ StringEqualsIfExists: { 's3:prefix': 'a' } }, { 's3:prefix': 'b' })).toBe(false);
  });
  it('ForAllValues holds if every value of the request matches, or if there are none', () => {
    const block = { 'ForAllValues:StringEquals': { 's3:prefix': ['a', 'b'] } };
    expect(isMet(block, { 's3:prefix': ['a', 'b'] })).toBe(true);
    expect(isMet(block, { 's3:prefix': ['a', 'c'] })).toBe(false);
    expect(isMet(block, { 's3:prefix': [] })).toBe(true);
    expect(isMet(block, {})).toBe(true);
  });
  it('ForAnyValue holds if one value of the request matches, and fails if there are none', () => {
    const block = { 'ForAnyValue:StringEquals': { 's3:prefix': ['a', 'b'] } };
    expect(isMet(block, { 's3:prefix': ['c', 'a'] })).toBe(true);
    expect(isMet(block, { 's3:prefix': ['c'] })).toBe(false);
    expect(isMet(block, { 's3:prefix': [] })).toBe(false);
    expect(isMet({ 'ForAnyValue:StringNotEquals': { 's3:prefix': 'a' } }, {})).toBe(false);
  });
});

describe('a condition that cannot be decided', () => {
  const inBoth = (block: unknown, context: ConditionContext) => [
    isMet(block, context, 'Allow'),
    isMet(block, context, 'Deny'),
  ];
  const NUMERIC = ['Equals', 'NotEquals', 'LessThan', 'LessThanEquals', 'GreaterThan', 'GreaterThanEquals'];
  it.each(NUMERIC)(
    'Numeric%s with a value that is not a number never meets an Allow and always meets a Deny',
    (name) => {
      for (const value of ['', ' ', '\t', 'ten', '0x5', 'NaN', 'Infinity', '1e1', '5 ']) {
        for (const operator of [`Numeric${name}`, `Numeric${name}IfExists`, `ForAllValues:Numeric${name}`]) {
          expect([value, ...inBoth({ [operator]: { 's3:max-keys': '10' } }, { 's3:max-keys': value })]).toEqual([
            value,
            false,
            true,
          ]);
        }
      }
    },
  );
  it.each(['DateNotEquals', 'DateLessThan'])('the same is so for %s with a value that is not a date', (operator) => {
    const block = { [operator]: { 'aws:CurrentTime': '2020-01-01T00:00:00Z' } };
    expect(inBoth(block, { 'aws:currenttime': '' })).toEqual([false, true]);
  });
  it('the same holds for an address that does not parse', () => {
    const block = { NotIpAddress: { 'aws:SourceIp': '192.0.2.0/24' } };
    expect(inBoth(block, { 'aws:sourceip': 'unknown' })).toEqual([false, true]);
  });
  it.each(['aws:RequestedRegion', 's3:logtype', 'aws:RequestTag/team', 'example:unknown', 's3:prefixes'])(
    'the same is so for %s, which this service does not read',
    (key) => {
      for (const operator of ['StringEquals', 'StringNotEquals', 'StringEqualsIfExists', 'ForAllValues:StringLike']) {
        expect(inBoth({ [operator]: { [key]: 'a' } }, {})).toEqual([false, true]);
      }
      expect(inBoth({ Null: { [key]: 'true' } }, {})).toEqual([false, true]);
      expect(inBoth({ Null: { [key]: 'false' } }, {})).toEqual([false, true]);
    },
  );
  it.each(['aws:PrincipalOrgID', 'aws:SourceVpce', 'aws:PrincipalTag/team', 's3:RequestObjectTag/team'])(
    'does not exist for %s: without it, its absence is a fact',
    (key) => {
      expect(inBoth({ StringEquals: { [key]: 'a' } }, {})).toEqual([false, false]);
      expect(inBoth({ StringNotEquals: { [key]: 'a' } }, {})).toEqual([true, true]);
    },
  );
  it('is rejected if the policy itself has a value that is not a number or a date', () => {
    expect(errorOf({ NumericLessThan: { 's3:max-keys': ['1', ''] } })).toBe(
      'Invalid value in Conditions: s3:max-keys cannot be ""',
    );
    expect(errorOf({ DateLessThan: { 'aws:CurrentTime': 'soon' } })).toBe(
      'Invalid value in Conditions: aws:CurrentTime cannot be "soon"',
    );
    expect(errorOf({ NumericEqualsIfExists: { 's3:max-keys': [1, '-2.5'] } })).toBeNull();
  });
});

describe('a policy variable', () => {
  const context = { 'aws:username': 'ann', 'aws:tags': ['x'], wild: 'a*', mark: 'a?' };
  it.each([
    [`home/\${aws:UserName}/\${aws:username}`, 'home/ann/ann'],
    ['no variable', 'no variable'],
    [`\${unknown}`, '\uffff'],
    [`\${wild}\${mark}`, '\uffff\uffff'],
    // A variable must have one value. A key with a list of values is not allowed in a pattern, so it becomes \uffff, which matches
    // nothing.
    [`\${aws:tags}`, '\uffff'],
  ])('is replaced: %s becomes %j', (pattern, expected) => {
    expect(substituteVariables(pattern, context)).toBe(expected);
  });
  it(`\${*}, \${?} and \${$} match the literal characters`, () => {
    expect(holds('StringEquals', `\${*}\${?}\${$}`, ['*?$', 'abc'])).toEqual([true, false]);
  });
  it.each(['StringLike', 'ArnLike', 'ArnEquals'])(`\${*} and \${?} are not wildcards in %s`, (operator) => {
    expect(holds(operator, `a\${*}/*`, ['a*/b', 'ax/b'])).toEqual([true, false]);
    expect(holds(operator, `a\${?}/?`, ['a?/b', 'ax/b'])).toEqual([true, false]);
  });
  it('reads no member that every object inherits', () => {
    for (const key of ['constructor', 'toString', '__proto__']) {
      expect(isMet({ StringEquals: { [key]: 'a' } }, {})).toBe(false);
      expect(isMet({ Null: { [key]: 'true' } }, {}, 'Deny')).toBe(true);
    }
    expect(isMet({ StringEquals: { constructor: 'a' } }, { constructor: 'a' })).toBe(true);
  });
});

describe('a wildcard pattern', () => {
  it.each([
    // Characters before the first star must match exactly.
    ['b', 'ab', false],
    ['xa', 'aa', false],
    ['xxb', 'aab', false],
    // A star in the text (not in the pattern) is an ordinary character.
    ['*', '*b', true],
    ['a*b', 'a*xb', true],
    ['a?', 'a', false],
    ['a**', 'a', true],
    ['*a*a', 'aba', true],
    ['*ab', 'aab', true],
    ['', '', true],
    ['', 'a', false],
  ])('%j matches %j: %s', (pattern, text, expected) => {
    expect(matchWildcard(pattern, text)).toBe(expected);
  });
});
