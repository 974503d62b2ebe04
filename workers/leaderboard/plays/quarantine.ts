/** The quarantine: results of plays that broke a rule, until an operator accepts or refuses them. */
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { logError } from '../../shared/telemetry/log.ts';
import type { Board } from '../boards/boards.ts';
import { seasonAt } from '../domain/season-name.ts';
import { shardOf } from '../domain/shard-map.ts';
import { shardStub } from '../objects.ts';
import { createQuarantineStore, type QuarantinedRow } from '../records/quarantine-store.ts';
import { createSeasonStore } from '../records/season-store.ts';
import { writeScores } from '../score-writer.ts';
import type { WriteError } from '../write-results.ts';

/** Maximum number of results of a board that wait. */
const WAITING_MAX = 5_000;
/** Time for which a decided result can be read. A play that was refused is over by then. */
const KEPT_MS = 30 * 86_400_000;

export const removeDecidedResults = (env: Env, now: number): Promise<void> =>
  createQuarantineStore(env.DIRECTORY).removeDecided(now - KEPT_MS);

/** Puts a result into the quarantine. @returns the result of the play, which may be another one that came before */
export async function quarantine(
  env: Env,
  row: QuarantinedRow,
): Promise<Result<QuarantinedRow, { readonly kind: 'quarantine_full' }>> {
  const store = createQuarantineStore(env.DIRECTORY);
  if (row.state === 'waiting' && (await store.count(row.board, 'waiting')) >= WAITING_MAX)
    return err({ kind: 'quarantine_full' });
  return ok(await store.add(row));
}

type DecideError = WriteError | { readonly kind: 'unknown_result' | 'result_decided' };

/**
 * Accepts a result: it counts now, with the play as event, so that the play counts once. It is recorded afterwards; if that fails, the
 * result waits and can be accepted again for 48 hours without counting twice.
 */
export async function acceptResult(env: Env, board: Board, play: string): Promise<Result<QuarantinedRow, DecideError>> {
  const store = createQuarantineStore(env.DIRECTORY);
  const row = await store.find(board.ref, play);
  if (row === null) return err({ kind: 'unknown_result' });
  if (row.state !== 'waiting') return err({ kind: 'result_decided' });
  const { userId, userName, points, data } = row;
  const update = { userId, userName, points, eventId: play, season: undefined, gapMs: 0 };
  const [result] = await writeScores(env, [data === null ? update : { ...update, data }], board.board);
  if (result !== undefined && !result.ok) return err(result.error);
  const now = createClock(env)();
  await store.decide(board.ref, play, 'accepted', now);
  return ok({ ...row, state: 'accepted', decidedAt: now });
}

export async function refuseResult(env: Env, board: Board, play: string): Promise<Result<QuarantinedRow, DecideError>> {
  const store = createQuarantineStore(env.DIRECTORY);
  const row = await store.find(board.ref, play);
  if (row === null) return err({ kind: 'unknown_result' });
  const now = createClock(env)();
  if (!(await store.decide(board.ref, play, 'refused', now))) return err({ kind: 'result_decided' });
  return ok({ ...row, state: 'refused', decidedAt: now });
}

/** Bans a player from a board, and hides his score of the current season. */
export async function banPlayer(env: Env, board: Board, userId: string): Promise<void> {
  const now = createClock(env)();
  await createQuarantineStore(env.DIRECTORY).ban({ board: board.ref, userId, createdAt: now });
  const row = await createSeasonStore(env.DIRECTORY).find(seasonAt(now, board));
  if (row === null) return;
  const { season, shards } = row;
  const address = { season, shards, shard: shardOf(userId, shards) };
  // The ban holds without it. An operator can hide the score by hand.
  await shardStub(env, address)
    .correct(address, userId, { hidden: true })
    .catch((error: unknown) => logError('leaderboard_shard_unavailable', error, { season }));
}
