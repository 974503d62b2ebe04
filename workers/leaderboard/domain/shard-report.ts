/**
 * A shard's side of the count exchange. It reports the number of players in each changed bucket to the season object,
 * as absolute counts. Lost, repeated or late reports are harmless: a bucket counts as reported only after the answer to
 * a report with it.
 */
import type { OrderedIndex } from './ordered-index.ts';
import { OtherCounts } from './other-counts.ts';
import {
  BUCKETS_MAX,
  BucketLayout,
  decideJoins,
  NO_BUCKETS,
  type ScoreBuckets,
  toScoreBuckets,
} from './score-buckets.ts';
import { type TopColumns, toTopColumns } from './score-columns.ts';
import type { TopEntry } from './standing.ts';

export interface CountReport {
  readonly shard: number;
  /** One lifetime of the shard object. A new one has forgotten what it reported. */
  readonly boot: string;
  /** Increases with every report of a boot. */
  readonly number: number;
  /** The season's generation that defines the buckets; '' before the first answer. */
  readonly generation: string;
  readonly isFull: boolean;
  /** Null when no bucket changed. */
  readonly buckets: ScoreBuckets | null;
  /** When the report was exact, in milliseconds. */
  readonly at: number;
  /** The shard's best players, if they may have changed since the last report. */
  readonly top: TopColumns | null;
  /** The season version that the shard has. */
  readonly since: number;
}

export interface CountAnswer {
  readonly generation: string;
  readonly version: number;
  /** After a new layout: the mixed intervals, with all buckets of the others. Null if the answer has changes only. */
  readonly layout: { readonly lows: Float64Array; readonly highs: Float64Array } | null;
  /** Null without changes. */
  readonly buckets: ScoreBuckets | null;
  /** The others' counts were exact at this time or later, in milliseconds. */
  readonly asOf: number;
  /** The season cannot use the report: send a full one. */
  readonly needsFull: boolean;
}

/** With more changed scores than this, a full report is cheaper. */
const CHANGES_MAX = 16_384;

export class ShardReport {
  readonly others = new OtherCounts();
  /** The others' counts were exact at this time or later; 0 before the first answer. */
  othersAsOf = 0;
  readonly #shard: number;
  readonly #boot: string;
  readonly #bucketsMax: number;
  #number = 0;
  #generation = '';
  #version = 0;
  /** Each changed score, with the number of the first report that can contain the change. */
  readonly #changed = new Map<number, number>();
  /** Number of the first full report, or of the next report while a full one is due. 0 after it is acknowledged. */
  #fullFrom = 1;
  #topFrom = 1;

  constructor(shard: number, boot: string, bucketsMax = BUCKETS_MAX) {
    this.#shard = shard;
    this.#boot = boot;
    this.#bucketsMax = bucketsMax;
  }

  get hasChanges(): boolean {
    return this.#changed.size > 0 || this.#fullFrom !== 0 || this.#topFrom !== 0;
  }

  /** Records that a player's score changed. Null: not listed before, or after. */
  noteMove(from: number | null, to: number | null): void {
    if (from !== null) this.#changed.set(from, this.#number + 1);
    if (to !== null) this.#changed.set(to, this.#number + 1);
    if (this.#changed.size > CHANGES_MAX) {
      this.#changed.clear();
      this.#fullFrom = this.#number + 1;
    }
  }

  noteTop(): void {
    this.#topFrom = this.#number + 1;
  }

  /** @param asked the generation of a season that requests a report. If it differs from ours, the report is full. */
  report(index: OrderedIndex, at: number, readTop: () => readonly TopEntry[], asked = this.#generation): CountReport {
    const isFull = this.#fullFrom !== 0 || this.#generation === '' || asked !== this.#generation;
    this.#number++;
    return {
      shard: this.#shard,
      boot: this.#boot,
      number: this.#number,
      generation: this.#generation,
      isFull,
      buckets: isFull ? this.#allBuckets(index) : this.#changedBuckets(index),
      at,
      top: this.#topFrom !== 0 || isFull ? toTopColumns(readTop()) : null,
      since: this.#version,
    };
  }

  /** Handles the answer to report `number`: its content counts as reported. */
  acknowledge(number: number, answer: CountAnswer): void {
    if (answer.generation !== this.#generation && answer.layout === null) return;
    if (answer.generation === this.#generation && answer.version < this.#version) return;
    const { layout, buckets } = answer;
    if (layout !== null) this.others.replace(buckets ?? NO_BUCKETS, new BucketLayout(layout.lows, layout.highs));
    else if (buckets !== null) this.others.apply(buckets);
    const isNewCut = answer.generation !== this.#generation;
    this.#generation = answer.generation;
    this.#version = answer.version;
    this.othersAsOf = answer.asOf;
    if (answer.needsFull) {
      this.#fullFrom = this.#number + 1;
      return;
    }
    for (const [score, from] of this.#changed) if (from <= number) this.#changed.delete(score);
    if (this.#fullFrom <= number) this.#fullFrom = 0;
    if (this.#topFrom <= number) this.#topFrom = 0;
    // Later reports with the old layout may be on their way and will be refused. Send a full one with the new layout.
    if (isNewCut && number !== this.#number) this.#fullFrom = this.#number + 1;
  }

  #changedBuckets(index: OrderedIndex): ScoreBuckets | null {
    if (this.#changed.size === 0) return null;
    const rows = new Map<number, [number, number, number]>();
    for (const score of this.#changed.keys()) {
      const [low, high] = this.others.layout.find(score);
      if (!rows.has(low)) rows.set(low, [low, high, index.countAbove(low - 1) - index.countAbove(high)]);
    }
    return toScoreBuckets([...rows.values()].sort((a, b) => a[0] - b[0]));
  }

  #allBuckets(index: OrderedIndex): ScoreBuckets {
    const all = foldCounts(index, this.others.layout);
    const joins = decideJoins(all, this.#bucketsMax / 2);
    return joins.length === 0 ? all : foldCounts(index, this.others.layout.coarsen(joins));
  }
}

function foldCounts(index: OrderedIndex, layout: BucketLayout): ScoreBuckets {
  const rows: [number, number, number][] = [];
  for (const [score, count] of index.scoreCounts()) {
    const [low, high] = layout.find(score);
    const last = rows.at(-1);
    if (last?.[0] === low) last[2] += count;
    else rows.push([low, high, count]);
  }
  return toScoreBuckets(rows.reverse());
}
