import { describe, expect, it } from 'vitest';
import { MergedCounts } from '../../../durable-objects/leaderboard/domain/merged-counts.ts';
import { OrderedIndex } from '../../../durable-objects/leaderboard/domain/ordered-index.ts';
import { BITS_MAX, toScoreBuckets } from '../../../durable-objects/leaderboard/domain/score-buckets.ts';
import {
  type CountAnswer,
  type CountReport,
  ShardCounts,
} from '../../../durable-objects/leaderboard/domain/shard-counts.ts';

const buckets = (...rows: [low: number, count: number][]) => toScoreBuckets(rows);
const indexOf = (...scores: number[]) => {
  const index = new OrderedIndex();
  for (const [slot, score] of scores.entries()) index.set(slot, score, slot);
  return index;
};
const rowsOf = (report: Pick<CountReport, 'buckets'>) => {
  const { lows, counts } = report.buckets ?? buckets();
  return Array.from(lows, (low, i) => [low, counts[i]]).sort(([a = 0], [b = 0]) => a - b);
};

describe('the report of a shard', () => {
  const answer = (more: Partial<CountAnswer> = {}): CountAnswer => ({
    generation: 's.0',
    version: 1,
    bits: BITS_MAX,
    isFull: true,
    buckets: null,
    asOf: 100,
    needsFull: false,
    ...more,
  });
  const createShard = (bucketsMax?: number) => new ShardCounts(3, 'boot', bucketsMax);
  const later = (more: Partial<CountAnswer> = {}) => answer({ isFull: false, version: 2, ...more });
  /** Makes a shard whose full report has been acknowledged. */
  const acknowledgedShard = (index: OrderedIndex) => {
    const shard = createShard();
    shard.acknowledge(shard.report(index, 1, () => []).number, answer());
    return shard;
  };

  it('is full at first, in ascending order, and has increasing numbers', () => {
    const shard = createShard();
    expect([shard.hasChanges, shard.othersAsOf]).toEqual([true, 0]);
    const report = shard.report(indexOf(7, 5, 7), 42, () => [{ userId: 'a', userName: 'a', score: 7, reached: 0 }]);
    expect(report).toMatchObject({ shard: 3, boot: 'boot', number: 1, generation: '', isFull: true, at: 42, since: 0 });
    expect(rowsOf(report)).toEqual([
      [5, 1],
      [7, 2],
    ]);
    expect(report.top?.map(({ userId }) => userId)).toEqual(['a']);
    expect(shard.report(indexOf(7), 43, () => []).number).toBe(2);
  });
  it('is empty after the full report was acknowledged', () => {
    const index = indexOf(7);
    const shard = acknowledgedShard(index);
    expect([shard.hasChanges, shard.othersAsOf]).toEqual([false, 100]);
    const next = shard.report(index, 2, () => []);
    expect(next).toMatchObject({ generation: 's.0', isFull: false, buckets: null, top: null, since: 1 });
  });
  it('contains the scores that a move left and reached, with their current players', () => {
    const index = indexOf(7, 5);
    const shard = acknowledgedShard(index);
    index.set(0, 9, 5);
    shard.noteMove(7, 9);
    expect(shard.hasChanges).toBe(true);
    expect(rowsOf(shard.report(index, 2, () => []))).toEqual([
      [7, 0],
      [9, 1],
    ]);
    shard.noteMove(null, 5);
    shard.noteMove(5, null);
    expect(rowsOf(shard.report(index, 3, () => []))).toEqual([
      [5, 1],
      [7, 0],
      [9, 1],
    ]);
  });
  it('repeats a change until a report that contained it is acknowledged', () => {
    const index = indexOf(7);
    const shard = acknowledgedShard(index);
    shard.noteMove(null, 7);
    const first = shard.report(index, 2, () => []);
    shard.noteMove(null, 8);
    shard.report(index, 3, () => []);
    shard.acknowledge(first.number, later());
    expect(rowsOf(shard.report(index, 4, () => []))).toEqual([[8, 0]]);
    shard.acknowledge(4, later());
    expect(shard.hasChanges).toBe(false);
  });
  it('contains the top list after a change, until it is acknowledged', () => {
    const index = indexOf(7);
    const shard = acknowledgedShard(index);
    shard.noteTop();
    expect(shard.hasChanges).toBe(true);
    const first = shard.report(index, 2, () => []);
    expect([first.top, first.buckets]).toEqual([[], null]);
    shard.noteTop();
    shard.acknowledge(first.number, later());
    expect(shard.hasChanges).toBe(true);
    shard.acknowledge(shard.report(index, 3, () => []).number, later());
    expect([shard.hasChanges, shard.report(index, 4, () => []).top]).toEqual([false, null]);
  });
  it('is full again after too many scores changed', () => {
    const index = indexOf(7);
    const shard = acknowledgedShard(index);
    for (let score = 1; score <= 16_384; score++) shard.noteMove(null, score);
    expect(shard.report(index, 2, () => []).isFull).toBe(false);
    shard.noteMove(null, 16_385);
    const full = shard.report(index, 3, () => []);
    expect([full.isFull, rowsOf(full)]).toEqual([true, [[7, 1]]]);
    // Only the answer to the full report completes it, not an answer to an older report.
    shard.acknowledge(full.number - 1, later());
    expect(shard.hasChanges).toBe(true);
    shard.acknowledge(full.number, later());
    expect(shard.hasChanges).toBe(false);
  });
  it('is full for a season of another generation, and when the season requests it', () => {
    const index = indexOf(7);
    const shard = acknowledgedShard(index);
    const asked = shard.report(index, 2, () => [], 'other');
    // The shard then exchanges on its own, or each request for a report would be answered with all counts.
    expect([asked.isFull, asked.top, shard.hasChanges]).toEqual([true, [], true]);
    shard.acknowledge(asked.number, later({ needsFull: true }));
    expect([shard.hasChanges, shard.report(index, 3, () => []).isFull]).toEqual([true, true]);
    shard.acknowledge(3, later());
    expect(shard.hasChanges).toBe(false);
  });
  it('ignores an answer that is older or has an unknown layout', () => {
    const index = indexOf(7);
    const shard = acknowledgedShard(index);
    shard.acknowledge(1, later({ version: 5, buckets: buckets([9, 4]), asOf: 500 }));
    shard.acknowledge(1, later({ version: 4, buckets: buckets([9, 1]), asOf: 400 }));
    shard.acknowledge(1, later({ generation: 's.1', version: 6, buckets: buckets([9, 2]), asOf: 600 }));
    expect([shard.others.players, shard.othersAsOf]).toEqual([4, 500]);
    shard.acknowledge(1, later({ version: 5, buckets: buckets([9, 3]), asOf: 510 }));
    expect([shard.others.players, shard.othersAsOf]).toEqual([3, 510]);
  });
  it('is full once more after a new layout, if reports with the old layout may be in flight', () => {
    const index = indexOf(7);
    const shard = acknowledgedShard(index);
    const old = shard.report(index, 2, () => []);
    const newest = shard.report(index, 3, () => []);
    shard.acknowledge(old.number, answer({ generation: 's.1', buckets: buckets([1, 1]) }));
    expect([shard.hasChanges, shard.others.players]).toEqual([true, 1]);
    shard.acknowledge(newest.number, later({ generation: 's.1' }));
    expect(shard.hasChanges).toBe(true);
    const full = shard.report(index, 4, () => []);
    expect(full.isFull).toBe(true);
    shard.acknowledge(full.number, answer({ generation: 's.2' }));
    expect(shard.hasChanges).toBe(false);
  });
  it('counts by the buckets of the season', () => {
    // With three significant bits, scores 8 to 15 share buckets in pairs and 16 to 31 in fours.
    const index = indexOf(10, 11, 30);
    const shard = createShard();
    const first = shard.report(index, 1, () => []);
    shard.acknowledge(first.number, answer({ bits: 3 }));
    shard.noteMove(null, 11);
    shard.noteMove(null, 10);
    shard.noteMove(null, 30);
    expect(rowsOf(shard.report(index, 2, () => []))).toEqual([
      [10, 2],
      [28, 1],
    ]);
  });
  it('has at most half of the buckets of a season', () => {
    const index = indexOf(8, 9, 10, 11, 12, 13, 14, 15);
    const full = createShard(16).report(index, 1, () => []);
    expect([rowsOf(full).length, full.bits]).toEqual([8, BITS_MAX]);
    const joined = createShard(14).report(index, 1, () => []);
    expect([rowsOf(joined), joined.bits]).toEqual([
      [
        [8, 2],
        [10, 2],
        [12, 2],
        [14, 2],
      ],
      3,
    ]);
  });
});

describe('the counts of a season', () => {
  const report = (more: Partial<CountReport>): CountReport => ({
    shard: 0,
    boot: 'b',
    number: 1,
    generation: '',
    isFull: true,
    bits: BITS_MAX,
    buckets: null,
    at: 10,
    top: null,
    since: 0,
    ...more,
  });
  it('are empty at first', () => {
    const season = new MergedCounts(2, 's');
    expect([season.generation, season.players, season.least, season.buckets, season.asOf]).toEqual(['s.0', 0, 0, 0, 0]);
    expect(new MergedCounts(2, 's', 77).asOf).toBe(77);
    expect([season.countedAt(0), season.countedAt(9), season.countAbove(0)]).toEqual([0, 0, { above: 0, unsure: 0 }]);
    expect(() => season.apply(report({ shard: 2 }))).toThrow('2');
  });
  it('sum the reports of the shards, and record the time of each', () => {
    const season = new MergedCounts(2, 's');
    expect(season.apply(report({ buckets: buckets([5, 2], [9, 1]) }))).toBe('applied');
    expect([season.asOf, season.countedAt(0), season.countedAt(1)]).toEqual([0, 10, 0]);
    season.apply(report({ shard: 1, at: 7, buckets: buckets([3, 4], [9, 1]) }));
    expect([season.players, season.least, season.buckets, season.asOf]).toEqual([8, 3, 3, 7]);
    expect([2, 3, 4, 5, 8, 9].map((score) => season.countAbove(score).above)).toEqual([8, 4, 4, 2, 2, 0]);
  });
  it('apply each report once, in order, and refuse changes without a base', () => {
    const season = new MergedCounts(1, 's');
    expect(season.apply(report({ isFull: false, generation: 's.0' }))).toBe('refused');
    expect(season.apply(report({ number: 5, buckets: buckets([5, 2]) }))).toBe('applied');
    expect(season.apply(report({ number: 5 }))).toBe('repeated');
    expect(season.apply(report({ number: 4 }))).toBe('repeated');
    const change = { isFull: false, generation: 's.0', number: 6, buckets: buckets([5, 0], [6, 2]) };
    expect(season.apply(report({ ...change, generation: 's.1' }))).toBe('refused');
    expect(season.apply(report({ ...change, boot: 'c' }))).toBe('refused');
    expect(season.apply(report(change))).toBe('applied');
    expect([season.players, season.least]).toEqual([2, 6]);
    // A full report after a restart must replace all counts of that shard.
    expect(season.apply(report({ boot: 'c', number: 1, buckets: buckets([8, 1]) }))).toBe('applied');
    expect([season.players, season.least]).toEqual([1, 8]);
  });
  it('return the changes of other shards since the version that the shard has', () => {
    const season = new MergedCounts(3, 's');
    season.apply(report({ buckets: buckets([5, 2]) }));
    season.apply(report({ shard: 1, at: 20, buckets: buckets([5, 1], [7, 1]) }));
    const first = season.answer(report({}), 'applied');
    expect(first).toMatchObject({ generation: 's.0', version: 2, asOf: 0, needsFull: false });
    expect([first.isFull, first.bits, rowsOf(first)]).toEqual([
      true,
      BITS_MAX,
      [
        [5, 1],
        [7, 1],
      ],
    ]);
    const known = { generation: 's.0', since: 2 };
    expect(season.answer(report(known), 'refused')).toMatchObject({ isFull: false, buckets: null, needsFull: true });
    season.apply(report({ shard: 1, number: 2, at: 20, ...known, isFull: false, buckets: buckets([7, 0], [6, 3]) }));
    season.apply(report({ number: 2, ...known, isFull: false, buckets: buckets([5, 9]) }));
    expect(rowsOf(season.answer(report(known), 'applied'))).toEqual([
      [5, 1],
      [6, 3],
      [7, 0],
    ]);
    expect(rowsOf(season.answer(report({ ...known, shard: 1 }), 'applied'))).toEqual([
      [5, 9],
      [6, 0],
      [7, 0],
    ]);
    expect(rowsOf(season.answer(report({ ...known, shard: 2 }), 'applied'))).toEqual([
      [5, 10],
      [6, 3],
      [7, 0],
    ]);
    // The shard knows a higher version than the season has, so it is from an earlier life of the season object. The answer must be
    // full.
    expect(season.answer(report({ ...known, since: 99 }), 'applied').isFull).toBe(true);
  });
  it('adopt the coarser buckets of a full report, and send all counts with them', () => {
    const season = new MergedCounts(2, 's');
    season.apply(report({ buckets: buckets([12, 2], [13, 1], [30, 1]) }));
    season.apply(report({ shard: 1, bits: 3, buckets: buckets([12, 5]) }));
    expect([season.generation, season.buckets, season.players]).toEqual(['s.1', 2, 9]);
    expect(season.countAbove(12)).toEqual({ above: 1, unsure: 8 });
    expect(season.countAbove(13)).toEqual({ above: 1, unsure: 0 });
    const answer = season.answer(report({ generation: 's.0', since: 2 }), 'applied');
    expect([answer.isFull, answer.bits, rowsOf(answer)]).toEqual([true, 3, [[12, 5]]]);
    // A report with the same buckets again must change nothing. A full report with finer buckets must be summed into the coarser
    // ones.
    season.apply(report({ shard: 1, number: 2, bits: 3, buckets: buckets([12, 5]) }));
    season.apply(report({ number: 2, buckets: buckets([12, 4], [13, 4]) }));
    expect([season.generation, season.players]).toEqual(['s.1', 13]);
  });
  it('become coarser when there are too many buckets, and drop empty ones', () => {
    const season = new MergedCounts(1, 's', 0, 8);
    const rows = (count: number, players = 1) =>
      Array.from({ length: count }, (_, i): [number, number] => [i, players]);
    season.apply(report({ buckets: buckets(...rows(8)) }));
    expect([season.buckets, season.generation]).toEqual([8, 's.0']);
    season.apply(report({ number: 2, buckets: buckets(...rows(9)) }));
    expect([season.buckets <= 6, season.generation, season.players]).toEqual([true, 's.1', 9]);
    const other = new MergedCounts(1, 's', 0, 8);
    other.apply(report({ buckets: buckets(...rows(8)) }));
    other.apply(report({ number: 2, isFull: false, generation: 's.0', buckets: buckets(...rows(8, 0), [9, 1]) }));
    expect([other.buckets, other.bucketsOf(0).bits, other.generation]).toEqual([1, BITS_MAX, 's.0']);
  });
  it('keep the players of a shard that restarts without them, until an operator accepts the loss', () => {
    const season = new MergedCounts(2, 's');
    season.apply(report({ buckets: buckets([5, 40], [6, 2]) }));
    const restart = (boot: string, players: number) => report({ boot, buckets: buckets([5, players]) });
    // Up to a tenth may be missing: changes that a crash left unreported.
    expect(season.apply(restart('b2', 38))).toBe('applied');
    const lost = restart('c', 34);
    expect(season.apply(lost)).toBe('lost');
    expect([season.players, season.answer(lost, 'lost')]).toMatchObject([38, { needsFull: true, lostFrom: 38 }]);
    expect(season.apply(report({ shard: 1, buckets: buckets([5, 1]) }))).toBe('applied');
    expect(season.apply(lost, true)).toBe('applied');
    expect([season.players, season.answer(lost, 'applied').lostFrom]).toEqual([35, undefined]);
    expect(season.apply(report({ boot: 'c', number: 2, buckets: null }))).toBe('applied');
    expect(season.apply(report({ shard: 1, boot: 'd', buckets: null }))).toBe('applied');
    expect(season.players).toBe(0);
  });
  it('send all counts to a shard that lacks changes which are forgotten', () => {
    const season = new MergedCounts(2, 's');
    season.apply(report({ buckets: buckets([1, 1]) }));
    for (let number = 2; number <= 514; number++)
      season.apply(report({ number, isFull: false, generation: 's.0', buckets: buckets([1, number]) }));
    const ask = (since: number) => season.answer(report({ shard: 1, generation: 's.0', since }), 'applied');
    expect([ask(256).isFull, ask(257).isFull, rowsOf(ask(1)), rowsOf(ask(257))]).toEqual([
      true,
      false,
      [[1, 514]],
      [[1, 514]],
    ]);
  });
  it('send only the newest count of a score that changed often', () => {
    const season = new MergedCounts(2, 's');
    season.apply(report({ buckets: buckets([1, 1], [2, 1]) }));
    for (let number = 2; number < 500; number++) {
      season.apply(report({ number, isFull: false, generation: 's.0', buckets: buckets([1, number]) }));
    }
    const ask = (since: number) => rowsOf(season.answer(report({ shard: 1, generation: 's.0', since }), 'applied'));
    expect([ask(1), ask(0).length, ask(499)]).toEqual([[[1, 499]], 2, []]);
  });
});
