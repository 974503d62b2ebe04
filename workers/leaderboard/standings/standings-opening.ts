/** Finds a season and opens its standings, from its objects or from its archive. */

import type { StandingsReader } from '../../../durable-objects/leaderboard/protocol.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { regionOf } from '../objects.ts';
import { findSeason, type Season, type SeasonError } from '../seasons/seasons.ts';
import { openArchivedStandings } from './archived-standings.ts';
import { LiveStandings } from './live-standings.ts';

export async function openStandings(
  env: Env,
  name: string | undefined,
  region = regionOf(undefined),
  board?: string,
): Promise<Result<{ season: Season; reader: StandingsReader }, SeasonError>> {
  const now = createClock(env);
  const season = await findSeason(env, name, now(), board);
  if (!season.ok) return err(season.error);
  const { archive } = season.value;
  const reader =
    archive === null ? new LiveStandings(env, season.value, region, now) : openArchivedStandings(env, archive);
  return ok({ season: season.value, reader });
}
