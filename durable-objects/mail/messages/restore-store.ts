/**
 * Carries part of the present state over a restore of the mailbox. It is read just before the restore, and the replay writes it into
 * the earlier state:
 * - Credentials, suspension and forwarding: what was revoked stays revoked.
 * - Accepted mail that waits for delivery, and mail that waits to leave: none is lost and none leaves twice.
 * - Messages that were erased stay erased.
 * - The number of the last change: no client takes another change for one that it has.
 *
 * Everything else becomes as it was at the earlier time: folders, labels, flags, filters, settings, contacts, drafts. Messages that
 * arrived since come from their raw bytes (`workers/mail/maintenance/recover-messages.ts`).
 */
import { recordChange } from '../database/change-store.ts';
import { first, type Row } from '../database/store.ts';
import { insertWholeRow, readWholeRows } from '../database/whole-row-store.ts';
import { type MessageState, STATE_COLUMNS } from './message-row-store.ts';
import { eraseMessage } from './message-store.ts';
import { renewUidValidity } from './uid-validity-store.ts';

/** Tables whose rows replace those of the earlier state. None has a BLOB. */
const HELD_TABLES = [
  'credential',
  'holder',
  'forward_target',
  'forward_invitation',
  'address_forward',
  'push_subscription',
  'incoming',
  'outbox',
  'accepted_recipient',
  'submission',
  'email_submission',
  'automatic_send',
  'vacation_reply',
  'erased_delivery',
  'garbage',
  'snapshot',
] as const;
/** Columns of the row of the mailbox that are held. */
const HELD_COLUMNS = ['account_type', 'limit_bytes', 'sending', 'refused', 'published_ledger'] as const;
/** Age of a message up to which its delivery key is held, so that a retry of its sender is still recognised. */
const RETRY_AGE_MAX_MS = 30 * 24 * 3_600_000;

export interface HeldState {
  /** Number that the mailbox has once this was replayed. */
  readonly number: number;
  /** Number of the last change. */
  readonly state: number;
  readonly mailbox: Row;
  readonly tables: Readonly<Record<string, readonly Row[]>>;
  /** Positions of all messages. A message of the earlier state that is not among them was erased since. */
  readonly positions: readonly number[];
  /** Delivery keys of received messages, by the key of their raw bytes. */
  readonly deliveries: Readonly<Record<string, string>>;
}

export function readHeldState(sql: SqlStorage, number: number, state: number, now: number): HeldState {
  const tables = HELD_TABLES.map((table) => [table, readWholeRows(sql, table)] as const);
  const mailbox = first<Row>(sql, `SELECT ${HELD_COLUMNS.join(', ')} FROM mailbox WHERE id = 1`);
  if (mailbox === null) throw new Error('the mailbox has no row');
  const positions = [...sql.exec<{ position: number }>('SELECT position FROM message')].map(({ position }) => position);
  const keys = sql.exec<{ raw_key: string; delivery_key: string }>(
    `SELECT raw_key, delivery_key FROM message
     WHERE origin = 'received' AND raw_key IS NOT NULL AND delivery_key IS NOT NULL AND received_at > ?`,
    now - RETRY_AGE_MAX_MS,
  );
  const deliveries = Object.fromEntries([...keys].map(({ raw_key, delivery_key }) => [raw_key, delivery_key]));
  return { number, state, mailbox, tables: Object.fromEntries(tables), positions, deliveries };
}

/** Puts the held state into the earlier one, in one transaction of the caller. Idempotent. @returns the number of erased messages. */
export function putHeldState(sql: SqlStorage, held: HeldState, now: number): number {
  const erased = eraseUnheld(sql, held.positions, now);
  // The rows of `garbage` come from the held state too: bytes of the erased messages were deleted then, or a later message has them.
  for (const table of HELD_TABLES) {
    sql.exec(`DELETE FROM ${table}`);
    for (const row of held.tables[table] ?? []) insertWholeRow(sql, table, row);
  }
  const columns = Object.keys(held.mailbox).map((column) => `"${column}" = ?`);
  sql.exec(`UPDATE mailbox SET ${columns.join(', ')} WHERE id = 1`, ...Object.values(held.mailbox));
  sql.exec('DELETE FROM change');
  sql.exec(
    'INSERT INTO change (state, changed_at, body) VALUES (?, ?, ?)',
    held.state,
    now,
    '{"type":"mailbox_updated"}',
  );
  recordChange(sql, { type: 'mailbox_updated' }, now);
  sql.exec('UPDATE mailbox SET state_floor = ? WHERE id = 1', held.state + 1);
  // Folders have the UIDs of the earlier state again, which programs know as removed, or as those of other messages.
  renewUidValidity(sql, now);
  return erased;
}

function eraseUnheld(sql: SqlStorage, positions: readonly number[], now: number): number {
  const held = new Set(positions);
  const present = [...sql.exec<{ position: number }>('SELECT position FROM message')].map(({ position }) => position);
  const unheld = present.filter((position) => !held.has(position));
  for (const position of unheld) {
    const message = first<MessageState>(sql, `SELECT ${STATE_COLUMNS} FROM message WHERE position = ?`, position);
    if (message) eraseMessage(sql, message, now);
  }
  return unheld.length;
}
