/**
 * Queries of standings, live or archived. `isExact` asks every shard; an archive is always exact. The answer to `minAsOf`
 * is as of that time or later, if every shard answers.
 */
import type { Standings, StandingsPage } from './domain/board.ts';
import type { Distribution } from './domain/distribution.ts';
import type { RankedEntry, StandingKey } from './domain/standing.ts';

export interface StandingsReader {
  page(after: StandingKey | null, limit: number, isExact: boolean, minAsOf?: number): Promise<StandingsPage>;
  /** The key before the first player whose rank is at least `rank`. A live season knows it by its last counts. */
  keyAtRank(rank: number): Promise<StandingKey>;
  standings(userIds: readonly string[], isExact: boolean, minAsOf?: number): Promise<Standings>;
  /** The player with up to `radius` others on each side, in list order; null if the player is not listed. */
  neighbors(
    userId: string,
    radius: number,
    isExact: boolean,
  ): Promise<{ entries: readonly RankedEntry[]; asOf: number } | null>;
  /** At most `rangesMax` ranges of scores, with the number of players in each. */
  distribution(rangesMax: number): Promise<Distribution>;
  /** The whole list, or what follows a player. Yields null if that player is not listed. */
  rows(after: string | null): AsyncGenerator<readonly RankedEntry[] | null>;
}
