/** Sends score updates to their shards, with one call per shard. Results keep the order of the updates. */

import {
  EVENT_RETENTION_MS,
  type ScoreAnswer,
  type ScoreError,
  type ScoreOutcome,
  type ScoreResult,
  type ScoreUpdate,
  type ShardAddress,
  toShardName,
} from '../../durable-objects/leaderboard/protocol.ts';
import { err, ok, type Result } from '../shared/pure/result.ts';
import { createClock } from '../shared/settings/clock.ts';
import { logError } from '../shared/telemetry/log.ts';
import { type Board, findBoard } from './boards/boards.ts';
import { mirror } from './domain/score-rules.ts';
import { previousSeason, readSeason, seasonAt, seasonNamed } from './domain/season-name.ts';
import { shardOf } from './domain/shard-map.ts';
import { shardStub, within } from './objects.ts';
import { findSeasonOf, type Season, type SeasonError } from './seasons/seasons.ts';

/**
 * Time for which an isolate caches whether the previous season exists. Until then, posts do not notice that it was created or
 * erased.
 */
const PREVIOUS_KNOWN_MS = 10_000;

/**
 * Time that a post waits for a shard. An answer that is given up may still be committed, and a busy board with many different scores
 * takes seconds, so posts wait longer than reads.
 */
const POST_MS = 15_000;

export type WriteError =
  | ScoreError
  | SeasonError
  | { readonly kind: 'unavailable' }
  | { readonly kind: 'too_many_points'; readonly pointsMax: number };
export interface WrittenScore extends ScoreOutcome {
  readonly userId: string;
  /** Label of the season's period. */
  readonly season: string;
  readonly asOf: number;
  readonly writtenAt: number;
}
export type WriteResult = Result<WrittenScore, WriteError>;

type SeasonUpdate = ScoreUpdate & { readonly season: string | undefined };

/** State of one write: the updates and their results. The result of an update that has no answer yet is a hole in the array. */
interface Work {
  readonly env: Env;
  readonly board: Board;
  readonly now: number;
  readonly updates: readonly SeasonUpdate[];
  readonly results: WriteResult[];
}

/**
 * Writes updates. An update without a season that hits a sealed season counts in the next one: it crossed the
 * boundary, or another clock is ahead. A retry of such an update gets its first answer from the season that counted it.
 * @param updates each may have the label of its season. @returns one result per update, in order.
 */
export async function writeScores(env: Env, updates: readonly SeasonUpdate[], name?: string): Promise<WriteResult[]> {
  const clock = createClock(env);
  const now = clock();
  const board = await findBoard(env, name);
  if (board === null) return updates.map(() => err({ kind: 'unknown_board', board: name ?? '' }));
  const results = new Array<WriteResult>(updates.length);
  const work: Work = { env, board, now, updates, results };
  await writeAt(work, [...updates.keys()]);
  const late = [...updates.keys()].filter((place) => updates[place]?.season === undefined && isSealed(results[place]));
  if (late.length === 0) return results;
  for (const place of late) delete results[place];
  await writeAt({ ...work, now: Math.max(clock(), readSeason(seasonAt(now, board)).endsAt) }, late);
  return results;
}

const isSealed = (result: WriteResult | undefined): boolean =>
  result !== undefined && !result.ok && result.error.kind === 'season_sealed';

async function writeAt(work: Work, all: readonly number[]): Promise<void> {
  const { env, board, now, updates, results } = work;
  const { pointsMax } = board;
  for (const place of all)
    if ((updates[place]?.points ?? 0) > pointsMax) results[place] = err({ kind: 'too_many_points', pointsMax });
  for (const [label, places] of Map.groupBy(all, (place) => updates[place]?.season)) {
    const season = await findSeasonOf(env, board, label, now);
    // A past season counts as sealed, even if it has no row because it had no players.
    const name = label === undefined ? null : seasonNamed(label, board);
    const isOver = name !== null && name < seasonAt(now, board);
    if (season.ok) await writeToSeason(work, season.value, places);
    else for (const place of places) results[place] ??= isOver ? err({ kind: 'season_sealed' }) : season;
  }
}

async function writeToSeason(work: Work, season: Season, places: readonly number[]): Promise<void> {
  const { env, now, updates, results } = work;
  if (season.erasedAt !== null) {
    for (const place of places) results[place] ??= err({ kind: 'season_sealed' });
    return;
  }
  for (const before of await findPreviousSeasons(work, season)) {
    const withEvent = places.filter((place) => updates[place]?.eventId !== null && results[place] === undefined);
    await callShards(work, before, withEvent, async (address, wanted) => ({
      results: await shardStub(env, address).findEvents(address, wanted),
      asOf: now,
      writtenAt: now,
    }));
  }
  const fresh = places.filter((place) => results[place] === undefined);
  await callShards(work, season, fresh, (address, wanted) => shardStub(env, address).score(address, wanted));
}

/**
 * Finds the earlier seasons whose events may be repeated: those that ended less than `EVENT_RETENTION_MS` ago. The season that
 * counted an event answers its retry.
 */
async function findPreviousSeasons({ env, board, now }: Work, season: Season): Promise<Season[]> {
  const seasons: Season[] = [];
  if (season.state !== 'current') return seasons;
  // The start of a season is the end of the previous one.
  let name = season.season;
  while (now - readSeason(name).startsAt <= EVENT_RETENTION_MS) {
    const before = previousSeason(name);
    if (before === null) break;
    const found = await findSeasonOf(env, board, readSeason(before).label, now, PREVIOUS_KNOWN_MS);
    if (found.ok && found.value.erasedAt === null) seasons.push(found.value);
    name = before;
  }
  return seasons;
}

/**
 * Calls the shards of some updates.
 * @param call answers the updates of one shard, in order. A null in its results leaves the update open.
 */
async function callShards(
  { updates, results, board }: Work,
  { season, shards }: Season,
  places: readonly number[],
  call: (address: ShardAddress, updates: readonly ScoreUpdate[]) => Promise<ScoreAnswer<ScoreResult | null>>,
): Promise<void> {
  const { label } = readSeason(season);
  const byShard = Map.groupBy(places, (place) => shardOf((updates[place] as ScoreUpdate).userId, shards));
  await Promise.all(
    [...byShard].map(async ([shard, group]) => {
      const wanted = group.map((place) => updates[place] as ScoreUpdate);
      try {
        const address = { season, shard, shards };
        const called = call(address, wanted);
        const { results: answers, asOf, writtenAt } = await within(toShardName(address), POST_MS, called);
        for (const [i, { userId }] of wanted.entries()) {
          const [place, answer] = [group[i] as number, answers[i]];
          if (!answer?.ok) {
            if (answer) results[place] = answer;
            continue;
          }
          const score = mirror(board, answer.value.score);
          results[place] = ok({ ...answer.value, score, userId, season: label, asOf, writtenAt });
        }
      } catch (error) {
        logError('leaderboard_shard_unavailable', error, { season, shard });
        for (const place of group) results[place] = err({ kind: 'unavailable' });
      }
    }),
  );
}
