/**
 * The products, and the only place that decides which of them a route, a page, a queue message or a cron run belongs to. `PRODUCTS`
 * selects those that a deployment serves.
 *
 * By design: an absent product keeps its bindings, its object classes and everything that it stored. Its obligations when a user is
 * deleted and its sealed secrets stay too, because its data does. Parts that every deployment has are in no product: health,
 * identity, operators, the audit log, the collectors' alarms, and the snapshot and rebuild of DIRECTORY.
 */
import type { OpenAPIHono } from '@hono/zod-openapi';
import { version } from '../package.json';
import { findMarkedCopies, runMarkedCopies } from './collectors/marked-copies.ts';
import { collectorsApi } from './collectors/routes.ts';
import { createIdentityApi } from './identity/iam/index.ts';
import { operatorSecrets } from './identity/index.ts';
import { createAuditApi } from './identity/operators/audit-routes.ts';
import { createOperatorApi } from './identity/operators/operator-routes.ts';
import { runIdentitySchedule } from './identity/schedule.ts';
import { findSilentObjects, leaderboardApi, runLeaderboardSchedule, webhookSecrets } from './leaderboard/index.ts';
import {
  consumeMail,
  findSilentMailboxes,
  mailApi,
  mailSecrets,
  readMailGauges,
  runMailSchedule,
  totpSecrets,
} from './mail/index.ts';
import { createMetricsApi, type ReadGauges, runMetricsSchedule } from './metrics/index.ts';
import {
  consumeStorageTasks,
  directoryApi,
  findLostDatabases,
  findMissingCopies,
  isDirectoryTask,
  runDirectorySchedule,
  runStorageSchedule,
  storageApi,
} from './object-storage/index.ts';
import { addHealth, type FindSilent } from './shared/health.ts';
import { createJsonApi, type JsonApiEnv, refuseUnknownRoutes } from './shared/json-api.ts';
import { logError } from './shared/log.ts';
import { addApiDocument } from './shared/openapi.ts';
import type { Operation } from './shared/prices.ts';
import { MisconfiguredError, settingsOf } from './shared/settings.ts';
import { PRODUCT_NAMES, type ProductName } from './shared/settings-schema.ts';

type Schedule = (controller: ScheduledController, env: Env, ctx: ExecutionContext) => Promise<void>;
type Consumer = (batch: MessageBatch, env: Env, ctx: ExecutionContext) => Promise<void>;

interface Product {
  readonly api: OpenAPIHono<JsonApiEnv>;
  /** Paths of the product's pages in the web app, without `/_/`. Pages that no product lists are always served. */
  readonly pages: readonly string[];
  readonly schedule: Schedule;
  readonly findSilent: FindSilent;
  readonly readGauges: ReadGauges;
}

const PRODUCTS: Readonly<Record<ProductName, Product>> = {
  storage: {
    api: storageApi,
    pages: ['storage'],
    schedule: runStorageSchedule,
    findSilent: async () => [],
    readGauges: async () => [],
  },
  leaderboard: {
    api: leaderboardApi,
    pages: ['leaderboard', 'embed/leaderboard'],
    schedule: runLeaderboardSchedule,
    findSilent: findSilentObjects,
    readGauges: async () => [],
  },
  mail: {
    api: mailApi,
    pages: ['mail', 'mail-frame', 'turnstile'],
    schedule: runMailSchedule,
    findSilent: findSilentMailboxes,
    readGauges: readMailGauges,
  },
};

interface QueueRule {
  /** Suffix of the queue's name. An environment such as staging puts its own name before the suffix. */
  readonly suffix: string;
  readonly consume: Consumer;
  /** The product to which a message belongs; null if every deployment consumes the message. */
  readonly productOf: (message: Message) => ProductName | null;
}

const QUEUES: readonly QueueRule[] = [
  {
    suffix: '-storage-tasks',
    consume: consumeStorageTasks,
    productOf: (message) => (isDirectoryTask(message) ? null : 'storage'),
  },
  { suffix: '-mail-outbound', consume: consumeMail, productOf: () => 'mail' },
];

const ALWAYS: Readonly<Record<string, Schedule>> = {
  identity: runIdentitySchedule,
  directory: runDirectorySchedule,
  copies: runMarkedCopies,
  metrics: runMetricsSchedule,
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
  return PRODUCT_NAMES.some((name) => PRODUCTS[name].pages.includes(page) && !isServed(env, name));
}

/** Runs the cron work of every deployment and of the products that are served. If one fails, the others still run. */
export async function runSchedules(controller: ScheduledController, env: Env, ctx: ExecutionContext): Promise<void> {
  const served = PRODUCT_NAMES.filter((name) => isServed(env, name));
  const schedules = { ...ALWAYS, ...Object.fromEntries(served.map((name) => [name, PRODUCTS[name].schedule])) };
  for (const [product, run] of Object.entries(schedules))
    await run(controller, env, ctx).catch((error: unknown) => logError('schedule_failed', error, { product }));
}

/**
 * Passes a batch of queue messages to its product. Messages of a product that is not served are acknowledged: each is only a hint,
 * and cron or an alarm finds the work again.
 */
export async function consumeQueue(batch: MessageBatch, env: Env, ctx: ExecutionContext): Promise<void> {
  const rule = QUEUES.find(({ suffix }) => batch.queue.endsWith(suffix));
  if (rule === undefined) throw new Error(`the queue ${batch.queue} belongs to no product`);
  const messages = batch.messages.filter((message) => {
    const product = rule.productOf(message);
    if (product === null || isServed(env, product)) return true;
    message.ack();
    return false;
  });
  if (messages.length > 0) await rule.consume({ ...toPlain(batch), messages }, env, ctx);
}

/** Copies a batch to a plain object. Its members are accessors, which a spread does not copy. */
const toPlain = (batch: MessageBatch): MessageBatch => ({
  queue: batch.queue,
  messages: batch.messages,
  metadata: batch.metadata,
  ackAll: () => batch.ackAll(),
  retryAll: (options) => batch.retryAll(options),
});

const identityApi = createIdentityApi([totpSecrets, operatorSecrets, webhookSecrets, ...mailSecrets]);
const operatorApi = createOperatorApi();
const auditApi = createAuditApi();
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
  const findWarnings = async (env: Env) => (await Promise.all([findMissingCopies(env), findMarkedCopies(env)])).flat();
  addHealth(api, version, { findSilent, findWarnings });
  api.route('/', identityApi);
  api.route('/', operatorApi);
  api.route('/', auditApi);
  api.route('/', directoryApi);
  for (const name of ['leaderboard', 'mail', 'storage'] as const)
    if (served.includes(name)) api.route('/', PRODUCTS[name].api);
  api.route('/', collectorsApi);
  api.route(
    '/',
    createMetricsApi(async (env) => (await Promise.all(served.map((name) => PRODUCTS[name].readGauges(env)))).flat()),
  );
  addApiDocument(api, version);
  refuseUnknownRoutes(api);
  return api;
}
