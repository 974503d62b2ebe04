/**
 * The season object's side of the count exchange. It keeps the number of players of every shard per bucket, and the version that
 * last changed each bucket, so that a shard receives only changes that are new to it. There are at most `BUCKETS_MAX` buckets.
 */
import type { ScoreRange } from '../protocol.ts';
import { BITS_MAX, BUCKETS_MAX, bucketOf, foldCounts, type ScoreBuckets, toScoreBuckets } from './score-buckets.ts';
import type { CountAbove, CountAnswer, CountReport } from './shard-counts.ts';

interface Bucket {
  readonly low: number;
  /** Number of players in this bucket, by shard. */
  readonly counts: Uint32Array;
  total: number;
  /** Version of the last change of this bucket. */
  changedIn: number;
}

export class MergedCounts {
  readonly #boot: string;
  readonly #bucketsMax: number;
  /** The last report of each shard: its boot, its number, and the time at which it was exact. */
  readonly #shards: { boot: string; number: number; at: number }[];
  #bits = BITS_MAX;
  /** Number of times that the buckets were rebuilt with fewer bits. */
  #cuts = 0;
  #version = 0;
  /** Buckets by their lowest score. */
  #buckets = new Map<number, Bucket>();
  /** Changes of buckets in order of version, so that the time of an answer grows only with the number of new changes. */
  #changes: { readonly version: number; readonly bucket: Bucket }[] = [];

  /**
   * Creates the counts of a season, all 0.
   * @param boot identifies one lifetime of the season object.
   * @param startsAt time in milliseconds at which all counts were 0.
   */
  constructor(shards: number, boot: string, startsAt = 0, bucketsMax = BUCKETS_MAX) {
    this.#boot = boot;
    this.#bucketsMax = bucketsMax;
    this.#shards = Array.from({ length: shards }, () => ({ boot: '', number: 0, at: startsAt }));
  }

  get generation(): string {
    return `${this.#boot}.${this.#cuts}`;
  }

  get players(): number {
    return [...this.#buckets.values()].reduce((sum, { total }) => sum + total, 0);
  }

  /** Lower end of the lowest bucket with players, so no score is lower; 0 without players. */
  get least(): number {
    return this.#used().at(-1)?.[0] ?? 0;
  }

  get buckets(): number {
    return this.#buckets.size;
  }

  /** Time in milliseconds at which the counts of a shard were exact. */
  countedAt(shard: number): number {
    return this.#shards[shard]?.at ?? 0;
  }

  playersOf(shard: number): number {
    return [...this.#buckets.values()].reduce((sum, { counts }) => sum + (counts[shard] as number), 0);
  }

  /** Time in milliseconds at which, or after which, the counts of every shard were exact. */
  get asOf(): number {
    return Math.min(...this.#shards.map((shard) => shard.at));
  }

  /**
   * Counts the players above a score, of all shards or of some. `unsure` is the number of players in the score's bucket, who may be
   * above it.
   */
  countAbove(score: number, shards?: readonly number[]): CountAbove {
    const [own, high] = bucketOf(score, this.#bits);
    let [above, unsure] = [0, 0];
    for (const [low, { counts, total }] of this.#buckets) {
      if (low <= score && (low !== own || score === high)) continue;
      const count = shards ? shards.reduce((sum, shard) => sum + (counts[shard] as number), 0) : total;
      if (low > score) above += count;
      else unsure += count;
    }
    return { above, unsure };
  }

  /**
   * Finds the scores at which the players whose rank is at least `rank` begin.
   * @returns a range of scores; the wanted score is the highest one in it with at least `rank` − 1 players above it. Null if no
   * player has such a rank.
   */
  findRank(rank: number): ScoreRange | null {
    let above = 0;
    for (const [low, total] of this.#used()) {
      const [, high] = bucketOf(low, this.#bits);
      if (above + 1 >= rank) return { low: high, high };
      above += total;
      // The wanted score is in this bucket, or directly below it if the rest of the bucket's players are tied. The range includes
      // that score.
      if (above >= rank && low < high) return { low: low - 1, high };
    }
    return null;
  }

  /**
   * Applies a report of a shard.
   * @returns `repeated` if this or a later report was applied before; `refused` if the shard must send a full report.
   */
  apply(report: CountReport): 'applied' | 'repeated' | 'refused' {
    const { shard, boot, number, at, isFull, bits, buckets } = report;
    const known = this.#shards[shard];
    if (known === undefined) throw new Error(`there is no shard ${shard}`);
    const isSameLife = known.boot === boot;
    if (isSameLife && number <= known.number) return 'repeated';
    if (!isFull && (!isSameLife || report.generation !== this.generation)) return 'refused';
    this.#version++;
    if (isFull) {
      if (bits < this.#bits) this.#coarsen(bits);
      for (const low of this.#buckets.keys()) this.#put(shard, low, 0);
    }
    for (const [i, score] of (buckets?.lows ?? []).entries()) {
      const [low] = bucketOf(score, this.#bits);
      // A full report may have finer buckets than the season, so counts of the same bucket are added up.
      this.#put(shard, low, (buckets?.counts[i] as number) + (isFull ? this.#countOf(shard, low) : 0));
    }
    this.#shards[shard] = { boot, number, at };
    if (this.#buckets.size > this.#bucketsMax) this.#coarsen(this.#decideBits());
    if (this.#changes.length > 2 * this.#buckets.size) {
      const buckets = [...this.#buckets.values()].sort((a, b) => a.changedIn - b.changedIn);
      this.#changes = buckets.map((bucket) => ({ version: bucket.changedIn, bucket }));
    }
    return 'applied';
  }

  bucketsOf(shard: number): { bits: number; buckets: ScoreBuckets } {
    const rows = Array.from(this.#buckets, ([low, { counts }]): [number, number] => [low, counts[shard] as number]);
    return { bits: this.#bits, buckets: toScoreBuckets(rows.filter(([, count]) => count > 0)) };
  }

  /** Answers a report with the changes of other shards that the reporting shard does not have yet. */
  answer(report: CountReport, isUsed: boolean): CountAnswer {
    const isFull = report.generation !== this.generation || report.since > this.#version;
    const rows: [number, number][] = [];
    for (const { low, counts, total } of isFull ? this.#buckets.values() : this.#changedSince(report.since)) {
      const count = total - (counts[report.shard] as number);
      if (!isFull || count > 0) rows.push([low, count]);
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

  #changedSince(version: number): Set<Bucket> {
    const known = this.#changes.findLastIndex((change) => change.version <= version);
    return new Set(this.#changes.slice(known + 1).map(({ bucket }) => bucket));
  }

  #countOf(shard: number, low: number): number {
    return this.#buckets.get(low)?.counts[shard] ?? 0;
  }

  #put(shard: number, low: number, count: number): void {
    const before = this.#countOf(shard, low);
    if (before === count) return;
    let bucket = this.#buckets.get(low);
    if (bucket === undefined) {
      bucket = { low, counts: new Uint32Array(this.#shards.length), total: 0, changedIn: 0 };
      this.#buckets.set(low, bucket);
    }
    bucket.counts[shard] = count;
    bucket.total += count - before;
    if (bucket.changedIn === this.#version) return;
    bucket.changedIn = this.#version;
    this.#changes.push({ version: this.#version, bucket });
  }

  /** The buckets with players, best first: the lowest score and the number of players of each. */
  #used(): [low: number, players: number][] {
    const rows = Array.from(this.#buckets, ([low, { total }]): [number, number] => [low, total]);
    return rows.filter(([, total]) => total > 0).sort(([a], [b]) => b - a);
  }

  /**
   * Decides how many bits define a bucket when there are too many buckets.
   * @returns the largest number of bits per bucket with which at most three quarters of the buckets are used.
   */
  #decideBits(): number {
    let rows = this.#used();
    let bits = this.#bits;
    while (rows.length > this.#bucketsMax * 0.75) rows = foldCounts(rows, --bits);
    return bits;
  }

  /** Rebuilds all counts with at most these bits per bucket, and without empty buckets. The next answer to every shard is full. */
  #coarsen(bits: number): void {
    const finer = this.#buckets;
    this.#bits = bits;
    this.#cuts++;
    this.#buckets = new Map();
    this.#changes = [];
    for (const [finerLow, { counts }] of finer) {
      const [low] = bucketOf(finerLow, bits);
      for (const [shard, count] of counts.entries()) this.#put(shard, low, this.#countOf(shard, low) + count);
    }
  }
}
