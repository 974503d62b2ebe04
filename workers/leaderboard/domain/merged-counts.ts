/**
 * The season's side of the count exchange: the players of every shard per bucket, their sums, and the version that last
 * changed each bucket. Each shard therefore gets only changes that are new to it. Memory is bounded: at most
 * `BUCKETS_MAX` buckets times the number of shards.
 */

import type { CountAbove } from './other-counts.ts';
import {
  BUCKETS_MAX,
  BucketLayout,
  decideJoins,
  NO_BUCKETS,
  type ScoreBuckets,
  toScoreBuckets,
} from './score-buckets.ts';
import type { CountAnswer, CountReport } from './shard-report.ts';

/** Before the first version. */
const NEVER = -1;
const NOBODY = -1;
/** The list of changes is compacted when it is longer than twice the buckets plus this. */
const CHANGES_SPARE = 1024;

interface ShardState {
  readonly shard: number;
  boot: string;
  number: number;
  at: number;
  counts: Uint32Array;
}

export class MergedCounts {
  readonly #boot: string;
  readonly #bucketsMax: number;
  readonly #shards: ShardState[];
  #cuts = 0;
  #layout = new BucketLayout();
  #version = 0;
  #idByLow = new Map<number, number>();
  #lows: number[] = [];
  #highs: number[] = [];
  #totals: number[] = [];
  /** Per bucket: the version of the last change, its shard, and the version of the last change by another shard. */
  #changedIn: number[] = [];
  #changedBy: number[] = [];
  #changedByOthersIn: number[] = [];
  /** Ids in order of change, one entry per change. New changes are at the end. */
  #changes: number[] = [];

  /** @param boot identifies one lifetime of the season object. */
  constructor(shards: number, boot: string, bucketsMax = BUCKETS_MAX) {
    this.#boot = boot;
    this.#bucketsMax = bucketsMax;
    this.#shards = Array.from({ length: shards }, (_, shard) => ({
      shard,
      boot: '',
      number: 0,
      at: 0,
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
    let least = Number.POSITIVE_INFINITY;
    for (let id = 0; id < this.#lows.length; id++) {
      const low = this.#lows[id] as number;
      if (low < least && this.#totals[id] !== 0) least = low;
    }
    return Number.isFinite(least) ? least : 0;
  }

  get buckets(): number {
    return this.#lows.length;
  }

  /** When the counts of a shard were exact, in milliseconds; 0 without a report. */
  countedAt(shard: number): number {
    return this.#shards[shard]?.at ?? 0;
  }

  /** The counts of every shard were exact at this time or later. */
  get asOf(): number {
    return Math.min(...this.#shards.map((shard) => shard.at));
  }

  /** Counts players above a score. `unsure` players share its mixed bucket and may be above. */
  countAbove(score: number): CountAbove {
    let above = 0;
    let unsure = 0;
    for (let id = 0; id < this.#lows.length; id++) {
      const low = this.#lows[id] as number;
      if (low > score) above += this.#totals[id] as number;
      else if (score < (this.#highs[id] as number)) unsure += this.#totals[id] as number;
    }
    return { above, unsure };
  }

  /** `repeated`: this or a later report was applied before. `refused`: the shard must send a full report. */
  apply(report: CountReport): 'applied' | 'repeated' | 'refused' {
    const shard = this.#shards[report.shard];
    if (shard === undefined) throw new Error(`there is no shard ${report.shard}`);
    const isSameLife = shard.boot === report.boot;
    if (isSameLife && report.number <= shard.number) return 'repeated';
    if (!report.isFull && (!isSameLife || report.generation !== this.generation)) return 'refused';
    this.#version++;
    const buckets = report.buckets ?? NO_BUCKETS;
    if (report.isFull) {
      this.#coarsenFor(buckets);
      this.#clear(shard);
      for (const [low, , count] of rowsOf(buckets)) this.#add(shard, low, count);
    } else {
      for (const [low, high, count] of rowsOf(buckets)) this.#put(shard, this.#idOf(low, high), count);
    }
    Object.assign(shard, { boot: report.boot, number: report.number, at: report.at });
    if (this.#lows.length > this.#bucketsMax) this.#coarsen();
    return 'applied';
  }

  /** The changes of other shards that this shard does not have yet. */
  answer(report: CountReport, isUsed: boolean): CountAnswer {
    const isFull = report.generation !== this.generation || report.since > this.#version;
    const own = this.#shards[report.shard]?.counts;
    const rows: [number, number, number][] = [];
    for (const id of isFull ? this.#lows.keys() : this.#changedSince(report.since, report.shard)) {
      const count = (this.#totals[id] as number) - (own?.[id] ?? 0);
      if (!isFull || count > 0) rows.push([this.#lows[id] as number, this.#highs[id] as number, count]);
    }
    rows.sort((a, b) => a[0] - b[0]);
    const others = this.#shards.filter((_, shard) => shard !== report.shard);
    return {
      generation: this.generation,
      version: this.#version,
      layout: isFull ? { lows: this.#layout.lows, highs: this.#layout.highs } : null,
      buckets: rows.length === 0 ? null : toScoreBuckets(rows),
      asOf: Math.min(...others.map((shard) => shard.at)),
      needsFull: !isUsed,
    };
  }

  /** Buckets that other shards changed. Takes time in proportion to the changes, not to the buckets. */
  #changedSince(version: number, shard: number): number[] {
    const seen = new Set<number>();
    const ids: number[] = [];
    for (let i = this.#changes.length - 1; i >= 0; i--) {
      const id = this.#changes[i] as number;
      if (seen.has(id)) continue;
      if ((this.#changedIn[id] as number) <= version) break;
      seen.add(id);
      if (this.#changedBy[id] !== shard || (this.#changedByOthersIn[id] as number) > version) ids.push(id);
    }
    return ids;
  }

  #noteChange(id: number, shard: number): void {
    if (this.#changedBy[id] !== shard) {
      this.#changedByOthersIn[id] = this.#changedIn[id] as number;
      this.#changedBy[id] = shard;
    }
    if (this.#changedIn[id] === this.#version) return;
    this.#changedIn[id] = this.#version;
    this.#changes.push(id);
    if (this.#changes.length <= 2 * this.#lows.length + CHANGES_SPARE) return;
    const changedIn = this.#changedIn;
    this.#changes = [...this.#lows.keys()].sort((a, b) => (changedIn[a] as number) - (changedIn[b] as number));
  }

  #idOf(low: number, high: number): number {
    const known = this.#idByLow.get(low);
    if (known !== undefined) return known;
    const id = this.#lows.length;
    this.#idByLow.set(low, id);
    this.#lows.push(low);
    this.#highs.push(high);
    this.#totals.push(0);
    this.#changedIn.push(NEVER);
    this.#changedBy.push(NOBODY);
    this.#changedByOthersIn.push(NEVER);
    return id;
  }

  #add(shard: ShardState, low: number, count: number): void {
    const [bucketLow, bucketHigh] = this.#layout.find(low);
    const id = this.#idOf(bucketLow, bucketHigh);
    this.#put(shard, id, (shard.counts[id] ?? 0) + count);
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
    this.#noteChange(id, shard.shard);
  }

  #clear(shard: ShardState): void {
    for (let id = 0; id < this.#lows.length; id++) this.#put(shard, id, 0);
  }

  /** A full report may use a coarser layout. Its mixed buckets are added to this one. */
  #coarsenFor({ lows, highs }: ScoreBuckets): void {
    const intervals: [number, number][] = [];
    for (let i = 0; i < lows.length; i++) {
      const [low, high] = [lows[i] as number, highs[i] as number];
      if (low === high) continue;
      const ours = this.#layout.find(low);
      if (ours[0] > low || ours[1] < high) intervals.push([low, high]);
    }
    if (intervals.length > 0) this.#cut(this.#layout.coarsen(intervals));
  }

  /** Drops empty buckets and joins neighbors until three quarters of the limit are left. */
  #coarsen(): void {
    const rows = this.#lows.map((low, id): [number, number, number] => [
      low,
      this.#highs[id] as number,
      this.#totals[id] as number,
    ]);
    const filled = rows.filter((row) => row[2] > 0).sort((a, b) => a[0] - b[0]);
    this.#cut(this.#layout.coarsen(decideJoins(toScoreBuckets(filled), Math.floor(this.#bucketsMax * 0.75))));
  }

  /** Rebuilds all counts with a coarser layout. The next answer to every shard is complete. */
  #cut(layout: BucketLayout): void {
    const [lows, totals] = [this.#lows, this.#totals];
    const shares = this.#shards.map((shard) => shard.counts);
    this.#layout = layout;
    this.#cuts++;
    this.#idByLow = new Map();
    this.#lows = [];
    this.#highs = [];
    this.#totals = [];
    this.#changedIn = [];
    this.#changedBy = [];
    this.#changedByOthersIn = [];
    this.#changes = [];
    for (const shard of this.#shards) shard.counts = new Uint32Array(64);
    for (let old = 0; old < lows.length; old++) {
      if (totals[old] === 0) continue;
      for (const [number, shard] of this.#shards.entries()) {
        const count = shares[number]?.[old] ?? 0;
        if (count > 0) this.#add(shard, lows[old] as number, count);
      }
    }
  }
}

function* rowsOf({ lows, highs, counts }: ScoreBuckets): Generator<[low: number, high: number, count: number]> {
  for (let i = 0; i < lows.length; i++) yield [lows[i] as number, highs[i] as number, counts[i] as number];
}
