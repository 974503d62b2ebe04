/** Queries of identity for users, access keys, tokens and policies. `login-store.ts` has those of logins. */
import { and, asc, eq, gt, isNotNull, isNull, or } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { type AuditRow, eraseFromEntries, insertIfChanged } from '../../shared/audit/audit-store.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { readFirst, statement } from '../../shared/stores/statement.ts';
import { findUniqueConflict } from '../../shared/stores/unique-conflict.ts';
import type { PolicyDocument } from '../principal.ts';
import { raiseGeneration } from './revocation-store.ts';
import { accessKey, policy, user } from './schema.ts';

export interface UserRow {
  readonly userId: string;
  /** Unique and immutable name of the user. */
  readonly userName: string;
  /** Display name of the user. */
  readonly name: string;
  readonly email: string | null;
  readonly createdAt: number;
  /** Time since which the user is suspended; null or absent if not. */
  readonly suspendedAt?: number | null;
}

/** A credential with its user and the user's policies, read in one round trip. */
export interface CredentialRow {
  readonly credentialId: string;
  readonly userId: string | null;
  readonly userName: string | null;
  readonly name: string | null;
  readonly email: string | null;
  /** Time at which the credential expires; null for never. */
  readonly expiresAt: number | null;
  /** Time of the credential's last use; null before the first use. */
  readonly lastUsedAt: number | null;
  readonly policies: readonly PolicyDocument[];
}

/** Reasons why a user cannot be created. */
export type UserConflict = 'user_name_taken' | 'email_taken';

export function toUserConflict(error: unknown): UserConflict | null {
  const conflict = findUniqueConflict(error);
  if (conflict?.includes('user_user_name')) return 'user_name_taken';
  return conflict?.includes('user.email') ? 'email_taken' : null;
}

const CREDENTIAL_COLUMNS = `u.user_id, u.user_name, u.name, u.email,
  (SELECT json_group_array(json(p.document)) FROM policy p WHERE p.user_id = u.user_id) AS policies,
  COALESCE((SELECT generation FROM identity_generation), 0) AS generation`;

interface FoundCredential {
  readonly user_id: string | null;
  readonly user_name: string | null;
  readonly name: string | null;
  readonly email: string | null;
  readonly policies: string;
  readonly generation: number;
  readonly credential_id: string;
  readonly expires_at: number | null;
  readonly last_used_at: number | null;
}

const toCredential = (row: FoundCredential): CredentialRow & { generation: number } => ({
  userId: row.user_id,
  userName: row.user_name,
  name: row.name,
  email: row.email,
  policies: JSON.parse(row.policies) as PolicyDocument[],
  generation: row.generation,
  credentialId: row.credential_id,
  expiresAt: row.expires_at,
  lastUsedAt: row.last_used_at,
});

type FoundAccessKey = FoundCredential & { secret_sealed: string; temporary_ended: number | null };
const selectAccessKey = statement<{ id: string; now: number }, FoundAccessKey>(
  `SELECT ${CREDENTIAL_COLUMNS}, k.access_key_id AS credential_id, k.expires_at, k.last_used_at, k.secret_sealed,
     k.temporary_ended
   FROM access_key k JOIN user u ON u.user_id = k.user_id
   WHERE k.access_key_id = :id AND (k.expires_at IS NULL OR k.expires_at > :now) AND u.suspended_at IS NULL`,
);
const tokenWhere = (condition: string) =>
  `SELECT ${CREDENTIAL_COLUMNS}, t.token_id AS credential_id, t.expires_at, t.last_used_at, t.scopes
   FROM token t LEFT JOIN user u ON u.user_id = t.user_id
   WHERE ${condition} AND (t.expires_at IS NULL OR t.expires_at > :now) AND u.suspended_at IS NULL`;
type FoundToken = FoundCredential & { scopes: string };
const selectToken = statement<{ sha256: string; now: number }, FoundToken>(tokenWhere('t.token_sha256 = :sha256'));
const selectTokenById = statement<{ id: string; now: number }, FoundToken>(tokenWhere('t.token_id = :id'));

type Database = D1Database | D1DatabaseSession;

/** A credential, with the generation of identity in the copy of DIRECTORY from which it was read. */
export type DatedCredential = CredentialRow & { readonly generation: number };

export interface DatedAccessKey extends DatedCredential {
  readonly secretSealed: string;
  /** Temporary keys that were made from this key at this time or earlier, in milliseconds since 1970 UTC, do not work. */
  readonly temporaryEnded: number | null;
}

/** This and the following look-ups run for every request. Each is one statement whose SQL text is built once. */
export async function findAccessKey(database: Database, id: string, now: number): Promise<DatedAccessKey | null> {
  const row = await readFirst(database, selectAccessKey, { id, now });
  return row && { ...toCredential(row), secretSealed: row.secret_sealed, temporaryEnded: row.temporary_ended };
}

export async function findToken(
  database: Database,
  sha256: string,
  now: number,
): Promise<(DatedCredential & { scopes: string[] }) | null> {
  const row = await readFirst(database, selectToken, { sha256, now });
  return row && { ...toCredential(row), scopes: JSON.parse(row.scopes) as string[] };
}

/** Finds a token by its id, for work that outlives the request of the token. */
export async function findTokenById(
  database: Database,
  id: string,
  now: number,
): Promise<(DatedCredential & { scopes: string[] }) | null> {
  const row = await readFirst(database, selectTokenById, { id, now });
  return row && { ...toCredential(row), scopes: JSON.parse(row.scopes) as string[] };
}

const selectUser = statement<{ userId: string }, FoundCredential>(
  `SELECT ${CREDENTIAL_COLUMNS}, u.user_id AS credential_id, NULL AS expires_at, NULL AS last_used_at
   FROM user u WHERE u.user_id = :userId AND u.suspended_at IS NULL`,
);

/** Finds a user with its policies, in the form of a credential of that user. @returns null if the user is suspended or gone. */
export async function findActiveUser(database: Database, userId: string): Promise<CredentialRow | null> {
  const row = await readFirst(database, selectUser, { userId });
  return row && toCredential(row);
}

export function createIdentityStore(database: D1Database) {
  const db = drizzle(database);
  const columns = {
    userId: user.userId,
    userName: user.userName,
    name: user.name,
    email: user.email,
    createdAt: user.createdAt,
    suspendedAt: user.suspendedAt,
  };
  return {
    // Users

    async insertUser(row: UserRow, audit: AuditRow): Promise<Result<null, UserConflict>> {
      try {
        await db.batch([db.insert(user).values(row), insertIfChanged(db, audit)]);
        return ok(null);
      } catch (error) {
        const conflict = toUserConflict(error);
        if (conflict === null) throw error;
        return err(conflict);
      }
    },

    async findUser(userId: string): Promise<UserRow | null> {
      return (await db.select(columns).from(user).where(eq(user.userId, userId)).get()) ?? null;
    },

    async findUserByEmail(email: string): Promise<UserRow | null> {
      return (await db.select(columns).from(user).where(eq(user.email, email.toLowerCase())).get()) ?? null;
    },

    /** Lists users with an id greater than `after`, in order of their id. */
    async listUsers(after: string, limit: number): Promise<UserRow[]> {
      return db.select(columns).from(user).where(gt(user.userId, after)).orderBy(asc(user.userId)).limit(limit);
    },

    /**
     * Suspends a user or lifts the suspension, as an operator. Takes over a suspension that a check of the provider made.
     * @param suspendedAt time of the suspension; null lifts it.
     * @returns false if nothing changed or there is no such user.
     */
    async setSuspended(userId: string, suspendedAt: number | null, audit: AuditRow): Promise<boolean> {
      const isOther =
        suspendedAt === null ? isNotNull(user.suspendedAt) : or(isNull(user.suspendedAt), isNotNull(user.suspendedBy));
      const change = db
        .update(user)
        .set({ suspendedAt, suspendedBy: null })
        .where(and(eq(user.userId, userId), isOther));
      return (await db.batch([change, insertIfChanged(db, audit), raiseGeneration(db)]))[0].meta.changes > 0;
    },

    /** Deletes a user. Foreign keys delete the user's access keys, tokens and policies. */
    async deleteUser(userId: string): Promise<void> {
      await db.batch([db.delete(user).where(eq(user.userId, userId)), raiseGeneration(db)]);
    },

    /**
     * Like `deleteUser`. Also replaces the user's id in the audit log by a pseudonym; only the entry of this erasure keeps the id.
     */
    async eraseUser(userId: string, pseudonym: string, audit: AuditRow): Promise<void> {
      await db.batch([
        ...eraseFromEntries(db, 'user', userId, pseudonym),
        db.delete(user).where(eq(user.userId, userId)),
        insertIfChanged(db, audit),
        raiseGeneration(db),
      ]);
    },

    // Access keys

    /** Inserts an access key. @returns false if the key id is taken. */
    async insertAccessKey(row: typeof accessKey.$inferInsert, audit: AuditRow): Promise<boolean> {
      const insert = db.insert(accessKey).values(row).onConflictDoNothing();
      return (await db.batch([insert, insertIfChanged(db, audit)]))[0].meta.changes > 0;
    },

    async deleteAccessKey(accessKeyId: string, audit: AuditRow): Promise<boolean> {
      const gone = db.delete(accessKey).where(eq(accessKey.accessKeyId, accessKeyId));
      return (await db.batch([gone, insertIfChanged(db, audit), raiseGeneration(db)]))[0].meta.changes > 0;
    },

    /** Lists sealed secrets of access keys in order of key id, to seal them again with a new MASTER_KEY. */
    async listSealedSecrets(after: string, limit: number) {
      return db
        .select({ accessKeyId: accessKey.accessKeyId, secretSealed: accessKey.secretSealed })
        .from(accessKey)
        .where(gt(accessKey.accessKeyId, after))
        .orderBy(asc(accessKey.accessKeyId))
        .limit(limit);
    },

    async replaceSealedSecret(accessKeyId: string, before: string, after: string): Promise<void> {
      await db
        .update(accessKey)
        .set({ secretSealed: after })
        .where(and(eq(accessKey.accessKeyId, accessKeyId), eq(accessKey.secretSealed, before)));
    },

    // Policies

    async putPolicy(userId: string, name: string, document: Record<string, unknown>, audit: AuditRow): Promise<void> {
      const put = db
        .insert(policy)
        .values({ userId, name, document })
        .onConflictDoUpdate({ target: [policy.userId, policy.name], set: { document } });
      await db.batch([put, insertIfChanged(db, audit), raiseGeneration(db)]);
    },

    async findPolicy(userId: string, name: string): Promise<Record<string, unknown> | null> {
      const found = await db
        .select({ document: policy.document })
        .from(policy)
        .where(and(eq(policy.userId, userId), eq(policy.name, name)))
        .get();
      return found?.document ?? null;
    },

    async listPolicyNames(userId: string, after: string, limit: number): Promise<string[]> {
      const rows = await db
        .select({ name: policy.name })
        .from(policy)
        .where(and(eq(policy.userId, userId), gt(policy.name, after)))
        .orderBy(asc(policy.name))
        .limit(limit);
      return rows.map((row) => row.name);
    },

    async deletePolicy(userId: string, name: string, audit: AuditRow): Promise<boolean> {
      const gone = db.delete(policy).where(and(eq(policy.userId, userId), eq(policy.name, name)));
      return (await db.batch([gone, insertIfChanged(db, audit), raiseGeneration(db)]))[0].meta.changes > 0;
    },
  };
}
