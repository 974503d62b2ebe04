/**
 * The story of a score: its board, its season, the seasons before, its shard, and the next season if this one was sealed meanwhile.
 * Each step gives one result per update, in order. A null leaves an update to the next step.
 */
import type {
  ScoreAnswer,
  ScoreResult,
  ScoreUpdate,
  ShardAddress,
} from '../../durable-objects/leaderboard/protocol.ts';
import {
  ONE_SHARD_POSTS_PER_SECOND,
  SIGNED_POINTS_MIN,
  toShardName,
} from '../../durable-objects/leaderboard/protocol.ts';
import { err, ok } from '../shared/pure/result.ts';
import { createClock } from '../shared/settings/clock.ts';
import { logError } from '../shared/telemetry/log.ts';
import { type Board, findBoard, findBoardAgain, rulesOf } from './boards/boards.ts';
import { fillOpen, inGroups, inParallelGroups } from './domain/in-groups.ts';
import { toShown } from './domain/score-rules.ts';
import { endOfSeason, readSeason, seasonAt } from './domain/season-name.ts';
import { shardOf } from './domain/shard-map.ts';
import { regionOf, shardStub } from './objects.ts';
import { markPost } from './own-posts.ts';
import { findOpenSeason, findPreviousSeasons, type Season } from './seasons/seasons.ts';
import { post } from './silence.ts';
import type { SeasonUpdate, WriteResult } from './write-results.ts';

interface Writing {
  readonly env: Env;
  readonly board: Board;
  /** Time that decides the season, in milliseconds since 1970. */
  readonly now: number;
  /** Region of the caller. Its lists have the posts at once. */
  readonly region: string;
}

/**
 * Writes updates. An update without a season that meets a sealed season counts in the next one: it crossed the boundary, or another
 * clock is ahead. A retry of such an update gets its first answer from the season that counted it.
 * @param updates each may have the label of its season. @returns one result per update, in order.
 */
export async function writeScores(
  env: Env,
  updates: readonly SeasonUpdate[],
  name?: string,
  region = regionOf(undefined),
): Promise<WriteResult[]> {
  const clock = createClock(env);
  const now = clock();
  const board = await findBoard(env, name);
  if (board === null) return updates.map(() => err({ kind: 'unknown_board', board: name ?? '' }));
  const refused = updates.map((update) => findRefusal(board, update));
  const written = await fillOpen<SeasonUpdate, WriteResult>(updates, refused, (rest) =>
    writeAt({ env, board, now, region }, withBoardRules(board, rest)),
  );
  if (!written.some(isSealed)) return written;
  const after = await findBoardAgain(env, name);
  // The board was deleted meanwhile. Another one may have its name.
  if (after?.ref !== board.ref) {
    const counted = written.map((result) => (isSealed(result) ? null : result));
    return fillOpen<SeasonUpdate, WriteResult>(updates, counted, (rest) => writeScores(env, rest, name, region));
  }
  const inTime = written.map((result, i) => (isSealed(result) && updates[i]?.season === undefined ? null : result));
  return fillOpen<SeasonUpdate, WriteResult>(updates, inTime, (late) =>
    writeAt(
      { env, board: after, region, now: Math.max(clock(), endOfSeason(seasonAt(now, after), after)) },
      withBoardRules(after, late),
    ),
  );
}

/** Why the board refuses an update before it is sent to a shard; null if it does not. */
function findRefusal(board: Board, { points, data }: SeasonUpdate): WriteResult | null {
  const { pointsMax, dataBytesMax } = board;
  if (points < 0 && !board.isSigned) return err({ kind: 'no_such_score' });
  if (board.isSigned && points >= -SIGNED_POINTS_MIN)
    return err({ kind: 'too_many_points', pointsMax: -SIGNED_POINTS_MIN - 1 });
  if (points > pointsMax) return err({ kind: 'too_many_points', pointsMax });
  const isTooMuch = data != null && Buffer.byteLength(data) > (dataBytesMax ?? 0);
  return isTooMuch ? err({ kind: 'too_much_data', bytesMax: dataBytesMax }) : null;
}

/** Adds to updates what the shard has to know for the rules of the board. Most boards have none, and their updates stay as they are. */
function withBoardRules(board: Board, updates: readonly SeasonUpdate[]): readonly SeasonUpdate[] {
  const { dataBytesMax, secondsBetween } = board;
  if (dataBytesMax === null && secondsBetween === null) return updates;
  const gap = secondsBetween === null ? {} : { gapMs: secondsBetween * 1_000 };
  return updates.map((update) => {
    const { data = null, ...others } = update;
    return { ...gap, ...others, ...(dataBytesMax === null ? {} : { data }) };
  });
}

const isSealed = (result: WriteResult): boolean => !result.ok && result.error.kind === 'season_sealed';

/** Writes to one season after the other, because one batch may repeat an event in two seasons. */
function writeAt(writing: Writing, updates: readonly SeasonUpdate[]): Promise<WriteResult[]> {
  const { env, board, now } = writing;
  const labelOf = (update: SeasonUpdate) => update.season;
  return inGroups<SeasonUpdate, string | undefined, WriteResult>(updates, labelOf, async (group, label) => {
    const season = await findOpenSeason(env, board, label, now);
    if (!season.ok) return group.map(() => season);
    return writeToSeason(writing, season.value, await findPreviousSeasons(env, board, season.value, now), group);
  });
}

/** Answers repeated events from the earlier seasons, and sends the rest to the shards of the season. */
async function writeToSeason(
  writing: Writing,
  season: Season,
  [before, ...earlier]: readonly Season[],
  updates: readonly ScoreUpdate[],
): Promise<WriteResult[]> {
  const { env, board, now } = writing;
  // A board with one shard that is meant to have one has a rate. Another one has as many shards as its operator chose.
  const rate = board.shards === 1 && season.shards === 1 ? ONE_SHARD_POSTS_PER_SECOND : undefined;
  const score = (address: ShardAddress, group: readonly ScoreUpdate[]) =>
    shardStub(env, address).score(address, group, rulesOf(board), rate);
  if (before === undefined) return callShards(writing, season, updates, score);
  const find = async (address: ShardAddress, group: readonly ScoreUpdate[]) => {
    return { results: await shardStub(env, address).findEvents(address, group), asOf: now, writtenAt: now };
  };
  // A shard without which the season was closed answers nothing.
  const hasEvent = ({ userId, eventId }: ScoreUpdate) =>
    eventId !== null && !before.without.includes(shardOf(userId, before.shards));
  const found = await inGroups<ScoreUpdate, boolean, WriteResult | null>(updates, hasEvent, async (group, isAsked) =>
    isAsked ? callShards(writing, before, group, find) : group.map(() => null),
  );
  return fillOpen(updates, found, (rest) => writeToSeason(writing, season, earlier, rest));
}

/** Sends updates to the shards of their players, all at once. A shard that does not answer costs only its own players. */
function callShards<R extends ScoreResult | null>(
  { env, board, region }: Writing,
  { season, shards }: Season,
  updates: readonly ScoreUpdate[],
  call: (address: ShardAddress, group: readonly ScoreUpdate[]) => Promise<ScoreAnswer<R>>,
): Promise<(WriteResult | Exclude<R, ScoreResult>)[]> {
  const { label } = readSeason(season);
  const toShard = ({ userId }: ScoreUpdate) => shardOf(userId, shards);
  return inParallelGroups(updates, toShard, async (group, shard) => {
    try {
      const address = { season, shard, shards };
      const answer = await post(toShardName(address), () => call(address, group));
      await markPost(env, region, address, answer);
      return group.map(({ userId }, i) => {
        const result = answer.results[i] as R;
        if (!result?.ok) return result as WriteResult;
        const score = toShown(board, result.value.score);
        return ok({ ...result.value, score, userId, season: label, asOf: answer.asOf, writtenAt: answer.writtenAt });
      });
    } catch (error) {
      logError('leaderboard_shard_unavailable', error, { season, shard });
      return group.map(() => err({ kind: 'unavailable' as const }));
    }
  });
}
