/** Resolves the season of a request and its state. */
import { err, ok, type Result } from '../shared/result.ts';
import { settingsOf } from '../shared/settings.ts';
import type { SeasonAddress } from './domain/board.ts';
import { parseSeason, seasonAt } from './domain/season-name.ts';
import { createSeasonStore, type SeasonRow } from './records/season-store.ts';

export type SeasonState = 'current' | 'closing' | 'historical';

export interface Season extends SeasonAddress {
  readonly state: SeasonState;
  /** Prefix of the archive; null before the season is historical. */
  readonly archive: string | null;
  readonly erasedAt: number | null;
}

export type SeasonError = { readonly kind: 'unknown_season'; readonly season: string };

/**
 * Season facts that are immutable or only advance, cached per isolate: the shards of a current season, the archive of a
 * historical one.
 */
const known = new Map<string, SeasonRow>();
const KNOWN_MAX = 64;

export async function findSeason(
  env: Env,
  name: string | undefined,
  now: number,
): Promise<Result<Season, SeasonError>> {
  const current = seasonAt(now);
  const wanted = name ?? current;
  const cached = known.get(wanted);
  if (cached !== undefined && (wanted === current || cached.erasedAt !== null)) return ok(toSeason(cached, current));
  const store = createSeasonStore(env.DIRECTORY);
  if (wanted > current || parseSeason(wanted) === null) return err({ kind: 'unknown_season', season: wanted });
  const row =
    wanted === current ? await store.ensure(wanted, settingsOf(env).LEADERBOARD_SHARDS, now) : await store.find(wanted);
  if (row === null) return err({ kind: 'unknown_season', season: wanted });
  if (known.size >= KNOWN_MAX) known.clear();
  known.set(wanted, row);
  return ok(toSeason(row, current));
}

export function toSeason(row: SeasonRow, current: string): Season {
  const state = row.archive !== null ? 'historical' : row.season >= current ? 'current' : 'closing';
  return { season: row.season, shards: row.shards, state, archive: row.archive, erasedAt: row.erasedAt };
}

/** Drops a season from the cache after its state changed. */
export const forgetSeason = (name: string): boolean => known.delete(name);
