/** The words that the Worker and its objects exchange about one leaderboard: a season of shards. */
import type { Result } from '../../shared/result.ts';
import type { RankedEntry, StandingKey, TopEntry } from './standing.ts';

/** Which shard of which season is meant; every call to an object carries it. */
export interface ShardAddress {
  /** `YYYY-MM` */
  readonly season: string;
  readonly shard: number;
  readonly shards: number;
}

export interface SeasonAddress {
  readonly season: string;
  readonly shards: number;
}

export const toShardName = ({ season, shard }: ShardAddress): string => `${season}:${shard}`;

export interface ScoreUpdate {
  readonly userId: string;
  readonly points: number;
  readonly userName: string | null;
  readonly eventId: string | null;
}

export type ScoreError =
  /** The month is closed; nothing new is taken. */
  | { readonly kind: 'season_sealed' }
  /** The event id was used by this player with other points. */
  | { readonly kind: 'event_conflict'; readonly points: number }
  /** The total would pass 2^53 − 1. */
  | { readonly kind: 'score_overflow' };

export interface ScoreOutcome {
  readonly userName: string;
  readonly score: number;
  readonly rank: number;
  readonly isDuplicate: boolean;
}

export type ScoreResult = Result<ScoreOutcome, ScoreError>;

export interface Standings {
  /** In the order asked for; null for a player who is not listed. */
  readonly entries: readonly (RankedEntry | null)[];
  readonly players: number;
  /** Milliseconds since 1970: the ranks are exact as of then. */
  readonly asOf: number;
}

export interface TopList {
  readonly entries: readonly RankedEntry[];
  readonly players: number;
  readonly asOf: number;
}

export interface StandingsPage {
  readonly entries: readonly RankedEntry[];
  readonly players: number;
  readonly asOf: number;
  /** The key to go on after; null at the end. */
  readonly next: StandingKey | null;
}

/** A shard's part of a run of the list around a key. */
export interface ShardRun {
  /** The entries before the key, in list order. */
  readonly before: readonly TopEntry[];
  /** The entries after the key, in list order; the key's own entry is in neither. */
  readonly after: readonly TopEntry[];
  /** How many of the shard's players stand before the key. */
  readonly countBefore: number;
  /** How many have a higher score than the key's. */
  readonly countAbove: number;
  /** Whether the key's own entry is here. */
  readonly hasKey: boolean;
  readonly players: number;
}

export type RunKey = StandingKey;

/** What an operator may change; absent: stays. */
export interface Correction {
  readonly score?: number;
  readonly hidden?: boolean;
}

export interface CorrectedPlayer {
  readonly userName: string;
  readonly score: number;
  /** Null while hidden. */
  readonly rank: number | null;
  readonly isHidden: boolean;
}

/** Entries that the top list of a season is made from: the most that one answer can hold. */
export const TOP_ENTRIES = 100;
/** Ranks and lists are never older than this. */
const STALE_AFTER_MS = 1_000;
/** A time far ahead is from before a clock was set back, and says nothing. Both in milliseconds since 1970. */
export const isStale = (at: number, now: number): boolean => Math.abs(now - at) > STALE_AFTER_MS;
/** The season tells its viewers at most this often, and news that a shard could not tell at once follows after so long. */
export const PUSH_INTERVAL_MS = 100;
/** Event ids are kept for 48 hours and a margin. */
export const EVENT_RETENTION_MS = 49 * 3_600_000;
