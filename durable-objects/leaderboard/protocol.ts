/** Types that the Worker and its objects exchange about one leaderboard, which is a season of shards. */

import type { Distribution } from '../../workers/leaderboard/domain/distribution.ts';
import type { RankedEntry, StandingKey, TopEntry } from '../../workers/leaderboard/domain/standing.ts';
import type { Result } from '../../workers/shared/pure/result.ts';

export interface SeasonAddress {
  /** Name of the season (`season-name.ts`). */
  readonly season: string;
  readonly shards: number;
}

/** Names a shard of a season. Every call to a shard contains it. */
export interface ShardAddress extends SeasonAddress {
  readonly shard: number;
}

/** Address of a view of a season. `view` is `REGION:NUMBER`. */
export interface ViewAddress extends SeasonAddress {
  readonly view: string;
}

/** A viewer that requests a live connection. */
export interface Viewer {
  readonly limit: number;
  /** The client to which the connection is counted. */
  readonly client: string;
  /** Maximum number of connections that one client may have at the same time. */
  readonly perClient: number;
}

export const addressesOf = ({ season, shards }: SeasonAddress): ShardAddress[] =>
  Array.from({ length: shards }, (_, shard) => ({ season, shard, shards }));

export const toShardName = ({ season, shard }: ShardAddress): string => `${season}:${shard}`;

export interface ScoreUpdate {
  readonly userId: string;
  readonly points: number;
  readonly userName: string | null;
  readonly eventId: string | null;
  /** JSON that is kept with the score that counts. Absent on boards without data; null if this post has none. */
  readonly data?: string | null;
  /** Minimum time since the player's last post in milliseconds, on boards with one. */
  readonly gapMs?: number;
  /** Time at which the play of this result began, in milliseconds since 1970. Plays of one player do not overlap. */
  readonly playedSince?: number;
}

export type ScoreError =
  | { readonly kind: 'season_sealed' }
  | { readonly kind: 'event_conflict'; readonly points: number }
  | { readonly kind: 'score_overflow' }
  | { readonly kind: 'points_per_day_exceeded'; readonly pointsMax: number; readonly pointsLeft: number }
  | { readonly kind: 'posted_too_soon'; readonly waitMs: number }
  | { readonly kind: 'plays_overlap' }
  | { readonly kind: 'board_busy'; readonly waitMs: number }
  | { readonly kind: 'unavailable' };

/** A rank by the counts that one shard has. */
export interface CountedRank {
  readonly rank: number;
  /**
   * Whether the rank is an estimate, because players of other shards have scores near this one, or are not known yet. Objects of 0.2.0
   * do not say it; their ranks are exact.
   */
  readonly isEstimated?: boolean;
}

export interface ScoreOutcome extends CountedRank {
  readonly userName: string;
  readonly score: number;
  readonly isDuplicate: boolean;
}

export type ScoreResult = Result<ScoreOutcome, ScoreError>;

export interface ScoreAnswer<R = ScoreResult> {
  readonly results: readonly R[];
  /** Time as of which the ranks are exact, in milliseconds since 1970. */
  readonly asOf: number;
  /** Time at which the scores were written, in milliseconds since 1970. A list as of a later time includes them. */
  readonly writtenAt: number;
  /** Views that show lists of the season (`REGION:NUMBER`), as the shard last heard. Objects of 0.2.0 do not say it. */
  readonly views?: readonly string[];
}

/** The time of the last post to a shard that the lists of a view must have. */
export interface PostMark {
  readonly shard: number;
  /** `writtenAt` of the post. */
  readonly writtenAt: number;
}

/** Status of a shard of a season. */
export interface ShardStatus {
  readonly shard: number;
  readonly players: number;
  /** Time at which the season object last received an answer of this shard, in milliseconds since 1970. */
  readonly asOf: number;
  readonly isAvailable: boolean;
}

export type CountedEntry = TopEntry & CountedRank;

/** A shard's answer about some of its players. */
export interface ShardStandings {
  /** Entries in the order of the requested user ids; null for a player who is not listed. */
  readonly entries: readonly (CountedEntry | null)[];
  readonly players: number;
  readonly asOf: number;
}

export interface Standings {
  /** Entries in the order of the requested user ids; null for a player who is not listed. */
  readonly entries: readonly (RankedEntry | null)[];
  readonly players: number;
  readonly asOf: number;
}

export interface TopList {
  readonly entries: readonly RankedEntry[];
  readonly players: number;
  readonly asOf: number;
}

export interface StandingsPage extends TopList {
  /** Key after which the next page begins; null at the end. */
  readonly next: StandingKey | null;
}

/** Why a copy of a shard is not written or read, and of which file it is true. */
export interface CopyFault {
  readonly kind: 'copy_missing' | 'copy_part_missing' | 'copy_damaged' | 'copy_older';
  readonly detail: string;
}

export interface CountAbove {
  /** Number of players who certainly have a higher score. */
  readonly above: number;
  /** Number of players in the same bucket as the score, about whom the other shards must be asked. If 0, `above` is exact. */
  readonly unsure: number;
}

/** A final season's answer about some scores. */
export interface PastAnswer {
  /** Players above each score, in the order of the question. */
  readonly above: readonly CountAbove[];
  readonly players: number;
  /** Time as of which the counts are exact, in milliseconds since 1970. It may be in the future, if nothing changes them any more. */
  readonly asOf: number;
}

/** Scores from `low` to `high`, both included. */
export interface ScoreRange {
  readonly low: number;
  readonly high: number;
}

/** The place in the list at which a rank begins. */
export interface RankPlace {
  readonly key: StandingKey;
  /** Time of the counts that were used, in milliseconds since 1970. */
  readonly asOf: number;
}

/**
 * Queries of standings, live or archived. With `isExact`, every shard is asked; an archive is always exact. With `minAsOf`, the
 * answer is as of that time or later if every shard answers.
 */
export interface StandingsReader {
  page(after: StandingKey | null, limit: number, isExact: boolean, minAsOf?: number): Promise<StandingsPage>;
  /**
   * Finds the key before the first player whose rank is at least `rank`. Without `isExact` and `minAsOf`, a live season answers from
   * its last counts.
   */
  keyAtRank(rank: number, isExact: boolean, minAsOf?: number): Promise<RankPlace>;
  standings(userIds: readonly string[], isExact: boolean, minAsOf?: number): Promise<Standings>;
  /**
   * Finds a player with up to `radius` others on each side, in list order; null if the player is not listed.
   * @param isFull whether a window that is cut at one end of the list is longer at the other end
   */
  neighbors(
    userId: string,
    radius: number,
    isExact: boolean,
    isFull?: boolean,
  ): Promise<{ entries: readonly RankedEntry[]; asOf: number } | null>;
  /** Counts the players in each of at most `rangesMax` ranges of scores. */
  distribution(rangesMax: number): Promise<Distribution>;
  /** Yields the whole list, or the part after a player. Yields null if that player is not listed. */
  rows(after: string | null): AsyncGenerator<readonly RankedEntry[] | null>;
}

/** The entries of one shard before and after a key. The runs of all shards together make a run of the whole list. */
export interface ShardRun {
  readonly before: readonly TopEntry[];
  /** The entries after the key, in list order. The entry of the key itself is neither in `before` nor in `after`. */
  readonly after: readonly TopEntry[];
  readonly countBefore: number;
  /** Number of players of the shard with a higher score than that of the key. */
  readonly countAbove: number;
  readonly hasKey: boolean;
  readonly players: number;
}

/** A change of a player by an operator. Absent members stay unchanged. */
export interface Correction {
  readonly score?: number;
  readonly hidden?: boolean;
}

export interface CorrectedPlayer {
  readonly userName: string;
  readonly score: number;
  /** The player's rank; null while the player is hidden. */
  readonly rank: number | null;
  /** See `CountedRank`. */
  readonly isEstimated?: boolean;
  readonly isHidden: boolean;
}

/** Maximum points of one update of the board `default`. */
export const POINTS_MAX = 1_000_000;
/** Maximum points of one update of any board, because an event stores them in 32 bits. */
export const BOARD_POINTS_MAX = 2 ** 32 - 1;
/** Least points of one update of a board with negative scores. Its updates have at most 2^31 − 1. */
export const SIGNED_POINTS_MIN = -(2 ** 31);
/** Posts a second that the shard of a board with one shard takes. A batch counts as one post for each `UPDATES_PER_POST` updates. */
export const ONE_SHARD_POSTS_PER_SECOND = 500;
export const UPDATES_PER_POST = 40;
/** Players of one shard above which the next season of its board has more of them. */
export const ONE_SHARD_PLAYERS_MAX = 500_000;
/** Number of entries in the top list of a season, and maximum number of entries in one response. */
export const TOP_ENTRIES = 100;
/** Maximum age of ranks and lists. */
const STALE_AFTER_MS = 1_000;
/**
 * Whether counts are too old. A time far in the future also counts as too old: it was taken before a clock was set back. Both times
 * are milliseconds since 1970.
 */
export const isStale = (at: number, now: number): boolean => Math.abs(now - at) > STALE_AFTER_MS;
/** Minimum interval between two pushes, from a shard to the season and from the season to a view. */
export const PUSH_INTERVAL_MS = 100;
/** Time for which a part of the board that did not answer is not asked again. */
export const SKIP_MS = 1_000;
/** Time that a read waits for newer counts before it uses the older ones. */
export const REFRESH_MS = 300;
export const LIST_START: StandingKey = { score: Number.MAX_SAFE_INTEGER, reached: 0, userId: '' };
export const LIST_END: StandingKey = { score: -1, reached: 0, userId: '' };
/** The key that sorts before all players with a score, and after all players with a higher one. */
export const startOf = (score: number): StandingKey => ({ score, reached: 0, userId: '' });
/** Time for which events are kept: the promised 48 hours, with a margin. */
export const EVENT_RETENTION_MS = 49 * 3_600_000;
