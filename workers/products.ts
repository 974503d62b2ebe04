/**
 * The products: which of them a page, a queue message or a cron run belongs to. `api.ts` knows the routes. `PRODUCTS` selects the
 * products that a deployment serves.
 *
 * By design: an absent product keeps its bindings, its object classes and everything that it stored. Its obligations when a user is
 * deleted and its sealed secrets stay too, because its data does. Parts that every deployment has are in no product: health,
 * identity, operators, the audit log, the collectors' alarms, and the snapshot and rebuild of DIRECTORY.
 */
import { runMarkedCopies } from './collectors/marked-copies.ts';
import { runIdentitySchedule } from './identity/schedule.ts';
import { findSilentObjects, runLeaderboardSchedule } from './leaderboard/index.ts';
import { consumeMail, findSilentMailboxes, readMailGauges, runMailSchedule } from './mail/index.ts';
import { type ReadGauges, runMetricsSchedule } from './metrics/index.ts';
import {
  consumeStorageTasks,
  isDirectoryTask,
  runDirectorySchedule,
  runStorageSchedule,
} from './object-storage/index.ts';
import type { FindSilent } from './shared/health.ts';
import { logError } from './shared/log.ts';
import type { Operation } from './shared/prices.ts';
import { settingsOf } from './shared/settings.ts';
import { PRODUCT_NAMES, type ProductName } from './shared/settings-schema.ts';

type Schedule = (controller: ScheduledController, env: Env, ctx: ExecutionContext) => Promise<void>;
type Consumer = (batch: MessageBatch, env: Env, ctx: ExecutionContext) => Promise<void>;

interface Product {
  /** Pages of the web app, without `/_/`. Pages that no product lists are always served. */
  readonly pages: readonly string[];
  readonly schedule: Schedule;
  readonly findSilent: FindSilent;
  readonly readGauges: ReadGauges;
}

export const PRODUCTS: Readonly<Record<ProductName, Product>> = {
  storage: {
    pages: ['storage'],
    schedule: runStorageSchedule,
    findSilent: async () => [],
    readGauges: async () => [],
  },
  leaderboard: {
    pages: ['leaderboard', 'embed/leaderboard'],
    schedule: runLeaderboardSchedule,
    findSilent: findSilentObjects,
    readGauges: async () => [],
  },
  mail: {
    pages: ['mail', 'mail-frame', 'turnstile'],
    schedule: runMailSchedule,
    findSilent: findSilentMailboxes,
    readGauges: readMailGauges,
  },
};

interface QueueRule {
  /** End of the queue's name. An environment such as staging puts its name in the middle. */
  readonly suffix: string;
  readonly consume: Consumer;
  /** The product that consumes a message; null if every deployment does. */
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

/** The operation that a request counts as. */
export function operationOf(destination: 'api' | 'storage' | 'other', method: string, path: string): Operation {
  const isRead = method === 'GET' || method === 'HEAD';
  if (destination === 'storage')
    return isRead ? 'storage_read' : method === 'DELETE' ? 'storage_delete' : 'storage_write';
  if (destination === 'other') return 'other';
  if (/^\/v1\/(?:scores|seasons|boards)/.test(path)) return isRead ? 'score_read' : 'score_write';
  if (path === '/v1/messages' && method === 'POST') return 'mail_out';
  return isRead && /^\/v1\/(?:messages|threads|folders|search|labels|events|drafts)/.test(path) ? 'mail_read' : 'other';
}

/** @throws MisconfiguredError if PRODUCTS is bad. */
export const isServed = (env: Env, product: ProductName): boolean => settingsOf(env).PRODUCTS.includes(product);

/** True for a page of the web app whose product is not served. @throws MisconfiguredError if PRODUCTS is bad. */
export function isAbsentPage(env: Env, pathname: string): boolean {
  const page = pathname.replace(/^\/_\//, '').replace(/\.html$/, '');
  return PRODUCT_NAMES.some((name) => PRODUCTS[name].pages.includes(page) && !isServed(env, name));
}

/** Runs the cron work of the products that are served. A failure of one does not stop the others. */
export async function runSchedules(controller: ScheduledController, env: Env, ctx: ExecutionContext): Promise<void> {
  const served = PRODUCT_NAMES.filter((name) => isServed(env, name));
  const schedules = { ...ALWAYS, ...Object.fromEntries(served.map((name) => [name, PRODUCTS[name].schedule])) };
  for (const [product, run] of Object.entries(schedules))
    await run(controller, env, ctx).catch((error: unknown) => logError('schedule_failed', error, { product }));
}

/** Messages of an absent product are acknowledged: each is a hint, and cron or an alarm finds its work again. */
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

/** The members of a batch are accessors, which a spread does not copy. */
const toPlain = (batch: MessageBatch): MessageBatch => ({
  queue: batch.queue,
  messages: batch.messages,
  metadata: batch.metadata,
  ackAll: () => batch.ackAll(),
  retryAll: (options) => batch.retryAll(options),
});
