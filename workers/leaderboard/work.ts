/** The background work of the leaderboard. */
import type { ProductWork } from '../shared/product.ts';
import { webhookSecrets } from './boards/webhooks.ts';
import { runLeaderboardSchedule } from './schedule.ts';
import { findMissingShards, findSilentObjects } from './seasons/shard-status.ts';

export const work: ProductWork = {
  schedules: { leaderboard: runLeaderboardSchedule },
  findSilent: findSilentObjects,
  findWarnings: findMissingShards,
  secrets: [webhookSecrets],
};
