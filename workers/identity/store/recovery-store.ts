/** Queries for account recovery: one-time secrets, recovery addresses and the reset of a password. */
import { and, eq, gt, inArray, lte, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { oneTimeSecret, recoveryAddress } from './recovery-schema.ts';

export type OneTimeSecretRow = typeof oneTimeSecret.$inferSelect;
export type RecoveryAddressRow = typeof recoveryAddress.$inferSelect;

export function createRecoveryStore(database: D1Database) {
  const db = drizzle(database);
  const columns = {
    secretSha256: oneTimeSecret.secretSha256,
    purpose: oneTimeSecret.purpose,
    userId: oneTimeSecret.userId,
    detail: oneTimeSecret.detail,
    expiresAt: oneTimeSecret.expiresAt,
  };
  const isOpen = (secretSha256s: readonly string[], now: number) =>
    and(inArray(oneTimeSecret.secretSha256, [...secretSha256s]), gt(oneTimeSecret.expiresAt, now));
  return {
    async insertSecret(row: OneTimeSecretRow): Promise<void> {
      await db.insert(oneTimeSecret).values(row);
    },

    /** Inserts a one-time secret and deletes the user's earlier ones of this purpose. */
    async replaceSecret(row: OneTimeSecretRow & { readonly userId: string }): Promise<void> {
      const earlier = and(eq(oneTimeSecret.userId, row.userId), eq(oneTimeSecret.purpose, row.purpose));
      await db.batch([db.delete(oneTimeSecret).where(earlier), db.insert(oneTimeSecret).values(row)]);
    },

    /** @returns the user's newest one-time secret of this purpose that has not expired, or null. */
    async findSecretOf(userId: string, purpose: string, now: number): Promise<OneTimeSecretRow | null> {
      const open = and(
        eq(oneTimeSecret.userId, userId),
        eq(oneTimeSecret.purpose, purpose),
        gt(oneTimeSecret.expiresAt, now),
      );
      const newestFirst = sql`${oneTimeSecret.expiresAt} DESC`;
      return (await db.select(columns).from(oneTimeSecret).where(open).orderBy(newestFirst).limit(1).get()) ?? null;
    },

    /** @returns a one-time secret with one of these hashes that has not expired, or null. */
    async findSecret(secretSha256s: readonly string[], now: number): Promise<OneTimeSecretRow | null> {
      return (await db.select(columns).from(oneTimeSecret).where(isOpen(secretSha256s, now)).get()) ?? null;
    },

    /** Consumes a one-time secret. @returns null if it is unknown, used or expired. */
    async takeSecret(secretSha256: string, now: number): Promise<OneTimeSecretRow | null> {
      return (
        (await db
          .delete(oneTimeSecret)
          .where(isOpen([secretSha256], now))
          .returning(columns)
          .get()) ?? null
      );
    },

    async deleteSecrets(userId: string, purpose: string): Promise<void> {
      const own = and(eq(oneTimeSecret.userId, userId), eq(oneTimeSecret.purpose, purpose));
      await db.delete(oneTimeSecret).where(own);
    },

    /**
     * Resets a password by the secret of a link, in one batch: consumes the secret, sets the password, and deletes all tokens that
     * open the mailbox and all one-time secrets of the user. The second factor stays.
     * @returns false if the secret was consumed meanwhile. In that case nothing changed.
     */
    async resetPassword(secretSha256: string, userId: string, hash: string, now: number): Promise<boolean> {
      const isUnused = 'EXISTS (SELECT 1 FROM one_time_secret WHERE secret_sha256 = ?1 AND expires_at > ?2)';
      const bind = (statement: string, ...more: readonly string[]) =>
        database.prepare(statement).bind(secretSha256, now, userId, ...more);
      const [set] = await database.batch([
        // The row is inserted if necessary, because an account that had only passkeys has no password yet.
        bind(
          `INSERT INTO password (user_id, hash, changed_at) SELECT ?3, ?4, ?2 WHERE ${isUnused}
           ON CONFLICT (user_id) DO UPDATE SET hash = ?4, changed_at = ?2`,
          hash,
        ),
        bind(
          `DELETE FROM token WHERE user_id = ?3 AND ${isUnused}
           AND EXISTS (SELECT 1 FROM json_each(token.scopes) WHERE value = 'mail')`,
        ),
        bind(`DELETE FROM one_time_secret WHERE user_id = ?3 AND ${isUnused}`),
        database.prepare(
          `INSERT INTO identity_generation (one, generation) VALUES (1, 1)
           ON CONFLICT (one) DO UPDATE SET generation = generation + 1`,
        ),
      ]);
      return (set?.meta.changes ?? 0) > 0;
    },

    async findRecoveryAddress(userId: string): Promise<RecoveryAddressRow | null> {
      const row = await db
        .select({
          userId: recoveryAddress.userId,
          email: recoveryAddress.email,
          confirmedAt: recoveryAddress.confirmedAt,
        })
        .from(recoveryAddress)
        .where(eq(recoveryAddress.userId, userId))
        .get();
      return row ?? null;
    },

    async putRecoveryAddress(row: RecoveryAddressRow): Promise<void> {
      const { userId: _, ...set } = row;
      await db.insert(recoveryAddress).values(row).onConflictDoUpdate({ target: recoveryAddress.userId, set });
    },

    async deleteRecoveryAddress(userId: string): Promise<void> {
      await db.delete(recoveryAddress).where(eq(recoveryAddress.userId, userId));
    },

    async pruneSecrets(now: number): Promise<void> {
      await db.delete(oneTimeSecret).where(lte(oneTimeSecret.expiresAt, now));
    },
  };
}
