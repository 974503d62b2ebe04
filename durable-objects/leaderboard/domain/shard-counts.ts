/**
 * A shard's side of the count exchange. It reports the number of players in each changed bucket to the season object, as absolute
 * counts, and keeps the sums of the other shards. Lost, repeated or late reports are harmless, because a change counts as reported
 * only after a report that contains it was answered.
 */

import type { TopEntry } from '../../../workers/leaderboard/domain/standing.ts';
import type { CountAbove } from '../protocol.ts';
import { BucketCounts } from './bucket-counts.ts';
import type { PlayerIndex } from './player-index.ts';
import { BITS_MAX, BUCKETS_MAX, bucketOf, foldScores, type ScoreBuckets, toScoreBuckets } from './score-buckets.ts';

export interface CountReport {
  readonly shard: number;
  /** Identifies one lifetime of the shard object. A new object does not know what the previous one reported. */
  readonly boot: string;
  /** Number of the report, ascending within a boot. */
  readonly number: number;
  /** The season's generation, which defines the buckets; '' before the first answer. */
  readonly generation: string;
  readonly isFull: boolean;
  /** Number of significant bits of a score that define its bucket. */
  readonly bits: number;
  readonly buckets: ScoreBuckets | null;
  /** Time in milliseconds at which the report was exact. */
  readonly at: number;
  /** The shard's best players, if they may have changed since the last report. */
  readonly top: readonly TopEntry[] | null;
  /** The season's version that the shard has received. */
  readonly since: number;
}

export interface CountAnswer {
  readonly generation: string;
  readonly version: number;
  readonly bits: number;
  /** Whether the answer has all buckets of the other shards. Otherwise it has only the changed ones. */
  readonly isFull: boolean;
  readonly buckets: ScoreBuckets | null;
  /** Time in milliseconds at which, or after which, the counts of the other shards were exact. */
  readonly asOf: number;
  /** Whether the shard must send a full report, because the season cannot use this one. */
  readonly needsFull: boolean;
  /** Number of players that the shard had before, if it lost many of them. Season objects of 0.2.0 do not say it. */
  readonly lostFrom?: number;
  /** Views that show lists of the season. Season objects of 0.2.0 do not say it. */
  readonly views?: readonly string[];
}

/** The players of all other shards per bucket of scores. */
export class OtherCounts {
  bits = BITS_MAX;
  #counts = new BucketCounts();

  get players(): number {
    return this.#counts.players;
  }

  /** Sets the absolute counts of some buckets, or replaces those of all. A count of 0 removes a bucket. */
  apply({ isFull, bits, buckets }: { isFull: boolean; bits: number; buckets: ScoreBuckets | null }): void {
    if (isFull && bits !== this.bits) {
      this.#counts = new BucketCounts();
      this.bits = bits;
    }
    this.#counts.add(this.#counts.compare(buckets, isFull));
  }

  countAbove(score: number): CountAbove {
    const [low, high] = bucketOf(score, this.bits);
    return { above: this.#counts.countAbove(score), unsure: score < high ? this.#counts.countOf(low) : 0 };
  }
}

/** Number of changed scores above which a full report is cheaper. */
const CHANGES_MAX = 16_384;

export class ShardCounts {
  readonly others = new OtherCounts();
  /** Time in milliseconds at which, or after which, the counts of the other shards were exact; 0 before the first answer. */
  othersAsOf = 0;
  /** Number of players that the season knows, if the shard lost many of them. It then serves nothing. */
  lostFrom: number | undefined;
  /** Views that show lists of the season. */
  views: readonly string[] = [];
  readonly #shard: number;
  readonly #boot: string;
  readonly #bucketsMax: number;
  #number = 0;
  #generation = '';
  #version = 0;
  /** The changed scores, each with the number of the first report that can contain the change. */
  readonly #changed = new Map<number, number>();
  /** Number of the first full report that the season has not acknowledged; 0 if no full report is due or on its way. */
  #fullFrom = 1;
  #topFrom = 1;

  constructor(shard: number, boot: string, bucketsMax = BUCKETS_MAX) {
    this.#shard = shard;
    this.#boot = boot;
    this.#bucketsMax = bucketsMax;
  }

  /** Whether the counts of the others are known. */
  get isAnswered(): boolean {
    return this.#generation !== '';
  }

  get hasChanges(): boolean {
    return this.#changed.size > 0 || this.#fullFrom !== 0 || this.#topFrom !== 0;
  }

  /**
   * Records that a player's score changed. `from` is null if the player was not listed before, `to` if the player is not listed any
   * more.
   */
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

  /**
   * Creates the next report.
   * @param asked generation of a season object that requests a report. If it differs from ours, the report is full, and stays due: only an
   * exchange tells us the generation.
   */
  report(index: PlayerIndex, at: number, readTop: () => readonly TopEntry[], asked = this.#generation): CountReport {
    this.#number++;
    if (asked !== this.#generation && this.#fullFrom === 0) this.#fullFrom = this.#number;
    const isFull = this.#fullFrom !== 0 || this.#generation === '';
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

  /** Handles the answer to report `number`. The content of that report then counts as reported. */
  acknowledge(number: number, answer: CountAnswer): void {
    const isNew = answer.generation !== this.#generation;
    if (isNew && !answer.isFull) return;
    if (!isNew && answer.version < this.#version) return;
    this.others.apply(answer);
    this.lostFrom = answer.lostFrom;
    this.views = answer.views ?? [];
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
    // Later reports with the old buckets may be on their way and will be refused, so a full report with the new buckets follows.
    if (isNew && number !== this.#number) this.#fullFrom = this.#number + 1;
  }

  #changedBuckets(index: PlayerIndex): { bits: number; buckets: ScoreBuckets | null } {
    const { bits } = this.others;
    const rows = new Map<number, number>();
    for (const score of this.#changed.keys()) {
      const [low, high] = bucketOf(score, bits);
      if (!rows.has(low)) rows.set(low, index.countAbove(low - 1) - index.countAbove(high));
    }
    return { bits, buckets: rows.size === 0 ? null : toScoreBuckets([...rows]) };
  }

  /** Counts of all buckets. They fill at most half of the buckets of a season. The other half remains for the other shards. */
  #allBuckets(index: PlayerIndex): { bits: number; buckets: ScoreBuckets } {
    return foldScores(index.scoreCounts(), this.others.bits, this.#bucketsMax / 2);
  }
}
