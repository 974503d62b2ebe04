/** Every error of the leaderboard, with its problem in the API. */
import { type Problem, problem } from '../../shared/json/problem.ts';
import { UNAVAILABLE } from '../objects.ts';
import type { WriteError } from '../write-results.ts';

export type LeaderboardError =
  | WriteError
  | {
      readonly kind:
        | 'board_rules_fixed'
        | 'no_sum_to_limit'
        | 'default_rules_fixed'
        | 'default_not_deletable'
        | 'session_rules_without_sessions'
        | 'names_not_searched'
        | 'schedule_mismatch'
        | 'board_being_deleted';
    }
  | { readonly kind: 'bad_logo' | 'private_url' | 'unknown_player' | 'unknown_erasure' }
  | { readonly kind: 'no_webhook' | 'no_logo'; readonly board: string }
  | { readonly kind: 'too_many_boards'; readonly boardsMax: number }
  | { readonly kind: 'not_current' | 'season_running'; readonly season: string };

export function toProblem(error: LeaderboardError): Problem {
  switch (error.kind) {
    case 'season_sealed':
      return problem(409, error.kind, 'The season is closed and accepts no new scores.');
    case 'event_conflict':
      return problem(409, error.kind, `This player used the event_id with ${error.points} points before.`);
    case 'score_overflow':
      return problem(409, error.kind, 'The score would exceed 9007199254740991.');
    case 'unknown_season':
      return problem(404, error.kind, `Season ${error.season} not found.`);
    case 'unknown_board':
      return problem(404, error.kind, `Board ${error.board} not found.`);
    case 'board_rules_fixed':
      return problem(
        409,
        error.kind,
        'Sort, operator, period, schedule and sign of a board cannot change. Create another board.',
      );
    case 'default_rules_fixed':
      return problem(409, 'board_rules_fixed', 'Of the board default, only the title and the logo can change.');
    case 'default_not_deletable':
      return problem(409, 'board_rules_fixed', 'The board default cannot be deleted.');
    case 'no_sum_to_limit':
    case 'schedule_mismatch':
    case 'session_rules_without_sessions':
      return toRuleProblem(error.kind);
    case 'too_many_boards':
      return problem(409, error.kind, `A deployment has at most ${error.boardsMax} boards with several shards.`);
    case 'board_limit_reached':
      return problem(409, error.kind, `The deployment has ${error.boardsMax} boards, as many as it may have.`);
    case 'board_being_deleted':
      return problem(
        409,
        error.kind,
        'A shard of the deleted board of this name does not answer. Retry in ten seconds.',
      );
    case 'no_webhook':
      return problem(404, error.kind, `Board ${error.board} has no webhook.`);
    case 'no_logo':
      return problem(404, error.kind, `Board ${error.board} has no such logo.`);
    case 'bad_logo':
      return problem(400, error.kind, 'Send a PNG or WebP of at most 1024 by 1024 pixels.');
    case 'private_url':
      return problem(400, 'invalid_request', 'url must be an https address of a public host.');
    case 'no_such_score':
      return problem(400, 'invalid_request', 'The board cannot have such points or scores.');
    case 'too_many_points':
      return problem(400, 'invalid_request', `points exceed ${error.pointsMax}, the limit of the board.`);
    case 'points_per_day_exceeded':
    case 'posted_too_soon':
    case 'board_busy':
    case 'plays_overlap':
    case 'too_much_data':
      return toRefusal(error);
    case 'names_not_searched':
      return problem(409, error.kind, 'The board does not let everyone search its players by name.');
    case 'no_season':
      return problem(409, error.kind, 'The first season of the board has not begun, or its last one is over.');
    case 'unknown_player':
      return problem(404, error.kind, 'The player has no score in this season.');
    case 'unavailable':
      return UNAVAILABLE;
    case 'not_current':
      return problem(409, error.kind, `Only the current season can be watched. ${error.season} is not current.`);
    case 'season_running':
      return problem(409, error.kind, `The month ${error.season} is not over.`);
    case 'unknown_erasure':
      return problem(404, error.kind, 'The board has no erasure of this id.');
  }
}

type Refusal = Extract<
  WriteError,
  { kind: 'points_per_day_exceeded' | 'posted_too_soon' | 'board_busy' | 'plays_overlap' | 'too_much_data' }
>;

/** The problem of a post that a rule of its board refuses. */
function toRefusal(error: Refusal): Problem {
  switch (error.kind) {
    case 'points_per_day_exceeded': {
      const { pointsMax, pointsLeft } = error;
      return problem(409, error.kind, `A player gets ${pointsMax} points per day (UTC). ${pointsLeft} are left today.`);
    }
    case 'posted_too_soon':
      return problem(
        409,
        error.kind,
        `The player posted a moment ago. Post again in ${Math.ceil(error.waitMs / 1000)} s.`,
      );
    case 'board_busy':
      return problem(
        429,
        error.kind,
        'The board has one shard, which takes no more posts now. Nothing was counted. Retry.',
        {
          retryAfterSeconds: Math.max(1, Math.ceil(error.waitMs / 1000)),
        },
      );
    case 'plays_overlap':
      return problem(409, error.kind, 'The play began before the last result of the player.');
    case 'too_much_data':
      return error.bytesMax === null
        ? problem(400, 'invalid_request', 'The board keeps no data.')
        : problem(400, 'invalid_request', `data has more than ${error.bytesMax} bytes of JSON.`);
  }
}

/** The problem of rules of a board that do not go together. */
function toRuleProblem(kind: 'no_sum_to_limit' | 'schedule_mismatch' | 'session_rules_without_sessions'): Problem {
  switch (kind) {
    case 'no_sum_to_limit':
      return problem(400, 'invalid_request', 'max_points_per_day needs the operator sum, without negative points.');
    case 'schedule_mismatch':
      return problem(
        400,
        'invalid_request',
        'The period custom needs a schedule, which ends after its start. Others have none.',
      );
    case 'session_rules_without_sessions':
      return problem(400, 'invalid_request', 'session_rules need sessions: required.');
  }
}
