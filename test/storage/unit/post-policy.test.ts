import { describe, expect, it } from 'vitest';
import { checkPostPolicy, parsePostPolicy } from '../../../workers/storage/domain/post-policy.ts';

const EXPIRATION = '2026-01-01T00:00:00Z';
const NOW = Date.parse(EXPIRATION) - 1;
const encode = (document: unknown) => Buffer.from(JSON.stringify(document)).toString('base64');
const messageOf = (document: unknown) => {
  const parsed = parsePostPolicy(encode(document));
  return parsed.ok ? null : parsed.error.message;
};
const withConditions = (...conditions: unknown[]) => ({ expiration: EXPIRATION, conditions });
const check = (conditions: unknown[], fields: Record<string, string>, now = NOW) => {
  const parsed = parsePostPolicy(encode(withConditions(...conditions)));
  if (!parsed.ok) throw new Error(parsed.error.message);
  const checked = checkPostPolicy(parsed.value, new Map(Object.entries(fields)), now);
  return checked.ok ? checked.value : checked.error.message;
};
const ANY_SIZE = { minBytes: 0, maxBytes: Number.POSITIVE_INFINITY };

describe('a POST policy document', () => {
  it.each([[5], ['text'], [null], [[]], [true]])('is rejected if it is %j', (document) => {
    expect(messageOf(document)).toBe('Invalid Policy: Invalid JSON.');
  });
  it('must be JSON', () => {
    const parsed = parsePostPolicy(Buffer.from('{').toString('base64'));
    expect(parsed).toMatchObject({ ok: false, error: { message: 'Invalid Policy: Invalid JSON.' } });
  });
  it.each([
    [{ conditions: [] }, 'Policy missing expiration.'],
    [{ expiration: 1, conditions: [] }, 'Policy missing expiration.'],
    [{ expiration: 'soon', conditions: [] }, "Invalid 'expiration' value: 'soon'"],
    [{ expiration: '2026-01-01', conditions: [] }, "Invalid 'expiration' value: '2026-01-01'"],
    [{ expiration: EXPIRATION }, 'Policy missing conditions.'],
    [{ expiration: EXPIRATION, conditions: {} }, 'Invalid conditions.'],
    [{ expiration: EXPIRATION, conditions: null }, 'Invalid conditions.'],
  ])('is invalid as %j: %s', (document, message) => {
    expect(messageOf(document)).toBe(`Invalid Policy: ${message}`);
  });
  it('contains conditions of four forms, with field names in lower case', () => {
    const document = withConditions(
      { Bucket: 'b' },
      ['EQ', '$Key', 'k'],
      ['starts-with', '$Key', ''],
      ['content-length-range', 0, '10'],
    );
    expect(parsePostPolicy(encode(document))).toEqual({
      ok: true,
      value: {
        expirationMs: Date.parse(EXPIRATION),
        conditions: [
          { kind: 'eq', field: 'bucket', value: 'b' },
          { kind: 'eq', field: 'key', value: 'k' },
          { kind: 'starts-with', field: 'key', value: '' },
          { kind: 'content-length-range', minBytes: 0, maxBytes: 10 },
        ],
      },
    });
  });
  it.each([[5], ['text'], [null], [[]], [['eq', '$key']], [['eq', '$key', 'a', 'b']], [[1, '$key', 'a']]])(
    'rejects the condition %j',
    (condition) => {
      expect(messageOf(withConditions(condition))).toBe('Invalid Policy: Invalid Condition.');
    },
  );
  it.each([[['eq', 'key', 'a']], [['eq', 5, 'a']], [['eq', '$key', 5]], [['starts-with', '$key', null]]])(
    'rejects the comparison %j',
    (condition) => {
      expect(messageOf(withConditions(condition))).toBe('Invalid Policy: Invalid Condition.');
    },
  );
  it('rejects other operations', () => {
    const message = "Invalid Policy: Invalid Condition: unknown operation 'ends-with'.";
    expect(messageOf(withConditions(['ends-with', '$key', 'a']))).toBe(message);
  });
  it.each([[{}], [{ a: '1', b: '2' }]])('needs one property in a simple condition, unlike %j', (condition) => {
    const message = 'Invalid Simple-Condition: Simple-Conditions must have exactly one property specified.';
    expect(messageOf(withConditions(condition))).toBe(`Invalid Policy: ${message}`);
  });
  it('needs a string in a simple condition', () => {
    const message = 'Invalid Policy: Invalid Simple-Condition: value must be a string.';
    expect(messageOf(withConditions({ key: 5 }))).toBe(message);
  });
  it.each([[-1], ['-1'], [1.5], ['1e3'], [''], ['x'], [null], [[5]], [true], [2 ** 53]])(
    'rejects the length limit %j',
    (size) => {
      const message = 'Invalid Policy: Invalid content-length-range.';
      expect(messageOf(withConditions(['content-length-range', size, 10]))).toBe(message);
      expect(messageOf(withConditions(['content-length-range', 0, size]))).toBe(message);
    },
  );
});

describe('a POST form', () => {
  it('is accepted until the policy expires', () => {
    expect(check([], {})).toEqual(ANY_SIZE);
    expect(check([], {}, NOW + 1)).toBe('Invalid according to Policy: Policy expired.');
  });
  it('needs each field that a condition names', () => {
    const failed = (text: string) => `Invalid according to Policy: Policy Condition failed: ${text}`;
    expect(check([{ key: 'ab' }], { key: 'ab' })).toEqual(ANY_SIZE);
    expect(check([{ key: 'a' }], { key: 'ab' })).toBe(failed('["eq","$key","a"]'));
    expect(check([['starts-with', '$key', 'a']], { key: 'ab' })).toEqual(ANY_SIZE);
    expect(check([['starts-with', '$key', 'b']], { key: 'ab' })).toBe(failed('["starts-with","$key","b"]'));
    // An empty prefix must admit every value, even if the field was not sent. An exact empty value must not.
    expect(check([['starts-with', '$key', '']], {})).toEqual(ANY_SIZE);
    expect(check([['starts-with', '$key', 'a']], {})).toBe(failed('["starts-with","$key","a"]'));
    expect(check([{ key: 'a' }], {})).toBe(failed('["eq","$key","a"]'));
    expect(check([{ key: '' }], {})).toBe(failed('["eq","$key",""]'));
  });
  it('may have a list as its Content-Type, and each item must have the prefix', () => {
    const conditions = [['starts-with', '$Content-Type', 'image/']];
    expect(check(conditions, { 'content-type': 'image/png,image/gif' })).toEqual(ANY_SIZE);
    expect(check(conditions, { 'content-type': 'image/png,text/html' })).toContain('Policy Condition failed');
    // The value of any other field is one text, including its commas.
    expect(check([['starts-with', '$key', 'a']], { key: 'a,b' })).toEqual(ANY_SIZE);
  });
  it('is refused with a field that no condition names', () => {
    expect(check([], { 'x-amz-acl': 'public-read' })).toBe(
      'Invalid according to Policy: Extra input fields: x-amz-acl',
    );
  });
  it.each(['policy', 'x-amz-signature', 'x-amz-date', 'x-ignore-this', 'x-amz-checksum-crc32'])(
    'may have the field %s without a condition',
    (name) => {
      expect(check([], { [name]: 'x' })).toEqual(ANY_SIZE);
    },
  );
  it('must satisfy every length range', () => {
    const ranges = [
      ['content-length-range', 1, 100],
      ['content-length-range', 5, 50],
      ['content-length-range', 2, 70],
    ];
    expect(check(ranges, {})).toEqual({ minBytes: 5, maxBytes: 50 });
  });
});
