/**
 * A new password in one batch: it ends what other sessions made, because one of them may be a thief's, and notes what it ended for
 * the user to see.
 */
import { drizzle } from 'drizzle-orm/d1';
import { type AuditRow, insertIfChanged } from '../../shared/audit/audit-store.ts';
import { toStatement } from '../../shared/stores/drizzle-statement.ts';
import { prepare, readFirst, statement } from '../../shared/stores/statement.ts';
import { raiseGeneration } from './revocation-store.ts';

export interface PasswordChange {
  readonly userId: string;
  readonly hash: string;
  readonly now: number;
  /** Passkeys and access keys of other sessions end if they were made at this time or later, in milliseconds since 1970 UTC. */
  readonly since: number;
  /** The session that changes the password. What it made stays; null if no session does. */
  readonly keptSession: string | null;
  /** True keeps the tokens that open the mailbox. */
  readonly keepsTokens: boolean;
  /** Hash of the link that sets the password, which is consumed; null without a link. */
  readonly secretSha256: string | null;
}

/** A credential that a new password ended. */
export interface EndedThing {
  readonly kind: 'passkey' | 'access_key' | 'token';
  /** Name of the passkey or token, or id of the access key. */
  readonly name: string;
  readonly createdAt: number;
}

export interface SecurityReview {
  /** Time of the new password, and from which things of other sessions ended. */
  readonly changedAt: number;
  readonly since: number;
  readonly ended: readonly EndedThing[];
}

type User = { userId: string };
type Link = { secret: string | null; now: number };
type Others = User & { since: number; session: string | null };

/** Whether the link is unused, if the password is set by one. */
const HOLDS = `(:secret IS NULL OR EXISTS (SELECT 1 FROM one_time_secret WHERE secret_sha256 = :secret AND expires_at > :now))`;
/** Rows of a user that another session made. A key without a session is the operator's. */
const BY_OTHERS = 'user_id = :userId AND created_at >= :since AND made_in IS NOT :session';
const KEYS_BY_OTHERS = `${BY_OTHERS} AND made_in IS NOT NULL`;
const OPENS_MAILBOX = `user_id = :userId AND EXISTS (SELECT 1 FROM json_each(token.scopes) WHERE value = 'mail' OR value LIKE 'mail:%')`;

// The row is inserted if necessary, because an account that had only passkeys has no password yet.
const setPassword = statement<User & Link & { hash: string }>(
  `INSERT INTO password (user_id, hash, changed_at) SELECT :userId, :hash, :now WHERE ${HOLDS}
   ON CONFLICT (user_id) DO UPDATE SET hash = :hash, changed_at = :now`,
);
const noteEnded = statement<Others & Link & { keepsTokens: number }>(
  `UPDATE password SET review = json_object('changedAt', :now, 'since', :since, 'ended', (
     SELECT json_group_array(json_object('kind', kind, 'name', name, 'createdAt', created_at)) FROM (
       SELECT 'passkey' AS kind, name, created_at FROM passkey WHERE ${BY_OTHERS}
       UNION ALL SELECT 'access_key', access_key_id, created_at FROM access_key WHERE ${KEYS_BY_OTHERS}
       UNION ALL SELECT 'token', name, created_at FROM token WHERE ${OPENS_MAILBOX} AND NOT :keepsTokens)))
   WHERE user_id = :userId AND ${HOLDS}`,
);
const endPasskeys = statement<Others & Link>(`DELETE FROM passkey WHERE ${BY_OTHERS} AND ${HOLDS}`);
const endAccessKeys = statement<Others & Link>(`DELETE FROM access_key WHERE ${KEYS_BY_OTHERS} AND ${HOLDS}`);
// A thief may have made temporary keys from a key that stays.
const endTemporaryKeys = statement<User & Link>(
  `UPDATE access_key SET temporary_ended = :now WHERE user_id = :userId AND ${HOLDS}`,
);
const endTokens = statement<User & Link>(`DELETE FROM token WHERE ${OPENS_MAILBOX} AND ${HOLDS}`);
// A password that needs a passkey would lock the user out if no passkey is left.
const dropPasskeyRule = statement<User & Link>(
  `UPDATE password SET needs_passkey = 0
   WHERE user_id = :userId AND NOT EXISTS (SELECT 1 FROM passkey WHERE passkey.user_id = :userId) AND ${HOLDS}`,
);
const consumeSecrets = statement<User & Link>(`DELETE FROM one_time_secret WHERE user_id = :userId AND ${HOLDS}`);

/**
 * Sets a password and ends what other sessions made. The second factor stays.
 * @returns false if the link was consumed meanwhile. In that case nothing changed.
 */
export async function changePassword(
  database: D1Database,
  change: PasswordChange,
  audit: AuditRow | null,
): Promise<boolean> {
  const { userId, hash, now, since, keptSession: session, keepsTokens, secretSha256: secret } = change;
  const db = drizzle(database);
  const link = { userId, secret, now };
  const others = { ...link, since, session };
  const [set] = await database.batch([
    prepare(database, setPassword, { ...link, hash }),
    ...(audit === null ? [] : [toStatement(database, insertIfChanged(db, audit))]),
    prepare(database, noteEnded, { ...others, keepsTokens: Number(keepsTokens) }),
    prepare(database, endPasskeys, others),
    prepare(database, endAccessKeys, others),
    prepare(database, endTemporaryKeys, link),
    prepare(database, dropPasskeyRule, link),
    ...(keepsTokens ? [] : [prepare(database, endTokens, link)]),
    ...(secret === null ? [] : [prepare(database, consumeSecrets, link)]),
    toStatement(database, raiseGeneration(db)),
  ]);
  return (set?.meta.changes ?? 0) > 0;
}

const findReview = statement<User, { review: string | null }>('SELECT review FROM password WHERE user_id = :userId');
const clearReview = statement<User>('UPDATE password SET review = NULL WHERE user_id = :userId');

/** @returns what the last new password ended, if the user has not seen it yet. */
export async function readReview(database: D1Database, userId: string): Promise<SecurityReview | null> {
  const review = (await readFirst(database, findReview, { userId }))?.review ?? null;
  return review === null ? null : (JSON.parse(review) as SecurityReview);
}

export async function endReview(database: D1Database, userId: string): Promise<void> {
  await prepare(database, clearReview, { userId }).run();
}
