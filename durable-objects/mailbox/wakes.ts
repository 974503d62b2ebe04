/** What the mailbox's one alarm does, by the name under which it was asked for. */
import { sendAutomatic } from '../../workers/mail/automatic-mail.ts';
import { deleteBlobs } from '../../workers/mail/blobs.ts';
import { logError } from '../../workers/shared/log.ts';
import { listAutomatic, removeAutomatic } from './automatic-store.ts';
import { eraseExpired } from './batch-store.ts';
import { pruneLogs } from './change-store.ts';
import { TIDY_WAKE, tidySearchIndex } from './search-tidy-store.ts';
import { learnLessons, SPAM_LESSONS_WAKE } from './spam-lesson-store.ts';
import { type Database, forgetGarbage, listGarbage, readMailbox, scheduleWake } from './store.ts';
import { runTransportWake } from './transport-wakes.ts';
import { dropOldUploads } from './upload-store.ts';

const GARBAGE_PER_ROUND = 500;
/** Less than a wake waits that was taken and not settled, so that settling leaves it. */
const AUTOMATIC_RETRY_MS = 30_000;
/** As long as mail is tried (architecture: five days). */
const AUTOMATIC_AGE_MAX_MS = 5 * 24 * 3_600_000;

export async function runWake(
  name: string,
  database: Database,
  env: Env,
  ctx: DurableObjectState,
  now: () => number,
): Promise<void> {
  const { sql } = database;
  switch (name) {
    case 'garbage':
      return collectGarbage(sql, env, now);
    case 'automatic':
      return sendAllAutomatic(sql, env, now);
    case 'changes':
      return database.transaction(() => pruneLogs(sql, now()));
    case 'uploads':
      return database.transaction(() => dropOldUploads(sql, now()));
    case 'expire':
      return database.transaction(() => eraseExpired(sql, now()));
    case TIDY_WAKE:
      return database.transaction(() => tidySearchIndex(sql, now()));
    case SPAM_LESSONS_WAKE:
      return learnLessons(database, env);
    default:
      return runTransportWake(name, database, env, ctx, now);
  }
}

/** One after another; each row goes when its mail is in the outbox. One that fails is tried later, and holds up no other. */
async function sendAllAutomatic(sql: SqlStorage, env: Env, now: () => number): Promise<void> {
  const mailbox = readMailbox(sql);
  if (!mailbox) return;
  const retryAt = now() + AUTOMATIC_RETRY_MS;
  for (const send of listAutomatic(sql)) {
    try {
      await sendAutomatic(env, mailbox.userId, send);
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

/** Removes what no message holds any more, in every location, then forgets it. */
async function collectGarbage(sql: SqlStorage, env: Env, now: () => number): Promise<void> {
  const keys = listGarbage(sql, GARBAGE_PER_ROUND);
  if (keys.length === 0) return;
  await deleteBlobs(env, keys);
  forgetGarbage(sql, keys);
  if (keys.length === GARBAGE_PER_ROUND) scheduleWake(sql, 'garbage', now());
}
