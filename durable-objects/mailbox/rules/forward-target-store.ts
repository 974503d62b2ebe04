/**
 * Where filters may forward to: only an address whose owner sent back the code that was mailed there.
 *
 * Anybody may be named as a target, so codes are limited per address and per account, and count as sent messages. The limits
 * look at `forward_invitation`, whose rows stay when a target is removed. DIRECTORY limits an address over all accounts.
 */
import { createHash, randomInt } from 'node:crypto';
import { queueAutomatic } from '../outbox/automatic-store.ts';
import { readSendWait } from '../outbox/submission-store.ts';
import { first } from '../store.ts';

const TARGETS_MAX = 20;
const RESEND_AFTER_MS = 60_000;
const DAY_MS = 24 * 3_600_000;
/** Per address, and per account, in `DAY_MS`. Each code takes ten guesses, so guesses are limited too. */
const INVITATIONS_PER_TARGET_MAX = 3;
const INVITATIONS_PER_ACCOUNT_MAX = 10;

export interface ForwardTarget {
  readonly email: string;
  readonly confirmedAt: number | null;
}

export type ForwardTargetError =
  | { readonly kind: 'not_found' }
  | { readonly kind: 'conflict'; readonly detail: string }
  | { readonly kind: 'rate_limited'; readonly retryAfterMs: number }
  | { readonly kind: 'too_many'; readonly what: string; readonly max: number };

const hash = (email: string, code: string) => createHash('sha256').update(`${email}\n${code}`).digest('hex');

export function listForwardTargets(sql: SqlStorage): ForwardTarget[] {
  const rows = sql.exec<{ email: string; confirmed_at: number | null }>(
    'SELECT email, confirmed_at FROM forward_target ORDER BY email',
  );
  return [...rows].map((row) => ({ email: row.email, confirmedAt: row.confirmed_at }));
}

/** Mails a code of eight digits to the address. @param sendLimitPerHour codes count as sent messages. @returns why not, or null. */
export function requestForwardTarget(
  sql: SqlStorage,
  email: string,
  sendLimitPerHour: number,
  now: number,
): ForwardTargetError | null {
  const known = first<{ confirmed_at: number | null }>(
    sql,
    'SELECT confirmed_at FROM forward_target WHERE email = ?',
    email,
  );
  if (known?.confirmed_at) return null;
  const refusal = findInvitationLimit(sql, email, now);
  if (refusal) return refusal;
  const retryAfterMs = readSendWait(sql, sendLimitPerHour, now);
  if (retryAfterMs > 0) return { kind: 'rate_limited', retryAfterMs };
  const count = first<{ count: number }>(sql, 'SELECT count(*) AS count FROM forward_target')?.count ?? 0;
  if (!known && count >= TARGETS_MAX) return { kind: 'too_many', what: 'forwarding addresses', max: TARGETS_MAX };
  sql.exec('INSERT INTO forward_invitation (email, created_at) VALUES (?, ?)', email, now);
  const code = String(randomInt(100_000_000)).padStart(8, '0');
  sql.exec(
    `INSERT INTO forward_target (email, code_sha256, guesses, created_at) VALUES (?1, ?2, 0, ?3)
     ON CONFLICT (email) DO UPDATE SET code_sha256 = ?2, guesses = 0, created_at = ?3`,
    email,
    hash(email, code),
    now,
  );
  queueAutomatic(sql, { kind: 'confirm', messageId: code, recipient: email, envelopeFrom: '' }, now);
  return null;
}

function findInvitationLimit(sql: SqlStorage, email: string, now: number): ForwardTargetError | null {
  sql.exec('DELETE FROM forward_invitation WHERE created_at <= ?', now - DAY_MS);
  const { latest } = first<{ latest: number | null }>(
    sql,
    'SELECT max(created_at) AS latest FROM forward_invitation WHERE email = ?',
    email,
  ) ?? { latest: null };
  if (latest !== null && latest > now - RESEND_AFTER_MS) {
    return { kind: 'conflict', detail: 'A code was mailed to this address less than a minute ago.' };
  }
  // The limit ends when the oldest of as many invitations as the limit allows is a day old.
  const nthLatest = (max: number, target: string | null) =>
    first<{ created_at: number }>(
      sql,
      'SELECT created_at FROM forward_invitation WHERE ?1 IS NULL OR email = ?1 ORDER BY created_at DESC LIMIT 1 OFFSET ?2',
      target,
      max - 1,
    );
  const limiting = nthLatest(INVITATIONS_PER_TARGET_MAX, email) ?? nthLatest(INVITATIONS_PER_ACCOUNT_MAX, null);
  return limiting && { kind: 'rate_limited', retryAfterMs: limiting.created_at + DAY_MS - now };
}

/** Ten guesses a code. @returns false when the code is not right. */
export function confirmForwardTarget(sql: SqlStorage, email: string, code: string, now: number): boolean {
  sql.exec('UPDATE forward_target SET guesses = guesses + 1 WHERE email = ?', email);
  return (
    first(
      sql,
      'UPDATE forward_target SET confirmed_at = ?, code_sha256 = NULL WHERE email = ? AND code_sha256 = ? AND guesses <= 10 RETURNING 1 AS done',
      now,
      email,
      hash(email, code),
    ) !== null
  );
}

export const deleteForwardTarget = (sql: SqlStorage, email: string): boolean =>
  first(sql, 'DELETE FROM forward_target WHERE email = ? RETURNING 1 AS done', email) !== null;
