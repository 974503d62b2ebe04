/** Resolves the board and the season of a request, and the season's state. */

import { EVENT_RETENTION_MS, type SeasonAddress } from '../../../durable-objects/leaderboard/protocol.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { type Board, findBoard, shardsOf } from '../boards/boards.ts';
import { endOfSeason, previousSeason, readSeason, seasonAt, seasonNamed } from '../domain/season-name.ts';
import { createSeasonStore, type SeasonRow } from '../records/season-store.ts';

export interface Season extends SeasonAddress, Readonly<Pick<SeasonRow, 'archive' | 'closedAt' | 'erasedAt'>> {
  /** `historical` once the season is final. */
  readonly state: 'current' | 'closing' | 'historical';
  /** Numbers of the shards that a final season lacks. */
  readonly without: readonly number[];
}

export type SeasonError =
  | { readonly kind: 'unknown_season'; readonly season: string }
  | { readonly kind: 'unknown_board'; readonly board: string };

/** Rows of seasons that this isolate has read. */
const known = new Map<string, { readonly row: SeasonRow | null; readonly at: number }>();
const KNOWN_MAX = 256;
/** Time for which the row of a final season is cached. */
const PAST_KNOWN_MS = 10_000;

/**
 * Finds a season.
 * @param label label of its period; default: the current one.
 * @param board name of its board; default: `default`.
 */
export async function findSeason(
  env: Env,
  label: string | undefined,
  now: number,
  board?: string,
): Promise<Result<Season, SeasonError>> {
  const found = await findBoard(env, board);
  return found === null ? err({ kind: 'unknown_board', board: board ?? '' }) : findSeasonOf(env, found, label, now);
}

/** Finds a season of a board. @param maxAgeMs maximum age of the cached row of a past season. */
export async function findSeasonOf(
  env: Env,
  board: Board,
  label: string | undefined,
  now: number,
  maxAgeMs = 0,
): Promise<Result<Season, SeasonError>> {
  const current = seasonAt(now, board);
  const wanted = label === undefined ? current : seasonNamed(label, board);
  if (wanted === null || wanted > current) return err({ kind: 'unknown_season', season: label ?? '' });
  const cached = known.get(wanted);
  const isLasting = cached?.row && wanted === current;
  const keptMs = cached?.row?.closedAt ? PAST_KNOWN_MS : maxAgeMs;
  const row =
    cached !== undefined && (isLasting || Math.abs(now - cached.at) < keptMs)
      ? cached.row
      : await readRow(env, wanted, wanted === current ? board : null, now);
  return row === null ? err({ kind: 'unknown_season', season: label ?? '' }) : ok(toSeason(row, now));
}

/**
 * Finds the season of a post. One that answers no retries any more is sealed, and so is a past one without a row: it had no players.
 * @param label label of its period; default: the current one.
 */
export async function findOpenSeason(
  env: Env,
  board: Board,
  label: string | undefined,
  now: number,
): Promise<Result<Season, SeasonError | { readonly kind: 'season_sealed' | 'no_season' }>> {
  // The first season of a schedule may be ahead, and the last one over.
  if (label === undefined && board.schedule != null) {
    const { startsAt, endsAt } = readSeason(seasonAt(now, board));
    if (now < startsAt || now >= endsAt) return err({ kind: 'no_season' });
  }
  const season = await findSeasonOf(env, board, label, now);
  if (season.ok) {
    const { closedAt, erasedAt } = season.value;
    const isAsleep = erasedAt !== null || (closedAt !== null && now - closedAt > EVENT_RETENTION_MS);
    return isAsleep ? err({ kind: 'season_sealed' }) : season;
  }
  const name = label === undefined ? null : seasonNamed(label, board);
  return name !== null && name < seasonAt(now, board) ? err({ kind: 'season_sealed' }) : season;
}

/** Maximum number of earlier seasons that are asked for an event. Days need three. */
const PREVIOUS_MAX = 3;
/** Time for which an isolate caches whether an earlier season exists. Until then, posts do not notice that it was created or erased. */
const PREVIOUS_KNOWN_MS = 10_000;

/**
 * Finds the earlier seasons whose events may be repeated: those that ended less than `EVENT_RETENTION_MS` ago. The season that
 * counted an event answers its retry.
 */
export async function findPreviousSeasons(env: Env, board: Board, season: Season, now: number): Promise<Season[]> {
  const seasons: Season[] = [];
  let name: string | null = season.state === 'current' ? season.season : null;
  // The start of a season is the end of the previous one.
  for (let asked = 0; asked < PREVIOUS_MAX; asked++) {
    if (name === null || now - readSeason(name).startsAt > EVENT_RETENTION_MS) break;
    name = previousSeason(name, board);
    if (name === null) break;
    const found = await findSeasonOf(env, board, readSeason(name).label, now, PREVIOUS_KNOWN_MS);
    if (found.ok && found.value.erasedAt === null) seasons.push(found.value);
  }
  return seasons;
}

/** Reads the row of a season. @param board the board of a current season, whose row is created; null for another one */
async function readRow(env: Env, name: string, board: Board | null, now: number): Promise<SeasonRow | null> {
  const store = createSeasonStore(env.DIRECTORY);
  const row =
    board === null
      ? await store.find(name)
      : await store.ensure(name, shardsOf(env, board), now, endOfSeason(name, board));
  if (known.size >= KNOWN_MAX) known.clear();
  known.set(name, { row, at: now });
  return row;
}

export function toSeason(row: SeasonRow, now: number): Season {
  const { season, shards, archive, closedAt, erasedAt, endsAt } = row;
  const state = closedAt !== null ? 'historical' : now < endsAt ? 'current' : 'closing';
  const without: number[] = row.without === null ? [] : JSON.parse(row.without);
  return { season, shards, state, archive, closedAt, erasedAt, without };
}

export const forgetSeason = (name: string): boolean => known.delete(name);
