/**
 * Composes the JSON API of a deployment from the APIs of its products, with health, the API document and the answer to unknown routes.
 * It does not know the routes of products that are not served.
 */
import type { OpenAPIHono } from '@hono/zod-openapi';
import { version } from '../../package.json';
import { addHealth } from './json/health.ts';
import { createJsonApi, type JsonApiEnv, refuseUnknownRoutes } from './json/json-api.ts';
import { addApiDocument } from './json/openapi.ts';
import { findersOf, isServed, type Product } from './product.ts';
import { ok } from './pure/result.ts';
import { MisconfiguredError } from './settings/settings.ts';

type Api = OpenAPIHono<JsonApiEnv>;

const apis = new Map<string, Api>();

/**
 * The JSON API that answers a path: the part of one product if the path is its own, else that of all products that are served.
 * Evaluating the schemas of all of them takes most of the first request of an isolate.
 */
export async function apiOf(products: readonly Product[], env: Env, path: string): Promise<Api> {
  const served = products.filter((product) => isKnownServed(env, product));
  const owner = served.find(({ ownPaths }) => ownPaths?.test(path));
  const names = owner ? `only ${owner.name}` : served.map(({ name }) => name).join();
  const api = apis.get(names) ?? (await (owner ? composePart(owner) : composeApi(products, served)));
  apis.set(names, api);
  return api;
}

async function composePart({ load }: Product): Promise<Api> {
  const { createApi } = await load();
  const api = createJsonApi();
  api.route('/', createApi({ secrets: [], readGauges: async () => [] }));
  refuseUnknownRoutes(api);
  return api;
}

/** If PRODUCTS is bad, no product is served. Health answers nevertheless, and reports the setting. */
function isKnownServed(env: Env, product: Product): boolean {
  try {
    return isServed(env, product);
  } catch (error) {
    if (error instanceof MisconfiguredError) return false;
    throw error;
  }
}

async function composeApi(products: readonly Product[], served: readonly Product[]): Promise<Api> {
  const [loaded, work, allWork] = await Promise.all([
    Promise.all(served.map(({ load }) => load())),
    Promise.all(served.map(({ work }) => work())),
    Promise.all(products.map(({ work }) => work())),
  ]);
  const api = createJsonApi();
  const findOperator = loaded.find((each) => each.findOperator)?.findOperator ?? (async () => ok(false));
  addHealth(api, version, findersOf(work), findOperator);
  const all = {
    secrets: allWork.flatMap(({ secrets }) => secrets ?? []),
    readGauges: async (env: Env) => (await Promise.all(work.map((each) => each.readGauges?.(env) ?? []))).flat(),
  };
  for (const { createApi } of loaded) api.route('/', createApi(all));
  addApiDocument(api, version);
  refuseUnknownRoutes(api);
  return api;
}
