/**
 * Runs the wakes that are due, by name, when the mailbox's one alarm fires. Work on other systems goes to the Worker (`jobs.ts`);
 * the object records its result.
 */
import { logError } from '../../../workers/shared/log.ts';
import { pruneLogs } from '../database/change-store.ts';
import {
  cancelWakeAfter,
  type Database,
  forgetGarbage,
  listGarbage,
  readMailbox,
  scheduleWake,
} from '../database/store.ts';
import { isIncomingPending, pruneIncoming, readLedger } from '../incoming/incoming-store.ts';
import { PUSH_WAKE } from '../jmap/push-store.ts';
import { eraseExpired } from '../messages/batch-store.ts';
import { finishLessons, listLessons, readSpamModel, SPAM_LESSONS_WAKE } from '../messages/spam-lesson-store.ts';
import { dropOldUploads } from '../messages/upload-store.ts';
import { isReportDue, listUnpublished, markPublished } from '../outbox/outbox-report-store.ts';
import { isOutboxPending } from '../outbox/outbox-store.ts';
import { listAutomatic, removeAutomatic } from '../rules/automatic-store.ts';
import { TIDY_WAKE, tidySearchIndex } from '../search/search-tidy-store.ts';
import type { MailboxJobs } from './jobs.ts';

const GARBAGE_PER_ROUND = 500;
/** Shorter than the delay of a wake that was taken and not settled, so that `settleWake` keeps it. */
const RETRY_DELAY_MS = 30_000;
/** Five days, as long as delivery of other mail is attempted. */
const AUTOMATIC_AGE_MAX_MS = 5 * 24 * 3_600_000;
const PUBLISH_MAX = 100;
/** Each lesson is one read of R2. */
const LESSONS_PER_CALL = 20;

export interface WakeContext {
  readonly database: Database;
  readonly jobs: MailboxJobs;
  readonly now: () => number;
  /** Keeps the object alive for work that the alarm does not wait for. */
  readonly waitUntil: (work: Promise<unknown>) => void;
}

const IS_PENDING: Readonly<Record<string, (sql: SqlStorage) => boolean>> = {
  incoming: isIncomingPending,
  outbox: isOutboxPending,
  report: isReportDue,
  publish: () => true,
};

/**
 * Call it in the transaction that takes due wakes. Schedules transport wakes again, in case the work that starts now dies before
 * it schedules the next one.
 */
export function keepTransportWakes(sql: SqlStorage, due: readonly string[], now: number): void {
  for (const name of due) {
    if (IS_PENDING[name]?.(sql)) scheduleWake(sql, name, now + RETRY_DELAY_MS);
  }
}

export async function runWake(name: string, context: WakeContext): Promise<void> {
  const { database, jobs, now } = context;
  const { sql } = database;
  const userId = readMailbox(sql)?.userId;
  if (userId === undefined) return;
  // A slow destination must not delay the alarm's other duties, so the alarm does not wait for transport.
  const start = (work: Promise<unknown>) =>
    context.waitUntil(work.catch((error: unknown) => logError('transport_wake_failed', error, { wake: name })));
  switch (name) {
    case 'incoming':
      return start(jobs.processIncoming(userId));
    case 'outbox':
      return start(jobs.sendOutbox(userId));
    case 'report':
      return start(jobs.sendReports(userId));
    case 'publish':
      return publish(context, userId);
    case 'automatic':
      return sendAllAutomatic(context, userId);
    case 'garbage':
      return collectGarbage(context);
    case SPAM_LESSONS_WAKE:
      return learnLessons(context);
    case 'prune_incoming':
      return database.transaction(() => pruneIncoming(sql, now()));
    case 'changes':
      return database.transaction(() => pruneLogs(sql, now()));
    case 'uploads':
      return database.transaction(() => dropOldUploads(sql, now()));
    case 'expire':
      return database.transaction(() => eraseExpired(sql, now()));
    case PUSH_WAKE:
      return start(jobs.sendPushes(userId));
    case TIDY_WAKE:
      return database.transaction(() => tidySearchIndex(sql, now()));
  }
}

/** Updates the operator's tables. After one complete run they match the mailbox, even if earlier runs died. */
async function publish({ database, jobs, now }: WakeContext, userId: string): Promise<void> {
  const { sql } = database;
  const mailbox = readMailbox(sql);
  if (!mailbox) return;
  const snapshots = listUnpublished(sql, mailbox, PUBLISH_MAX);
  await jobs.publish(userId, readLedger(sql), snapshots);
  database.transaction(() => {
    cancelWakeAfter(sql, 'publish', now() + RETRY_DELAY_MS / 2);
    markPublished(sql, snapshots, now());
  });
}

/** Sends row after row. A row is removed once its mail is in the outbox. A row that fails is retried later and delays no other. */
async function sendAllAutomatic({ database: { sql }, jobs, now }: WakeContext, userId: string): Promise<void> {
  const retryAt = now() + RETRY_DELAY_MS;
  for (const send of listAutomatic(sql)) {
    try {
      await jobs.sendAutomatic(userId, send);
    } catch (error) {
      logError('automatic_mail_failed', error);
      if (send.createdAt > now() - AUTOMATIC_AGE_MAX_MS) {
        scheduleWake(sql, 'automatic', retryAt);
        continue;
      }
    }
    removeAutomatic(sql, send.sendId);
  }
}

/** Deletes R2 objects that no message holds any more, in every location, then their rows. */
async function collectGarbage({ database: { sql }, jobs, now }: WakeContext): Promise<void> {
  const keys = listGarbage(sql, GARBAGE_PER_ROUND);
  if (keys.length === 0) return;
  await jobs.deleteBlobs(keys);
  forgetGarbage(sql, keys);
  if (keys.length === GARBAGE_PER_ROUND) scheduleWake(sql, 'garbage', now());
}

/** Trains the user's spam model. If a job throws (a store is down), its lessons wait for the next time. */
async function learnLessons({ database, jobs }: WakeContext): Promise<void> {
  const { sql } = database;
  for (let lessons = listLessons(sql, LESSONS_PER_CALL); lessons.length > 0; ) {
    const model = await jobs.trainSpamModel(readSpamModel(sql), lessons);
    database.transaction(() => finishLessons(sql, lessons, model));
    lessons = listLessons(sql, LESSONS_PER_CALL);
  }
}
