/** Erases the seasons of deleted boards, and those that a board does not keep: their objects, their files and their rows. */

import { addressesOf } from '../../../durable-objects/leaderboard/protocol.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { nextSeason } from '../domain/season-name.ts';
import { seasonStub, shardStub } from '../objects.ts';
import { removeSeasonFiles } from '../records/archive-files.ts';
import { createBoardStore } from '../records/board-store.ts';
import { createQuarantineStore } from '../records/quarantine-store.ts';
import { createSeasonStore, type SeasonRow } from '../records/season-store.ts';
import { BOARD_KNOWN_MS, toBoard } from './boards.ts';

/** Time from the deletion of a board to the erasure of its seasons. Isolates that cache the board may write to it in between. */
const ERASE_AFTER_MS = 6 * BOARD_KNOWN_MS;

export async function eraseDeletedBoards(env: Env, now: number): Promise<void> {
  const boards = createBoardStore(env.DIRECTORY);
  for (const row of await boards.listDeleted(now - ERASE_AFTER_MS)) {
    try {
      const seasons = await createSeasonStore(env.DIRECTORY).listAll(toBoard(row).ref);
      const [newest] = seasons;
      const prepared = newest === undefined ? null : nextSeason(newest.season);
      if (newest !== undefined && prepared !== null) await eraseSeason(env, { ...newest, season: prepared });
      for (const season of seasons) await eraseSeason(env, season);
      await createQuarantineStore(env.DIRECTORY).removeBoard(toBoard(row).ref);
      await boards.remove(row.board);
    } catch (error) {
      logError('leaderboard_board_erase_failed', error, { board: row.board });
    }
  }
}

/** Time for which a final season is kept in any case: its events may be repeated, and its notice may wait. */
const KEPT_MS_MIN = 4 * 86_400_000;

/** Erases the final seasons of each board beyond the newest `seasons_kept`. */
export async function eraseOldSeasons(env: Env, now: number): Promise<void> {
  for (const row of await createBoardStore(env.DIRECTORY).listLimited()) {
    const seasons = await createSeasonStore(env.DIRECTORY).listAll(toBoard(row).ref);
    const past = seasons.filter(({ endsAt }) => endsAt <= now).slice(row.seasonsKept ?? seasons.length);
    for (const season of past) {
      if (season.closedAt === null || now - season.closedAt < KEPT_MS_MIN) continue;
      await eraseSeason(env, season).catch((error: unknown) =>
        logError('leaderboard_season_erase_failed', error, { season: season.season }),
      );
    }
  }
}

async function eraseSeason(env: Env, { season, shards }: SeasonRow): Promise<void> {
  await seasonStub(env, season).destroy({ season, shards });
  await Promise.all(addressesOf({ season, shards }).map((address) => shardStub(env, address).destroy()));
  await removeSeasonFiles(env, season);
  await createSeasonStore(env.DIRECTORY).remove(season);
}
