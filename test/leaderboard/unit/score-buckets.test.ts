import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BITS_MAX,
  bucketOf,
  firstAbove,
  foldBuckets,
  foldScores,
  inOrder,
  toScoreBuckets,
} from '../../../durable-objects/leaderboard/domain/score-buckets.ts';
import { OtherCounts } from '../../../durable-objects/leaderboard/domain/shard-counts.ts';

const scores = fc.maxSafeNat();
const bits = fc.integer({ min: 1, max: BITS_MAX });

describe('score buckets', () => {
  it('find the first bucket above a score', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9), { maxLength: 9 }), fc.nat(10), (values, score) => {
        const column = values.sort((a, b) => a - b);
        const found = column.findIndex((value) => value > score);
        expect(firstAbove(column, score)).toBe(found < 0 ? column.length : found);
      }),
    );
  });
  it('contain the scores with the same first bits', () => {
    expect([0, 7, 8, 9, 15, 16, 19, 20, 2 ** 53 - 1].map((score) => bucketOf(score, 3))).toEqual([
      [0, 0],
      [7, 7],
      [8, 9],
      [8, 9],
      [14, 15],
      [16, 19],
      [16, 19],
      [20, 23],
      [2 ** 53 - 2 ** 50, 2 ** 53 - 1],
    ]);
  });
  it('contain their score, do not overlap, and are inside those with fewer bits', () => {
    fc.assert(
      fc.property(scores, bits, (score, most) => {
        const [low, high] = bucketOf(score, most);
        expect(low <= score && score <= high).toBe(true);
        expect([bucketOf(low, most), bucketOf(high, most)]).toEqual([
          [low, high],
          [low, high],
        ]);
        const [outerLow, outerHigh] = bucketOf(score, Math.max(1, most - 1));
        expect(outerLow <= low && high <= outerHigh).toBe(true);
        expect(bucketOf(score, BITS_MAX)).toEqual([score, score]);
      }),
    );
  });
  it('keep the sum of the players they are folded from', () => {
    const rows: [number, number][] = [20, 19, 16, 9, 8, 7].map((score, i) => [score, i + 1]);
    const folded = toScoreBuckets([
      [20, 1],
      [16, 5],
      [8, 9],
      [7, 6],
    ]);
    expect(foldBuckets(toScoreBuckets(rows), 3)).toEqual(folded);
    expect(foldScores(rows, 3, 9)).toEqual({ bits: 3, buckets: folded });
    expect(foldScores(rows, BITS_MAX, 5)).toEqual({ bits: 3, buckets: folded });
    expect(foldScores(rows, BITS_MAX, 6)).toEqual({ bits: BITS_MAX, buckets: toScoreBuckets(rows) });
  });
  it('are put in order, as objects of 0.2.0 send them in any', () => {
    const buckets = { lows: Float64Array.of(5, 1, 3), counts: Float64Array.of(50, 10, 30) };
    const sorted = { lows: Float64Array.of(1, 3, 5), counts: Float64Array.of(10, 30, 50) };
    expect(inOrder(buckets)).toEqual(sorted);
    expect(inOrder(sorted)).toBe(sorted);
  });
});

describe('the counts of the other shards', () => {
  it('agree with a plain list after any changes', () => {
    const change = fc.tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 3 }));
    fc.assert(
      fc.property(fc.array(fc.array(change, { maxLength: 6 }), { maxLength: 8 }), (answers) => {
        const others = new OtherCounts();
        const model = new Map<number, number>();
        for (const [i, rows] of answers.entries()) {
          if (i % 3 === 0) model.clear();
          for (const [score, count] of rows) model.set(score, count);
          const isFull = i % 3 === 0;
          others.apply({ isFull, bits: BITS_MAX, buckets: toScoreBuckets([...new Map(rows)]) });
          for (const score of [-1, 0, 7, 30, 60]) {
            const above = [...model].reduce((sum, [each, count]) => (each > score ? sum + count : sum), 0);
            expect(others.countAbove(score)).toEqual({ above, unsure: 0 });
          }
          expect(others.players).toBe(others.countAbove(-1).above);
        }
      }),
    );
  });
  it('say how many players share a bucket of several scores', () => {
    const others = new OtherCounts();
    others.apply({
      isFull: true,
      bits: 3,
      buckets: toScoreBuckets([
        [7, 1],
        [8, 4],
        [20, 2],
      ]),
    });
    expect([7, 8, 9, 10, 20, 23].map((score) => others.countAbove(score))).toEqual([
      { above: 6, unsure: 0 },
      { above: 2, unsure: 4 },
      { above: 2, unsure: 0 },
      { above: 2, unsure: 0 },
      { above: 0, unsure: 2 },
      { above: 0, unsure: 0 },
    ]);
  });
});
