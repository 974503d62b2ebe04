import { describe, expect, it } from 'vitest';
import { toCsvCell } from '../../../workers/leaderboard/domain/csv-cell.ts';

describe('a text cell of the CSV export', () => {
  it.each([
    ['Ada', '"Ada"'],
    ['', '""'],
    ['a "b", c', '"a ""b"", c"'],
    ['=1+1', `"'=1+1"`],
    ['+1', `"'+1"`],
    ['-1', `"'-1"`],
    ['@A1', `"'@A1"`],
    ['\t=1', `"'\t=1"`],
    ['\r=1', `"'\r=1"`],
    ['＠A1', `"'＠A1"`],
    ["'=1", `"''=1"`],
    [' =1', '" =1"'],
    ['1-1', '"1-1"'],
  ])('%j becomes %s', (text, expected) => {
    expect(toCsvCell(text)).toBe(expected);
  });

  it('returns the text when one leading apostrophe is removed', () => {
    for (const text of ['=1', "'", "''", "'=1", 'a', '-', "a'"]) {
      const inner = toCsvCell(text).slice(1, -1).replaceAll('""', '"');
      expect(inner.replace(/^'/, '')).toBe(text);
    }
  });
});
