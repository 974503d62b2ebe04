/** Types that the Worker and its objects exchange about one leaderboard, which is a season of shards. */
import type { Result } from '../../shared/result.ts';
import type { Distribution } from './distribution.ts';
import type { RankedEntry, StandingKey, TopEntry } from './standing.ts';

export interface SeasonAddress {
  /** season-name.ts */
  readonly season: string;
  readonly shards: number;
}

/** Names a shard of a season. Every call to a shard contains it. */
export interface ShardAddress extends SeasonAddress {
  readonly shard: number;
}

/** Names a view of a season: `REGION:NUMBER`. */
export interface ViewAddress extends SeasonAddress {
  readonly view: string;
}

/** A request for a live connection. */
export interface Viewer {
  readonly limit: number;
  /** The client whose connections are counted. */
  readonly client: string;
  /** Connections that one client may have at the same time. */
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
}

export type ScoreError =
  | { readonly kind: 'season_sealed' }
  | { readonly kind: 'event_conflict'; readonly points: number }
  | { readonly kind: 'score_overflow' };

export interface ScoreOutcome {
  readonly userName: string;
  readonly score: number;
  readonly rank: number;
  readonly isDuplicate: boolean;
}

export type ScoreResult = Result<ScoreOutcome, ScoreError>;

export interface ScoreAnswer {
  readonly results: readonly ScoreResult[];
  /** Milliseconds since 1970. The ranks are exact as of this time. */
  readonly asOf: number;
  /** When the scores were written. A list as of a later time counts them. */
  readonly writtenAt: number;
}

/** A part of a board that may not answer. */
export interface ShardStatus {
  readonly shard: number;
  readonly players: number;
  /** When the season last received an answer of this part. */
  readonly asOf: number;
  readonly isAvailable: boolean;
}

export interface Standings {
  /** In the order of the request; null for a player who is not listed. */
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
  /** The key to continue after; null at the end. */
  readonly next: StandingKey | null;
}

/**
 * Queries of standings, live or archived. `isExact` asks every shard; an archive is always exact. The answer to `minAsOf`
 * is as of that time or later, if every shard answers.
 */
export interface StandingsReader {
  page(after: StandingKey | null, limit: number, isExact: boolean, minAsOf?: number): Promise<StandingsPage>;
  /** The key before the first player whose rank is at least `rank`. A live season answers from its last counts. */
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

/** The entries of one shard around a key, as a part of a run of the whole list. */
export interface ShardRun {
  readonly before: readonly TopEntry[];
  /** The entries after the key, in list order; the key's own entry is in neither. */
  readonly after: readonly TopEntry[];
  readonly countBefore: number;
  /** Players of the shard with a higher score than the key's. */
  readonly countAbove: number;
  readonly hasKey: boolean;
  readonly players: number;
}

/** Changes of an operator. Absent members stay as they are. */
export interface Correction {
  readonly score?: number;
  readonly hidden?: boolean;
}

export interface CorrectedPlayer {
  readonly userName: string;
  readonly score: number;
  /** Null while the player is hidden. */
  readonly rank: number | null;
  readonly isHidden: boolean;
}

/** Most points of one update of the board `default`. */
export const POINTS_MAX = 1_000_000;
/** Most points of one update of any board: an event stores 32 bits. */
export const BOARD_POINTS_MAX = 2 ** 32 - 1;
/** Entries in the top list of a season: the most that one response contains. */
export const TOP_ENTRIES = 100;
/** Largest age of ranks and lists. */
const STALE_AFTER_MS = 1_000;
/**
 * Whether counts are too old. A time far in the future was taken before a clock was set back, so it is stale too. Both
 * times in milliseconds since 1970.
 */
export const isStale = (at: number, now: number): boolean => Math.abs(now - at) > STALE_AFTER_MS;
/** Shortest interval between pushes: from a shard to the season, and from the season to a view. */
export const PUSH_INTERVAL_MS = 100;
/** A part of the board that did not answer is skipped for this time. */
export const SKIP_MS = 1_000;
/** Time that a read waits for newer counts before it uses older ones. */
export const REFRESH_MS = 300;
export const LIST_START: StandingKey = { score: Number.MAX_SAFE_INTEGER, reached: 0, userId: '' };
export const LIST_END: StandingKey = { score: -1, reached: 0, userId: '' };
/** Sorts before all players with a score, and after those with a higher one. */
export const startOf = (score: number): StandingKey => ({ score, reached: 0, userId: '' });
/** Event ids are kept for 48 hours, with a margin. */
export const EVENT_RETENTION_MS = 49 * 3_600_000;
