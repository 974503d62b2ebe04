/** Passes cron runs and queue messages to the products that are served, and loads only their background work. */
import { findersOf, isServed, type Product } from './product.ts';
import { isAwaitingRescue } from './s3-location/pass.ts';
import { unguardedEnv } from './stores/guarded-database.ts';
import { judgeStores } from './stores/health-verdict.ts';
import { logError, logInfo } from './telemetry/log.ts';

/**
 * Runs the cron work of the products that are served, one schedule after another: first the schedules of all products, then the
 * slow ones. If one fails, the others still run.
 */
export async function runSchedules(
  products: readonly Product[],
  controller: ScheduledController,
  env: Env,
  ctx: ExecutionContext,
): Promise<void> {
  const served = products.filter((each) => isServed(env, each));
  const work = await Promise.all(served.map((product) => product.work()));
  // The databases are not guarded here: one that was put back is a finding.
  await judgeStores(unguardedEnv(env), findersOf(work)).catch((error: unknown) =>
    logError('schedule_failed', error, { product: 'health' }),
  );
  // An empty installation that waits for a rescue must not write ids of its own to the locations.
  if (await isAwaitingRescue(unguardedEnv(env))) return void logInfo('rescue_awaited', {});
  const inOrder = [...work.map(({ schedules }) => schedules), ...work.map(({ slowSchedules }) => slowSchedules)];
  for (const [name, run] of inOrder.flatMap((schedules = {}) => Object.entries(schedules)))
    await run(controller, env, ctx).catch((error: unknown) => logError('schedule_failed', error, { product: name }));
}

/**
 * Passes a batch of queue messages to their products. Messages of a product that is not served are acknowledged: a hint is found
 * again by cron or an alarm, and an event only improves what is shown of sent mail.
 */
export async function consumeQueue(
  products: readonly Product[],
  batch: MessageBatch,
  env: Env,
  ctx: ExecutionContext,
): Promise<void> {
  const readers = products.flatMap((product) => [
    ...(product.queue ? [{ product, queue: product.queue, consumer: 'consume' as const }] : []),
    ...(product.events ? [{ product, queue: product.events, consumer: 'consumeEvents' as const }] : []),
  ]);
  const here = readers.filter(({ queue }) => batch.queue.endsWith(queue.suffix));
  if (here.length === 0) throw new Error(`the queue ${batch.queue} belongs to no product`);
  const served = here.filter(({ product }) => isServed(env, product));
  for (const message of batch.messages) if (!served.some(({ queue }) => queue.owns(message))) message.ack();
  for (const { product, queue, consumer } of served) {
    const messages = batch.messages.filter((message) => queue.owns(message));
    if (messages.length > 0) await (await product.work())[consumer]?.({ ...toPlain(batch), messages }, env, ctx);
  }
}

/** Copies a batch to a plain object. Its members are accessors, which a spread does not copy. */
const toPlain = (batch: MessageBatch): MessageBatch => ({
  queue: batch.queue,
  messages: batch.messages,
  metadata: batch.metadata,
  ackAll: () => batch.ackAll(),
  retryAll: (options) => batch.retryAll(options),
});
