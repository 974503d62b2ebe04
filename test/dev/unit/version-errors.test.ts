import { describe, expect, it } from 'vitest';
import { judgeVersions } from '../../../dev/deploy/version-errors.ts';

const VERSIONS = { before: 'a', after: 'b' };

describe('the judgement of a new version by its failed requests', () => {
  it.each([
    ['no requests', {}, true],
    ['none failed', { a: { requests: 900, failed: 0 }, b: { requests: 100, failed: 0 } }, true],
    ['too few failed to say anything', { a: { requests: 900, failed: 0 }, b: { requests: 10, failed: 4 } }, true],
    ['as many as before', { a: { requests: 900, failed: 90 }, b: { requests: 100, failed: 10 } }, true],
    ['at most 1 % more', { a: { requests: 9000, failed: 0 }, b: { requests: 1000, failed: 10 } }, true],
    ['more than 1 % more', { a: { requests: 9000, failed: 0 }, b: { requests: 1000, failed: 11 } }, false],
    ['all, before a request reached the old one', { b: { requests: 5, failed: 5 } }, false],
  ])('%s', (_, counts, isGood) => {
    expect(judgeVersions(counts, VERSIONS) === null).toBe(isGood);
  });
});
