/**
 * What a deployment serves: `PRODUCTS` selects the products. `api.ts` knows their routes, `products.ts` their background work. Both are
 * evaluated when they are needed, so that an isolate that answers S3 requests starts sooner.
 */

import { settingsOf } from './shared/settings/settings.ts';
import { PRODUCT_NAMES, type ProductName } from './shared/settings/settings-schema.ts';
import type { Operation } from './shared/telemetry/prices.ts';

/** Paths of each product's pages in the web app, without `/_/`. Pages that no product lists are always served. */
const PAGES: Readonly<Record<ProductName, readonly string[]>> = {
  storage: ['storage'],
  leaderboard: ['leaderboard', 'embed/leaderboard'],
  mail: ['mail', 'mail-frame', 'turnstile'],
};

/** The operation as which a request is counted. */
export function operationOf(destination: 'api' | 'storage' | 'other', method: string, path: string): Operation {
  const isRead = method === 'GET' || method === 'HEAD';
  if (destination === 'storage')
    return isRead ? 'storage_read' : method === 'DELETE' ? 'storage_delete' : 'storage_write';
  if (destination === 'other') return 'other';
  if (/^\/v1\/(?:scores|seasons|boards)/.test(path)) return isRead ? 'score_read' : 'score_write';
  if (path === '/v1/messages' && method === 'POST') return 'mail_out';
  return isRead && /^\/v1\/(?:messages|threads|folders|search|labels|events|drafts)/.test(path) ? 'mail_read' : 'other';
}

/** Whether the deployment serves a product. @throws MisconfiguredError if PRODUCTS is bad. */
export const isServed = (env: Env, product: ProductName): boolean => settingsOf(env).PRODUCTS.includes(product);

/** Whether a path is a page of the web app whose product is not served. @throws MisconfiguredError if PRODUCTS is bad. */
export function isAbsentPage(env: Env, pathname: string): boolean {
  const page = pathname.replace(/^\/_\//, '').replace(/\.html$/, '');
  return PRODUCT_NAMES.some((name) => PAGES[name].includes(page) && !isServed(env, name));
}
