/** Queries for account recovery: one-time secrets and recovery addresses. */
import { and, eq, gt, inArray, isNotNull, lte, sql } from 'drizzle-orm';
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
    /** Inserts a one-time secret. @returns false if it is there already. */
    async insertSecret(row: OneTimeSecretRow): Promise<boolean> {
      return (await db.insert(oneTimeSecret).values(row).onConflictDoNothing().run()).meta.changes > 0;
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

    async findRecoveryAddress(userId: string): Promise<RecoveryAddressRow | null> {
      const row = await db
        .select({
          userId: recoveryAddress.userId,
          email: recoveryAddress.email,
          confirmedAt: recoveryAddress.confirmedAt,
          worksFrom: recoveryAddress.worksFrom,
          formerEmail: recoveryAddress.formerEmail,
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

    /** Deletes expired one-time secrets, and former recovery addresses that no longer count. */
    async prune(now: number): Promise<void> {
      const isOver = lte(recoveryAddress.worksFrom, now);
      await db.batch([
        db.delete(oneTimeSecret).where(lte(oneTimeSecret.expiresAt, now)),
        db.delete(recoveryAddress).where(and(eq(recoveryAddress.email, ''), isOver)),
        db
          .update(recoveryAddress)
          .set({ formerEmail: null })
          .where(and(isNotNull(recoveryAddress.formerEmail), isOver)),
      ]);
    },
  };
}
