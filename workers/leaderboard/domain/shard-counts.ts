/**
 * A shard's side of the count exchange. It reports the number of players in each changed bucket to the season object, as
 * absolute counts, and keeps the sums of the other shards. Lost, repeated or late reports are harmless: a change counts
 * as reported only after the answer to a report with it.
 */
import type { OrderedIndex } from './ordered-index.ts';
import { OtherCounts } from './other-counts.ts';
import { BUCKETS_MAX, bucketOf, foldCounts, type ScoreBuckets, toScoreBuckets } from './score-buckets.ts';
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
  /** Significant bits of the buckets. */
  readonly bits: number;
  readonly buckets: ScoreBuckets | null;
  /** When the report was exact, in milliseconds. */
  readonly at: number;
  /** The shard's best players, if they may have changed since the last report. */
  readonly top: readonly TopEntry[] | null;
  /** The season version that the shard has. */
  readonly since: number;
}

export interface CountAnswer {
  readonly generation: string;
  readonly version: number;
  readonly bits: number;
  /** Whether the answer has all buckets of the others. Otherwise it has changes only. */
  readonly isFull: boolean;
  readonly buckets: ScoreBuckets | null;
  /** The others' counts were exact at this time or later, in milliseconds. */
  readonly asOf: number;
  /** The season cannot use the report: send a full one. */
  readonly needsFull: boolean;
}

/** With more changed scores than this, a full report is cheaper. */
const CHANGES_MAX = 16_384;

export class ShardCounts {
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

  /** Records that a player's score changed. A null score means that the player was not listed before, or is not listed after. */
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
    const { bits, buckets } = isFull ? this.#allBuckets(index) : this.#changedBuckets(index);
    return {
      shard: this.#shard,
      boot: this.#boot,
      number: this.#number,
      generation: this.#generation,
      isFull,
      bits,
      buckets,
      at,
      top: this.#topFrom !== 0 || isFull ? readTop() : null,
      since: this.#version,
    };
  }

  /** Handles the answer to report `number`: its content counts as reported. */
  acknowledge(number: number, answer: CountAnswer): void {
    const isNew = answer.generation !== this.#generation;
    if (isNew && !answer.isFull) return;
    if (!isNew && answer.version < this.#version) return;
    this.others.apply(answer);
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
    // Later reports with the old buckets may be on their way and will be refused. Send a full one with the new buckets.
    if (isNew && number !== this.#number) this.#fullFrom = this.#number + 1;
  }

  #changedBuckets(index: OrderedIndex): { bits: number; buckets: ScoreBuckets | null } {
    const { bits } = this.others;
    const rows = new Map<number, number>();
    for (const score of this.#changed.keys()) {
      const [low, high] = bucketOf(score, bits);
      if (!rows.has(low)) rows.set(low, index.countAbove(low - 1) - index.countAbove(high));
    }
    return { bits, buckets: rows.size === 0 ? null : toScoreBuckets([...rows]) };
  }

  /** All counts, with the most bits at which they fill at most half of the buckets. The others remain for the other shards. */
  #allBuckets(index: OrderedIndex): { bits: number; buckets: ScoreBuckets } {
    let { bits } = this.others;
    let rows = foldCounts(index.scoreCounts(), bits);
    while (rows.length > this.#bucketsMax / 2) rows = foldCounts(rows, --bits);
    return { bits, buckets: toScoreBuckets(rows) };
  }
}
