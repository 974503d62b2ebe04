import { describe, expect, it } from 'vitest';
import {
  findExceededBound,
  fitsJson,
  measureJson,
  OverBudgetError,
  RequestBudget,
} from '../../../workers/shared/pure/request-budget.ts';

const VALUES: unknown[] = [
  null,
  true,
  false,
  0,
  -1.5e-7,
  1e21,
  Number.NaN,
  '',
  'plain',
  '"\\/',
  '\u0000\u0007\b\t\n\u000b\f\r\u001f\u007f',
  'äß€😀',
  '\ud83d',
  '\ude00\ud83d',
  '\ud83dx',
  [],
  {},
  [1, [2, []], {}],
  { a: undefined, b: [undefined], 'ü"': { c: null } },
];

describe('the bytes of a value', () => {
  it('are those that JSON.stringify writes', () => {
    for (const value of [...VALUES, VALUES]) {
      const bytes = Buffer.byteLength(JSON.stringify(value));
      expect([value, measureJson(value, 1_000)]).toEqual([value, bytes]);
      expect(measureJson(value, bytes)).toBe(bytes);
      expect(measureJson(value, bytes - 1)).toBeNull();
      expect([bytes - 1, bytes, 1_000].map((max) => fitsJson(value, max))).toEqual([false, true, true]);
    }
  });

  it('count again each time a value occurs, and counting stops at the limit', () => {
    // Written, this value would have 4^60 bytes.
    let value: unknown = 'aaaaaaaaaa';
    for (let level = 0; level < 60; level += 1) value = [value, value, value, value];
    expect(measureJson(value, 1_000_000)).toBeNull();
    expect(measureJson({ x: 'a'.repeat(1_000), y: Array.from({ length: 1_000 }, () => 1) }, 100)).toBeNull();
  });

  it('are too many if the value nests too deeply to be written', () => {
    let value: unknown = 1;
    for (let level = 0; level < 200; level += 1) value = [value];
    expect(measureJson(value, 1_000)).toBe(401);
    for (let level = 0; level < 200_000; level += 1) value = { a: value };
    expect(measureJson(value, 10_000_000)).toBeNull();
    expect(fitsJson(value, 10_000_000)).toBe(false);
  });
});

describe('a budget', () => {
  it('is spent to the last byte, and used up by an attempt beyond it', () => {
    const budget = new RequestBudget(10);
    budget.spendJson('abcd');
    expect(budget.leftBytes).toBe(4);
    const parts = budget.copy();
    parts.spend(4);
    expect([parts.leftBytes, budget.leftBytes]).toEqual([0, 4]);
    expect(() => budget.spendJson('abc')).toThrow(OverBudgetError);
    expect(budget.leftBytes).toBe(0);
    expect(() => budget.spend(1)).toThrow(OverBudgetError);
    budget.spend(0);
  });
});

describe('the text of JSON', () => {
  const find = (text: string) => findExceededBound(Buffer.from(text), { depthMax: 3, valuesMax: 8 });

  it('has a depth', () => {
    expect(find('[[[]],{"a":[]}]')).toBeNull();
    expect(find('[[[[]]]]')).toBe('depthMax');
    expect(find('{"a":{"a":{"a":[1]}}}')).toBe('depthMax');
    expect(find('["[[[[", "\\"[[[[", "\\\\"]')).toBeNull();
    expect(find('"[[[[')).toBeNull();
  });

  it('has values', () => {
    expect(find('[1,1,1,1,1,1,1]')).toBeNull();
    expect(find('[1,1,1,1,1,1,1,1]')).toBe('valuesMax');
    expect(find('[{},{},{},{},{}]')).toBe('valuesMax');
    expect(find('[",,,,,,,,,,"]')).toBeNull();
  });
});
