/** Deletes boards. Erases the seasons of deleted boards, and those that a board does not keep: their objects, their files and their rows. */

import { addressesOf, toShardName } from '../../../durable-objects/leaderboard/protocol.ts';
import { runInParallel } from '../../shared/concurrency/parallel.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { endOfSeason, nextSeason, seasonAt } from '../domain/season-name.ts';
import { seasonStub, shardStub, within } from '../objects.ts';
import { removeSeasonFiles } from '../records/archive-files.ts';
import { type BoardRow, createBoardStore } from '../records/board-store.ts';
import { createDeletedBoardStore, type DeletedBoard } from '../records/deleted-board-store.ts';
import { createQuarantineStore } from '../records/quarantine-store.ts';
import { createSeasonStore, type SeasonRow } from '../records/season-store.ts';
import { BOARD_KNOWN_MS, type Board, forgetBoard, shardsOf, toBoard } from './boards.ts';

/** Time that a deletion waits for the shards of the board. */
const SEAL_MS = 3_000;
const BOARDS_PER_RUN = 100;
const BOARDS_IN_PARALLEL_MAX = 5;

/**
 * Deletes a board. Its name is free at once: the shards of its current season are sealed, so a post by an isolate that still caches it is
 * refused there, and goes to the board that has the name then. If a shard does not answer, the name is free once no isolate caches the board.
 */
export async function deleteBoard(env: Env, row: BoardRow, now: number): Promise<void> {
  const store = createDeletedBoardStore(env.DIRECTORY);
  const board = toBoard(row);
  await store.delete(row, now, now + BOARD_KNOWN_MS);
  forgetBoard(row.board);
  try {
    // A season that begins meanwhile is sealed, too.
    for (const season of new Set([seasonAt(now, board), seasonAt(now + BOARD_KNOWN_MS, board)]))
      await sealSeason(env, board, season, now);
    await store.setSealed(board.ref);
  } catch (error) {
    logError('leaderboard_board_not_sealed', error, { board: row.board });
  }
}

/** Seals the shards of a season. Its row lets cron erase them. */
async function sealSeason(env: Env, board: Board, name: string, now: number): Promise<void> {
  const row = await createSeasonStore(env.DIRECTORY).ensure(name, shardsOf(env, board), now, endOfSeason(name, board));
  const seal = (address: ReturnType<typeof addressesOf>[number]) =>
    within(toShardName(address), SEAL_MS, shardStub(env, address).seal(address));
  await Promise.all(addressesOf(row).map(seal));
}

/** Time from the deletion of a board to the erasure of its seasons. Isolates that cache the board may write to it in between. */
const ERASE_AFTER_MS = 6 * BOARD_KNOWN_MS;

export async function eraseDeletedBoards(env: Env, now: number): Promise<void> {
  const due = await createDeletedBoardStore(env.DIRECTORY).list(now - ERASE_AFTER_MS, BOARDS_PER_RUN);
  await runInParallel(due, BOARDS_IN_PARALLEL_MAX, (row) =>
    eraseBoard(env, row).catch((error: unknown) =>
      logError('leaderboard_board_erase_failed', error, { board: row.board }),
    ),
  );
}

async function eraseBoard(env: Env, { ref }: DeletedBoard): Promise<void> {
  const seasons = await createSeasonStore(env.DIRECTORY).listAll(ref);
  const [newest] = seasons;
  const prepared = newest === undefined || newest.shards === 1 ? null : nextSeason(newest.season);
  if (newest !== undefined && prepared !== null) await eraseSeason(env, { ...newest, season: prepared });
  for (const season of seasons) await eraseSeason(env, season);
  await createQuarantineStore(env.DIRECTORY).removeBoard(ref);
  await createDeletedBoardStore(env.DIRECTORY).forget(ref);
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
