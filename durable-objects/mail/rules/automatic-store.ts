/**
 * Automatic mail that waits to be sent. The transaction that stores the causing message also writes a row here. The row is removed
 * once the mail is in the outbox.
 */

import type { AutomaticSend } from '../contract/outbox.ts';
import { first } from '../database/store.ts';

export interface QueuedAutomatic extends AutomaticSend {
  readonly sendId: number;
  readonly createdAt: number;
}

export function queueAutomatic(sql: SqlStorage, send: AutomaticSend, now: number): void {
  sql.exec(
    'INSERT INTO automatic_send (kind, message_id, recipient, envelope_from, created_at) VALUES (?, ?, ?, ?, ?)',
    send.kind,
    send.messageId,
    send.recipient,
    send.envelopeFrom,
    now,
  );
}

/** Yields the rows in order, including rows that are added during the iteration. */
export function* listAutomatic(sql: SqlStorage): Generator<QueuedAutomatic> {
  for (let next = findAfter(sql, 0); next !== null; next = findAfter(sql, next.sendId)) yield next;
}

function findAfter(sql: SqlStorage, sendId: number): QueuedAutomatic | null {
  const row = first<{
    send_id: number;
    kind: string;
    message_id: string;
    recipient: string;
    envelope_from: string;
    created_at: number;
  }>(
    sql,
    `SELECT send_id, kind, message_id, recipient, envelope_from, created_at FROM automatic_send
     WHERE send_id > ? ORDER BY send_id LIMIT 1`,
    sendId,
  );
  return (
    row && {
      sendId: row.send_id,
      kind: row.kind as AutomaticSend['kind'],
      messageId: row.message_id,
      recipient: row.recipient,
      envelopeFrom: row.envelope_from,
      createdAt: row.created_at,
    }
  );
}

export const removeAutomatic = (sql: SqlStorage, sendId: number): void => {
  sql.exec('DELETE FROM automatic_send WHERE send_id = ?', sendId);
};

/** Query of when automatic mail is due: at once, if any waits. */
export const AUTOMATIC_DUE_AT = 'SELECT 0 FROM automatic_send WHERE send_id > 0 LIMIT 1';
