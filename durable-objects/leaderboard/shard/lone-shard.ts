/**
 * What a shard that is the only one of its season records in DIRECTORY while it changes: its players, and whether its board needs more shards.
 * Cron does it for other seasons. So a board with one shard that nobody uses costs no call.
 */
import { boardOfRef, idOfRef, parseSeason } from '../../../workers/leaderboard/domain/season-name.ts';
import { createBoardStore } from '../../../workers/leaderboard/records/board-store.ts';
import { createSeasonStore } from '../../../workers/leaderboard/records/season-store.ts';
import { guardedEnv } from '../../../workers/shared/stores/guarded-database.ts';
import { logError } from '../../../workers/shared/telemetry/log.ts';
import { ONE_SHARD_PLAYERS_MAX } from '../protocol.ts';
import type { ShardBoard } from './shard-board.ts';

/** @param isBusy whether the shard refused posts beyond its rate for a time */
export async function recordAlone(
  env: Env,
  { address: { season }, players: { index } }: ShardBoard,
  isBusy: boolean,
): Promise<void> {
  try {
    const { DIRECTORY } = guardedEnv(env);
    await createSeasonStore(DIRECTORY).recordPlayers(season, index.size);
    const ref = parseSeason(season)?.board ?? '';
    const isOutgrown = isBusy || index.size > ONE_SHARD_PLAYERS_MAX;
    if (isOutgrown && ref !== '') await createBoardStore(DIRECTORY).outgrow(boardOfRef(ref), idOfRef(ref));
  } catch (error) {
    logError('leaderboard_count_failed', error, { season });
  }
}
