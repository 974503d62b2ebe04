/**
 * The operator's tables of mail. The rows about a user are in the user's home database. The outboxes themselves are in the
 * mailboxes. Each mailbox pushes its changes to these tables with version numbers. So the totals are right a second after the last
 * change, and after any crash.
 */

import { and, asc, desc, eq, gte, lt, ne, or, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import type { IncomingLedger } from '../../../durable-objects/mail/contract/incoming.ts';
import type { OutboxSnapshot } from '../../../durable-objects/mail/contract/outbox.ts';

import { boundDirectories } from '../../shared/stores/bindings.ts';
import { minOrNull } from '../../shared/stores/directories.ts';
import { prepare, statement } from '../../shared/stores/statement.ts';
import { mailError, mailLedger, mailQueue, mailRefusal } from './domain-schema.ts';
import { dropIfErased } from './erasure-store.ts';

export async function publishOutbox(
  database: D1Database,
  snapshots: readonly OutboxSnapshot[],
  now: number,
): Promise<void> {
  const db = drizzle(database);
  const statements = snapshots.flatMap((snapshot) => {
    const waiting = snapshot.destinations.filter(({ held, queued, deferred }) => held + queued + deferred > 0);
    const failed = snapshot.destinations.filter((destination) => destination.failed > 0);
    return [
      db.delete(mailQueue).where(eq(mailQueue.outboxId, snapshot.outboxId)),
      ...waiting.map((destination) =>
        db.insert(mailQueue).values({
          outboxId: snapshot.outboxId,
          destination: destination.domain,
          userId: snapshot.userId,
          kind: snapshot.kind,
          sizeBytes: snapshot.sizeBytes,
          queuedAt: snapshot.queuedAt,
          held: destination.held,
          queued: destination.queued,
          deferred: destination.deferred,
          nextAttemptAt: destination.nextAttemptAt,
          lastReply: destination.lastReply,
        }),
      ),
      ...(failed.length === 0
        ? [db.delete(mailError).where(eq(mailError.errorId, snapshot.outboxId))]
        : [db.insert(mailError).values(toDeliveryError(snapshot, now)).onConflictDoNothing()]),
      dropIfErased(database, mailQueue, snapshot.userId),
      dropIfErased(database, mailError, snapshot.userId),
    ];
  });
  const [head, ...rest] = statements;
  if (head) await db.batch([head, ...rest]);
}

function toDeliveryError(snapshot: OutboxSnapshot, now: number) {
  const failed = snapshot.destinations.filter((destination) => destination.failed > 0);
  return {
    errorId: snapshot.outboxId,
    userId: snapshot.userId,
    kind: 'delivery',
    code: 'delivery_failed',
    detail: failed
      .map(({ domain, lastReply }) => `${domain}: ${lastReply ?? ''}`)
      .join('; ')
      .slice(0, 1_000),
    recipients: JSON.stringify(failed.map(({ domain }) => domain)),
    outboxId: snapshot.outboxId,
    requestKey: null,
    createdAt: now,
  };
}

export async function publishLedger(database: D1Database, userId: string, ledger: IncomingLedger): Promise<void> {
  const { outcomes, ...counts } = ledger;
  const values = { ...counts, ...outcomes };
  const db = drizzle(database);
  await db.batch([
    db
      .insert(mailLedger)
      .values({ userId, ...values })
      .onConflictDoUpdate({ target: mailLedger.userId, set: values }),
    dropIfErased(database, mailLedger, userId),
  ]);
}

export interface QueueGroup {
  readonly destination: string;
  readonly held: number;
  readonly queued: number;
  readonly deferred: number;
  readonly messages: number;
  readonly sizeBytes: number;
  readonly oldestAt: number;
  /** Time at which the oldest due recipient became due; null if none is due. */
  readonly oldestDueAt: number | null;
  /** Number of due recipients without a failed attempt. */
  readonly due: number;
  /** Number of recipients whose attempt is due, also those whose server deferred an earlier attempt. */
  readonly waitingForConsumer: number;
  /** Number of recipients whose server deferred an attempt, and whose next attempt is not due. */
  readonly waitingForServer: number;
  readonly lastReply: string | null;
}

/** Reads the queue by destination, the largest destinations first. */
export async function readQueueGroups(database: D1Database, now: number, limit: number): Promise<QueueGroup[]> {
  const isDue = sql`${mailQueue.nextAttemptAt} <= ${now}`;
  const all = sql`${mailQueue.queued} + ${mailQueue.held} + ${mailQueue.deferred}`;
  return drizzle(database)
    .select({
      destination: mailQueue.destination,
      held: sql<number>`sum(${mailQueue.held})`,
      queued: sql<number>`sum(${mailQueue.queued})`,
      deferred: sql<number>`sum(${mailQueue.deferred})`,
      messages: sql<number>`count(*)`,
      sizeBytes: sql<number>`sum(${mailQueue.sizeBytes})`,
      oldestAt: sql<number>`min(${mailQueue.queuedAt})`,
      oldestDueAt: sql<number | null>`min(CASE WHEN ${isDue} THEN ${mailQueue.nextAttemptAt} END)`,
      due: sql<number>`sum(CASE WHEN ${isDue} THEN ${mailQueue.queued} + ${mailQueue.held} ELSE 0 END)`,
      waitingForConsumer: sql<number>`sum(CASE WHEN ${isDue} THEN ${all} ELSE 0 END)`,
      waitingForServer: sql<number>`sum(CASE WHEN ${isDue} THEN 0 ELSE ${mailQueue.deferred} END)`,
      lastReply: sql<string | null>`max(${mailQueue.lastReply})`,
    })
    .from(mailQueue)
    .groupBy(mailQueue.destination)
    .orderBy(sql`count(*) DESC`)
    .limit(limit);
}

export type QueueRow = typeof mailQueue.$inferSelect;

/** Lists the messages in the queue, oldest first. */
export async function listQueue(
  database: D1Database,
  destination: string | undefined,
  after: { readonly queuedAt: number; readonly outboxId: string } | null,
  limit: number,
): Promise<QueueRow[]> {
  const later = after
    ? or(
        sql`${mailQueue.queuedAt} > ${after.queuedAt}`,
        and(eq(mailQueue.queuedAt, after.queuedAt), sql`${mailQueue.outboxId} > ${after.outboxId}`),
      )
    : undefined;
  return drizzle(database)
    .select()
    .from(mailQueue)
    .where(and(destination === undefined ? undefined : eq(mailQueue.destination, destination), later))
    .orderBy(asc(mailQueue.queuedAt), asc(mailQueue.outboxId))
    .limit(limit);
}

/** @returns the user whose outbox has a queued or failed message; null if there is none. */
export async function findOutboxUser(database: D1Database, outboxId: string): Promise<string | null> {
  const db = drizzle(database);
  const waiting = await db
    .select({ userId: mailQueue.userId })
    .from(mailQueue)
    .where(eq(mailQueue.outboxId, outboxId))
    .get();
  if (waiting) return waiting.userId;
  const failed = await db
    .select({ userId: mailError.userId })
    .from(mailError)
    .where(eq(mailError.outboxId, outboxId))
    .get();
  return failed?.userId ?? null;
}

export type ErrorRow = typeof mailError.$inferSelect;

export async function insertError(database: D1Database, row: ErrorRow): Promise<void> {
  const db = drizzle(database);
  await db.batch([
    db.insert(mailError).values(row).onConflictDoNothing(),
    dropIfErased(database, mailError, row.userId),
  ]);
}

/** Counts the refused submissions of a user since a time. */
export async function countRefusals(database: D1Database, userId: string, since: number): Promise<number> {
  const isRecent = and(eq(mailError.userId, userId), eq(mailError.kind, 'validation'), gte(mailError.createdAt, since));
  return drizzle(database).$count(mailError, isRecent);
}

export async function findError(database: D1Database, errorId: string): Promise<ErrorRow | null> {
  return (await drizzle(database).select().from(mailError).where(eq(mailError.errorId, errorId)).get()) ?? null;
}

export async function deleteError(database: D1Database, errorId: string): Promise<void> {
  await drizzle(database).delete(mailError).where(eq(mailError.errorId, errorId));
}

/** Deletes entries together. */
export async function deleteErrors(database: D1Database, errorIds: readonly string[]): Promise<void> {
  await prepare(database, deleteListed, { ids: JSON.stringify(errorIds) }).run();
}

const deleteListed = statement<{ ids: string }>(
  'DELETE FROM mail_error WHERE error_id IN (SELECT value FROM json_each(:ids))',
);

/**
 * Lists old entries that no mailbox has: refused submissions, complaints and refusals of domains. An entry about an account whose mail is
 * still held stays.
 */
export async function listOldErrors(database: D1Database, before: number, limit: number) {
  const isOld = and(
    lt(mailError.createdAt, before),
    ne(mailError.kind, 'delivery'),
    ne(mailError.code, 'sending_held'),
  );
  return drizzle(database)
    .select({ errorId: mailError.errorId, requestKey: mailError.requestKey })
    .from(mailError)
    .where(isOld)
    .orderBy(asc(mailError.createdAt))
    .limit(limit);
}

/** Lists the error queue, newest first. */
export async function listErrors(
  database: D1Database,
  before: { readonly createdAt: number; readonly errorId: string } | null,
  limit: number,
): Promise<ErrorRow[]> {
  const { createdAt, errorId } = mailError;
  const older = before
    ? or(lt(createdAt, before.createdAt), and(eq(createdAt, before.createdAt), lt(errorId, before.errorId)))
    : undefined;
  return drizzle(database).select().from(mailError).where(older).orderBy(desc(createdAt), desc(errorId)).limit(limit);
}

export interface LedgerTotals {
  readonly accepted: number;
  readonly pending: number;
  readonly deferred: number;
  readonly oldestPendingAt: number | null;
  readonly inbox: number;
  readonly junk: number;
  readonly folder: number;
  readonly quarantine: number;
  readonly refused: number;
}

/** Reads the totals over all mailboxes. */
export async function readLedgerTotals(env: Env): Promise<LedgerTotals> {
  const [first, ...others] = await Promise.all(boundDirectories(env).map(readTotals));
  if (!first) throw new Error('DIRECTORY is not bound');
  return others.reduce(
    (sum, row) => ({
      accepted: sum.accepted + row.accepted,
      pending: sum.pending + row.pending,
      deferred: sum.deferred + row.deferred,
      oldestPendingAt: minOrNull(sum.oldestPendingAt, row.oldestPendingAt),
      inbox: sum.inbox + row.inbox,
      junk: sum.junk + row.junk,
      folder: sum.folder + row.folder,
      quarantine: sum.quarantine + row.quarantine,
      refused: sum.refused + row.refused,
    }),
    first,
  );
}

async function readTotals(database: D1Database): Promise<LedgerTotals> {
  const row = await drizzle(database)
    .select({
      accepted: sql<number>`coalesce(sum(${mailLedger.accepted}), 0)`,
      pending: sql<number>`coalesce(sum(${mailLedger.pending}), 0)`,
      deferred: sql<number>`coalesce(sum(${mailLedger.deferred}), 0)`,
      oldestPendingAt: sql<number | null>`min(${mailLedger.oldestPendingAt})`,
      inbox: sql<number>`coalesce(sum(${mailLedger.inbox}), 0)`,
      junk: sql<number>`coalesce(sum(${mailLedger.junk}), 0)`,
      folder: sql<number>`coalesce(sum(${mailLedger.folder}), 0)`,
      quarantine: sql<number>`coalesce(sum(${mailLedger.quarantine}), 0)`,
      refused: sql<number>`coalesce(sum(${mailLedger.refused}), 0)`,
    })
    .from(mailLedger)
    .get();
  if (!row) throw new Error('the sum of the queue returned no row');
  return row;
}

/** Lists numbers of refused recipients by day and reply, newest day first. */
export async function listRefusals(database: D1Database, limit: number) {
  return drizzle(database)
    .select({
      day: mailRefusal.day,
      smtpCode: mailRefusal.smtpCode,
      reason: mailRefusal.reason,
      count: mailRefusal.count,
    })
    .from(mailRefusal)
    .orderBy(desc(mailRefusal.day), asc(mailRefusal.smtpCode))
    .limit(limit);
}
