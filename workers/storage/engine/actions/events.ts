/** Event notifications of changes: whether a change has any, and the hint to send them. */
import { type EventFacts, type EventKind, findRoutes, notificationOf } from '../../domain/notifications.ts';
import type { EngineContext } from '../model/context.ts';
import type { Bucket, VersionFacts } from '../model/contract.ts';
import type { NewEvent } from '../store/event-store.ts';

/**
 * Makes the event of a change.
 * @returns the event to store with the change; null if no notification rule of the bucket selects it.
 */
export function toNewEvent(
  { origin }: EngineContext,
  bucket: Bucket,
  change: { readonly kind: EventKind; readonly name: string } & Partial<
    Pick<VersionFacts, 'versionId' | 'size' | 'etag'>
  >,
): NewEvent | null {
  if (bucket.configuration.notification === undefined) return null;
  const { kind, name, size, etag, versionId } = change;
  const routes = findRoutes(notificationOf(bucket.configuration), kind, name);
  if (routes.length === 0) return null;
  const facts: EventFacts = {
    routes,
    ownerId: bucket.ownerId,
    ...origin,
    region: bucket.region,
    versionId: bucket.versioning === 'enabled' ? (versionId ?? null) : null,
    ...(size === undefined ? {} : { size }),
    ...(etag === undefined ? {} : { etag }),
  };
  return { kind, facts };
}

/** If the queue message is lost, cron sends the events. */
export function hintEvents({ tasks, waitUntil }: EngineContext, shard: number): void {
  if (tasks !== null) waitUntil(tasks.send({ kind: 'events', shard }).catch(() => {}));
}
