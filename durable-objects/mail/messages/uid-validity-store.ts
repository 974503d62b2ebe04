/** UIDVALIDITY of all folders (RFC 3501 §2.3.1.1): while it stays, each UID means the message that it meant before. */
import { execute, statement } from '../../../workers/shared/stores/statement.ts';
import type { FormerUids } from '../contract/recovery.ts';
import { readState, recordChange } from '../database/change-store.ts';
import { executeFirst } from '../database/store.ts';

/**
 * Numbers that a rebuilt mailbox leaves out after the last UID of its snapshot. The lost mailbox may have given some of them, in the hour
 * since the snapshot.
 */
const REBUILT_GAP = 1_000_000;

type ValidityRow = { validity: number | null; created: number };
const findValidity = statement<Record<never, never>, ValidityRow>(
  'SELECT uid_validity AS validity, created_at AS created FROM mailbox WHERE id = 1',
);
const setValidity = statement<{ validity: number }>('UPDATE mailbox SET uid_validity = :validity WHERE id = 1');
const forgetUids = statement<Record<never, never>>('UPDATE message_folder SET uid = NULL');
const raiseNext = statement<{ uid: number }>('UPDATE folder SET uid_next = max(uid_next, :uid)');

function findRow(sql: SqlStorage): ValidityRow {
  const row = executeFirst(sql, findValidity, {});
  if (!row) throw new Error('the mailbox has no row');
  return row;
}

/** @returns UIDVALIDITY of all folders: by default, the second in which the mailbox was created. */
export function readUidValidity(sql: SqlStorage): number {
  const { validity, created } = findRow(sql);
  return validity ?? Math.max(1, Math.floor(created / 1_000));
}

/** Ends the meaning of all UIDs that programs know. The new UIDVALIDITY is greater than the old one. */
export function renewUidValidity(sql: SqlStorage, now: number, least = 0): void {
  const validity = Math.max(readUidValidity(sql) + 1, least, Math.floor(now / 1_000));
  execute(sql, setValidity, { validity });
}

/**
 * Prepares a new mailbox for the messages of a lost one. If the snapshot has all UIDs of the lost mailbox, its UIDVALIDITY stays, and
 * mail that arrived meanwhile gets new UIDs above it. Otherwise UIDVALIDITY changes. Decides once: a repetition changes nothing.
 */
export function adoptUids(sql: SqlStorage, former: FormerUids, now: number): void {
  if (findRow(sql).validity !== null) return;
  if (!former.isComplete || former.validity === null) {
    renewUidValidity(sql, now, (former.validity ?? 0) + 1);
    return;
  }
  const next = former.last + REBUILT_GAP;
  execute(sql, setValidity, { validity: former.validity });
  execute(sql, forgetUids, {});
  raiseState(sql, next, now);
  execute(sql, raiseNext, { uid: next });
}

/** Continues the change log at a number. Clients see one change of the mailbox. */
export function raiseState(sql: SqlStorage, state: number, now: number): void {
  if (readState(sql) < state) recordChange(sql, { type: 'mailbox_updated' }, now, state);
}
