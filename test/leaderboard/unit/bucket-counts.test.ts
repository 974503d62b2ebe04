import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BucketCounts } from '../../../durable-objects/leaderboard/domain/bucket-counts.ts';
import { foldBuckets, toScoreBuckets } from '../../../durable-objects/leaderboard/domain/score-buckets.ts';

const rowsOf = ({ lows, counts }: { lows: Float64Array; counts: Float64Array }) =>
  Array.from(lows, (low, i) => [low, counts[i]]);

describe('the counts of buckets', () => {
  it('agree with a plain map after any batches', () => {
    const row = fc.tuple(fc.nat(80), fc.nat(3));
    const batch = fc.record({ isFull: fc.boolean(), rows: fc.array(row, { maxLength: 60 }), isRead: fc.boolean() });
    fc.assert(
      fc.property(fc.array(batch, { maxLength: 12 }), (batches) => {
        const counts = new BucketCounts();
        const model = new Map<number, number>();
        for (const { isFull, rows, isRead } of batches) {
          const received = new Map(rows);
          if (isFull) model.clear();
          for (const [low, count] of received) model.set(low, count);
          const buckets = toScoreBuckets([...received]);
          const changes = counts.compare(buckets, isFull);
          counts.add(changes);
          expect(counts.compare(buckets, isFull).lows.length).toBe(0);
          expect([...changes.lows]).toEqual([...changes.lows].sort((a, b) => a - b));
          const used = [...model].filter(([, count]) => count > 0).sort(([a], [b]) => a - b);
          expect([counts.players, counts.size]).toEqual([used.reduce((sum, [, n]) => sum + n, 0), used.length]);
          if (!isRead) continue;
          for (let score = -1; score <= 81; score++) {
            const above = used.reduce((sum, [low, count]) => (low > score ? sum + count : sum), 0);
            expect([counts.countAbove(score), counts.countOf(score)]).toEqual([above, model.get(score) ?? 0]);
          }
          expect([counts.least, rowsOf(counts.toBuckets())]).toEqual([used[0]?.[0] ?? 0, used]);
          const folded = counts.fold(2);
          expect(rowsOf(folded.toBuckets())).toEqual(rowsOf(foldBuckets(toScoreBuckets(used), 2)));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('find the best bucket with enough players above it', () => {
    const counts = new BucketCounts();
    expect(counts.findBelow(0)).toEqual({ low: null, better: null });
    counts.add({ lows: Float64Array.of(10, 20, 30), deltas: Float64Array.of(1, 2, 3) });
    expect([0, 1, 3, 4, 5, 6, 7].map((above) => counts.findBelow(above))).toEqual([
      { low: 30, better: null },
      { low: 20, better: { low: 30, players: 3 } },
      { low: 20, better: { low: 30, players: 3 } },
      { low: 10, better: { low: 20, players: 5 } },
      { low: 10, better: { low: 20, players: 5 } },
      { low: null, better: { low: 10, players: 6 } },
      { low: null, better: { low: 10, players: 6 } },
    ]);
  });
});
