/** Sessions and app tokens of the mailbox's user. */
import { execute, type RowOf, statement } from '../../../workers/shared/stores/statement.ts';
import type { EndedCredentials, Holder, KeptCredential, NewCredential, SessionRow } from '../contract/credentials.ts';
import { executeFirst } from '../database/store.ts';
import type { credential, holder } from './schema.ts';

type CredentialRow = RowOf<typeof credential>;
type HolderRow = RowOf<typeof holder>;

const USE_INTERVAL_MS = 3_600_000;
const SESSIONS_LISTED_MAX = 200;

const selectValid = statement<{ sha256: string; now: number }, CredentialRow & HolderRow>(
  `SELECT credential.*, holder.* FROM credential JOIN holder ON holder.id = 1
   WHERE secret_sha256 = :sha256 AND (expires_at IS NULL OR expires_at > :now) AND suspended_at IS NULL`,
);
const recordUse = statement<{ sha256: string; now: number }>(
  'UPDATE credential SET last_used_at = :now WHERE secret_sha256 = :sha256',
);

/**
 * Finds a credential by the hash of its secret, and records the use. The look-up is not in constant time. This reveals no secret:
 * it compares hashes, and a caller cannot make a secret with a chosen hash.
 */
export function identify(sql: SqlStorage, sha256: string, now: number): KeptCredential | null {
  const row = executeFirst(sql, selectValid, { sha256, now });
  if (row === null) return null;
  const lastUsedAt = row.last_used_at;
  if (lastUsedAt === null || lastUsedAt <= now - USE_INTERVAL_MS) execute(sql, recordUse, { sha256, now });
  return {
    credentialId: row.credential_id,
    kind: row.kind,
    expiresAt: row.expires_at,
    lastUsedAt,
    confirmedUntil: row.confirmed_until,
    userName: row.user_name,
    name: row.name,
    email: row.email,
  };
}

const writeHolderRow = statement<{ userName: string; name: string; email: string | null }>(
  `INSERT INTO holder (id, user_name, name, email) VALUES (1, :userName, :name, :email)
   ON CONFLICT (id) DO UPDATE SET user_name = :userName, name = :name, email = :email
   WHERE user_name <> :userName OR name <> :name OR email IS NOT :email`,
);
const deleteExpired = statement<{ now: number }>('DELETE FROM credential WHERE expires_at <= :now');
const insert = statement<{
  sha256: string;
  id: string;
  kind: string;
  userAgent: string | null;
  now: number;
  usedAt: number | null;
  expiresAt: number | null;
}>(
  `INSERT INTO credential (secret_sha256, credential_id, kind, user_agent, created_at, last_used_at, expires_at)
   VALUES (:sha256, :id, :kind, :userAgent, :now, :usedAt, :expiresAt)`,
);

/** Inserts a credential, and deletes expired ones. */
export function insertCredential(sql: SqlStorage, given: NewCredential, user: Holder, now: number): void {
  execute(sql, writeHolderRow, { userName: user.userName, name: user.name, email: user.email });
  execute(sql, deleteExpired, { now });
  execute(sql, insert, {
    sha256: given.secretSha256,
    id: given.credentialId,
    kind: given.kind,
    userAgent: given.userAgent,
    now,
    usedAt: given.kind === 'session' ? now : null,
    expiresAt: given.expiresAt,
  });
}

const writeName = statement<{ name: string }>('UPDATE holder SET name = :name WHERE id = 1');
export const renameHolder = (sql: SqlStorage, name: string): void => void execute(sql, writeName, { name });

const writeSuspension = statement<{ at: number | null }>(
  `INSERT INTO holder (id, user_name, name, suspended_at) VALUES (1, '', '', :at)
   ON CONFLICT (id) DO UPDATE SET suspended_at = :at`,
);
/** Suspends the user, or lifts the suspension. @param at time of the suspension; null lifts it. */
export const setSuspended = (sql: SqlStorage, at: number | null): void => void execute(sql, writeSuspension, { at });

const selectSuspension = statement<Record<never, never>, Pick<HolderRow, 'suspended_at'>>(
  'SELECT suspended_at FROM holder WHERE id = 1',
);
export const isSuspended = (sql: SqlStorage): boolean =>
  typeof executeFirst(sql, selectSuspension, {})?.suspended_at === 'number';

const confirm = statement<{ id: string; until: number }>(
  `UPDATE credential SET confirmed_until = :until WHERE credential_id = :id AND kind = 'session'`,
);
export const confirmSession = (sql: SqlStorage, id: string, until: number): void =>
  void execute(sql, confirm, { id, until });

const selectSessions = statement<{ now: number; max: number }, CredentialRow>(
  `SELECT * FROM credential WHERE kind = 'session' AND expires_at > :now ORDER BY created_at DESC LIMIT :max`,
);

/** Lists the user's sessions, newest first. */
export const listSessions = (sql: SqlStorage, now: number): SessionRow[] =>
  [...execute(sql, selectSessions, { now, max: SESSIONS_LISTED_MAX })].map((row) => ({
    sessionId: row.credential_id,
    userAgent: row.user_agent,
    createdAt: row.created_at,
    lastSeenAt: row.last_used_at ?? row.created_at,
    expiresAt: row.expires_at ?? 0,
  }));

const deleteEnded = statement<
  { only: string | null; except: string | null; kind: string | null },
  Pick<CredentialRow, 'credential_id'>
>(
  `DELETE FROM credential WHERE (:only IS NULL OR credential_id = :only) AND (:except IS NULL OR credential_id <> :except)
     AND (:kind IS NULL OR kind = :kind) RETURNING credential_id`,
);

/** Ends credentials. @returns their ids. */
export const endCredentials = (sql: SqlStorage, which: EndedCredentials): string[] =>
  [
    ...execute(sql, deleteEnded, {
      only: which.only ?? null,
      except: which.except ?? null,
      kind: which.kind ?? null,
    }),
  ].map((row) => row.credential_id);

const forgetHolder = statement<Record<never, never>>(`UPDATE holder SET user_name = '', name = '', email = NULL`);

/**
 * Removes the user's names from the mailbox. Call it once the mailbox is erased and no credential is left. A suspension is kept.
 */
export const forgetNames = (sql: SqlStorage): void => void execute(sql, forgetHolder, {});

const selectAll = statement<Record<never, never>, CredentialRow>('SELECT * FROM credential');
const selectHolder = statement<Record<never, never>, HolderRow>('SELECT * FROM holder');

/** Saves the credentials before the mailbox is erased. @returns a function that inserts them again. */
export function takeCredentials(sql: SqlStorage): (emptied: SqlStorage) => void {
  const credentials = [...execute(sql, selectAll, {})];
  const holders = [...execute(sql, selectHolder, {})];
  return (emptied) => {
    for (const [table, rows] of [['credential', credentials] as const, ['holder', holders] as const])
      for (const row of rows) {
        const columns = Object.keys(row);
        const places = columns.map(() => '?').join(', ');
        emptied.exec(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places})`, ...Object.values(row));
      }
  };
}
