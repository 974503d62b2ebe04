/** Public reads of the leaderboard API. */
import type { z } from 'zod';
import type { distributionSchema, ListJson, playerSchema } from '../../workers/leaderboard/contract.ts';
import { callJson, type Page } from '../shared/api.ts';
import { localeOf } from '../shared/look.ts';

export type TopList = ListJson;
export type Standing = TopList['data'][number];
export type Distribution = z.infer<typeof distributionSchema>;
export type PlayerInfo = z.infer<typeof playerSchema>['user_info'];

export interface Season {
  season: string;
  state: 'current' | 'closing' | 'historical';
}

const query = (members: Record<string, string | number | null | undefined>): string => {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(members)) {
    if (value !== null && value !== undefined && value !== '') search.set(name, String(value));
  }
  const text = search.toString();
  return text ? `?${text}` : '';
};

export const loadTop = (options: { season?: string | null; cursor?: string | null; limit?: number }) =>
  callJson<TopList>(`/v1/scores${query(options)}`);

export const loadPlayer = (userId: string, season: string | null) =>
  callJson<{ user_info: PlayerInfo }>(`/v1/scores/${encodeURIComponent(userId)}${query({ season })}`);

export const loadNeighbors = (userId: string, season: string | null) =>
  callJson<{ data: Standing[] }>(`/v1/scores/${encodeURIComponent(userId)}/neighbors${query({ season, radius: 4 })}`);

/** Number of bars that can be told apart on a phone. */
const BARS_MAX = 40;
export const loadDistribution = (season: string) =>
  callJson<Distribution>(`/v1/seasons/${encodeURIComponent(season)}/distribution?limit=${BARS_MAX}`);

export const loadSeasons = async (): Promise<Season[]> => (await callJson<Page<Season>>('/v1/seasons?limit=200')).data;

const MONTH = new Intl.DateTimeFormat(localeOf(), { month: 'long', year: 'numeric', timeZone: 'UTC' });
/** `2026-11` → "November 2026". */
export const describeSeason = (season: string): string => MONTH.format(new Date(`${season}-01T00:00:00Z`));
