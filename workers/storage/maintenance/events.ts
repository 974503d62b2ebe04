/**
 * Sends event notifications from the outbox of a shard. Each is sent at least once, and those of one name in the order of its
 * changes. If a run dies, its events are sent again.
 */

import {
  isDelivered,
  retryAfter,
  sendWebhook,
  WEBHOOK_AGE_MS_MAX,
  WEBHOOKS_PARALLEL_MAX,
} from '../../shared/json/webhook.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { type EventRoute, toEventMessage } from '../domain/notifications.ts';
import type { EngineContext } from '../engine/model/context.ts';
import { type DueEvent, hasDueEvents, selectDueEvents, settleEvents } from '../engine/store/event-store.ts';

const EVENTS_PER_RUN = 100;
/** Time in milliseconds from the request for the lease after which a run begins no further event, so that it ends before its lease does. */
const RUN_MS_MAX = 30_000;

/**
 * Sends due events of a shard.
 * @param startedAt when the caller asked for the lease. Its answer may have been late.
 * @returns whether more events are due.
 */
export async function sendEvents(context: EngineContext, shard: number, startedAt = Date.now()): Promise<boolean> {
  const names = new Map<string, DueEvent[]>();
  for (const event of await selectDueEvents(context, shard, EVENTS_PER_RUN)) {
    const key = `${event.bucketId} ${event.name}`;
    names.set(key, [...(names.get(key) ?? []), event]);
  }
  if (names.size === 0) return false;
  const deadline = startedAt + RUN_MS_MAX;
  const groups = [...names.values()];
  const done: number[] = [];
  const failed: [id: number, dueAt: number][] = [];
  const sendGroups = async () => {
    for (let group = groups.shift(); group !== undefined; group = groups.shift()) {
      for (const event of group) {
        if (Date.now() > deadline) return;
        if ((await sendEvent(context, shard, event)) || isTooOld(context, event)) done.push(event.id);
        else {
          failed.push([event.id, context.now() + retryAfter(event.attempts)]);
          break;
        }
      }
    }
  };
  await Promise.all(Array.from({ length: WEBHOOKS_PARALLEL_MAX }, sendGroups));
  await settleEvents(context, shard, done, failed);
  return hasDueEvents(context, shard);
}

function isTooOld(context: EngineContext, { bucketId, id, occurredAt }: DueEvent): boolean {
  if (context.now() - occurredAt < WEBHOOK_AGE_MS_MAX) return false;
  logError('event_dropped', new Error('no destination accepted it for 3 days'), { bucket_id: bucketId, event: id });
  return true;
}

/** Sends an event to all its destinations. @returns whether every destination accepted it. */
async function sendEvent(context: EngineContext, shard: number, event: DueEvent): Promise<boolean> {
  for (const route of event.facts.routes) {
    const isSent = await sendTo(context, shard, event, route).catch((error: unknown) => {
      logError('event_not_sent', error, { bucket_id: event.bucketId, event: event.id, destination: route.target.kind });
      return false;
    });
    if (!isSent) return false;
  }
  return true;
}

async function sendTo(
  { events, now }: EngineContext,
  shard: number,
  event: DueEvent,
  { id, target }: EventRoute,
): Promise<boolean> {
  const message = toEventMessage(event, id);
  if (target.kind === 'queue') {
    if (events.queue === null) return false;
    await events.queue.send(message);
    return true;
  }
  const webhook = {
    url: target.url,
    id: `evt_${shard}_${event.sequencer}_${Buffer.from(id).toString('hex')}`,
    body: JSON.stringify(message),
    secrets: [events.secretOf(event.bucketId)],
  };
  return isDelivered(await sendWebhook(webhook, events.mayCall, now()));
}
