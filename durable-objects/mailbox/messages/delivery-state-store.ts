/** Reads how far the delivery of a sent message is. The outbox writes these rows. */
import type { RecipientState } from '../../../workers/mail/outbound/domain/recipient-state.ts';
import type { Row } from '../database/store.ts';

export interface DeliveryState {
  readonly email: string;
  readonly state: RecipientState;
  readonly attempts: number;
  readonly nextAttemptAt: number | null;
  readonly lastCode: number | null;
  readonly lastReply: string | null;
  readonly isUncertain: boolean;
}

/** @returns the state of each recipient of a copy in Sent; empty for any other message. */
export function readDelivery(sql: SqlStorage, messageId: string): DeliveryState[] {
  const rows = sql.exec<Row>(
    `SELECT r.email, r.state, r.attempts, r.next_attempt_at, r.last_code, r.last_reply, r.is_uncertain
     FROM outbox o JOIN outbox_recipient r ON r.outbox_id = o.outbox_id WHERE o.message_id = ? ORDER BY r.ordinal`,
    messageId,
  );
  return [...rows].map((row) => ({
    email: String(row.email),
    state: row.state as RecipientState,
    attempts: Number(row.attempts),
    nextAttemptAt: row.next_attempt_at as number | null,
    lastCode: row.last_code as number | null,
    lastReply: row.last_reply as string | null,
    isUncertain: row.is_uncertain === 1,
  }));
}
