/** Resets of boards: an operator ends the current season before its time. The period goes on, so its end is that of the new season. */
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { readSeason, seasonAt } from '../domain/season-name.ts';
import { recordReset } from '../records/reset-store.ts';
import { findBoardAgain, forgetBoard, RULES_AFTER_MS, shardsOf } from './boards.ts';

/** Resets that a board remembers. The names of older seasons stay in their rows. */
const RESETS_MAX = 1_000;

interface DoneReset {
  /** Labels of the seasons that begin and end. */
  readonly season: string;
  readonly ended: string;
  /** Time of the reset, in milliseconds since 1970. By then no isolate has the board without it. */
  readonly at: number;
}

/** Resets a board. A reset that does not hold yet is returned again. */
export async function resetBoard(
  env: Env,
  name: string,
  now: number,
): Promise<
  Result<DoneReset, { readonly kind: 'unknown_board'; readonly board: string } | { readonly kind: 'no_season' }>
> {
  for (;;) {
    const board = await findBoardAgain(env, name);
    if (board === null) return err({ kind: 'unknown_board', board: name });
    const before = board.resets ?? null;
    const planned = before?.findLast((resetAt) => resetAt > now);
    const at = planned ?? Math.ceil((now + RULES_AFTER_MS) / 1000) * 1000;
    const ended = seasonAt(at - 1, board);
    const { startsAt, endsAt, label } = readSeason(ended);
    const after = [...(before ?? []), at].slice(-RESETS_MAX);
    const { label: season } = readSeason(seasonAt(at, { ...board, resets: after }));
    if (planned !== undefined) return ok({ season, ended: label, at });
    // The period ends anyway then, or has no season to reset.
    if (at <= startsAt || at >= endsAt) return err({ kind: 'no_season' });
    const reset = { board: name, before, after, at, now };
    const isDone = await recordReset(env.DIRECTORY, ended, shardsOf(env, board), reset);
    forgetBoard(name);
    if (isDone) return ok({ season, ended: label, at });
  }
}
