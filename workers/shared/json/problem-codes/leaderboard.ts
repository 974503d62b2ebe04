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
    meaning: 'The scores of a deleted board of this name are being erased.',
    action: 'Retry in some minutes, or use another name.',
  },
  too_many_boards: { statuses: [409], meaning: 'There are as many boards as possible.', action: 'Delete a board.' },
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
