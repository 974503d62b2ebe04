/** Takes score updates to their shards: one call a shard, each answer in its place. */
import { createClock } from '../shared/clock.ts';
import { logError } from '../shared/log.ts';
import { err, type Result } from '../shared/result.ts';
import { EVENT_RETENTION_MS, type ScoreError, type ScoreOutcome, type ScoreUpdate } from './domain/board.ts';
import { parseSeason, previousSeason, seasonAt } from './domain/season-name.ts';
import { shardOf } from './domain/shard-map.ts';
import { shardStub } from './live-standings.ts';
import { noteWrite, withWriteRequirement } from './recent-writes.ts';
import { findSeason, type Season, type SeasonError } from './seasons.ts';

export type WriteError = ScoreError | SeasonError | { readonly kind: 'unavailable' };
export interface WrittenScore extends ScoreOutcome {
  readonly userId: string;
  readonly season: string;
}
export type WriteResult = Result<WrittenScore, WriteError>;

interface Wanted {
  readonly place: number;
  readonly update: ScoreUpdate;
}

/** @param updates each with the season it names, if any. @returns one result for each, in order. */
export async function writeScores(
  env: Env,
  updates: readonly (ScoreUpdate & { readonly season: string | undefined })[],
): Promise<WriteResult[]> {
  const now = createClock(env)();
  const results = new Array<WriteResult>(updates.length);
  const wanted = updates.map((update, place) => ({ place, update, season: update.season }));
  for (const [name, group] of Map.groupBy(wanted, ({ season }) => season)) {
    const season = await findSeason(env, name, now);
    // A month that is over is sealed, also when nobody played in it.
    const isOver = name !== undefined && name < seasonAt(now);
    if (!season.ok) for (const { place } of group) results[place] = isOver ? err({ kind: 'season_sealed' }) : season;
    else await writeToSeason(env, season.value, group, results, now);
  }
  return results;
}

async function writeToSeason(
  env: Env,
  season: Season,
  group: readonly Wanted[],
  results: WriteResult[],
  now: number,
): Promise<void> {
  if (season.erasedAt !== null) {
    for (const { place } of group) results[place] = err({ kind: 'season_sealed' });
    return;
  }
  const before = await findPreviousSeason(env, season, now);
  if (before !== null) {
    const withEvent = group.filter(({ update }) => update.eventId !== null);
    await callShards(before, withEvent, results, async (address, updates) =>
      shardStub(env, address).findEvents(address, updates),
    );
  }
  const fresh = before === null ? group : group.filter(({ place }) => results[place] === undefined);
  await withWriteRequirement(season.season, now, (requirement) =>
    callShards(season, fresh, results, (address, updates) =>
      shardStub(env, address).score(address, updates, requirement),
    ),
  );
  for (const { place, update } of fresh) {
    const result = results[place];
    if (result?.ok) noteWrite(season.season, shardOf(update.userId, season.shards), result.value.through, now);
  }
}

/** In the first two days of a month a retry may be of an event of the month before: it gets its answer from there. */
async function findPreviousSeason(env: Env, season: Season, now: number): Promise<Season | null> {
  const startsAt = parseSeason(season.season)?.startsAt ?? 0;
  if (season.state !== 'current' || now - startsAt > EVENT_RETENTION_MS) return null;
  const before = await findSeason(env, previousSeason(season.season), now);
  return before.ok && before.value.erasedAt === null ? before.value : null;
}

async function callShards(
  { season, shards }: Season,
  group: readonly Wanted[],
  results: WriteResult[],
  call: (
    address: { season: string; shard: number; shards: number },
    updates: ScoreUpdate[],
  ) => Promise<(Result<ScoreOutcome, ScoreError> | null)[]>,
): Promise<void> {
  const byShard = Map.groupBy(group, ({ update }) => shardOf(update.userId, shards));
  await Promise.all(
    [...byShard].map(async ([shard, wanted]) => {
      try {
        const answers = await call(
          { season, shard, shards },
          wanted.map(({ update }) => update),
        );
        for (const [i, { place, update }] of wanted.entries()) {
          const answer = answers[i];
          if (answer?.ok) results[place] = { ok: true, value: { ...answer.value, userId: update.userId, season } };
          else if (answer) results[place] = answer;
        }
      } catch (error) {
        logError('leaderboard_shard_unavailable', error, { season, shard });
        for (const { place } of wanted) results[place] = err({ kind: 'unavailable' });
      }
    }),
  );
}
