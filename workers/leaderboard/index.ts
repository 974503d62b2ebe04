/** The leaderboard's door. */
import { createJsonApi } from '../shared/json-api.ts';

export const leaderboardApi = createJsonApi();

export async function runLeaderboardSchedule(
  _controller: ScheduledController,
  _env: Env,
  _ctx: ExecutionContext,
): Promise<void> {}
