/**
 * The background work of the products: cron runs and queue messages. `served.ts` knows what a deployment serves, `api.ts` the routes.
 *
 * By design: an absent product keeps its bindings, its object classes and everything that it stored. Its obligations when a user is
 * deleted and its sealed secrets stay too, because its data does. Parts that every deployment has are in no product: health,
 * identity, operators, the audit log, the collectors' alarms, and the snapshot and rebuild of DIRECTORY.
 */

import { type ReadGauges, runMetricsSchedule } from './identity/operators/metrics-routes.ts';
import { runIdentitySchedule } from './identity/schedule.ts';
import { findSilentObjects, runLeaderboardSchedule } from './leaderboard/index.ts';
import { consumeMail, findSilentMailboxes, readMailGauges, runMailSchedule } from './mail/index.ts';
import { isServed } from './served.ts';
import { runMarkedCopies } from './shared/collectors/marked-copies.ts';
import type { FindSilent } from './shared/json/health.ts';
import { PRODUCT_NAMES, type ProductName } from './shared/settings/settings-schema.ts';
import { logError } from './shared/telemetry/log.ts';
import { readStorageGauges } from './storage/maintenance/damaged-objects.ts';
import {
  consumeStorageTasks,
  isDirectoryTask,
  runDirectorySchedule,
  runStorageSchedule,
} from './storage/maintenance/schedule.ts';

type Schedule = (controller: ScheduledController, env: Env, ctx: ExecutionContext) => Promise<void>;
type Consumer = (batch: MessageBatch, env: Env, ctx: ExecutionContext) => Promise<void>;

interface Product {
  readonly schedule: Schedule;
  readonly findSilent: FindSilent;
  readonly readGauges: ReadGauges;
}

export const PRODUCTS: Readonly<Record<ProductName, Product>> = {
  storage: {
    schedule: runStorageSchedule,
    findSilent: async () => [],
    readGauges: readStorageGauges,
  },
  leaderboard: {
    schedule: runLeaderboardSchedule,
    findSilent: findSilentObjects,
    readGauges: async () => [],
  },
  mail: {
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
