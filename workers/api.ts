/** The JSON API. `index.ts` loads it with the first request of it, because its schemas are most of what an isolate evaluates. */
import type { OpenAPIHono } from '@hono/zod-openapi';
import { version } from '../package.json';
import { createIdentityApi } from './identity/iam/index.ts';
import { operatorSecrets } from './identity/index.ts';
import { createAuditApi } from './identity/operators/audit-routes.ts';
import { collectorsApi } from './identity/operators/collector-routes.ts';
import { createMetricsApi } from './identity/operators/metrics-routes.ts';
import { createOperatorApi } from './identity/operators/operator-routes.ts';
import { leaderboardApi } from './leaderboard/api.ts';
import { webhookSecrets } from './leaderboard/index.ts';
import { mailApi } from './mail/api.ts';
import { mailSecrets, totpSecrets } from './mail/index.ts';
import { PRODUCTS } from './products.ts';
import { findMarkedCopies } from './shared/collectors/marked-copies.ts';
import { addHealth } from './shared/json/health.ts';
import { createJsonApi, type JsonApiEnv, refuseUnknownRoutes } from './shared/json/json-api.ts';
import { addApiDocument } from './shared/json/openapi.ts';
import { MisconfiguredError, settingsOf } from './shared/settings/settings.ts';
import type { ProductName } from './shared/settings/settings-schema.ts';
import { findDamagedObjects } from './storage/maintenance/damaged-objects.ts';
import { findLostDatabases } from './storage/maintenance/lost-stores.ts';
import { findMissingCopies } from './storage/maintenance/missing-copies.ts';
import { createDirectoryApi, createStorageApi } from './storage/operator-routes.ts';

const identityApi = createIdentityApi([totpSecrets, operatorSecrets, webhookSecrets, ...mailSecrets]);
const operatorApi = createOperatorApi();
const auditApi = createAuditApi();
const directoryApi = createDirectoryApi();
const productApis = { leaderboard: leaderboardApi, mail: mailApi, storage: createStorageApi() };
const apis = new Map<string, OpenAPIHono<JsonApiEnv>>();

/** The JSON API of the products that are served. It does not know the routes of other products. */
export function apiOf(env: Env): OpenAPIHono<JsonApiEnv> {
  const served = readServed(env);
  const names = served.join();
  const api = apis.get(names) ?? createApi(served);
  apis.set(names, api);
  return api;
}

/** The products that are served. If PRODUCTS is bad, none is, so that only health answers, which reports the setting. */
function readServed(env: Env): readonly ProductName[] {
  try {
    return settingsOf(env).PRODUCTS;
  } catch (error) {
    if (error instanceof MisconfiguredError) return [];
    throw error;
  }
}

function createApi(served: readonly ProductName[]): OpenAPIHono<JsonApiEnv> {
  const api = createJsonApi();
  const findSilent = async (env: Env) =>
    (await Promise.all([findLostDatabases(env), ...served.map((name) => PRODUCTS[name].findSilent(env))])).flat();
  const findWarnings = async (env: Env) =>
    (await Promise.all([findDamagedObjects(env), findMissingCopies(env), findMarkedCopies(env)])).flat();
  addHealth(api, version, { findSilent, findWarnings });
  api.route('/', identityApi);
  api.route('/', operatorApi);
  api.route('/', auditApi);
  api.route('/', directoryApi);
  for (const [name, routes] of Object.entries(productApis))
    if (served.includes(name as ProductName)) api.route('/', routes);
  api.route('/', collectorsApi);
  api.route(
    '/',
    createMetricsApi(async (env) => (await Promise.all(served.map((name) => PRODUCTS[name].readGauges(env)))).flat()),
  );
  addApiDocument(api, version);
  refuseUnknownRoutes(api);
  return api;
}
