/**
 * Forwards of whole addresses. Mail for such an address goes to confirmed targets; each forward says whether the mailbox keeps a
 * copy.
 */
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import { execute, type RowOf, statement } from '../../../workers/shared/stores/statement.ts';
import type { AddressForward, AddressForwardError } from '../contract/rules.ts';
import { executeFirst } from '../database/store.ts';
import { findFolder } from '../messages/folder-store.ts';
import { eraseMessage, findMessage, patchMessage } from '../messages/message-store.ts';
import type { addressForward } from './address-forward-schema.ts';
import { isConfirmed } from './forward-target-store.ts';

type Row = RowOf<typeof addressForward>;
const toForward = (row: Row): AddressForward => ({
  email: row.email,
  targets: JSON.parse(row.targets) as string[],
  keepsCopy: row.keeps_copy === 1,
});

const list = statement<Record<never, never>, Row>('SELECT * FROM address_forward ORDER BY email');
export const listAddressForwards = (sql: SqlStorage): AddressForward[] => [...execute(sql, list, {})].map(toForward);

const find = statement<{ email: string }, Row>('SELECT * FROM address_forward WHERE email = :email');

/**
 * @returns the forward of an address with its confirmed targets; null if no target is confirmed or the address is not forwarded.
 * Its mail then stays in the mailbox.
 */
export function findAddressForward(sql: SqlStorage, email: string): AddressForward | null {
  const row = executeFirst(sql, find, { email });
  const forward = row && toForward(row);
  const targets = forward?.targets.filter((target) => isConfirmed(sql, target)) ?? [];
  return forward && targets.length > 0 ? { ...forward, targets } : null;
}

const save = statement<{ email: string; targets: string; keepsCopy: number }>(
  `INSERT INTO address_forward (email, targets, keeps_copy) VALUES (:email, :targets, :keepsCopy)
   ON CONFLICT (email) DO UPDATE SET targets = :targets, keeps_copy = :keepsCopy`,
);

export function saveAddressForward(
  sql: SqlStorage,
  forward: AddressForward,
): Result<AddressForward, AddressForwardError> {
  const unconfirmed = forward.targets.findIndex((target) => !isConfirmed(sql, target));
  if (unconfirmed >= 0) {
    const message = 'Confirm this address first, at /v1/me/forward-targets.';
    return err({ kind: 'bad_request', path: `to.${unconfirmed}`, message });
  }
  const targets = JSON.stringify(forward.targets);
  execute(sql, save, { email: forward.email, targets, keepsCopy: Number(forward.keepsCopy) });
  return ok(forward);
}

const remove = statement<{ email: string }, Pick<Row, 'email'>>(
  'DELETE FROM address_forward WHERE email = :email RETURNING email',
);
export const deleteAddressForward = (sql: SqlStorage, email: string): boolean =>
  executeFirst(sql, remove, { email }) !== null;

/**
 * Ends a message of an address that keeps no copy. If all its forwards are in the outbox, erases the message; otherwise moves it to
 * the Inbox as unread.
 */
export function endForwarded(sql: SqlStorage, messageId: string, isForwarded: boolean, now: number): void {
  const message = findMessage(sql, messageId);
  const inbox = findFolder(sql, 'inbox');
  if (!message || !inbox) return;
  if (isForwarded) eraseMessage(sql, message, now);
  else patchMessage(sql, message, { folder: inbox, isRead: false }, now);
}
