import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MergedCounts } from '../../../durable-objects/leaderboard/domain/merged-counts.ts';
import { OrderedIndex } from '../../../durable-objects/leaderboard/domain/ordered-index.ts';
import {
  BITS_MAX,
  bucketOf,
  foldBuckets,
  toScoreBuckets,
} from '../../../durable-objects/leaderboard/domain/score-buckets.ts';
import {
  type CountAnswer,
  type CountReport,
  ShardCounts,
} from '../../../durable-objects/leaderboard/domain/shard-counts.ts';
import { announceSeed, createRandom, stepsOf } from './random.ts';

/** A simulation: shards and a season object with crashes, joined by a network that loses, repeats, delays and reorders messages. */
class World {
  readonly indexes: OrderedIndex[];
  readonly shards: ShardCounts[] = [];
  season: MergedCounts;
  now = 1;
  /** Maximum over the run: how many rounds it took until no shard had changes to report. */
  rounds = 0;
  #boots = 0;
  readonly #bucketsMax: number;
  /** Messages in flight: reports on their way to the season, answers on their way to a shard. */
  readonly inFlight: ({ report: CountReport } | { to: ShardCounts; number: number; answer: CountAnswer })[] = [];

  constructor(shards: number, bucketsMax: number) {
    this.#bucketsMax = bucketsMax;
    this.indexes = Array.from({ length: shards }, () => new OrderedIndex());
    this.season = new MergedCounts(shards, 'season0', 0, bucketsMax);
    for (let shard = 0; shard < shards; shard++) this.restartShard(shard);
  }

  restartShard(shard: number): void {
    this.shards[shard] = new ShardCounts(shard, `boot${this.#boots++}`, this.#bucketsMax);
  }

  restartSeason(): void {
    this.season = new MergedCounts(this.shards.length, `season${this.#boots++}`, 0, this.#bucketsMax);
  }

  move(shard: number, slot: number, score: number | null): void {
    const index = this.indexes[shard] as OrderedIndex;
    const from = index.scoreOf(slot) >= 0 ? index.scoreOf(slot) : null;
    if (score === null) index.remove(slot);
    else index.set(slot, score, this.now++);
    this.shards[shard]?.noteMove(from, score);
  }

  report(shard: number): CountReport {
    return (this.shards[shard] as ShardCounts).report(this.indexes[shard] as OrderedIndex, this.now, () => []);
  }

  deliver(message: World['inFlight'][number]): void {
    if ('answer' in message) message.to.acknowledge(message.number, message.answer);
    else {
      const { report } = message;
      const answer = this.season.answer(report, this.season.apply(report));
      this.inFlight.push({ to: this.shards[report.shard] as ShardCounts, number: report.number, answer });
    }
  }

  /** Drops all messages in flight, then exchanges reports until no shard has changes left. */
  settle(): void {
    this.inFlight.length = 0;
    // A report may make the season coarsen its layout, and then every shard reports again. Layouts only become coarser,
    // so this ends, in practice after a few rounds. The first shard receives the last changes one round later, possibly
    // with a new layout, so two quiet rounds are needed.
    for (let round = 1, quiet = 0; round <= 40 && quiet < 2; round++) {
      this.rounds = Math.max(this.rounds, round);
      this.exchangeOnce();
      quiet = this.shards.some((shard) => shard.hasChanges) ? 0 : quiet + 1;
    }
    expect(this.shards.some((shard) => shard.hasChanges)).toBe(false);
  }

  /** Exchanges one report and answer between each shard and the season. */
  exchangeOnce(): void {
    for (const [number, shard] of this.shards.entries()) {
      const report = this.report(number);
      shard.acknowledge(report.number, this.season.answer(report, this.season.apply(report)));
    }
  }

  checkCounts(random: () => number): { exact: number; unsure: number } {
    let [exact, unsure] = [0, 0];
    for (const [number, shard] of this.shards.entries()) {
      for (let probe = 0; probe < 30; probe++) {
        const index = this.indexes[Math.floor(random() * this.indexes.length)] as OrderedIndex;
        const score = Math.max(0, index.scoreOf(Math.floor(random() * 400))) + (probe % 3) - 1;
        const truth = this.indexes.reduce((sum, each, i) => (i === number ? sum : sum + each.countAbove(score)), 0);
        const known = shard.others.countAbove(score);
        if (known.unsure === 0) {
          if (known.above !== truth) expect(known.above, `above ${score}`).toBe(truth);
          exact++;
        } else {
          expect(known.above).toBeLessThanOrEqual(truth);
          expect(known.above + known.unsure).toBeGreaterThanOrEqual(truth);
          unsure++;
        }
        const inAll = this.season.countAbove(score);
        const all = truth + (this.indexes[number] as OrderedIndex).countAbove(score);
        if (inAll.unsure === 0 && inAll.above !== all) expect(inAll.above).toBe(all);
      }
      const players = this.indexes.reduce((sum, each, i) => (i === number ? sum : sum + each.size), 0);
      expect(shard.others.players).toBe(players);
    }
    return { exact, unsure };
  }
}

describe('the merged counts', () => {
  it.each([
    ['wins', 5, 65_536, (random: () => number, old: number) => old + 1 + (random() < 0.1 ? 1 : 0)],
    ['scores all over 2^53', 4, 200, (random: () => number) => Math.floor(random() * 2 ** 53)],
    ['wins with far outliers', 6, 60, (random: () => number, old: number) => old + Math.floor(1 / (random() + 1e-9))],
    ['one shard', 1, 64, (random: () => number) => Math.floor(random() * 1_000)],
  ] as const)('are correct after losses, repeats, delays and restarts: %s', (name, shards, bucketsMax, nextScore) => {
    const random = createRandom(announceSeed());
    const world = new World(shards, bucketsMax);
    const seen = { exact: 0, unsure: 0 };
    for (let step = 1; step <= stepsOf(40_000); step++) {
      const shard = Math.floor(random() * shards);
      const slot = Math.floor(random() * 400);
      const old = Math.max(0, world.indexes[shard]?.scoreOf(slot) ?? 0);
      world.move(shard, slot, random() < 0.05 ? null : nextScore(random, old));
      if (random() < 0.05) world.inFlight.push({ report: world.report(shard) });
      while (world.inFlight.length > 0 && random() < 0.5) {
        const at = Math.floor(random() * world.inFlight.length);
        const [message] = random() < 0.9 ? world.inFlight.splice(at, 1) : [world.inFlight[at]];
        if (message && random() < 0.8) world.deliver(message);
      }
      if (random() < 0.0005) world.restartShard(shard);
      if (random() < 0.0003) world.restartSeason();
      expect(world.season.buckets).toBeLessThanOrEqual(bucketsMax);
      if (step % stepsOf(2_000) === 0) {
        world.settle();
        const { exact, unsure } = world.checkCounts(random);
        seen.exact += exact;
        seen.unsure += unsure;
      }
    }
    console.log(`settled within ${world.rounds} rounds`);
    if (name === 'wins' || name === 'one shard') expect(seen.unsure).toBe(0);
    else expect(Math.min(seen.exact, seen.unsure)).toBeGreaterThan(0);
  });

  it('send a shard the changes since its last answer, with the players of the others', () => {
    const world = new World(2, 64);
    world.move(0, 1, 10);
    world.move(1, 2, 20);
    world.settle();
    const quiet = world.report(0);
    expect(world.season.answer(quiet, world.season.apply(quiet))).toMatchObject({
      ...{ isFull: false, buckets: null },
    });
    world.move(1, 2, 10);
    world.exchangeOnce();
    // The season's stored snapshot must have no empty buckets.
    expect(world.season.bucketsOf(1).buckets).toEqual({ lows: Float64Array.of(10), counts: Float64Array.of(1) });
    const next = world.report(0);
    expect(world.season.answer(next, world.season.apply(next)).buckets).toEqual({
      lows: Float64Array.of(10, 20),
      counts: Float64Array.of(1, 0),
    });
  });

  it('are reported again after a single change', () => {
    const world = new World(2, 64);
    world.move(0, 1, 10);
    world.settle();
    world.move(0, 1, null);
    expect(world.shards.map((shard) => shard.hasChanges)).toEqual([true, false]);
    const { isFull, buckets } = world.report(0);
    expect([isFull, buckets]).toEqual([false, { lows: Float64Array.of(10), counts: Float64Array.of(0) }]);
  });

  it('are as old as the oldest report of the other shards', () => {
    const world = new World(3, 64);
    for (const shard of [0, 1, 2]) {
      world.now = 10 * (shard + 1);
      world.season.apply(world.report(shard));
    }
    const asOf = [0, 1, 2].map((shard) => world.season.answer(world.report(shard), 'applied').asOf);
    expect([asOf, world.season.asOf]).toEqual([[20, 10, 10], 10]);
  });

  it('start again from a snapshot, whose counts stay until the shard answers', () => {
    const world = new World(2, 64);
    for (let slot = 0; slot < 9; slot++) world.move(slot % 2, slot, 10 * slot);
    world.settle();
    const { bits, buckets } = world.season.bucketsOf(1);
    const at = world.season.countedAt(1);
    world.restartSeason();
    const snapshot = { shard: 1, boot: 'snapshot', number: 1, generation: '', isFull: true, top: null, since: 0 };
    expect(world.season.apply({ ...snapshot, bits, buckets, at })).toBe('applied');
    expect([world.season.players, world.season.playersOf(1), world.season.countedAt(1)]).toEqual([4, 4, at]);
    expect(world.season.countAbove(25, [1])).toEqual({ above: 3, unsure: 0 });
    expect(world.season.countAbove(25, [0])).toEqual({ above: 0, unsure: 0 });
    world.settle();
    expect(world.season.countAbove(25)).toEqual({ above: 6, unsure: 0 });
  });

  it('say where the players of a rank begin, in exact and in coarse buckets, with ties', () => {
    const scoreLists = fc.array(fc.nat(20), { maxLength: 12 });
    fc.assert(
      fc.property(
        scoreLists,
        fc.constantFrom(1, 2, 3, BITS_MAX),
        fc.integer({ min: 1, max: 14 }),
        (list, bits, rank) => {
          const scores = list.sort((a, b) => b - a);
          const rankOf = (score: number) => 1 + scores.filter((other) => other > score).length;
          const season = new MergedCounts(2, 'season');
          const rest = { boot: 'boot', number: 1, generation: '', isFull: true, bits, at: 7, top: null, since: 0 };
          for (const shard of [0, 1]) {
            const rows = scores.filter((_, i) => i % 2 === shard).map((score) => [score, 1] as const);
            season.apply({ ...rest, shard, buckets: foldBuckets(toScoreBuckets(rows), bits) });
          }
          const range = season.findRank(rank);
          const start = range === null ? -1 : rangeStart(range, (score) => rankOf(score) >= rank);
          expect(scores.find((score) => score <= start)).toBe(scores.find((score) => rankOf(score) >= rank));
          if (bits === BITS_MAX && range) expect(range.low).toBe(range.high);
          for (let score = 0; score <= 21; score++) {
            const [low, high] = bucketOf(score, bits);
            const inBucket = scores.filter((other) => other >= low && other <= high).length;
            expect(season.countAbove(score)).toEqual({
              above: scores.filter((other) => other > high).length,
              unsure: score === high ? 0 : inBucket,
            });
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

/** Finds the highest score of a range that fulfils a condition, or its lowest score. A range of one score needs no search. */
function rangeStart({ low, high }: { low: number; high: number }, isEnough: (score: number) => boolean): number {
  let score = high;
  while (low < score && !isEnough(score)) score--;
  return score;
}
