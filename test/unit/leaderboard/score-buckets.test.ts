import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OtherCounts } from '../../../workers/leaderboard/domain/other-counts.ts';
import {
  BucketLayout,
  decideJoins,
  firstAbove,
  toScoreBuckets,
} from '../../../workers/leaderboard/domain/score-buckets.ts';

const buckets = (...rows: [low: number, high: number, count: number][]) => toScoreBuckets(rows);

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
  it('contain one score each, except in the mixed intervals', () => {
    const layout = new BucketLayout(Float64Array.of(5, 20), Float64Array.of(9, 30));
    expect([4, 5, 7, 9, 10, 19, 20, 30, 31].map((score) => layout.find(score))).toEqual([
      [4, 4],
      [5, 9],
      [5, 9],
      [5, 9],
      [10, 10],
      [19, 19],
      [20, 30],
      [20, 30],
      [31, 31],
    ]);
  });
  it('become coarser: intervals that overlap are merged, others stay separate', () => {
    const layout = new BucketLayout(Float64Array.of(5, 20), Float64Array.of(9, 30));
    const coarse = layout.coarsen([
      [9, 12],
      [40, 50],
      [41, 42],
      [0, 1],
    ]);
    expect([...coarse.lows]).toEqual([0, 5, 20, 40]);
    expect([...coarse.highs]).toEqual([1, 12, 30, 50]);
    expect([...layout.lows]).toEqual([5, 20]);
  });
  it('are joined until the target is met, and large buckets stay alone', () => {
    const all = buckets([1, 1, 1], [2, 2, 1], [3, 3, 100], [4, 4, 1], [5, 8, 1]);
    expect(decideJoins(all, 5)).toEqual([]);
    expect(decideJoins(all, 3)).toEqual([
      [1, 2],
      [4, 8],
    ]);
    expect(decideJoins(all, 1)).toEqual([[1, 8]]);
    const rows = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(rows, fc.integer({ min: 1, max: 30 }), (counts, target) => {
        const joins = decideJoins(
          buckets(...counts.map((count, i): [number, number, number] => [i, i, count])),
          target,
        );
        const left = counts.length - joins.reduce((sum, [low, high]) => sum + high - low, 0);
        expect(left).toBeLessThanOrEqual(target);
        for (const [i, [low, high]] of joins.entries()) {
          expect(high).toBeGreaterThan(low);
          expect(low).toBeGreaterThan(joins[i - 1]?.[1] ?? -1);
        }
        // A smaller limit of players per joined bucket would leave too many buckets.
        const weights = joins.map(([low, high]) => counts.slice(low, high + 1).reduce((sum, count) => sum + count, 0));
        const limit = Math.max(0, ...weights) - 1;
        let [groups, weight] = [0, Number.POSITIVE_INFINITY];
        for (const count of counts) {
          if (weight + count > limit) [groups, weight] = [groups + 1, count];
          else weight += count;
        }
        if (joins.length > 0) expect(groups).toBeGreaterThan(target);
      }),
    );
  });
});

describe('the counts of other shards', () => {
  const layout = new BucketLayout(Float64Array.of(10), Float64Array.of(19));
  const others = () => {
    const counts = new OtherCounts();
    counts.replace(buckets([5, 5, 1], [10, 19, 4], [30, 30, 2]), layout);
    return counts;
  };
  it('count the players above a score, exactly unless the score is inside a mixed bucket', () => {
    const counts = others();
    const above = (score: number) => {
      const { above, unsure } = counts.countAbove(score);
      return [above, unsure];
    };
    expect([counts.players, counts.layout]).toEqual([7, layout]);
    expect([4, 5, 9, 10, 18, 19, 20, 30, 31].map(above)).toEqual([
      [7, 0],
      [6, 0],
      [6, 0],
      [2, 4],
      [2, 4],
      [2, 0],
      [2, 0],
      [0, 0],
      [0, 0],
    ]);
    const noPlayers = new OtherCounts();
    expect([noPlayers.players, noPlayers.countAbove(0)]).toEqual([0, { above: 0, unsure: 0 }]);
  });
  it('apply changes to new, existing and empty buckets', () => {
    const counts = others();
    counts.apply(buckets([1, 1, 3], [5, 5, 0], [10, 19, 9], [25, 25, 1], [40, 40, 0]));
    expect(counts.players).toBe(3 + 9 + 1 + 2);
    expect([0, 1, 9, 10, 19, 24, 25, 29, 30].map((score) => counts.countAbove(score))).toEqual([
      { above: 15, unsure: 0 },
      { above: 12, unsure: 0 },
      { above: 12, unsure: 0 },
      { above: 3, unsure: 9 },
      { above: 3, unsure: 0 },
      { above: 3, unsure: 0 },
      { above: 2, unsure: 0 },
      { above: 2, unsure: 0 },
      { above: 0, unsure: 0 },
    ]);
    counts.apply(buckets([1, 1, 0], [50, 50, 1]));
    expect([counts.players, counts.countAbove(0).above, counts.countAbove(49).above]).toEqual([13, 13, 1]);
  });
});
