/**
 * Complaints in the error queue: a row for each recipient who marked a message as spam, and one for an account that is held because of
 * them. The column `detail` has the domain of the sender.
 */
import { prepare, readAll, statement } from '../../shared/stores/statement.ts';
import { insertError } from './queue-store.ts';

export const COMPLAINT = 'complaint';
const HELD = 'sending_held';
const DAYS_SHOWN_MS = 30 * 24 * 3_600_000;

const holdIdOf = (userId: string): string => `held:${userId}`;

interface NewComplaint {
  /** The same for every repetition of the event. */
  readonly errorId: string;
  readonly userId: string;
  /** Domain of the sender. */
  readonly domain: string;
  readonly at: number;
}

/** Records a complaint. Idempotent by its id. */
export const recordComplaint = (database: D1Database, complaint: NewComplaint): Promise<void> =>
  insert(database, complaint, COMPLAINT);

/** Records that the mail of an account is held. Idempotent. */
export const recordHold = (database: D1Database, complaint: Omit<NewComplaint, 'errorId'>): Promise<void> =>
  insert(database, { ...complaint, errorId: holdIdOf(complaint.userId) }, HELD);

const insert = (database: D1Database, { errorId, userId, domain, at }: NewComplaint, code: string): Promise<void> =>
  insertError(database, {
    ...{ errorId, userId, kind: COMPLAINT, code, detail: domain, recipients: '[]' },
    ...{ outboxId: null, requestKey: null, createdAt: at },
  });

const removeHold = statement<{ id: string }>('DELETE FROM mail_error WHERE error_id = :id');
export async function forgetHold(database: D1Database, userId: string): Promise<void> {
  await prepare(database, removeHold, { id: holdIdOf(userId) }).run();
}

interface ComplaintRow {
  readonly userId: string;
  /** Address of the account; null if it is gone. */
  readonly email: string | null;
  readonly domain: string;
  readonly complaints: number;
  readonly lastAt: number;
  readonly held: number;
}

const selectComplaints = statement<{ since: number; limit: number }, ComplaintRow>(
  `SELECT user_id AS userId, detail AS domain, count(*) AS complaints, max(created_at) AS lastAt,
     (SELECT email FROM mail_account AS a WHERE a.user_id = e.user_id) AS email,
     EXISTS (SELECT 1 FROM mail_error AS h WHERE h.error_id = 'held:' || e.user_id) AS held
   FROM mail_error AS e WHERE created_at >= :since AND kind = 'complaint' AND code = 'complaint'
   GROUP BY user_id, detail ORDER BY complaints DESC LIMIT :limit`,
);

/** Complaints of the last 30 days by account and domain of the sender, the most first. */
export async function listComplaints(database: D1Database, now: number, limit: number) {
  const rows = await readAll(database, selectComplaints, { since: now - DAYS_SHOWN_MS, limit });
  return rows.map(({ held, ...row }) => ({ ...row, isHeld: held === 1 }));
}
