/** Queries for logins: passwords, second factors and counts of guesses. */
import { and, asc, eq, gt, inArray, isNotNull, lt, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { loginGuard, password, secondFactor, user } from './schema.ts';
import { toUserConflict } from './store.ts';

export type SecondFactorRow = typeof secondFactor.$inferSelect;

/** Inserts a user without a password. @returns false if another user has the email. */
export async function insertUserWithoutPassword(database: D1Database, row: typeof user.$inferInsert): Promise<boolean> {
  try {
    await drizzle(database).insert(user).values(row);
    return true;
  } catch (error) {
    if (toUserConflict(error) === 'email_taken') return false;
    throw error;
  }
}

export function createLoginStore(database: D1Database) {
  const db = drizzle(database);
  return {
    async findPassword(userId: string): Promise<string | null> {
      const row = await db.select({ hash: password.hash }).from(password).where(eq(password.userId, userId)).get();
      return row?.hash ?? null;
    },

    /** Inserts the user and its password together. @returns false if another user has the email. */
    async insertUserWithPassword(row: typeof user.$inferInsert, hash: string): Promise<boolean> {
      try {
        await db.batch([
          db.insert(user).values(row),
          db.insert(password).values({ userId: row.userId, hash, changedAt: row.createdAt }),
        ]);
        return true;
      } catch (error) {
        if (toUserConflict(error) === 'email_taken') return false;
        throw error;
      }
    },

    async renameUser(userId: string, name: string): Promise<void> {
      await db.update(user).set({ name }).where(eq(user.userId, userId));
    },

    async findSecondFactor(userId: string): Promise<SecondFactorRow | null> {
      const row = await db
        .select({
          userId: secondFactor.userId,
          seedSealed: secondFactor.seedSealed,
          confirmedAt: secondFactor.confirmedAt,
          lastStep: secondFactor.lastStep,
          recoverySha256: secondFactor.recoverySha256,
        })
        .from(secondFactor)
        .where(eq(secondFactor.userId, userId))
        .get();
      return row ?? null;
    },

    async putSecondFactor(row: SecondFactorRow): Promise<void> {
      const { userId: _, ...set } = row;
      await db.insert(secondFactor).values(row).onConflictDoUpdate({ target: secondFactor.userId, set });
    },

    /**
     * Consumes a TOTP time step of a user, so that no code works twice.
     * @returns false if this step or a later one was consumed before.
     */
    async takeStep(userId: string, step: number, confirmedAt: number): Promise<boolean> {
      const fresh = and(eq(secondFactor.userId, userId), lt(secondFactor.lastStep, step));
      return (await db.update(secondFactor).set({ lastStep: step, confirmedAt }).where(fresh).run()).meta.changes > 0;
    },

    /** Consumes a recovery code. @returns false if the code is wrong or was used. */
    async takeRecoveryCode(row: SecondFactorRow, codeSha256: string): Promise<boolean> {
      if (!row.recoverySha256.includes(codeSha256)) return false;
      const rest = row.recoverySha256.filter((hash) => hash !== codeSha256);
      const unchanged = and(eq(secondFactor.userId, row.userId), eq(secondFactor.recoverySha256, row.recoverySha256));
      return (await db.update(secondFactor).set({ recoverySha256: rest }).where(unchanged).run()).meta.changes > 0;
    },

    /** Replaces the recovery codes of a user. @returns false if no second factor is enabled. */
    async replaceRecoveryCodes(userId: string, recoverySha256: string[]): Promise<boolean> {
      const enabled = and(eq(secondFactor.userId, userId), isNotNull(secondFactor.confirmedAt));
      return (await db.update(secondFactor).set({ recoverySha256 }).where(enabled).run()).meta.changes > 0;
    },

    /** Lists sealed TOTP seeds in order of user id, to seal them again with a new MASTER_KEY. */
    async listSealedSeeds(after: string, limit: number) {
      return db
        .select({ userId: secondFactor.userId, seedSealed: secondFactor.seedSealed })
        .from(secondFactor)
        .where(gt(secondFactor.userId, after))
        .orderBy(asc(secondFactor.userId))
        .limit(limit);
    },

    async replaceSealedSeed(userId: string, before: string, after: string): Promise<void> {
      await db
        .update(secondFactor)
        .set({ seedSealed: after })
        .where(and(eq(secondFactor.userId, userId), eq(secondFactor.seedSealed, before)));
    },

    async deleteSecondFactor(userId: string): Promise<void> {
      await db.delete(secondFactor).where(eq(secondFactor.userId, userId));
    },

    /** Counts one guess. @returns the number of guesses in the current window including this one, and the end of the window. */
    async countGuess(guardKey: string, now: number, windowMs: number): Promise<{ count: number; endsAt: number }> {
      const endsAt = now + windowMs;
      const isOver = sql`${loginGuard.endsAt} <= ${now}`;
      const row = await db
        .insert(loginGuard)
        .values({ guardKey, count: 1, endsAt })
        .onConflictDoUpdate({
          target: loginGuard.guardKey,
          set: {
            count: sql`CASE WHEN ${isOver} THEN 1 ELSE ${loginGuard.count} + 1 END`,
            endsAt: sql`CASE WHEN ${isOver} THEN ${endsAt} ELSE ${loginGuard.endsAt} END`,
          },
        })
        .returning({ count: loginGuard.count, endsAt: loginGuard.endsAt })
        .get();
      return row ?? { count: 1, endsAt };
    },

    async isGuardSet(guardKey: string, now: number): Promise<boolean> {
      const row = await db
        .select({ endsAt: loginGuard.endsAt })
        .from(loginGuard)
        .where(eq(loginGuard.guardKey, guardKey))
        .get();
      return row !== undefined && row.endsAt > now;
    },

    /** Called after a correct password. Resets counts of guesses and remembers places as known. */
    async settleGuards(clearedKeys: readonly string[], knownKeys: readonly string[], endsAt: number): Promise<void> {
      const clear = db.delete(loginGuard).where(inArray(loginGuard.guardKey, [...clearedKeys]));
      const remember = knownKeys.map((guardKey) =>
        db
          .insert(loginGuard)
          .values({ guardKey, count: 1, endsAt })
          .onConflictDoUpdate({ target: loginGuard.guardKey, set: { endsAt } }),
      );
      await db.batch([clear, ...remember]);
    },

    async pruneGuards(now: number): Promise<void> {
      await db.delete(loginGuard).where(lt(loginGuard.endsAt, now));
    },
  };
}
