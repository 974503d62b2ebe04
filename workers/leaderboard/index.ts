/** The leaderboard: game servers write scores, everyone reads standings. `api.ts` has the JSON API. */

export { webhookSecrets } from './boards/webhooks.ts';
export { runLeaderboardSchedule } from './schedule.ts';
export { findSilentObjects } from './seasons/shard-status.ts';
