/** What a list of standings can be asked, whether it is live or in the archive. */
import type { Standings, StandingsPage } from './domain/board.ts';
import type { Distribution } from './domain/distribution.ts';
import type { RankedEntry, StandingKey } from './domain/standing.ts';

export interface StandingsReader {
  page(after: StandingKey | null, limit: number): Promise<StandingsPage>;
  standings(userIds: readonly string[]): Promise<Standings>;
  /** The player with up to `radius` others on each side, in list order; null for a player who is not listed. */
  neighbors(userId: string, radius: number): Promise<{ entries: readonly RankedEntry[]; asOf: number } | null>;
  /** At most `rangesMax` ranges of scores and how many players are in each. */
  distribution(rangesMax: number): Promise<Distribution>;
}
