/**
 * A shard's side of the exchange of counts. It tells the season object how many players it has in each bucket that changed,
 * as absolute numbers: a report that is lost, repeated or late does no harm, because a bucket counts as told only when the
 * answer to a report that held it is here.
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
  /** One life of the shard object; its memory of what it told ends with it. */
  readonly boot: string;
  /** Rises with every report of a boot. */
  readonly number: number;
  /** The season's generation that the buckets are cut by; '' before the first answer. */
  readonly generation: string;
  readonly isFull: boolean;
  /** Null when no bucket changed. */
  readonly buckets: ScoreBuckets | null;
  /** When it was true, in milliseconds. */
  readonly at: number;
  /** The shard's best, when they may have changed since they were last told. */
  readonly top: TopColumns | null;
  /** The season's version that the shard has. */
  readonly since: number;
}

export interface CountAnswer {
  readonly generation: string;
  readonly version: number;
  /** Cut anew: the mixed intervals, and with them all buckets of the others; null when only what changed is told. */
  readonly layout: { readonly lows: Float64Array; readonly highs: Float64Array } | null;
  /** Null when nothing is new. */
  readonly buckets: ScoreBuckets | null;
  /** The others' counts were true at this time or later, in milliseconds. */
  readonly asOf: number;
  /** The season cannot use what was sent: report everything. */
  readonly needsFull: boolean;
}

/** More changed scores than this are cheaper told as a full report. */
const CHANGES_MAX = 16_384;

export class ShardReport {
  readonly others = new OtherCounts();
  /** The others' counts were true at this time or later; 0: never heard. */
  othersAsOf = 0;
  readonly #shard: number;
  readonly #boot: string;
  readonly #bucketsMax: number;
  #number = 0;
  #generation = '';
  #version = 0;
  /** Each changed score with the number of the first report that can hold the change. */
  readonly #changed = new Map<number, number>();
  /** The first report that told everything, or the next one while everything is still to be told. */
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

  /** A player went from one score to another; null: was, or is now, not listed. */
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

  /** @param asked the generation of a season that asks; of another one than ours it needs everything. */
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

  /** The answer to report `number` is here: what that report held is told. */
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
    // Later reports of the old cut may be on their way and will be refused; tell everything once by the new one.
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
