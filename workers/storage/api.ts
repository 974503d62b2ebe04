/** `/v1/storage/…`: jobs, also for users; statistics and maintenance of object storage, for operators only. */
import type { OpenAPIHono } from '@hono/zod-openapi';
import { requireOperator } from '../identity/index.ts';
import { createRoutes, type JsonApiEnv, sendProblem } from '../shared/json/json-api.ts';
import { addBucketPolicyRoute } from './operator/bucket-policy.ts';
import { addCheckRoutes } from './operator/checks.ts';
import { addCollectionRoute } from './operator/collection.ts';
import { addDirectoryRecoveryRoute } from './operator/directory-recovery.ts';
import { addDoubtRoute } from './operator/doubt.ts';
import { addJobRoutes } from './operator/jobs.ts';
import { addOpenedLinkRoutes } from './operator/opened-links.ts';
import { addQuotaRoutes } from './operator/quotas.ts';
import { addRecoveryRoutes } from './operator/recovery.ts';
import { addShareLinkRoutes } from './operator/share-links.ts';
import { addSlotRoute } from './operator/slots.ts';
import { addStatsRoute } from './operator/stats.ts';
import { addTakeDownRoutes } from './operator/take-down.ts';
import { addUsageRoute } from './operator/usage.ts';

export function createApi(): OpenAPIHono<JsonApiEnv> {
  const api = createRoutes();
  // The routes of jobs and links are added before the guard of the other routes, because users may call them.
  addJobRoutes(api);
  addShareLinkRoutes(api);
  addOpenedLinkRoutes(api);
  guard(api, '/v1/storage/*');
  addBucketPolicyRoute(api);
  addStatsRoute(api);
  addCollectionRoute(api);
  addCheckRoutes(api);
  addRecoveryRoutes(api);
  addSlotRoute(api);
  addTakeDownRoutes(api);
  addUsageRoute(api);
  addQuotaRoutes(api);
  return api;
}

/** The routes that every deployment has, regardless of its products. */
export function createDirectoryApi(): OpenAPIHono<JsonApiEnv> {
  const api = createRoutes();
  guard(api, '/v1/storage/directory/*');
  guard(api, '/v1/storage/doubt');
  addDoubtRoute(api);
  addDirectoryRecoveryRoute(api);
  return api;
}

function guard(api: OpenAPIHono<JsonApiEnv>, path: string): void {
  api.use(path, async (c, next) => {
    const caller = await requireOperator(c);
    return caller.ok ? next() : sendProblem(c, caller.error);
  });
}
