/** Distributions are for everybody's charts: an isolate counts one anew at most once a second, a past season's once a minute. */
import type { Distribution } from './domain/distribution.ts';
import type { Season } from './seasons.ts';
import type { StandingsReader } from './standings-reader.ts';

const LIVE_AGE_MAX_MS = 1_000;
const ARCHIVED_AGE_MAX_MS = 60_000;
const KEPT_MAX = 64;

const kept = new Map<string, { readonly at: number; readonly distribution: Distribution }>();

export async function readDistribution(
  { season, reader }: { season: Season; reader: StandingsReader },
  rangesMax: number,
): Promise<Distribution> {
  const key = `${season.archive ?? season.season}:${rangesMax}`;
  const ageMaxMs = season.archive === null ? LIVE_AGE_MAX_MS : ARCHIVED_AGE_MAX_MS;
  const known = kept.get(key);
  if (known !== undefined && Date.now() - known.at < ageMaxMs) return known.distribution;
  const at = Date.now();
  const distribution = await reader.distribution(rangesMax);
  if (kept.size >= KEPT_MAX) kept.clear();
  kept.set(key, { at, distribution });
  return distribution;
}
