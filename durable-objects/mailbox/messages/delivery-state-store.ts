/** Reads how far the delivery of a sent message is. The outbox writes these rows. */
import type { RecipientState } from '../../../workers/mail/outbound/domain/recipient-state.ts';
import { execute, statement } from '../../../workers/shared/statement.ts';

export interface DeliveryState {
  readonly email: string;
  readonly state: RecipientState;
  readonly attempts: number;
  readonly nextAttemptAt: number | null;
  readonly lastCode: number | null;
  readonly lastReply: string | null;
  readonly isUncertain: boolean;
}

const list = statement<
  { messageId: string },
  {
    email: string;
    state: RecipientState;
    attempts: number;
    next_attempt_at: number | null;
    last_code: number | null;
    last_reply: string | null;
    is_uncertain: number;
  }
>(
  `SELECT r.email, r.state, r.attempts, r.next_attempt_at, r.last_code, r.last_reply, r.is_uncertain
   FROM outbox o JOIN outbox_recipient r ON r.outbox_id = o.outbox_id WHERE o.message_id = :messageId ORDER BY r.ordinal`,
);

/** @returns the state of each recipient of a copy in Sent; empty for any other message. */
export const readDelivery = (sql: SqlStorage, messageId: string): DeliveryState[] =>
  [...execute(sql, list, { messageId })].map((row) => ({
    email: row.email,
    state: row.state,
    attempts: row.attempts,
    nextAttemptAt: row.next_attempt_at,
    lastCode: row.last_code,
    lastReply: row.last_reply,
    isUncertain: row.is_uncertain === 1,
  }));
