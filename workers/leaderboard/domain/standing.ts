/** Entries of the standings, their order across shards, and the ranks of consecutive entries. */

/** The position of a player in list order, independent of the shard. */
export interface StandingKey {
  readonly userId: string;
  readonly score: number;
  /** In microseconds since 1970; unique within a shard. */
  readonly reached: number;
}

export interface TopEntry extends StandingKey {
  readonly userName: string;
}

export interface RankedEntry extends TopEntry {
  readonly rank: number;
}

/** Compares two players by list order: higher score first, then earlier `reached`, then `user_id` by code units. */
export function compareStandings(a: StandingKey, b: StandingKey): number {
  if (a.score !== b.score) return b.score - a.score;
  if (a.reached !== b.reached) return a.reached - b.reached;
  return a.userId < b.userId ? -1 : a.userId > b.userId ? 1 : 0;
}

/**
 * Whether ranks of some players agree with each other and with the scores: equal scores have one rank, and a lower score has at least
 * as many players above it as are here. Counts of different times may disagree.
 */
export function agreeRanks(entries: readonly RankedEntry[]): boolean {
  return settleRanks(entries).every(({ rank }, i) => rank === entries[i]?.rank);
}

/** Raises ranks until they agree (`agreeRanks`). @returns the entries in the same order. */
export function settleRanks<T extends RankedEntry>(entries: readonly T[]): T[] {
  const settled = new Map<number, number>();
  const scores = [...Map.groupBy(entries, ({ score }) => score)].sort(([a], [b]) => b - a);
  let least = 1;
  for (const [score, tied] of scores) {
    const rank = Math.max(least, ...tied.map((entry) => entry.rank));
    settled.set(score, rank);
    least = rank + tied.length;
  }
  return entries.map((entry) => ({ ...entry, rank: settled.get(entry.score) ?? entry.rank }));
}

/** Merges ordered lists of players in list order. Keeps the best `limit` entries. */
export function mergeStandings<T extends StandingKey>(lists: readonly (readonly T[])[], limit: number): T[] {
  return lists.flat().sort(compareStandings).slice(0, limit);
}

/**
 * Chooses how many of the entries before and after a player are in the window of neighbors.
 * @param isFull whether a window that is cut at one end of the list is longer at the other end
 */
export function decideWindow(before: number, after: number, radius: number, isFull: boolean): [number, number] {
  const span = (own: number, other: number) => Math.min(own, isFull ? radius + Math.max(0, radius - other) : radius);
  return [span(before, after), span(after, before)];
}

/**
 * Adds standard competition ranks to consecutive entries of the list.
 * @param place 0-based position of the first entry in the whole list.
 * @param firstRank rank of the first entry: 1 + the number of players with a higher score.
 */
export function rankRun<T extends TopEntry>(run: readonly T[], place: number, firstRank: number): (T & RankedEntry)[] {
  const ranked: (T & RankedEntry)[] = [];
  for (const [i, entry] of run.entries()) {
    const previous = ranked.at(-1);
    const rank = previous === undefined ? firstRank : previous.score === entry.score ? previous.rank : place + i + 1;
    ranked.push({ ...entry, rank });
  }
  return ranked;
}
