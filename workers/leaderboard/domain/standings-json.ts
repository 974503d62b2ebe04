/** Standings as JSON, in responses and in messages to viewers, with periods and scores as the API has them. */

import type { StandingsPage, TopList } from '../../../durable-objects/leaderboard/protocol.ts';
import { decodeCursor, encodeCursor } from '../../shared/pure/cursor.ts';
import { type ScoreRules, toShown } from './score-rules.ts';
import { readSeason } from './season-name.ts';
import type { RankedEntry, StandingKey } from './standing.ts';

/** The first page of the whole list, from a top list. */
export function toFirstPage({ entries: all, players, asOf }: TopList, limit: number): StandingsPage {
  const entries = all.slice(0, limit);
  return { entries, players, asOf, next: players > entries.length ? (entries.at(-1) ?? null) : null };
}

/** Converts a page of standings to the JSON of the API. @param name name of the season. */
export function toListJson(name: string, { entries, players, asOf, next }: StandingsPage) {
  const { label: season, rules } = readSeason(name);
  return {
    data: entries.map((entry) => toEntryJson(rules, entry)),
    total: entries.length,
    season,
    players,
    as_of: new Date(asOf).toISOString(),
    next_cursor: next === null ? null : encodeCursor([season, next.score, next.reached, next.userId]),
  };
}

export const toEntryJson = (rules: ScoreRules, { userId, userName, rank, score }: RankedEntry) => ({
  user_id: userId,
  user_name: userName,
  rank,
  score: toShown(rules, score),
});

/** The rank of a player who was written. It may be an estimate; that of a read is never one. */
export const toRankJson = <R extends number | null>({ rank, isEstimated }: { rank: R; isEstimated?: boolean }) =>
  isEstimated && rank !== null ? { rank, rank_exact: false as const } : { rank };

/** Parses a cursor. It contains the name of its season, so that its pages continue in that season after the month's end. */
export function readCursor(cursor: string): { season: string; key: StandingKey } | null {
  const [season, score, reached, userId, ...more] = decodeCursor(cursor) ?? [];
  const isOurs =
    typeof season === 'string' &&
    typeof score === 'number' &&
    typeof reached === 'number' &&
    typeof userId === 'string' &&
    more.length === 0;
  return isOurs ? { season, key: { score, reached, userId } } : null;
}
