import { describe, expect, it } from 'vitest';
import { OrderedIndex } from '../../../durable-objects/leaderboard/domain/ordered-index.ts';
import { ABSENT } from '../../../durable-objects/leaderboard/domain/slot-keys.ts';
import { announceSeed, createRandom, stepsOf } from './random.ts';

/**
 * The model to compare with: the key of every slot, without an order. A range is correct if it is sorted and its first and last
 * entries have the expected number of entries before them. Counting scans every key, but only for a query.
 */
class Keys {
  readonly scores: Float64Array;
  readonly reached: Float64Array;
  size = 0;

  constructor(players: number) {
    this.scores = new Float64Array(players).fill(ABSENT);
    this.reached = new Float64Array(players);
  }

  set(slot: number, score: number, reached: number): void {
    if (this.scores[slot] === ABSENT) this.size++;
    this.scores[slot] = score;
    this.reached[slot] = reached;
  }

  remove(slot: number): boolean {
    if (this.scores[slot] === ABSENT) return false;
    this.scores[slot] = ABSENT;
    this.size--;
    return true;
  }

  compare(a: number, b: number): number {
    const { scores, reached } = this;
    return Number(scores[b]) - Number(scores[a]) || Number(reached[a]) - Number(reached[b]) || a - b;
  }

  countAbove(score: number): number {
    let count = 0;
    for (const other of this.scores) if (other > score) count++;
    return count;
  }

  countBefore(score: number, reached: number, slot = -1): number {
    const { scores, reached: times } = this;
    let count = 0;
    for (let other = 0; other < scores.length; other++) {
      const points = scores[other] as number;
      if (points > score) count++;
      else if (points === score && points !== ABSENT) {
        const since = times[other] as number;
        if (since < reached || (since === reached && other < slot)) count++;
      }
    }
    return count;
  }

  /** Returns whether `slots` are the slots of the places from `at` on: `limit` of them, or fewer at the end. */
  isRange(slots: readonly number[], at: number, limit: number): boolean {
    if (slots.length !== Math.max(0, Math.min(limit, this.size - at))) return false;
    const isAt = (slot: number, place: number) =>
      this.scores[slot] !== ABSENT &&
      this.countBefore(this.scores[slot] as number, this.reached[slot] as number, slot) === place;
    const isInOrder = slots.every((slot, i) => i === 0 || this.compare(slots[i - 1] as number, slot) < 0);
    return isInOrder && [0, slots.length - 1].every((i) => slots[i] === undefined || isAt(slots[i], at + i));
  }

  sorted(): number[] {
    const listed = [...this.scores.keys()].filter((slot) => this.scores[slot] !== ABSENT);
    return listed.sort((a, b) => this.compare(a, b));
  }
}

/** `npm run test:long` multiplies the steps by twenty. */
const TIMES = process.env.TESSERA_LONG === '1' ? 20 : 1;

/** Each case: [name, steps, players, next score, entries per chunk]. Small chunks cause frequent splits and joins. */
const cases: [string, number, number, (random: () => number, old: number) => number, number | undefined][] = [
  ['wins of one point', 250_000, 1_500, (random, old) => old + (random() < 0.9 ? 1 : 2), undefined],
  ['wins of one point in tiny chunks', 150_000, 500, (_, old) => old + 1, 4],
  ['few scores, long ties', 200_000, 1_000, (random) => Math.floor(random() * 5), 8],
  ['scores all over 2^53', 200_000, 1_500, (random) => Math.floor(random() * 2 ** 53), 16],
  ['scores that only fall', 100_000, 1_000, (_, old) => Math.max(0, old - 3), 7],
  ['equal times', 100_000, 800, (random) => Math.floor(random() * 50), 5],
];

describe('the ordered index', () => {
  it.each(cases)('agrees with a sorted array: %s', (name, steps, players, nextScore, chunkMax) => {
    const random = createRandom(announceSeed());
    const index = new OrderedIndex(chunkMax);
    const oracle = new Keys(players);
    for (let step = 1; step <= stepsOf(steps) * TIMES; step++) {
      const slot = Math.floor(random() * players);
      if (random() < 0.08) {
        if (index.remove(slot) !== oracle.remove(slot)) throw new Error(`step ${step}: removal of ${slot} differs`);
      } else {
        const score = nextScore(random, Math.max(0, index.scoreOf(slot)));
        const reached = name === 'equal times' ? Math.floor(random() * 4) : step;
        index.set(slot, score, reached);
        oracle.set(slot, score, reached);
      }
      if (step % 64 === 0) {
        const probe = Math.floor(random() * players);
        const score = Math.max(0, index.scoreOf(probe));
        const at = Math.floor(random() * players);
        const seen = [index.size, index.countAbove(score), index.countBefore(score, step / 2)];
        const wanted = [oracle.size, oracle.countAbove(score), oracle.countBefore(score, step / 2)];
        if (seen.join() !== wanted.join()) expect(seen, `step ${step}`).toEqual(wanted);
        const range = index.range(at, 9);
        if (!oracle.isRange(range, at, 9)) throw new Error(`step ${step}: ${range} is not the range at place ${at}`);
      }
      if (step % stepsOf(50_000) === 0) {
        const sorted = oracle.sorted();
        expect(index.range(0, players)).toEqual(sorted);
        const counts = [...index.scoreCounts()];
        expect(counts.reduce((sum, [, count]) => sum + count, 0)).toBe(index.size);
        expect(counts.map(([score]) => score)).toEqual([...new Set(sorted.map((slot) => oracle.scores[slot]))]);
      }
    }
  });

  it('fails if the key of a slot was set without it, also if the slot was listed before', () => {
    const index = new OrderedIndex();
    for (const slot of [1, 2]) index.set(slot, 5, slot);
    expect([index.remove(2), index.reachedOf(2)]).toEqual([true, 0]);
    for (const slot of [2, 3]) {
      index.keys.set(slot, 5, slot);
      expect(() => index.remove(slot)).toThrow(`the index lost slot ${slot}`);
    }
  });

  it('counts no player of the same time as before a key', () => {
    const index = new OrderedIndex();
    for (const slot of [0, 1, 2]) index.set(slot, 5, 10);
    expect([10, 11].map((reached) => index.countBefore(5, reached))).toEqual([0, 3]);
  });

  it('has no scores and no places without players', () => {
    const index = new OrderedIndex();
    const seen = () => [[...index.scoreCounts()], index.range(0, 5), index.countAbove(0), index.countBefore(0, 0)];
    expect(seen()).toEqual([[], [], 0, 0]);
    index.set(3, 7, 1);
    expect([[...index.scoreCounts()], index.range(-2, 5), index.range(0, 0), index.range(1, 5)]).toEqual([
      ...[[[7, 1]], [3], [], []],
    ]);
    index.remove(3);
    expect(seen()).toEqual([[], [], 0, 0]);
  });

  it('is the same after it is emptied and refilled as after it is loaded at once', () => {
    const random = createRandom(announceSeed());
    const grown = new OrderedIndex(6);
    const count = 5_000;
    const slots = Uint32Array.from({ length: count }, (_, i) => i);
    const scores = Float64Array.from(slots, () => Math.floor(random() * 300));
    const reached = Float64Array.from(slots, () => Math.floor(random() * 2 ** 50));
    for (const slot of slots) grown.set(slot, 1, slot);
    for (const slot of slots) expect(grown.remove(slot)).toBe(true);
    expect([grown.size, grown.range(0, 10), grown.countAbove(0), grown.countBefore(1, 1)]).toEqual([0, [], 0, 0]);
    for (const slot of slots) grown.set(slot, scores[slot] as number, reached[slot] as number);
    const loaded = new OrderedIndex();
    for (const [number, page] of grown.keys.takeChanged()) loaded.keys.loadPage(number, page.slice());
    loaded.build();
    expect(loaded.keys.newest()).toBe(Math.max(...reached));
    expect(loaded.range(0, count)).toEqual(grown.range(0, count));
    for (const slot of slots) {
      expect(loaded.countAbove(scores[slot] as number)).toBe(grown.countAbove(scores[slot] as number));
    }
    loaded.set(7, 2 ** 53 - 1, 1);
    expect([loaded.range(0, 1), loaded.countAbove(2 ** 53 - 2), loaded.countAbove(2 ** 53 - 1)]).toEqual([[7], 1, 0]);
  });
});
