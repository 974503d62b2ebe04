/**
 * The work that the mailbox's one alarm runs. Each kind of work is a wake. Nothing schedules a wake: its due time is read from the
 * rows, so a crash loses none and a wake costs no row. Work on other systems goes to the Worker (`contract/jobs.ts`); the object records its
 * result.
 */

import { logError } from '../../../workers/shared/telemetry/log.ts';
import type { MailboxJobs } from '../contract/jobs.ts';
import { NEXT_PRUNE_AT, pruneLogs, readState } from '../database/change-store.ts';
import type { Memory } from '../database/memory.ts';
import { type Database, forgetGarbage, GARBAGE_DUE_AT, listGarbage, readMailbox } from '../database/store.ts';
import { nextIncomingAt, readLedger, readPublishedLedger, savePublishedLedger } from '../incoming/incoming-store.ts';
import { nextPullAt } from '../incoming/pull-store.ts';
import { nextPushAt } from '../jmap/push-store.ts';
import { eraseExpired, NEXT_EXPIRY_AT } from '../messages/batch-store.ts';
import { endSnoozes, NEXT_SNOOZE_END } from '../messages/quiet-store.ts';
import { listChangedPages, markPageSaved, markSnapshot, nextSnapshotAt } from '../messages/snapshot-store.ts';
import { finishLessons, LESSONS_DUE_AT, listLessons, readSpamModel } from '../messages/spam-lesson-store.ts';
import { dropOldUploads, NEXT_UPLOAD_AT } from '../messages/upload-store.ts';
import { listUnpublished, markPublished, NEXT_PUBLISH_AT, REPORT_DUE_AT } from '../outbox/outbox-report-store.ts';
import { nextOutboxAt } from '../outbox/outbox-store.ts';
import { NEXT_ACCEPTED_END, pruneAccepted } from '../outbox/reported-delivery-store.ts';
import { endForwarded } from '../rules/address-forward-store.ts';
import { AUTOMATIC_DUE_AT, listAutomatic, removeAutomatic } from '../rules/automatic-store.ts';
import { isTidyDue, tidySearchIndex } from '../search/search-tidy-store.ts';
import { readDueTimes } from './due-time-store.ts';

const GARBAGE_PER_ROUND = 500;
/**
 * Delay after a wake whose work threw. If a wake is still due after its work, it first waits `PAUSE_MS`, then twice as long each
 * time, up to this delay.
 */
const RETRY_DELAY_MS = 30_000;
const PAUSE_MS = 50;
/**
 * Time that the alarm waits for transport, which may take minutes. Afterwards the alarm ends, so that other wakes can run. Leases
 * protect work that is still running.
 */
const TRANSPORT_WAIT_MS = 5_000;
/** Age at which unsent automatic mail is dropped: five days, the same time for which delivery of other mail is attempted. */
const AUTOMATIC_AGE_MAX_MS = 5 * 24 * 3_600_000;
const PUBLISH_MAX = 100;
/** Mail that takes longer shows as pending in the operator's totals. */
const PROCESSING_MS = 60_000;
/** Lessons per call of the training job. Each lesson costs one read of R2. */
const LESSONS_PER_CALL = 20;

export interface WakeContext {
  readonly database: Database;
  readonly kv: SyncKvStorage;
  readonly memory: Memory;
  readonly jobs: MailboxJobs;
  readonly userId: string;
  readonly now: () => number;
  /** Keeps the object alive for work that continues after the alarm has ended. */
  readonly waitUntil: (work: Promise<unknown>) => void;
  /** Maximum delay of publishing the mailbox's totals of incoming mail to the operator's tables. */
  readonly ledgerDelayMs: number;
  /** Time that the alarm waits for the hint of an attempt before it makes the attempt itself. */
  readonly hintWaitMs: number;
}

interface Wake {
  /**
   * The time at which the wake is due (a time in the past means at once); null for never. A query of it (`due-time-store.ts`), or a
   * function if a query cannot tell.
   */
  readonly dueAt: string | ((context: DueContext, sql: SqlStorage) => number | null);
  readonly run: (context: WakeContext) => void | Promise<void>;
  /** False if the wake does not set the alarm: it can wait until the alarm runs for another reason. */
  readonly setsAlarm?: false;
}

const notBefore = (at: number | null, earliest: number): number | null => (at === null ? null : Math.max(at, earliest));

const WAKES: Readonly<Record<string, Wake>> = {
  incoming: {
    dueAt: ({ memory }, sql) => nextIncomingAt(sql, memory.leases),
    run: (context) => transport(context, context.jobs.processIncoming(context.userId, context.memory.incomingTrace)),
  },
  outbox: {
    dueAt: ({ hintWaitMs }, sql) => nextOutboxAt(sql, hintWaitMs),
    run: (context) => transport(context, context.jobs.sendOutbox(context.userId)),
  },
  report: {
    dueAt: REPORT_DUE_AT,
    run: (context) => transport(context, context.jobs.sendReports(context.userId)),
  },
  push: {
    dueAt: ({ memory, now }, sql) => notBefore(nextPushAt(sql, now()), memory.pushedUntil),
    run: (context) => transport(context, context.jobs.sendPushes(context.userId)),
  },
  pull: {
    dueAt: ({ kv }) => nextPullAt(kv),
    run: (context) => transport(context, context.jobs.pullMail(context.userId)),
  },
  publish: { dueAt: NEXT_PUBLISH_AT, run: publishOutbox },
  ledger: { dueAt: nextLedgerAt, run: publishLedger },
  automatic: { dueAt: AUTOMATIC_DUE_AT, run: sendAllAutomatic },
  garbage: { dueAt: GARBAGE_DUE_AT, run: collectGarbage },
  spam_lessons: { dueAt: LESSONS_DUE_AT, run: learnLessons },
  uploads: { dueAt: NEXT_UPLOAD_AT, run: inTransaction(dropOldUploads) },
  snooze: { dueAt: NEXT_SNOOZE_END, run: inTransaction(endSnoozes) },
  expire: { dueAt: NEXT_EXPIRY_AT, run: inTransaction(eraseExpired) },
  tidy: { dueAt: (_, sql) => (isTidyDue(sql, readState(sql)) ? 0 : null), run: inTransaction(tidySearchIndex) },
  snapshot: { dueAt: (_, sql) => nextSnapshotAt(sql), run: saveSnapshot },
  accepted: { dueAt: NEXT_ACCEPTED_END, run: inTransaction(pruneAccepted), setsAlarm: false },
  prune: { dueAt: NEXT_PRUNE_AT, run: inTransaction(pruneLogs), setsAlarm: false },
};

function inTransaction(work: (sql: SqlStorage, now: number) => void) {
  return ({ database, now }: WakeContext) => database.transaction(() => work(database.sql, now()));
}

type DueContext = Pick<WakeContext, 'kv' | 'memory' | 'now' | 'ledgerDelayMs' | 'hintWaitMs'>;

type NamedWake = readonly [name: string, wake: Wake];
const NAMED_WAKES: readonly NamedWake[] = Object.entries(WAKES);

/** @returns the wakes that are due at some time, each with this time. */
function readTimes(
  wakes: readonly NamedWake[],
  context: DueContext,
  sql: SqlStorage,
): { readonly named: NamedWake; readonly at: number }[] {
  const queries = wakes.flatMap(([name, { dueAt }]) => (typeof dueAt === 'string' ? [[name, dueAt] as const] : []));
  const queried = readDueTimes(sql, queries);
  return wakes.flatMap((named) => {
    const [name, { dueAt }] = named;
    const at = typeof dueAt === 'string' ? queried[name] : dueAt(context, sql);
    return typeof at === 'number' ? [{ named, at: Math.max(at, context.memory.delays.get(name)?.until ?? 0) }] : [];
  });
}

const ALARM_WAKES = NAMED_WAKES.filter(([, wake]) => wake.setsAlarm !== false);

/** @returns the time at which the alarm must run; null for never. */
export function nextAlarmAt(context: DueContext, sql: SqlStorage): number | null {
  const times = readTimes(ALARM_WAKES, context, sql);
  return times.length === 0 ? null : Math.min(...times.map(({ at }) => at));
}

/** Runs all due wakes concurrently, so that a slow one does not delay the others. Never throws. */
export async function runWakes(context: WakeContext): Promise<void> {
  const { memory, database, now } = context;
  const listDue = (wakes: readonly NamedWake[]) =>
    readTimes(wakes, context, database.sql).flatMap(({ named, at }) => (at <= now() ? [named] : []));
  const run = async ([name, wake]: NamedWake) => {
    const tries = (memory.delays.get(name)?.tries ?? 0) + 1;
    try {
      await wake.run(context);
      memory.delays.delete(name);
      if (listDue([[name, wake]]).length === 0) return;
      const pauseMs = Math.min(PAUSE_MS * 2 ** Math.min(tries - 1, 20), RETRY_DELAY_MS);
      memory.delays.set(name, { until: now() + pauseMs, tries });
    } catch (error) {
      logError('wake_failed', error, { wake: name });
      memory.delays.set(name, { until: now() + RETRY_DELAY_MS, tries });
    }
  };
  await Promise.all(listDue(NAMED_WAKES).map(run));
}

/** Waits for a job, at most `TRANSPORT_WAIT_MS`. A later failure of the job is logged, and its leases expire. */
async function transport({ waitUntil }: WakeContext, job: Promise<void>): Promise<void> {
  const isLate = Symbol();
  const timeout = new Promise<typeof isLate>((resolve) => setTimeout(resolve, TRANSPORT_WAIT_MS, isLate));
  if ((await Promise.race([job, timeout])) === isLate)
    waitUntil(job.catch((error: unknown) => logError('transport_wake_failed', error)));
}

/** Updates the operator's table of queued and failed mail. */
async function publishOutbox({ database: { sql, transaction }, jobs, userId, now }: WakeContext): Promise<void> {
  const mailbox = readMailbox(sql);
  if (!mailbox) return;
  const snapshots = listUnpublished(sql, mailbox, PUBLISH_MAX, now());
  await jobs.publishOutbox(userId, snapshots);
  transaction(() => markPublished(sql, snapshots));
}

/**
 * Time at which totals are published: `ledgerDelayMs` after the last time, so that a mailbox writes to DIRECTORY once per delay and not
 * per message. Totals of mail that waits for a scanner or is in quarantine are published at once. Null if they are up to date.
 */
function nextLedgerAt({ ledgerDelayMs }: DueContext, sql: SqlStorage): number | null {
  const ledger = readLedger(sql);
  const published = readPublishedLedger(sql);
  const { pending, deferred, oldestPendingAt, outcomes } = ledger;
  if (published ? JSON.stringify(ledger) === JSON.stringify(published.ledger) : ledger.accepted === 0) return null;
  const before = published?.ledger ?? { pending: 0, deferred: 0, outcomes: { quarantine: 0 } };
  const isUrgent =
    deferred !== before.deferred || outcomes.quarantine !== before.outcomes.quarantine || pending < before.pending;
  if (isUrgent) return 0;
  // The totals change again as soon as mail in process is delivered.
  const processedAt = pending > deferred ? (oldestPendingAt ?? 0) + PROCESSING_MS : 0;
  return Math.max((published?.publishedAt ?? 0) + ledgerDelayMs, processedAt);
}

async function publishLedger({ database: { sql }, jobs, userId, now }: WakeContext): Promise<void> {
  const ledger = readLedger(sql);
  await jobs.publishLedger(userId, ledger);
  savePublishedLedger(sql, ledger, now());
}

/**
 * Sends automatic mail row by row. A row is removed once its mail is in the outbox. If sending a row fails, it is retried later;
 * the other rows are sent.
 */
async function sendAllAutomatic({ database: { sql, transaction }, jobs, userId, now }: WakeContext): Promise<void> {
  let failure: unknown = null;
  const unsent = new Set<string>();
  for (const send of listAutomatic(sql)) {
    const isRecent = send.createdAt > now() - AUTOMATIC_AGE_MAX_MS;
    if (send.kind === 'end') {
      const isForwarded = !unsent.has(send.messageId);
      if (!isForwarded && isRecent) continue;
      transaction(() => {
        endForwarded(sql, send.messageId, isForwarded, now());
        removeAutomatic(sql, send.sendId);
      });
      continue;
    }
    try {
      await jobs.sendAutomatic(userId, send);
    } catch (error) {
      logError('automatic_mail_failed', error);
      unsent.add(send.messageId);
      if (isRecent) {
        failure = error;
        continue;
      }
    }
    removeAutomatic(sql, send.sendId);
  }
  if (failure !== null) throw failure;
}

/** Deletes R2 objects that no message uses any more, in every location, then their rows. */
async function collectGarbage({ database: { sql }, jobs }: WakeContext): Promise<void> {
  const keys = listGarbage(sql, GARBAGE_PER_ROUND);
  await jobs.deleteBlobs(keys);
  forgetGarbage(sql, keys);
}

/** Brings the mailbox's snapshot in R2 up to date, page by page. If interrupted, the next run writes the remaining pages. */
export async function saveSnapshot({ database: { sql }, jobs }: Pick<WakeContext, 'database' | 'jobs'>): Promise<void> {
  const mailbox = readMailbox(sql);
  if (!mailbox) return;
  const state = readState(sql);
  for (const page of listChangedPages(sql, mailbox)) {
    await jobs.saveSnapshot(page.r2Key, page.body);
    markPageSaved(sql, page);
  }
  markSnapshot(sql, state);
}

/** Trains the user's spam model. If the job throws because a store is down, the lessons wait for the next run. */
async function learnLessons({ database, jobs }: WakeContext): Promise<void> {
  const { sql } = database;
  for (let lessons = listLessons(sql, LESSONS_PER_CALL); lessons.length > 0; ) {
    const model = await jobs.trainSpamModel(readSpamModel(sql), lessons);
    database.transaction(() => finishLessons(sql, lessons, model));
    lessons = listLessons(sql, LESSONS_PER_CALL);
  }
}
