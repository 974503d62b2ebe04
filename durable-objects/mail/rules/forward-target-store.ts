/**
 * Forwarding targets. Filters forward only to a confirmed target: the user has entered the code that was mailed to that address.
 *
 * A user can name any address as a target. So codes are limited per address and per account, and each counts as a sent message. The
 * limits count rows of `forward_invitation`, which stay when a target is removed. DIRECTORY limits the codes that one address gets
 * from all accounts.
 */

import { createHash, randomInt } from 'node:crypto';
import type { SendLimits } from '../../../workers/mail/domain/send-limit.ts';
import { execute, type RowOf, statement } from '../../../workers/shared/stores/statement.ts';
import type { ForwardTarget, ForwardTargetError } from '../contract/rules.ts';
import { executeFirst } from '../database/store.ts';
import { queueAutomatic } from './automatic-store.ts';
import type { forwardInvitation, forwardTarget } from './schema.ts';
import { countSend, readSendWait } from './send-limit-store.ts';

const TARGETS_MAX = 20;
const RESEND_AFTER_MS = 60_000;
const DAY_MS = 24 * 3_600_000;
/** Maximum of codes per `DAY_MS`. It also limits guesses, because each code allows ten. */
const INVITATIONS_PER_TARGET_MAX = 3;
const INVITATIONS_PER_ACCOUNT_MAX = 10;

const hash = (email: string, code: string) => createHash('sha256').update(`${email}\n${code}`).digest('hex');

type TargetRow = Pick<RowOf<typeof forwardTarget>, 'email' | 'confirmed_at'>;
const list = statement<Record<never, never>, TargetRow>(
  'SELECT email, confirmed_at FROM forward_target ORDER BY email',
);

export const listForwardTargets = (sql: SqlStorage): ForwardTarget[] =>
  [...execute(sql, list, {})].map((row) => ({ email: row.email, confirmedAt: row.confirmed_at }));

const find = statement<{ email: string }, TargetRow>(
  'SELECT email, confirmed_at FROM forward_target WHERE email = :email',
);
const count = statement<Record<never, never>, { count: number }>('SELECT count(*) AS count FROM forward_target');
const insertInvitation = statement<{ email: string; now: number }>(
  'INSERT INTO forward_invitation (email, created_at) VALUES (:email, :now)',
);
const saveTarget = statement<{ email: string; codeSha256: string; now: number }>(
  `INSERT INTO forward_target (email, code_sha256, guesses, created_at) VALUES (:email, :codeSha256, 0, :now)
   ON CONFLICT (email) DO UPDATE SET code_sha256 = :codeSha256, guesses = 0, created_at = :now`,
);

/**
 * Mails a code of eight digits to the address. The code counts as a message to one recipient.
 * @returns null if a code was mailed, otherwise why not.
 */
export function requestForwardTarget(
  sql: SqlStorage,
  email: string,
  limits: SendLimits,
  now: number,
): ForwardTargetError | null {
  const known = executeFirst(sql, find, { email });
  if (known?.confirmed_at) return null;
  const refusal = findInvitationLimit(sql, email, now);
  if (refusal) return refusal;
  const retryAfterMs = readSendWait(sql, limits, 1, now);
  if (retryAfterMs > 0) return { kind: 'rate_limited', retryAfterMs };
  if (!known && execute(sql, count, {}).one().count >= TARGETS_MAX)
    return { kind: 'too_many', what: 'forwarding addresses', max: TARGETS_MAX };
  execute(sql, insertInvitation, { email, now });
  countSend(sql, 1, null, now);
  const code = String(randomInt(100_000_000)).padStart(8, '0');
  execute(sql, saveTarget, { email, codeSha256: hash(email, code), now });
  queueAutomatic(sql, { kind: 'confirm', messageId: code, recipient: email, envelopeFrom: '' }, now);
  return null;
}

const pruneInvitations = statement<{ until: number }>('DELETE FROM forward_invitation WHERE created_at <= :until');
type InvitationRow = Pick<RowOf<typeof forwardInvitation>, 'created_at'>;
/** Finds the n-th latest invitation of an address, or of all addresses if `email` is null. `skip` is n - 1. */
const findNthLatest = statement<{ email: string | null; skip: number }, InvitationRow>(
  `SELECT created_at FROM forward_invitation WHERE :email IS NULL OR email = :email
   ORDER BY created_at DESC LIMIT 1 OFFSET :skip`,
);

function findInvitationLimit(sql: SqlStorage, email: string, now: number): ForwardTargetError | null {
  execute(sql, pruneInvitations, { until: now - DAY_MS });
  const nthLatest = (n: number, target: string | null) =>
    executeFirst(sql, findNthLatest, { email: target, skip: n - 1 });
  const latest = nthLatest(1, email);
  if (latest && latest.created_at > now - RESEND_AFTER_MS) {
    return { kind: 'conflict', detail: 'A code was mailed to this address less than a minute ago.' };
  }
  // With a limit of n per day, a further invitation is allowed only if the n-th latest one is at least a day old.
  const limiting = nthLatest(INVITATIONS_PER_TARGET_MAX, email) ?? nthLatest(INVITATIONS_PER_ACCOUNT_MAX, null);
  return limiting && { kind: 'rate_limited', retryAfterMs: limiting.created_at + DAY_MS - now };
}

const countGuess = statement<{ email: string }>('UPDATE forward_target SET guesses = guesses + 1 WHERE email = :email');
const confirm = statement<{ email: string; codeSha256: string; now: number }, Pick<TargetRow, 'email'>>(
  `UPDATE forward_target SET confirmed_at = :now, code_sha256 = NULL
   WHERE email = :email AND code_sha256 = :codeSha256 AND guesses <= 10 RETURNING email`,
);

/**
 * Confirms a target by its code. Counts a guess; each code allows ten.
 * @returns false if the code is wrong or has no guesses left.
 */
export function confirmForwardTarget(sql: SqlStorage, email: string, code: string, now: number): boolean {
  execute(sql, countGuess, { email });
  return executeFirst(sql, confirm, { email, codeSha256: hash(email, code), now }) !== null;
}

const remove = statement<{ email: string }, Pick<TargetRow, 'email'>>(
  'DELETE FROM forward_target WHERE email = :email RETURNING email',
);

export const deleteForwardTarget = (sql: SqlStorage, email: string): boolean =>
  executeFirst(sql, remove, { email }) !== null;

const findConfirmed = statement<{ email: string }, { found: number }>(
  'SELECT 1 AS found FROM forward_target WHERE email = :email AND confirmed_at IS NOT NULL',
);

export const isConfirmed = (sql: SqlStorage, email: string): boolean =>
  executeFirst(sql, findConfirmed, { email: email.toLowerCase() }) !== null;
