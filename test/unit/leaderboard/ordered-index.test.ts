import { describe, expect, it } from 'vitest';
import { OrderedIndex } from '../../../workers/leaderboard/domain/ordered-index.ts';
import { sortStandings } from '../../../workers/leaderboard/domain/standing-order.ts';
import { announceSeed, createRandom } from './random.ts';

interface Entry {
  slot: number;
  score: number;
  reached: number;
}

const compare = (a: Entry, b: Entry) => b.score - a.score || a.reached - b.reached || a.slot - b.slot;

/** The oracle: a plain sorted array, searched by halves, changed by splicing. */
class SortedArray {
  readonly entries: Entry[] = [];
  readonly bySlot = new Map<number, Entry>();

  #place(entry: Entry): number {
    let low = 0;
    let high = this.entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compare(this.entries[middle] as Entry, entry) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  set(entry: Entry): void {
    this.remove(entry.slot);
    this.entries.splice(this.#place(entry), 0, entry);
    this.bySlot.set(entry.slot, entry);
  }

  remove(slot: number): boolean {
    const entry = this.bySlot.get(slot);
    if (entry === undefined) return false;
    this.entries.splice(this.#place(entry), 1);
    return this.bySlot.delete(slot);
  }

  countAbove(score: number): number {
    return this.#place({ slot: -1, score, reached: -1 });
  }

  countBefore(score: number, reached: number): number {
    return this.#place({ slot: -1, score, reached });
  }
}

/** `npm run test:long` takes twenty times the steps. */
const TIMES = process.env.TESSERA_LONG === '1' ? 20 : 1;

/** Each case: [name, steps, players, next score, limits]. Small limits make every split, share and join happen often. */
const cases: [string, number, number, (random: () => number, old: number) => number, object][] = [
  ['wins of one point', 250_000, 1_500, (random, old) => old + (random() < 0.9 ? 1 : 2), {}],
  ['wins of one point in tiny chunks', 150_000, 500, (_, old) => old + 1, { chunkEntries: 4, blockChunks: 4 }],
  ['few scores, long ties', 200_000, 1_000, (random) => Math.floor(random() * 5), { chunkEntries: 8, blockChunks: 6 }],
  ['scores all over 2^53', 200_000, 1_500, (random) => Math.floor(random() * 2 ** 53), { chunkEntries: 16 }],
  ['scores that only fall', 100_000, 1_000, (_, old) => Math.max(0, old - 3), { chunkEntries: 7, blockChunks: 5 }],
  ['equal times', 100_000, 800, (random) => Math.floor(random() * 50), { chunkEntries: 5, blockChunks: 4 }],
];

describe('the ordered index', () => {
  it.each(cases)('agrees with a sorted array: %s', (name, steps, players, nextScore, limits) => {
    const random = createRandom(announceSeed());
    const index = new OrderedIndex(limits);
    const oracle = new SortedArray();
    for (let step = 1; step <= steps * TIMES; step++) {
      const slot = Math.floor(random() * players);
      if (random() < 0.08) {
        if (index.remove(slot) !== oracle.remove(slot)) throw new Error(`step ${step}: removal of ${slot} differs`);
      } else {
        const entry = {
          slot,
          score: nextScore(random, Math.max(0, index.scoreOf(slot))),
          reached: name === 'equal times' ? Math.floor(random() * 4) : step,
        };
        index.set(slot, entry.score, entry.reached);
        oracle.set(entry);
      }
      if (step % 64 === 0) {
        const probe = Math.floor(random() * players);
        const score = Math.max(0, index.scoreOf(probe));
        const at = Math.floor(random() * players);
        const seen = [index.size, index.countAbove(score), index.countBefore(score, step / 2), ...index.range(at, 9)];
        const expected = oracle.entries.slice(at, at + 9).map((entry) => entry.slot);
        const wanted = [oracle.entries.length, oracle.countAbove(score), oracle.countBefore(score, step / 2)];
        if (seen.join() !== [...wanted, ...expected].join()) expect(seen).toEqual([...wanted, ...expected]);
      }
      if (step % 50_000 === 0) {
        expect(index.range(0, players)).toEqual(oracle.entries.map((entry) => entry.slot));
        const counts = [...index.scoreCounts()];
        expect(counts.reduce((sum, [, count]) => sum + count, 0)).toBe(index.size);
        expect(counts.map(([score]) => score)).toEqual([...new Set(oracle.entries.map((entry) => entry.score))]);
      }
    }
  });

  it('is the same when it is emptied and filled again, and when it is loaded at once', () => {
    const random = createRandom(announceSeed());
    const grown = new OrderedIndex({ chunkEntries: 6, blockChunks: 4 });
    const count = 5_000;
    const slots = Uint32Array.from({ length: count }, (_, i) => i);
    const scores = Float64Array.from(slots, () => Math.floor(random() * 300));
    const reached = Float64Array.from(slots, () => Math.floor(random() * 2 ** 50));
    for (const slot of slots) grown.set(slot, 1, slot);
    for (const slot of slots) expect(grown.remove(slot)).toBe(true);
    expect([grown.size, grown.range(0, 10), grown.countAbove(0), grown.countBefore(1, 1)]).toEqual([0, [], 0, 0]);
    for (const slot of slots) grown.set(slot, scores[slot] as number, reached[slot] as number);
    const loaded = new OrderedIndex();
    loaded.load(slots, scores, reached, sortStandings(scores, reached));
    expect(loaded.range(0, count)).toEqual(grown.range(0, count));
    for (const slot of slots) {
      expect(loaded.countAbove(scores[slot] as number)).toBe(grown.countAbove(scores[slot] as number));
    }
    loaded.set(7, 2 ** 53 - 1, 1);
    expect([loaded.range(0, 1), loaded.countAbove(2 ** 53 - 2), loaded.countAbove(2 ** 53 - 1)]).toEqual([[7], 1, 0]);
  });

  it('takes at most 40 bytes a player, however they came', () => {
    const random = createRandom(announceSeed());
    for (const shape of ['wins', 'wide', 'rising'] as const) {
      const index = new OrderedIndex();
      const players = 100_000;
      for (let step = 0; step < players * 3; step++) {
        const slot = shape === 'rising' ? step % players : Math.floor(random() * players);
        const old = Math.max(0, index.scoreOf(slot));
        index.set(slot, shape === 'wins' ? old + 1 : shape === 'wide' ? Math.floor(random() * 1e15) : step, step);
      }
      expect(index.byteLength / index.size, shape).toBeLessThan(40);
    }
  });
});
