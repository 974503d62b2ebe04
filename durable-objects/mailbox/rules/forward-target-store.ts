/** Where filters may forward to: only an address whose owner sent back the code that was mailed there. */
import { createHash, randomInt } from 'node:crypto';
import { queueAutomatic } from '../outbox/automatic-store.ts';
import { first } from '../store.ts';

const TARGETS_MAX = 20;
const RESEND_AFTER_MS = 60_000;

export interface ForwardTarget {
  readonly email: string;
  readonly confirmedAt: number | null;
}

export type ForwardTargetError =
  | { readonly kind: 'not_found' }
  | { readonly kind: 'conflict'; readonly detail: string }
  | { readonly kind: 'too_many'; readonly what: string; readonly max: number };

const hash = (email: string, code: string) => createHash('sha256').update(`${email}\n${code}`).digest('hex');

export function listForwardTargets(sql: SqlStorage): ForwardTarget[] {
  const rows = sql.exec<{ email: string; confirmed_at: number | null }>(
    'SELECT email, confirmed_at FROM forward_target ORDER BY email',
  );
  return [...rows].map((row) => ({ email: row.email, confirmedAt: row.confirmed_at }));
}

/** Mails a code of eight digits to the address. @returns why not, or null. */
export function requestForwardTarget(sql: SqlStorage, email: string, now: number): ForwardTargetError | null {
  const known = first<{ created_at: number; confirmed_at: number | null }>(
    sql,
    'SELECT created_at, confirmed_at FROM forward_target WHERE email = ?',
    email,
  );
  if (known?.confirmed_at) return null;
  if (known && known.created_at > now - RESEND_AFTER_MS) {
    return { kind: 'conflict', detail: 'A code was mailed there a moment ago.' };
  }
  const count = first<{ count: number }>(sql, 'SELECT count(*) AS count FROM forward_target')?.count ?? 0;
  if (!known && count >= TARGETS_MAX) return { kind: 'too_many', what: 'forwarding addresses', max: TARGETS_MAX };
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
