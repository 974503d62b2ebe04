/** The leaderboard: game servers write scores, everyone reads standings. `api.ts` has the JSON API. */
export { runLeaderboardSchedule } from './schedule.ts';
export { findSilentObjects } from './shard-status.ts';
export { webhookSecrets } from './webhooks.ts';
