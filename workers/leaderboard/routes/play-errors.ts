/** The errors of plays and of the quarantine, with their problems in the API. */
import { type Problem, problem } from '../../shared/json/problem.ts';
import { type LeaderboardError, toProblem } from './errors.ts';

const KINDS = [
  'no_sessions',
  'origin_not_listed',
  'unnamed_player',
  'invalid_play',
  'play_used',
  'player_banned',
  'quarantine_full',
  'unknown_result',
  'result_decided',
  'not_banned',
] as const;
interface PlayError {
  readonly kind: (typeof KINDS)[number];
}

/** Time after which a page sends a result again that found the quarantine full. */
const QUARANTINE_FULL_SECONDS = 600;

const isOfPlays = (error: LeaderboardError | PlayError): error is PlayError =>
  KINDS.some((kind) => kind === error.kind);

export const toPlayProblem = (error: LeaderboardError | PlayError): Problem =>
  isOfPlays(error) ? toOwnProblem(error) : toProblem(error);

function toOwnProblem(error: PlayError): Problem {
  switch (error.kind) {
    case 'no_sessions':
      return problem(409, error.kind, 'The board takes scores from game servers only.');
    case 'origin_not_listed':
      return problem(403, error.kind, 'The board does not list the origin of this page.');
    case 'unnamed_player':
      return problem(400, 'invalid_request', 'Send player_secret, or user_id with the token of a game server.');
    case 'invalid_play':
      return problem(403, error.kind, 'The play is over, was altered, or belongs to another board or player.');
    case 'play_used':
      return problem(409, error.kind, 'The play has another result.');
    case 'player_banned':
      return problem(403, error.kind, 'The player is banned from the board.');
    case 'quarantine_full':
      return problem(503, error.kind, 'The result has to wait for an operator, and too many wait already.', {
        retryAfterSeconds: QUARANTINE_FULL_SECONDS,
      });
    case 'unknown_result':
      return problem(404, error.kind, 'The board has no result of this play in quarantine.');
    case 'result_decided':
      return problem(409, error.kind, 'The result was decided before.');
    case 'not_banned':
      return problem(404, 'unknown_player', 'The player is not banned.');
  }
}
