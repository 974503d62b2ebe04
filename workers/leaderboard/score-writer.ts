/** Sends score updates to their shards: one call per shard. Results keep the order of the updates. */
import { createClock } from '../shared/clock.ts';
import { logError } from '../shared/log.ts';
import { err, ok, type Result } from '../shared/result.ts';
import {
  EVENT_RETENTION_MS,
  type ScoreAnswer,
  type ScoreError,
  type ScoreOutcome,
  type ScoreResult,
  type ScoreUpdate,
  type ShardAddress,
} from './domain/board.ts';
import { parseSeason, previousSeason, seasonAt } from './domain/season-name.ts';
import { shardOf } from './domain/shard-map.ts';
import { shardStub } from './objects.ts';
import { findSeason, type Season, type SeasonError } from './seasons.ts';

export type WriteError = ScoreError | SeasonError | { readonly kind: 'unavailable' };
export interface WrittenScore extends ScoreOutcome {
  readonly userId: string;
  readonly season: string;
  readonly asOf: number;
  readonly writtenAt: number;
}
export type WriteResult = Result<WrittenScore, WriteError>;

type SeasonUpdate = ScoreUpdate & { readonly season: string | undefined };

/** State of one write: the updates, and their results with holes for open ones. */
interface Work {
  readonly env: Env;
  readonly now: number;
  readonly updates: readonly SeasonUpdate[];
  readonly results: WriteResult[];
}

/**
 * Writes updates. An update without a season that hits a sealed month counts in the next month: it crossed the
 * boundary, or another clock is ahead. A retry of such an update gets its first answer from the month that counted it.
 * @param updates each with its season, if it names one. @returns one result per update, in order.
 */
export async function writeScores(env: Env, updates: readonly SeasonUpdate[]): Promise<WriteResult[]> {
  const clock = createClock(env);
  const now = clock();
  const results = await writeAt(env, updates, now);
  const late = [...updates.keys()].filter((place) => updates[place]?.season === undefined && isSealed(results[place]));
  if (late.length === 0) return results;
  const nextMonth = parseSeason(seasonAt(now))?.endsAt ?? now;
  const wanted = late.map((place) => updates[place] as SeasonUpdate);
  const again = await writeAt(env, wanted, Math.max(clock(), nextMonth));
  for (const [i, place] of late.entries()) results[place] = again[i] as WriteResult;
  return results;
}

const isSealed = (result: WriteResult | undefined): boolean =>
  result !== undefined && !result.ok && result.error.kind === 'season_sealed';

async function writeAt(env: Env, updates: readonly SeasonUpdate[], now: number): Promise<WriteResult[]> {
  const work: Work = { env, now, updates, results: new Array<WriteResult>(updates.length) };
  for (const [name, places] of Map.groupBy(updates.keys(), (place) => updates[place]?.season)) {
    const season = await findSeason(env, name, now);
    // A past month is sealed, even if it had no players.
    const isOver = name !== undefined && name < seasonAt(now);
    if (season.ok) await writeToSeason(work, season.value, places);
    else for (const place of places) work.results[place] = isOver ? err({ kind: 'season_sealed' }) : season;
  }
  return work.results;
}

async function writeToSeason(work: Work, season: Season, places: readonly number[]): Promise<void> {
  const { env, now, updates, results } = work;
  if (season.erasedAt !== null) {
    for (const place of places) results[place] = err({ kind: 'season_sealed' });
    return;
  }
  const before = await findPreviousSeason(env, season, now);
  if (before !== null) {
    const withEvent = places.filter((place) => updates[place]?.eventId !== null);
    await callShards(work, before, withEvent, async (address, wanted) => ({
      results: await shardStub(env, address).findEvents(address, wanted),
      asOf: now,
      writtenAt: now,
    }));
  }
  const fresh = before === null ? places : places.filter((place) => results[place] === undefined);
  await callShards(work, season, fresh, (address, wanted) => shardStub(env, address).score(address, wanted));
}

/** In the first two days of a month, a retry may repeat an event of the previous month. That month answers it. */
async function findPreviousSeason(env: Env, season: Season, now: number): Promise<Season | null> {
  const startsAt = parseSeason(season.season)?.startsAt ?? 0;
  if (season.state !== 'current' || now - startsAt > EVENT_RETENTION_MS) return null;
  const before = await findSeason(env, previousSeason(season.season), now);
  return before.ok && before.value.erasedAt === null ? before.value : null;
}

/** @param call answers the updates of one shard in order. A null leaves an update open. */
async function callShards(
  { updates, results }: Work,
  { season, shards }: Season,
  places: readonly number[],
  call: (
    address: ShardAddress,
    updates: readonly ScoreUpdate[],
  ) => Promise<Omit<ScoreAnswer, 'results'> & { readonly results: readonly (ScoreResult | null)[] }>,
): Promise<void> {
  const byShard = Map.groupBy(places, (place) => shardOf((updates[place] as ScoreUpdate).userId, shards));
  await Promise.all(
    [...byShard].map(async ([shard, group]) => {
      const wanted = group.map((place) => {
        const { userId, points, userName, eventId } = updates[place] as ScoreUpdate;
        return { userId, points, userName, eventId };
      });
      try {
        const answers = await call({ season, shard, shards }, wanted);
        for (const [i, place] of group.entries()) {
          const answer = answers.results[i];
          if (!answer) continue;
          const { userId } = wanted[i] as ScoreUpdate;
          const { asOf, writtenAt } = answers;
          results[place] = answer.ok ? ok({ ...answer.value, userId, season, asOf, writtenAt }) : answer;
        }
      } catch (error) {
        logError('leaderboard_shard_unavailable', error, { season, shard });
        for (const place of group) results[place] = err({ kind: 'unavailable' });
      }
    }),
  );
}
