/**
 * The season's side of the count exchange: the players of every shard per bucket, their sums, and the version that last
 * changed each bucket, so that a shard gets only changes that are new to it. Memory is bounded: at most `BUCKETS_MAX`
 * buckets times the number of shards.
 */
import type { CountAbove } from './other-counts.ts';
import { BITS_MAX, BUCKETS_MAX, bucketOf, foldCounts, type ScoreBuckets, toScoreBuckets } from './score-buckets.ts';
import type { CountAnswer, CountReport } from './shard-counts.ts';

interface ShardState {
  boot: string;
  number: number;
  at: number;
  /** Players per bucket id. */
  counts: Uint32Array;
}

export class MergedCounts {
  readonly #boot: string;
  readonly #bucketsMax: number;
  readonly #shards: ShardState[];
  #bits = BITS_MAX;
  /** How often the buckets were rebuilt. */
  #cuts = 0;
  #version = 0;
  #idByLow = new Map<number, number>();
  #lows: number[] = [];
  #totals: number[] = [];
  /** Per bucket: the version of its last change. */
  #changedIn: number[] = [];

  /**
   * @param boot identifies one lifetime of the season object.
   * @param startsAt when all counts were 0, in milliseconds.
   */
  constructor(shards: number, boot: string, startsAt = 0, bucketsMax = BUCKETS_MAX) {
    this.#boot = boot;
    this.#bucketsMax = bucketsMax;
    this.#shards = Array.from({ length: shards }, () => ({
      boot: '',
      number: 0,
      at: startsAt,
      counts: new Uint32Array(64),
    }));
  }

  get generation(): string {
    return `${this.#boot}.${this.#cuts}`;
  }

  get players(): number {
    return this.#totals.reduce((sum, count) => sum + count, 0);
  }

  /** The lower end of the lowest used bucket: no score is lower. 0 without players. */
  get least(): number {
    const least = this.#lows.reduce((low, each, id) => (this.#totals[id] === 0 ? low : Math.min(low, each)), Infinity);
    return Number.isFinite(least) ? least : 0;
  }

  get buckets(): number {
    return this.#lows.length;
  }

  /** When the counts of a shard were exact, in milliseconds. */
  countedAt(shard: number): number {
    return this.#shards[shard]?.at ?? 0;
  }

  playersOf(shard: number): number {
    return this.#shards[shard]?.counts.reduce((sum, count) => sum + count, 0) ?? 0;
  }

  /** The counts of every shard were exact at this time or later. */
  get asOf(): number {
    return Math.min(...this.#shards.map((shard) => shard.at));
  }

  /** Counts players above a score, of all shards or of some. `unsure` players share its bucket and may be above. */
  countAbove(score: number, shards?: readonly number[]): CountAbove {
    const [own, high] = bucketOf(score, this.#bits);
    let above = 0;
    let unsure = 0;
    for (let id = 0; id < this.#lows.length; id++) {
      const low = this.#lows[id] as number;
      if (low <= score && (low !== own || score === high)) continue;
      const count = shards
        ? shards.reduce((sum, shard) => sum + (this.#shards[shard]?.counts[id] ?? 0), 0)
        : (this.#totals[id] as number);
      if (low > score) above += count;
      else unsure += count;
    }
    return { above, unsure };
  }

  /**
   * Finds the first player, in list order, whose rank is at least `rank`. @returns the range with the player's score, whose
   * ends are equal if it is sure; null if there is none.
   */
  findRank(rank: number): { low: number; high: number } | null {
    const used = [...this.#lows.keys()].filter((id) => (this.#totals[id] as number) > 0);
    used.sort((a, b) => (this.#lows[b] as number) - (this.#lows[a] as number));
    let above = 0;
    for (const id of used) {
      const [low, high] = bucketOf(this.#lows[id] as number, this.#bits);
      if (above + 1 >= rank) return { low: high, high };
      above += this.#totals[id] as number;
      if (above >= rank && low < high) return { low, high };
    }
    return null;
  }

  /** `repeated`: this or a later report was applied before. `refused`: the shard must send a full report. */
  apply(report: CountReport): 'applied' | 'repeated' | 'refused' {
    const shard = this.#shards[report.shard];
    if (shard === undefined) throw new Error(`there is no shard ${report.shard}`);
    const isSameLife = shard.boot === report.boot;
    if (isSameLife && report.number <= shard.number) return 'repeated';
    if (!report.isFull && (!isSameLife || report.generation !== this.generation)) return 'refused';
    this.#version++;
    if (report.isFull) {
      if (report.bits < this.#bits) this.#coarsen(report.bits);
      for (let id = 0; id < this.#lows.length; id++) this.#put(shard, id, 0);
    }
    for (const [i, score] of (report.buckets?.lows ?? []).entries()) {
      const id = this.#idOf(bucketOf(score, this.#bits)[0]);
      const count = report.buckets?.counts[i] as number;
      // A full report may have finer buckets.
      this.#put(shard, id, report.isFull ? (shard.counts[id] ?? 0) + count : count);
    }
    Object.assign(shard, { boot: report.boot, number: report.number, at: report.at });
    if (this.#lows.length > this.#bucketsMax) this.#coarsen(this.#decideBits());
    return 'applied';
  }

  /** The counts of one shard, for a snapshot. */
  bucketsOf(shard: number): { bits: number; buckets: ScoreBuckets } {
    const counts = this.#shards[shard]?.counts;
    const rows = this.#lows.map((low, id): [number, number] => [low, counts?.[id] ?? 0]);
    return { bits: this.#bits, buckets: toScoreBuckets(rows.filter(([, count]) => count > 0)) };
  }

  /** The changes of other shards that this shard does not have yet. */
  answer(report: CountReport, isUsed: boolean): CountAnswer {
    const isFull = report.generation !== this.generation || report.since > this.#version;
    const own = this.#shards[report.shard]?.counts;
    const rows: [number, number][] = [];
    for (let id = 0; id < this.#lows.length; id++) {
      if (!isFull && (this.#changedIn[id] as number) <= report.since) continue;
      const count = (this.#totals[id] as number) - (own?.[id] ?? 0);
      if (!isFull || count > 0) rows.push([this.#lows[id] as number, count]);
    }
    return {
      generation: this.generation,
      version: this.#version,
      bits: this.#bits,
      isFull,
      buckets: rows.length === 0 ? null : toScoreBuckets(rows),
      asOf: this.#shards.reduce((asOf, { at }, i) => (i === report.shard ? asOf : Math.min(asOf, at)), Infinity),
      needsFull: !isUsed,
    };
  }

  #idOf(low: number): number {
    const known = this.#idByLow.get(low);
    if (known !== undefined) return known;
    const id = this.#lows.length;
    this.#idByLow.set(low, id);
    this.#lows.push(low);
    this.#totals.push(0);
    this.#changedIn.push(this.#version);
    return id;
  }

  #put(shard: ShardState, id: number, count: number): void {
    if (id >= shard.counts.length) {
      const grown = new Uint32Array(Math.max(id + 1, shard.counts.length * 2));
      grown.set(shard.counts);
      shard.counts = grown;
    }
    const before = shard.counts[id] as number;
    if (before === count) return;
    shard.counts[id] = count;
    this.#totals[id] = (this.#totals[id] as number) + count - before;
    this.#changedIn[id] = this.#version;
  }

  /** The most bits that leave at most three quarters of the buckets. */
  #decideBits(): number {
    const filled = this.#lows.filter((_, id) => this.#totals[id] !== 0).sort((a, b) => a - b);
    let rows = filled.map((low): [number, number] => [low, 1]);
    let bits = this.#bits;
    while (rows.length > this.#bucketsMax * 0.75) rows = foldCounts(rows, --bits);
    return bits;
  }

  /** Rebuilds all counts without empty buckets and with at most these bits. The next answer to every shard is full. */
  #coarsen(bits: number): void {
    const lows = this.#lows;
    const shares = this.#shards.map(({ counts }) => counts);
    this.#bits = bits;
    this.#cuts++;
    this.#idByLow = new Map();
    this.#lows = [];
    this.#totals = [];
    this.#changedIn = [];
    for (const [number, shard] of this.#shards.entries()) {
      shard.counts = new Uint32Array(64);
      for (const [old, low] of lows.entries()) {
        const count = shares[number]?.[old] ?? 0;
        if (count === 0) continue;
        const id = this.#idOf(bucketOf(low, this.#bits)[0]);
        this.#put(shard, id, (shard.counts[id] ?? 0) + count);
      }
    }
  }
}
