/** The list of a shard, as reads use it: in memory while scores arrive, in SQL once the shard is sealed. */
export interface PlayerIndex {
  /** Number of listed players. */
  readonly size: number;
  /** @returns the score of a slot, or −1 if the slot is not listed. */
  scoreOf(slot: number): number;
  reachedOf(slot: number): number;
  /** Counts the players with a score above `score`. */
  countAbove(score: number): number;
  /** Counts the entries before the key `(score, reached)` in list order. */
  countBefore(score: number, reached: number): number;
  /** @returns up to `limit` slots in list order, beginning with the entry at the 0-based position `start`. */
  range(start: number, limit: number): number[];
  /** Yields every score that players have, best first, with its number of players. */
  scoreCounts(): Iterable<[score: number, count: number]>;
}
