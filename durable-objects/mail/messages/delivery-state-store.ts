/** The delivery states of a sent message. They are in the outbox while a recipient waits, then in the row of the copy in Sent. */

import type { DeliveryState } from '../contract/messages.ts';
import { first } from '../database/store.ts';

const toState = (each: DeliveryState): DeliveryState => ({
  email: each.email,
  state: each.state,
  attempts: each.attempts,
  nextAttemptAt: each.nextAttemptAt,
  lastCode: each.lastCode,
  lastReply: each.lastReply,
  isUncertain: each.isUncertain,
});

/** @returns the delivery state of each recipient of a copy in Sent; empty for any other message. */
export function readDelivery(sql: SqlStorage, position: number): DeliveryState[] {
  const waiting = sql.exec<{ states: string }>(
    'SELECT recipients AS states FROM outbox WHERE position = ? ORDER BY queued_at',
    position,
  );
  return merge([...readSaved(sql, position), ...[...waiting].flatMap(({ states }) => parse(states))]);
}

const parse = (states: string | null | undefined): DeliveryState[] => JSON.parse(states ?? '[]') as DeliveryState[];

/** @returns the delivery states that are stored in the message row. */
export const readSaved = (sql: SqlStorage, position: number): DeliveryState[] =>
  parse(
    first<{ states: string | null }>(sql, 'SELECT delivery AS states FROM message WHERE position = ?', position)
      ?.states,
  );

/**
 * JMAP may submit a message several times, each time to other recipients.
 * @returns the last state of each recipient, without the outbox's own fields.
 */
const merge = (states: readonly DeliveryState[]): DeliveryState[] => [
  ...new Map(states.map((each) => [each.email, toState(each)])).values(),
];

/**
 * Saves the delivery states in a JMAP submission, beside those of its other recipients. Does nothing for other mail, which has no
 * submission.
 */
export function saveSubmissionDelivery(sql: SqlStorage, submissionId: string, states: readonly DeliveryState[]): void {
  const saved = first<{ states: string | null }>(
    sql,
    'SELECT delivery AS states FROM email_submission WHERE submission_id = ?',
    submissionId,
  );
  if (saved === null) return;
  const json = JSON.stringify(merge([...parse(saved.states), ...states]));
  sql.exec('UPDATE email_submission SET delivery = ? WHERE submission_id = ?', json, submissionId);
}

export function saveDelivery(sql: SqlStorage, position: number, states: readonly DeliveryState[]): void {
  sql.exec(
    'UPDATE message SET delivery = ? WHERE position = ?',
    JSON.stringify(merge([...readSaved(sql, position), ...states])),
    position,
  );
}
