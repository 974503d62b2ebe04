/** Problem codes of the leaderboard. */
import type { ProblemCodeTable } from './entry.ts';

export const LEADERBOARD_CODES = {
  unknown_board: { statuses: [404], meaning: 'The board does not exist.', action: 'Use a board of `/v1/boards`.' },
  board_rules_fixed: {
    statuses: [409],
    meaning: 'Sort, operator and period of a board cannot change. `default` cannot be deleted.',
    action: 'Create another board, or delete this one first. Of `default`, change the title and the logo only.',
  },
  board_being_deleted: {
    statuses: [409],
    meaning: 'A shard of a deleted board of this name does not answer, so posts may still reach it.',
    action: 'Retry in ten seconds, or use another name.',
  },
  names_not_searched: {
    statuses: [409],
    meaning: 'The board does not let everyone search its players by name.',
    action: 'Set `find_by_name` of the board, or search as an operator.',
  },
  no_season: {
    statuses: [409],
    meaning: 'The first season of the board has not begun, or its last one is over. Nothing was counted.',
    action: 'Post while the `schedule` of the board has a season.',
  },
  board_busy: {
    statuses: [429],
    meaning: 'The board has one shard, which takes no more posts now. Nothing was counted.',
    action: 'Retry after `Retry-After`. For more posts a second, set `shards` of the board.',
  },
  too_many_boards: {
    statuses: [409],
    meaning: 'There are as many boards with several shards as possible.',
    action: 'Set `shards` to 1, or delete a board.',
  },
  board_limit_reached: {
    statuses: [409],
    meaning: 'The deployment has as many boards as it may have. No board was made, and nothing was counted.',
    action: 'Delete boards, or let the operator set `LEADERBOARD_BOARDS` higher.',
  },
  no_webhook: { statuses: [404], meaning: 'The board has no webhook.', action: 'Set one with PUT.' },
  no_logo: {
    statuses: [404],
    meaning: 'The board has no logo of this hash.',
    action: 'Use the path in `logo` of the board.',
  },
  bad_logo: {
    statuses: [400],
    meaning: 'The file is no complete PNG or WebP of at most 1024 by 1024 pixels.',
    action: 'Send another picture.',
  },
  unknown_player: {
    statuses: [404],
    meaning: 'The player has no score in this season.',
    action: 'Check the id and the season.',
  },
  unknown_shard: {
    statuses: [404],
    meaning: 'The season has no shard of this number.',
    action: 'Use a number of `/v1/seasons/{season}/shards`.',
  },
  unknown_season: { statuses: [404], meaning: 'The season does not exist.', action: 'Use a season of `/v1/seasons`.' },
  event_conflict: {
    statuses: [409],
    meaning: 'The player used this `event_id` before, with other points. Nothing was counted.',
    action: 'Use one `event_id` per event.',
  },
  not_current: {
    statuses: [409],
    meaning: 'Only the current season can be watched.',
    action: 'Leave out `season`.',
  },
  score_overflow: {
    statuses: [409],
    meaning: 'The score would exceed 9007199254740991.',
    action: 'Do not repeat the request.',
  },
  points_per_day_exceeded: {
    statuses: [409],
    meaning:
      'The player would get more points in this day (UTC) than `max_points_per_day` of the board. Nothing was counted.',
    action: 'Post again on the next day, or check the player.',
  },
  posted_too_soon: {
    statuses: [409],
    meaning: 'The player posted less than `seconds_between_posts` ago. Nothing was counted.',
    action: 'Wait as long as `detail` says.',
  },
  plays_overlap: {
    statuses: [409],
    meaning: 'The play began before the last result of the player. Nothing was counted.',
    action: 'Begin another play.',
  },
  no_sessions: {
    statuses: [409],
    meaning: 'The board has no sessions, so pages cannot begin plays.',
    action: 'Post from a game server, or set `sessions` of the board.',
  },
  origin_not_listed: {
    statuses: [403],
    meaning: 'The page has an origin that the board does not list.',
    action: 'Add it to `origins` in `session_rules` of the board.',
  },
  invalid_play: {
    statuses: [403],
    meaning: 'The play is older than 24 hours, was altered, or belongs to another board or player.',
    action: 'Begin another play.',
  },
  play_used: {
    statuses: [409],
    meaning: 'The play has another result. Only the first one counts.',
    action: 'Begin another play.',
  },
  player_banned: {
    statuses: [403],
    meaning: 'An operator has banned the player from the board.',
    action: 'Ask the operator.',
  },
  quarantine_full: {
    statuses: [503],
    meaning: 'The result has to wait for an operator, and 5,000 results of the board wait already. It was not stored.',
    action: 'Retry later, within 24 hours of the begin of the play. Operators: decide about results that wait.',
  },
  unknown_result: {
    statuses: [404],
    meaning: 'No result of this play is in quarantine.',
    action: 'Use a play of the list.',
  },
  result_decided: {
    statuses: [409],
    meaning: 'The result was accepted or refused before.',
    action: 'Do not repeat the request.',
  },
  copy_missing: {
    statuses: [409],
    meaning: 'No location has a copy of the shard.',
    action: 'Accept the loss, then post the scores again.',
  },
  copy_part_missing: {
    statuses: [409],
    meaning: 'No location has a part that the copy names. `detail` has its key. Nothing was changed.',
    action: 'Bring the object back from another copy of the bucket, or accept the loss.',
  },
  copy_damaged: {
    statuses: [409],
    meaning: 'A file of the copy is damaged in every location that has it. `detail` has its key. Nothing was changed.',
    action: 'Bring the object back from another copy of the bucket, or accept the loss.',
  },
  copy_older: {
    statuses: [409],
    meaning: 'The shard has commits that its copy lacks. Nothing was changed.',
    action: 'Do not restore it.',
  },
  unknown_erasure: {
    statuses: [404],
    meaning: 'The board has no erasure of this id, or it ended more than 30 days ago.',
    action: 'Use the id of the answer to `DELETE /v1/scores/{user_id}`.',
  },
  season_running: { statuses: [409], meaning: 'The month is not over.', action: 'Close it after its end.' },
  season_sealed: {
    statuses: [409],
    meaning: 'The season is closed and takes no new scores.',
    action: 'Leave out `season` to count the score in the current month.',
  },
} as const satisfies ProblemCodeTable;
