/** Caches distributions of current seasons per isolate, for at most a second: public charts read them often. */
import type { Distribution } from './domain/distribution.ts';
import type { Season } from './seasons.ts';
import type { StandingsReader } from './standings-reader.ts';

const AGE_MAX_MS = 1_000;
const KEPT_MAX = 64;

const kept = new Map<string, { readonly at: number; readonly distribution: Distribution }>();

export async function readDistribution(
  { season, reader }: { season: Season; reader: StandingsReader },
  rangesMax: number,
): Promise<Distribution> {
  if (season.archive !== null) return reader.distribution(rangesMax);
  const key = `${season.season}:${rangesMax}`;
  const known = kept.get(key);
  if (known !== undefined && Date.now() - known.at < AGE_MAX_MS) return known.distribution;
  const at = Date.now();
  const distribution = await reader.distribution(rangesMax);
  if (kept.size >= KEPT_MAX) kept.clear();
  kept.set(key, { at, distribution });
  return distribution;
}
