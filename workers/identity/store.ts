/** All of identity's SQL. */
import { and, asc, eq, gt, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { err, ok, type Result } from '../shared/result.ts';
import { findUniqueConflict } from '../shared/unique-conflict.ts';
import type { PolicyDocument } from './principal.ts';
import { accessKey, policy, token, user } from './schema.ts';

export interface UserRow {
  readonly userId: string;
  /** Unique and immutable. */
  readonly userName: string;
  /** For display. */
  readonly name: string;
  readonly email: string | null;
  readonly createdAt: number;
}

export interface TokenRow {
  readonly tokenId: string;
  readonly name: string;
  readonly userId: string | null;
  readonly scopes: string[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
}

/** A credential with all that a decision needs, read in one round trip. */
export interface CredentialRow {
  readonly credentialId: string;
  readonly userId: string | null;
  readonly userName: string | null;
  readonly name: string | null;
  readonly email: string | null;
  /** Null for one that stays until it is revoked. */
  readonly expiresAt: number | null;
  readonly policies: readonly PolicyDocument[];
}

interface RawCredential {
  credential_id: string;
  user_id: string | null;
  user_name: string | null;
  name: string | null;
  email: string | null;
  expires_at: number | null;
  policies: string;
}

const POLICIES_OF_USER =
  "(SELECT coalesce(json_group_array(json(p.document)), '[]') FROM policy p WHERE p.user_id = u.user_id) AS policies";

const toCredential = (row: RawCredential): CredentialRow => ({
  credentialId: row.credential_id,
  userId: row.user_id,
  userName: row.user_name,
  name: row.name,
  email: row.email,
  expiresAt: row.expires_at,
  policies: JSON.parse(row.policies) as PolicyDocument[],
});

export type IdentityStore = ReturnType<typeof createIdentityStore>;

/** Why a user cannot be created. */
export type UserConflict = 'user_name_taken' | 'email_taken';

export function toUserConflict(error: unknown): UserConflict | null {
  const conflict = findUniqueConflict(error);
  if (conflict?.includes('user_user_name')) return 'user_name_taken';
  return conflict?.includes('user.email') ? 'email_taken' : null;
}

export function createIdentityStore(database: D1Database) {
  const db = drizzle(database);
  const columns = {
    userId: user.userId,
    userName: user.userName,
    name: user.name,
    email: user.email,
    createdAt: user.createdAt,
  };
  return {
    // — the three look-ups of every request: hot, one statement each —

    async findAccessKey(accessKeyId: string): Promise<(CredentialRow & { secretSealed: string }) | null> {
      const row = await database
        .prepare(
          `SELECT k.access_key_id AS credential_id, NULL AS expires_at, k.secret_sealed, u.user_id, u.user_name, u.name, u.email, ${POLICIES_OF_USER}
           FROM access_key k JOIN user u ON u.user_id = k.user_id WHERE k.access_key_id = ?1`,
        )
        .bind(accessKeyId)
        .first<RawCredential & { secret_sealed: string }>();
      return row && { ...toCredential(row), secretSealed: row.secret_sealed };
    },

    async findToken(tokenSha256: string, now: number): Promise<(CredentialRow & { scopes: string[] }) | null> {
      const row = await database
        .prepare(
          `SELECT t.token_id AS credential_id, t.expires_at, t.scopes, u.user_id, u.user_name, u.name, u.email, ${POLICIES_OF_USER}
           FROM token t LEFT JOIN user u ON u.user_id = t.user_id
           WHERE t.token_sha256 = ?1 AND (t.expires_at IS NULL OR t.expires_at > ?2)`,
        )
        .bind(tokenSha256, now)
        .first<RawCredential & { scopes: string }>();
      return row && { ...toCredential(row), scopes: JSON.parse(row.scopes) as string[] };
    },

    async findSession(secretSha256: string, now: number): Promise<CredentialRow | null> {
      const row = await database
        .prepare(
          `SELECT s.session_id AS credential_id, s.expires_at, u.user_id, u.user_name, u.name, u.email, ${POLICIES_OF_USER}
           FROM session s JOIN user u ON u.user_id = s.user_id WHERE s.secret_sha256 = ?1 AND s.expires_at > ?2`,
        )
        .bind(secretSha256, now)
        .first<RawCredential>();
      return row && toCredential(row);
    },

    // — users —

    async insertUser(row: UserRow): Promise<Result<null, UserConflict>> {
      try {
        await db.insert(user).values(row);
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

    /** In order of user id, after `after`. */
    async listUsers(after: string, limit: number): Promise<UserRow[]> {
      return db.select(columns).from(user).where(gt(user.userId, after)).orderBy(asc(user.userId)).limit(limit);
    },

    /** Its keys, tokens, sessions and policies go with it. */
    async deleteUser(userId: string): Promise<void> {
      await db.delete(user).where(eq(user.userId, userId));
    },

    // — access keys —

    /** @returns false when the id is taken. */
    async insertAccessKey(row: typeof accessKey.$inferInsert): Promise<boolean> {
      return (await db.insert(accessKey).values(row).onConflictDoNothing().run()).meta.changes === 1;
    },

    async listAccessKeys(userId: string, after: string, limit: number) {
      return db
        .select({ accessKeyId: accessKey.accessKeyId, userId: accessKey.userId, createdAt: accessKey.createdAt })
        .from(accessKey)
        .where(and(eq(accessKey.userId, userId), gt(accessKey.accessKeyId, after)))
        .orderBy(asc(accessKey.accessKeyId))
        .limit(limit);
    },

    async deleteAccessKey(accessKeyId: string): Promise<boolean> {
      return (await db.delete(accessKey).where(eq(accessKey.accessKeyId, accessKeyId)).run()).meta.changes === 1;
    },

    /** Sealed secrets in order of key id, for re-sealing under a new MASTER_KEY. */
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

    // — tokens —

    async insertToken(row: typeof token.$inferInsert): Promise<void> {
      await db.insert(token).values(row);
    },

    async countTokens(userId: string): Promise<number> {
      return db.$count(token, eq(token.userId, userId));
    },

    /** All tokens, or those of one user. */
    async listTokens(userId: string | null, after: string, limit: number): Promise<TokenRow[]> {
      return db
        .select({
          tokenId: token.tokenId,
          name: token.name,
          userId: token.userId,
          scopes: token.scopes,
          createdAt: token.createdAt,
          expiresAt: token.expiresAt,
        })
        .from(token)
        .where(and(gt(token.tokenId, after), userId === null ? sql`1` : eq(token.userId, userId)))
        .orderBy(asc(token.tokenId))
        .limit(limit);
    },

    /** @param userId when given, only a token of this user. @returns whose it was; null when there is none. */
    async deleteToken(tokenId: string, userId: string | null = null): Promise<{ userId: string | null } | null> {
      const owned = userId === null ? sql`1` : eq(token.userId, userId);
      const gone = db.delete(token).where(and(eq(token.tokenId, tokenId), owned));
      return (await gone.returning({ userId: token.userId }).get()) ?? null;
    },

    // — policies —

    async putPolicy(userId: string, name: string, document: Record<string, unknown>): Promise<void> {
      await db
        .insert(policy)
        .values({ userId, name, document })
        .onConflictDoUpdate({ target: [policy.userId, policy.name], set: { document } });
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

    async deletePolicy(userId: string, name: string): Promise<boolean> {
      const of = and(eq(policy.userId, userId), eq(policy.name, name));
      return (await db.delete(policy).where(of).run()).meta.changes === 1;
    },
  };
}
