/** Queries of standings, live or archived. */
import type { Standings, StandingsPage } from './domain/board.ts';
import type { Distribution } from './domain/distribution.ts';
import type { RankedEntry, StandingKey } from './domain/standing.ts';

export interface StandingsReader {
  page(after: StandingKey | null, limit: number): Promise<StandingsPage>;
  standings(userIds: readonly string[]): Promise<Standings>;
  /** The player with up to `radius` others on each side, in list order; null if the player is not listed. */
  neighbors(userId: string, radius: number): Promise<{ entries: readonly RankedEntry[]; asOf: number } | null>;
  /** At most `rangesMax` ranges of scores, with the number of players in each. */
  distribution(rangesMax: number): Promise<Distribution>;
}
