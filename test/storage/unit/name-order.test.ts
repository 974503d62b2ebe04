import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  commonPrefixOf,
  compareNames,
  nameAfter,
  nameAfterPrefix,
} from '../../../workers/storage/domain/name-order.ts';

const name = fc.string({ unit: 'grapheme', maxLength: 8 });
const byBytes = (a: string, b: string) => Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b)));

test('names compare in the order of their UTF-8 bytes', () => {
  fc.assert(fc.property(name, name, (a, b) => Math.sign(compareNames(a, b)) === byBytes(a, b)));
  expect(Math.sign(compareNames('\uffff', '\u{1f600}'))).toBe(-1);
});

test('no name is between a name and its successor', () => {
  fc.assert(fc.property(name, name, (a, b) => byBytes(b, a) <= 0 || byBytes(b, nameAfter(a)) >= 0));
});

test('the successor of a prefix is above every name with the prefix, and below all later names', () => {
  fc.assert(
    fc.property(name, name, name, (prefix, rest, other) => {
      const after = nameAfterPrefix(prefix);
      if (after === null) return prefix === '' || /^\u{10ffff}+$/u.test(prefix);
      if (byBytes(prefix + rest, after) >= 0) return false;
      return byBytes(other, prefix) < 0 || other.startsWith(prefix) || byBytes(other, after) >= 0;
    }),
  );
  expect(nameAfterPrefix('a\u{10ffff}')).toBe('b');
  expect(nameAfterPrefix('\ud7ff')).toBe('\ue000');
});

test('a common prefix ends with the first delimiter after the prefix', () => {
  expect(commonPrefixOf('a/b/c', 'a/', '/')).toBe('a/b/');
  expect(commonPrefixOf('a/b', 'a/', '/')).toBeNull();
  expect(commonPrefixOf('a--b--c', '', '--')).toBe('a--');
  expect(commonPrefixOf('a/b', '', '')).toBeNull();
});
