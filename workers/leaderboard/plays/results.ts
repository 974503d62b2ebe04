/**
 * The story of a result: its play, what is known of the play, the rules of the board, the judgement of the studio, and the shard of the player,
 * which counts it once. What breaks a rule waits in the quarantine.
 */
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import type { Board } from '../boards/boards.ts';
import { type Breach, findBreach, type SessionRules } from '../domain/session-rules.ts';
import { createQuarantineStore, type QuarantinedRow } from '../records/quarantine-store.ts';
import { writeScores } from '../score-writer.ts';
import type { WriteError, WrittenScore } from '../write-results.ts';
import { askJudge, type JudgedResult } from './judge.ts';
import { openPlay, type Play } from './play.ts';
import { quarantine } from './quarantine.ts';

export interface SentResult extends JudgedResult {
  readonly id: string;
  /** The sealed text of the play. */
  readonly text: string;
  readonly secret: string | undefined;
}

export type ResultError =
  | WriteError
  | { readonly kind: 'no_sessions' | 'invalid_play' | 'player_banned' | 'quarantine_full' | 'play_used' };

/** A result that counts has its score. Another one has its state in the quarantine. */
export type ResultOutcome =
  | { readonly state: 'counted'; readonly score: WrittenScore }
  | { readonly state: QuarantinedRow['state'] };

export async function takeResult(
  env: Env,
  board: Board,
  sent: SentResult,
  region: string,
): Promise<Result<ResultOutcome, ResultError>> {
  const { sessions } = board;
  if (sessions === null) return err({ kind: 'no_sessions' });
  if (sent.points < 0 && !board.isSigned) return err({ kind: 'no_such_score' });
  const now = createClock(env)();
  const play = openPlay(env, board, sent, now);
  if (play === null) return err({ kind: 'invalid_play' });
  if (sent.data !== null && Buffer.byteLength(sent.data) > (board.dataBytesMax ?? 0))
    return err({ kind: 'too_much_data', bytesMax: board.dataBytesMax });
  const store = createQuarantineStore(env.DIRECTORY);
  const [known, isBanned] = await Promise.all([store.find(board.ref, play.id), store.isBanned(board.ref, play.userId)]);
  if (isBanned) return err({ kind: 'player_banned' });
  if (known !== null) return toKnown(known, sent);
  const breach = await judge(env, { board, sessions, play, sent, now });
  if (breach !== null) return setAside(env, { board, play, sent }, breach);
  const { points, userName, data } = sent;
  const update = { userId: play.userId, points, userName, eventId: play.id, season: undefined };
  const written = { ...update, gapMs: 0, playedSince: play.startedAt, ...(data === null ? {} : { data }) };
  const [result] = await writeScores(env, [written], board.board, region);
  if (result === undefined) throw new Error('the shard returned no result for an update');
  if (result.ok) return ok({ state: 'counted', score: result.value });
  const { kind } = result.error;
  if (kind === 'event_conflict') return err({ kind: 'play_used' });
  if (kind !== 'points_per_day_exceeded' && kind !== 'plays_overlap') return err(result.error);
  return setAside(env, { board, play, sent }, { breach: kind, state: 'waiting' });
}

/** The answer to a play that has a result in quarantine. Only a repeat of the same result gets its state. */
const toKnown = (row: QuarantinedRow, { points }: SentResult): Result<ResultOutcome, ResultError> =>
  row.points === points ? ok({ state: row.state }) : err({ kind: 'play_used' });

interface Aside {
  readonly breach: Breach;
  readonly state: 'waiting' | 'refused';
}

interface Judging {
  readonly board: Board;
  readonly sessions: SessionRules;
  readonly play: Play;
  readonly sent: SentResult;
  readonly now: number;
}

/** Decides about a result by the rules, then by the webhook. @returns null if it may count */
async function judge(env: Env, { board, sessions, play, sent, now }: Judging): Promise<Aside | null> {
  const mostPoints = Math.min(sessions.mostPoints ?? board.pointsMax, board.pointsMax);
  const breach = findBreach({ ...sessions, mostPoints }, sent.points, now - play.startedAt);
  if (breach !== null) return { breach, state: 'waiting' };
  const verdict = sessions.isJudged ? await askJudge(env, board, play, { ...sent, now }) : 'accept';
  if (verdict === 'accept') return null;
  if (verdict === null) return { breach: 'unjudged', state: 'waiting' };
  return { breach: 'suspected', state: verdict === 'refuse' ? 'refused' : 'waiting' };
}

async function setAside(
  env: Env,
  { board, play, sent }: Pick<Judging, 'board' | 'play' | 'sent'>,
  { breach, state }: Aside,
): Promise<Result<ResultOutcome, ResultError>> {
  const { id, userId, startedAt } = play;
  const { points, userName, data } = sent;
  const createdAt = createClock(env)();
  const decided = { state, decidedAt: state === 'refused' ? createdAt : null };
  const row = { play: id, board: board.ref, userId, userName, points, data, breach, startedAt, createdAt, ...decided };
  const kept = await quarantine(env, row);
  return kept.ok ? toKnown(kept.value, sent) : err(kept.error);
}
