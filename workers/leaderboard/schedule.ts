/**
 * Cron work of the leaderboard. Each minute: erases deleted boards, does the due work of seasons, continues erasures of players, and
 * sends notices of ended seasons. Each hour: records the number of players of the current seasons, erases the
 * seasons that a board does not keep, and plans to move those that 0.2.0 archived into shards.
 *
 * By design: a minute without due work costs five queries to DIRECTORY, regardless of the number of boards.
 */

import { addressesOf } from '../../durable-objects/leaderboard/protocol.ts';
import { runInParallel } from '../shared/concurrency/parallel.ts';
import { createClock } from '../shared/settings/clock.ts';
import { logError } from '../shared/telemetry/log.ts';
import { eraseDeletedBoards, eraseOldSeasons } from './boards/board-deletion.ts';
import { findBoard, shardsOf } from './boards/boards.ts';
import { sendNotices } from './boards/webhooks.ts';
import { boardOfRef, nextSeason } from './domain/season-name.ts';
import { seasonStub, shardStub } from './objects.ts';
import { removeDecidedResults } from './plays/quarantine.ts';
import { createDeletedBoardStore } from './records/deleted-board-store.ts';
import { createSeasonStore, type SeasonRow } from './records/season-store.ts';
import { readShards } from './seasons/shard-status.ts';
import { continueErasures, removeFinishedErasures } from './standings/player-erasure.ts';

const HOURLY_MINUTE = 41;
/** Maximum number of seasons per run, and of their shards. A run may make 10,000 calls, and a season has at most 257 objects. */
const SEASONS_PER_RUN = 500;
const SHARDS_PER_RUN = 3_200;
const SEASONS_IN_PARALLEL_MAX = 5;

export async function runLeaderboardSchedule(
  controller: ScheduledController,
  env: Env,
  _ctx: ExecutionContext,
): Promise<void> {
  const now = createClock(env)();
  const store = createSeasonStore(env.DIRECTORY);
  const forEach = (rows: readonly SeasonRow[], event: string, run: (row: SeasonRow) => Promise<void>) =>
    runInParallel(rows, SEASONS_IN_PARALLEL_MAX, (row) =>
      run(row).catch((error: unknown) => logError(event, error, { season: row.season })),
    );
  await eraseDeletedBoards(env, now);
  const due = withinShards(await store.listDue(now, SEASONS_PER_RUN));
  await forEach(due, 'leaderboard_close_failed', (row) => advance(env, row, now));
  await continueErasures(env, now);
  await sendNotices(env, now);
  if (new Date(controller.scheduledTime).getUTCMinutes() !== HOURLY_MINUTE) return;
  await removeFinishedErasures(env, now);
  await removeDecidedResults(env, now);
  await eraseOldSeasons(env, now);
  await store.planImports(now);
  await createDeletedBoardStore(env.DIRECTORY).adopt();
  await forEach(await store.listCurrent(now), 'leaderboard_count_failed', (row) => recordPlayers(env, row, now));
}

/** The first seasons of a list that have at most `SHARDS_PER_RUN` shards, and at least one season. */
function withinShards(rows: readonly SeasonRow[]): readonly SeasonRow[] {
  let shards = 0;
  return rows.filter((row, place) => {
    shards += row.shards;
    return place === 0 || shards <= SHARDS_PER_RUN;
  });
}

/** Closes a season that is over. Before its end, prepares the next season. */
async function advance(env: Env, row: SeasonRow, now: number): Promise<void> {
  if (now >= row.endsAt) {
    await seasonStub(env, row.season).close(row);
    return;
  }
  await prepareNext(env, row);
  await createSeasonStore(env.DIRECTORY).setDue(row.season, row.endsAt);
}

/**
 * Creates the objects of the next season now, at the configured location. Otherwise they would be created near the first player.
 */
async function prepareNext(env: Env, { season: current, board: ref }: SeasonRow): Promise<void> {
  const season = nextSeason(current);
  const board = await findBoard(env, boardOfRef(ref));
  if (season === null || board?.ref !== ref) return;
  const shards = shardsOf(env, board);
  const ofShards = addressesOf({ season, shards }).map((address) => shardStub(env, address).prepare());
  await Promise.all([seasonStub(env, season).prepare(), ...ofShards]);
}

/**
 * Records the number of players of a season in DIRECTORY, and whether all its parts answer. The season becomes final
 * only if its shards still have about so many players.
 */
async function recordPlayers(env: Env, row: SeasonRow, now: number): Promise<void> {
  const store = createSeasonStore(env.DIRECTORY);
  const shards = await readShards(env, row);
  await store.setSilent(row.season, shards?.every(({ isAvailable }) => isAvailable) ? null : now);
  const players = (shards ?? []).reduce((sum, shard) => sum + shard.players, 0);
  if (players > 0) await store.recordPlayers(row.season, players);
}
