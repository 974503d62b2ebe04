import fc from 'fast-check';
import { v1 } from 'uuid';
import { describe, expect, it } from 'vitest';
import {
  formatTimeuuid,
  fromSortableHex,
  parseTimeuuid,
  toEpochMs,
  toEpochMsFromHalves,
  toSortableHex,
  toTicks,
} from '../../../workers/shared/pure/timeuuid.ts';

const ticks = fc.bigInt({ min: 0n, max: (1n << 60n) - 1n });
const random = fc.uint8Array({ minLength: 8, maxLength: 8 });

describe('a TIMEUUID', () => {
  it('keeps its 60-bit time, for any random bytes', () => {
    fc.assert(
      fc.property(ticks, random, (time, bytes) => {
        expect(parseTimeuuid(formatTimeuuid(time, bytes))).toBe(time);
      }),
    );
  });

  it('sorts by time in its sortable form, and converts back', () => {
    fc.assert(
      fc.property(ticks, ticks, random, (a, b, bytes) => {
        const [left, right] = [formatTimeuuid(a, bytes), formatTimeuuid(b, bytes)];
        expect(fromSortableHex(toSortableHex(left))).toBe(left);
        expect(toSortableHex(left) < toSortableHex(right)).toBe(a < b);
      }),
    );
  });

  it('has the same milliseconds from two halves of its time, since 1970', () => {
    const since1970 = fc.bigInt({ min: toTicks(0), max: (1n << 60n) - 1n });
    fc.assert(
      fc.property(since1970, (time) => {
        expect(toEpochMsFromHalves(Number(time >> 28n), Number(time & 0xfffffffn))).toBe(toEpochMs(time));
      }),
      { numRuns: 1_000 },
    );
  });

  it('has the same time in another implementation', () => {
    const msecs = Date.UTC(2026, 10, 21, 1, 2, 3, 456);
    const theirs = v1({ msecs, nsecs: 0 });
    expect(parseTimeuuid(theirs)).toBe(toTicks(msecs));
    expect(toEpochMs(toTicks(msecs))).toBe(msecs);
  });

  it('is not read from a UUID of another version', () => {
    expect(parseTimeuuid('0b8d7f4e-3f57-4a52-9d0e-6c1b9d1f2a33')).toBeNull();
  });
});
