/**
 * Lets the view of a region know of posts, so that the next list read in the region has them. Only views that show the season's lists
 * are called, so posts to boards that nobody watches call nothing more.
 */

import type { ScoreAnswer, ShardAddress } from '../../durable-objects/leaderboard/protocol.ts';
import { logError } from '../shared/telemetry/log.ts';
import { toViewName, viewStub } from './objects.ts';
import { notify } from './silence.ts';

/** Marks a post in the view of a region. A view that does not answer then shows the post within a second. */
export async function markPost(
  env: Env,
  region: string,
  { season, shard }: ShardAddress,
  { views = [], writtenAt }: ScoreAnswer<unknown>,
): Promise<void> {
  const view = `${region}:0`;
  if (!views.includes(view)) return;
  try {
    const mark = () => viewStub(env, season, view).mark([{ shard, writtenAt }]);
    await notify(toViewName(season, view), mark);
  } catch (error) {
    logError('leaderboard_view_unavailable', error, { season, view });
  }
}
