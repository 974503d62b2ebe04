/** The change log. A change gets its number in the transaction that makes it. Clients replay it from the last number they received. */
import { first } from './store.ts';

/** A client that was offline for longer reloads everything. */
const CHANGE_AGE_MAX_MS = 30 * 24 * 3_600_000;
export const CHANGES_PER_ANSWER_MAX = 1_000;

export interface Change {
  readonly type:
    | 'message_created'
    | 'message_updated'
    | 'message_deleted'
    | 'folder_created'
    | 'folder_updated'
    | 'folder_deleted'
    | 'mailbox_updated'
    | 'filters_updated'
    | 'contacts_updated'
    | 'senders_updated'
    | 'thread_updated'
    | 'delivery_updated'
    | 'identity_created'
    | 'identity_updated'
    | 'identity_deleted'
    | 'submission_created'
    | 'submission_deleted';
  readonly message_id?: string;
  /** The id of the JMAP email, if it is not `message_id`. */
  readonly email_id?: string;
  /** Set if a draft was saved: the id of the JMAP email that `email_id` replaces. */
  readonly replaced_email_id?: string;
  readonly folder_id?: string;
  readonly thread_id?: string;
  /** The thread that a saved draft left. */
  readonly left_thread_id?: string;
  readonly identity_id?: string;
  readonly submission_id?: string;
  /** Set if the message came by mail into a folder other than Junk and Trash. */
  readonly is_delivered?: true;
  readonly is_read?: boolean;
  readonly is_flagged?: boolean;
  readonly is_answered?: boolean;
  readonly is_forwarded?: boolean;
  /** Set if the snooze changed: a time in RFC 3339, or null. */
  readonly snoozed_until?: string | null;
  readonly is_muted?: boolean;
  readonly labels?: readonly string[];
  /** All folders of the message, if it is in several. */
  readonly folder_ids?: readonly string[];
  /** Folders that the message left. */
  readonly left_folder_ids?: readonly string[];
  /**
   * `began`: the message was the first one of its thread. `ended`: it was the last one; for a saved draft, in the thread that it
   * left.
   */
  readonly thread?: 'began' | 'ended';
}

export interface ChangePage {
  /** State after these changes, as a decimal number. It is the next `since`. */
  readonly state: string;
  readonly changes: readonly Change[];
  /** True if `since` is too old or not of this mailbox: reload everything, then continue from `state`. */
  readonly resync: boolean;
  /** True if there are more changes after `state`. */
  readonly more: boolean;
}

export function recordChange(sql: SqlStorage, change: Change, now: number): void {
  sql.exec('INSERT INTO change (changed_at, body) VALUES (?, ?)', now, JSON.stringify(change));
}

/** The number of the last change; "0" before the first. */
export function readState(sql: SqlStorage): number {
  return first<{ state: number | null }>(sql, 'SELECT max(state) AS state FROM change')?.state ?? 0;
}

export function readChanges(sql: SqlStorage, since: number): ChangePage {
  const latest = readState(sql);
  const floor = first<{ floor: number }>(sql, 'SELECT state_floor AS floor FROM mailbox WHERE id = 1')?.floor ?? 0;
  if (since < floor || since > latest) return { state: String(latest), changes: [], resync: true, more: false };
  const rows = [
    ...sql.exec<{ state: number; body: string }>(
      'SELECT state, body FROM change WHERE state > ? ORDER BY state LIMIT ?',
      since,
      CHANGES_PER_ANSWER_MAX,
    ),
  ];
  const state = rows.at(-1)?.state ?? since;
  return {
    state: String(state),
    changes: rows.map((row) => JSON.parse(row.body) as Change),
    resync: false,
    more: state < latest,
  };
}

const DAY_MS = 24 * 3_600_000;
/** Age at which delivery keys of erased messages are deleted. No delivery is retried for that long. */
const DELIVERY_AGE_MAX_MS = 60 * DAY_MS;
/** The operator may retry failed mail for this long. */
const FAILED_AGE_MAX_MS = 60 * DAY_MS;

/**
 * Time at which old changes are pruned: a day after the oldest one may be deleted, so that it happens once a day. Null if there is
 * only one change.
 */
export const nextPruneAt = (sql: SqlStorage): number | null => {
  const [oldest, next] = sql.exec<{ at: number }>('SELECT changed_at AS at FROM change ORDER BY state LIMIT 2');
  return oldest && next ? oldest.at + CHANGE_AGE_MAX_MS + DAY_MS : null;
};

/** Deletes changes, failed mail, delivery keys and JMAP submissions that are too old to be needed. */
export function pruneLogs(sql: SqlStorage, now: number): void {
  pruneChanges(sql, now);
  sql.exec(
    'DELETE FROM outbox WHERE next_attempt_at IS NULL AND publish_at IS NULL AND queued_at < ?',
    now - FAILED_AGE_MAX_MS,
  );
  sql.exec('DELETE FROM erased_delivery WHERE erased_at < ?', now - DELIVERY_AGE_MAX_MS);
  sql.exec('DELETE FROM email_submission WHERE created_at < ?', now - CHANGE_AGE_MAX_MS);
}

/** Deletes changes older than a month. Keeps the newest, because numbering continues from it. */
export function pruneChanges(sql: SqlStorage, now: number): void {
  // The log is in order of time, so the first change that is young enough ends the search.
  const kept = first<{ state: number }>(
    sql,
    'SELECT state FROM change WHERE changed_at >= ? ORDER BY state LIMIT 1',
    now - CHANGE_AGE_MAX_MS,
  )?.state;
  const cut = (kept ?? readState(sql)) - 1;
  const oldest = first<{ state: number }>(sql, 'SELECT min(state) AS state FROM change')?.state ?? 0;
  if (cut < oldest) return;
  sql.exec('DELETE FROM change WHERE state <= ?', cut);
  sql.exec('UPDATE mailbox SET state_floor = ? WHERE id = 1', cut);
}
