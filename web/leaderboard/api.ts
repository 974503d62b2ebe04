/** Public reads of the leaderboard API. */
import type { z } from 'zod';
import type { distributionSchema, ListJson, playerSchema } from '../../workers/leaderboard/contract.ts';
import { DEFAULT_TITLE } from '../../workers/leaderboard/domain/score-rules.ts';
import { parsePeriod } from '../../workers/leaderboard/domain/season-name.ts';
import { callJson, type Page } from '../shared/api.ts';
import { localeOf } from '../shared/look.ts';
import { boardTexts } from '../shared/texts/board.ts';
import { fill } from '../shared/texts/index.ts';

const t = boardTexts.page;

export type TopList = ListJson;
export type Standing = TopList['data'][number];
export type Distribution = z.infer<typeof distributionSchema>;
export type PlayerInfo = z.infer<typeof playerSchema>['user_info'];

export interface Season {
  season: string;
  state: 'current' | 'closing' | 'historical';
}

export interface Board {
  board: string;
  title: string;
  /** Path of the board's logo. */
  logo: string | null;
  /** Number of digits of a score that are decimals. */
  decimals: number;
  /** Whether everyone may search its players by name. */
  find_by_name: boolean;
}

let base = '/v1';

/** Sets the board of all later reads. @param board null for the default board. */
export function openBoard(board: string | null): void {
  base = board === null ? '/v1' : `/v1/boards/${encodeURIComponent(board)}`;
}

/** Lists the public boards other than the default one. */
export const loadBoards = async (): Promise<Board[]> => (await callJson<Page<Board>>('/v1/boards?limit=200')).data;

/** Reads a board. @param board null: the default board. */
export const loadBoard = (board: string | null) =>
  callJson<Board>(`/v1/boards/${encodeURIComponent(board ?? 'default')}`);

/** Returns the title that an operator gave the board; null for a default board without a title. */
export const titleOf = ({ board, title }: Board): string | null =>
  board === 'default' && title === DEFAULT_TITLE ? null : title;

/** Path of the live top list in the API. */
export const scoresPath = (): string => `${base}/scores`;

const query = (members: Record<string, string | number | null | undefined>): string => {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(members)) {
    if (value !== null && value !== undefined && value !== '') search.set(name, String(value));
  }
  const text = search.toString();
  return text ? `?${text}` : '';
};

export const loadTop = (options: {
  season?: string | null;
  cursor?: string | null;
  limit?: number;
  from_rank?: number;
}) => callJson<TopList>(`${base}/scores${query(options)}`);

export const loadPlayer = (userId: string, season: string | null) =>
  callJson<{ user_info: PlayerInfo }>(`${base}/scores/${encodeURIComponent(userId)}${query({ season })}`);

/** Finds players whose names begin with this text, by name. */
export const findByName = (name: string, season: string | null) =>
  callJson<TopList>(`${base}/players${query({ name, season })}`);

export const loadNeighbors = (userId: string, season: string | null) =>
  callJson<{ data: Standing[] }>(
    `${base}/scores/${encodeURIComponent(userId)}/neighbors${query({ season, radius: 4 })}`,
  );

/** Number of bars of the distribution chart that can be told apart on a phone. */
const BARS_MAX = 40;
export const loadDistribution = (season: string) =>
  callJson<Distribution>(`${base}/seasons/${encodeURIComponent(season)}/distribution?limit=${BARS_MAX}`);

export const loadSeasons = async (): Promise<Season[]> =>
  (await callJson<Page<Season>>(`${base}/seasons?limit=200`)).data;

const FORMATS = {
  month: new Intl.DateTimeFormat(localeOf(), { month: 'long', year: 'numeric', timeZone: 'UTC' }),
  day: new Intl.DateTimeFormat(localeOf(), { dateStyle: 'long', timeZone: 'UTC' }),
};

/** Formats the name of a season: `2026-11` → "November 2026", `2026-W47` → "Week of 16 November 2026". */
export function describeSeason(season: string): string {
  const parsed = parsePeriod(season);
  if (parsed === null) return season;
  if (parsed.period === 'none' && parsed.resetAt !== undefined)
    return fill(t.since, { day: FORMATS.day.format(parsed.resetAt) });
  if (parsed.period === 'none') return t.allTime;
  if (parsed.period === 'custom') return FORMATS.day.formatRange(parsed.startsAt, parsed.endsAt);
  const text = FORMATS[parsed.period === 'month' ? 'month' : 'day'].format(parsed.startsAt);
  return parsed.period === 'week' ? fill(t.weekOf, { day: text }) : text;
}
