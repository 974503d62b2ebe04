/**
 * The merged counts of a final season as rows of at most 1,024 buckets. One row tells how many players are above a score, so a rank of the
 * past loads neither an index nor the counts of the shards.
 */
import type { CountAbove } from '../protocol.ts';
import { bucketOf, firstAbove, type ScoreBuckets } from './score-buckets.ts';

const BUCKETS_PER_ROW = 1_024;

export interface PastCounts extends ScoreBuckets {
  /** Number of players in the buckets above this row. */
  readonly above: number;
}

/** Divides buckets into rows, from the lowest on. @param players number of players in all buckets */
export function toPastCounts({ lows, counts }: ScoreBuckets, players: number): PastCounts[] {
  const rows: PastCounts[] = [];
  let above = players;
  for (let at = 0; at < lows.length; at += BUCKETS_PER_ROW) {
    const row = { lows: lows.slice(at, at + BUCKETS_PER_ROW), counts: counts.slice(at, at + BUCKETS_PER_ROW) };
    above -= row.counts.reduce((sum, count) => sum + count, 0);
    rows.push({ ...row, above });
  }
  return rows;
}

/**
 * Counts the players above a score.
 * @param row the last row that begins at or below the score; undefined if there is none
 * @param total players of the season, and the bits that define its buckets
 */
export function countAbovePast(
  row: PastCounts | undefined,
  score: number,
  total: { readonly players: number; readonly bits: number },
): CountAbove {
  if (row === undefined) return { above: total.players, unsure: 0 };
  const [low, high] = bucketOf(score, total.bits);
  const next = firstAbove(row.lows, score);
  const above = row.counts.subarray(next).reduce((sum, count) => sum + count, row.above);
  const isIn = row.lows[next - 1] === low;
  return { above, unsure: score < high && isIn ? (row.counts[next - 1] as number) : 0 };
}
