/** The limit of boards in a deployment (`LEADERBOARD_BOARDS`). It bounds what a leaked token that makes boards can do. */
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { createBoardStore } from '../records/board-store.ts';
import { BOARD_KNOWN_MS } from './boards.ts';

/** The number of boards at a time, with those that this isolate has admitted since. */
let counted = { at: Number.NEGATIVE_INFINITY, boards: 0 };

/**
 * Admits one more board. An isolate keeps its count for ten seconds, because a count reads a row for each board. Meanwhile other isolates
 * may make more.
 * @param now milliseconds since 1970
 * @param isCountedNow whether the boards are counted in any case
 */
export async function admitBoard(
  env: Env,
  now: number,
  isCountedNow: boolean,
): Promise<Result<null, { readonly kind: 'board_limit_reached'; readonly boardsMax: number }>> {
  const boardsMax = settingsOf(env).LEADERBOARD_BOARDS;
  if (isCountedNow || Math.abs(now - counted.at) >= BOARD_KNOWN_MS)
    counted = { at: now, boards: await createBoardStore(env.DIRECTORY).count() };
  if (counted.boards >= boardsMax) return err({ kind: 'board_limit_reached', boardsMax });
  counted = { ...counted, boards: counted.boards + 1 };
  return ok(null);
}
