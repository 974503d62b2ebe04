/**
 * The season object's side of the count exchange. It keeps the number of players of every shard per bucket, and which buckets changed
 * lately, so that a shard receives only changes that are new to it. There are at most `BUCKETS_MAX` buckets.
 */
import type { CountAbove, ScoreRange } from '../protocol.ts';
import { BucketCounts } from './bucket-counts.ts';
import {
  BITS_MAX,
  BUCKETS_MAX,
  bucketOf,
  firstAbove,
  foldBuckets,
  inOrder,
  type ScoreBuckets,
} from './score-buckets.ts';
import type { CountAnswer, CountReport } from './shard-counts.ts';

/** Number of changes that are remembered at least. A shard that lacks older ones receives all counts. */
const CHANGES_MIN = 256;
/** Of a season with many buckets, changes of a quarter of them are remembered: a few seconds of posts. */
const CHANGES_PART = 4;
/** Part of its players that a shard may lack after a restart. The last changes before a crash may not have been reported. */
const LOSS_PART = 0.1;

/** Whether a restarted shard has lost players. One may be missing: an erasure that was not reported. */
const isLoss = (before: number, now: number): boolean => before - now > Math.max(1, before * LOSS_PART);

interface Shard {
  /** The last report: its boot, its number, and the time at which it was exact. */
  readonly boot: string;
  readonly number: number;
  readonly at: number;
  readonly counts: BucketCounts;
}

export class MergedCounts {
  readonly #boot: string;
  readonly #bucketsMax: number;
  readonly #shards: Shard[];
  #total = new BucketCounts();
  #bits = BITS_MAX;
  /** Number of times that the buckets were rebuilt with fewer bits. */
  #cuts = 0;
  #version = 0;
  /** The last changes: the lowest score of each changed bucket, and the version that changed it, in order of version. */
  #changed: number[] = [];
  #changedIn: number[] = [];
  /** All changes of later versions are remembered. */
  #changesFrom = 0;

  /**
   * Creates the counts of a season, all 0.
   * @param boot identifies one lifetime of the season object.
   * @param startsAt time in milliseconds at which all counts were 0.
   */
  constructor(shards: number, boot: string, startsAt = 0, bucketsMax = BUCKETS_MAX) {
    this.#boot = boot;
    this.#bucketsMax = bucketsMax;
    this.#shards = Array.from({ length: shards }, () => {
      return { boot: '', number: 0, at: startsAt, counts: new BucketCounts() };
    });
  }

  get generation(): string {
    return `${this.#boot}.${this.#cuts}`;
  }

  get players(): number {
    return this.#total.players;
  }

  /** Lower end of the lowest bucket with players, so no score is lower; 0 without players. */
  get least(): number {
    return this.#total.least;
  }

  /** Number of buckets that have players. */
  get buckets(): number {
    return this.#total.size;
  }

  /** Time in milliseconds at which the counts of a shard were exact. */
  countedAt(shard: number): number {
    return this.#shards[shard]?.at ?? 0;
  }

  playersOf(shard: number): number {
    return this.#shards[shard]?.counts.players ?? 0;
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
    const asked = shards?.map((shard) => (this.#shards[shard] as Shard).counts) ?? [this.#total];
    const [low, high] = bucketOf(score, this.#bits);
    return {
      above: asked.reduce((sum, counts) => sum + counts.countAbove(score), 0),
      unsure: score === high ? 0 : asked.reduce((sum, counts) => sum + counts.countOf(low), 0),
    };
  }

  /**
   * Finds the scores at which the players whose rank is at least `rank` begin.
   * @returns a range of scores; the wanted score is the highest one in it with at least `rank` − 1 players above it. Null if no
   * player has such a rank.
   */
  findRank(rank: number): ScoreRange | null {
    const { low, better } = this.#total.findBelow(rank - 1);
    if (better !== null && better.players >= rank) {
      const [, high] = bucketOf(better.low, this.#bits);
      // The wanted score is in this bucket, or directly below it if the rest of the bucket's players are tied. The range includes
      // that score.
      if (better.low < high) return { low: better.low - 1, high };
    }
    if (low === null) return null;
    const [, high] = bucketOf(low, this.#bits);
    return { low: high, high };
  }

  /**
   * Applies a report of a shard.
   * @param isLossAccepted whether an operator has accepted that players are missing
   * @returns `repeated` if this or a later report was applied before; `refused` if the shard must send a full report; `lost` if it
   * restarted with far fewer players. Its former counts stay then.
   */
  apply(report: CountReport, isLossAccepted = false): 'applied' | 'repeated' | 'refused' | 'lost' {
    const { shard, boot, number, at, isFull, bits } = report;
    const known = this.#shards[shard];
    if (known === undefined) throw new Error(`there is no shard ${shard}`);
    const isSameLife = known.boot === boot;
    if (isSameLife && number <= known.number) return 'repeated';
    if (!isFull && (!isSameLife || report.generation !== this.generation)) return 'refused';
    const players = report.buckets?.counts.reduce((sum, count) => sum + count, 0) ?? 0;
    if (!isSameLife && !isLossAccepted && isLoss(known.counts.players, players)) return 'lost';
    if (isFull && bits < this.#bits) this.#coarsen(bits);
    this.#version++;
    const received = report.buckets && inOrder(report.buckets);
    const { counts } = this.#shards[shard] as Shard;
    // A full report may have finer buckets than the season.
    const changes = counts.compare(received && isFull ? foldBuckets(received, this.#bits) : received, isFull);
    counts.add(changes);
    this.#total.add(changes);
    this.#remember(changes.lows);
    this.#shards[shard] = { boot, number, at, counts };
    if (this.#total.size > this.#bucketsMax) this.#coarsen(this.#decideBits());
    return 'applied';
  }

  bucketsOf(shard: number): { bits: number; buckets: ScoreBuckets } {
    return { bits: this.#bits, buckets: (this.#shards[shard] as Shard).counts.toBuckets() };
  }

  /** The players of all shards per bucket. */
  get total(): { bits: number; buckets: ScoreBuckets } {
    return { bits: this.#bits, buckets: this.#total.toBuckets() };
  }

  /** Answers a report with the changes of other shards that the reporting shard does not have yet. */
  answer(report: CountReport, outcome: ReturnType<MergedCounts['apply']>): CountAnswer {
    const { generation, since, shard } = report;
    const isKnown = generation === this.generation && since <= this.#version && since >= this.#changesFrom;
    const own = (this.#shards[shard] as Shard).counts;
    const countOthers = (low: number): number => this.#total.countOf(low) - own.countOf(low);
    const lows = isKnown
      ? this.#changedSince(since)
      : this.#total.toBuckets().lows.filter((low) => countOthers(low) > 0);
    return {
      generation: this.generation,
      version: this.#version,
      bits: this.#bits,
      isFull: !isKnown,
      buckets: lows.length === 0 ? null : { lows, counts: lows.map(countOthers) },
      asOf: this.#shards.reduce((asOf, { at }, i) => (i === shard ? asOf : Math.min(asOf, at)), Infinity),
      needsFull: outcome === 'refused' || outcome === 'lost',
      ...(outcome === 'lost' ? { lostFrom: own.players } : {}),
    };
  }

  #changedSince(version: number): Float64Array {
    const known = firstAbove(this.#changedIn, version);
    return Float64Array.from(new Set(this.#changed.slice(known))).sort();
  }

  #remember(lows: Float64Array): void {
    for (const low of lows) {
      this.#changed.push(low);
      this.#changedIn.push(this.#version);
    }
    const most = Math.max(CHANGES_MIN, this.#total.size / CHANGES_PART);
    if (this.#changed.length <= 2 * most) return;
    const forgotten = Math.floor(this.#changed.length - most);
    this.#changesFrom = this.#changedIn[forgotten - 1] as number;
    this.#changed = this.#changed.slice(forgotten);
    this.#changedIn = this.#changedIn.slice(forgotten);
  }

  /**
   * Decides how many bits define a bucket when there are too many buckets.
   * @returns the largest number of bits per bucket with which at most three quarters of the buckets are used.
   */
  #decideBits(): number {
    let buckets = this.#total.toBuckets();
    let bits = this.#bits;
    while (buckets.lows.length > this.#bucketsMax * 0.75) buckets = foldBuckets(buckets, --bits);
    return bits;
  }

  /** Rebuilds all counts with at most these bits per bucket. The next answer to every shard is full. */
  #coarsen(bits: number): void {
    this.#bits = bits;
    this.#cuts++;
    this.#total = this.#total.fold(bits);
    for (const [at, shard] of this.#shards.entries()) this.#shards[at] = { ...shard, counts: shard.counts.fold(bits) };
    this.#changed = [];
    this.#changedIn = [];
    this.#changesFrom = this.#version;
  }
}
