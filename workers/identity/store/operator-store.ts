/** Queries of operators and their sessions. */
import { and, asc, eq, gt, lt, ne, type SQL, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { type AuditRow, insertIfChanged } from '../../shared/audit/audit-store.ts';
import { findUniqueConflict } from '../../shared/stores/unique-conflict.ts';
import { operator, operatorSession } from './operator-schema.ts';
import { passkey } from './passkey-schema.ts';

export type OperatorRow = typeof operator.$inferSelect;
export type OperatorChange = Partial<Pick<OperatorRow, 'name' | 'role' | 'passwordHash' | 'seedSealed' | 'lastStep'>>;

async function findOpen(db: ReturnType<typeof drizzle>, which: SQL, now: number) {
  const row = await db
    .select({ operatorId: operator.operatorId, role: operator.role, sessionId: operatorSession.sessionId })
    .from(operatorSession)
    .innerJoin(operator, eq(operator.operatorId, operatorSession.operatorId))
    .where(and(which, gt(operatorSession.expiresAt, now)))
    .get();
  return row ?? null;
}

export function createOperatorStore(database: D1Database) {
  const db = drizzle(database);
  return {
    /** Inserts an operator. @returns false if another operator has the login name. */
    async insert(row: OperatorRow, audit: AuditRow): Promise<boolean> {
      try {
        await db.batch([db.insert(operator).values(row), insertIfChanged(db, audit)]);
        return true;
      } catch (error) {
        if (findUniqueConflict(error)?.includes('operator_login')) return false;
        throw error;
      }
    },

    async find(operatorId: string): Promise<OperatorRow | null> {
      return (await db.select().from(operator).where(eq(operator.operatorId, operatorId)).get()) ?? null;
    },

    async findByLogin(login: string): Promise<OperatorRow | null> {
      const isSame = eq(sql`lower(${operator.login})`, login.toLowerCase());
      return (await db.select().from(operator).where(isSame).get()) ?? null;
    },

    async list(after: string, limit: number): Promise<OperatorRow[]> {
      const isAfter = gt(operator.operatorId, after);
      return db.select().from(operator).where(isAfter).orderBy(asc(operator.operatorId)).limit(limit);
    },

    /**
     * Changes an operator.
     * @param keptSessionId the only session that stays open; null ends all of them; undefined keeps all.
     * @param resetsPasskeys whether to remove all passkeys of the operator.
     */
    async update(
      operatorId: string,
      change: OperatorChange,
      keptSessionId: string | null | undefined,
      audit: AuditRow,
      resetsPasskeys = false,
    ): Promise<void> {
      const isOwn = eq(operatorSession.operatorId, operatorId);
      const others = keptSessionId ? and(isOwn, ne(operatorSession.sessionId, keptSessionId)) : isOwn;
      await db.batch([
        db.update(operator).set(change).where(eq(operator.operatorId, operatorId)),
        insertIfChanged(db, audit),
        ...(keptSessionId === undefined ? [] : [db.delete(operatorSession).where(others)]),
        ...(resetsPasskeys ? [db.delete(passkey).where(eq(passkey.operatorId, operatorId))] : []),
      ]);
    },

    /** Deletes an operator. A foreign key deletes the operator's sessions too. */
    async delete(operatorId: string, audit: AuditRow): Promise<void> {
      await db.batch([db.delete(operator).where(eq(operator.operatorId, operatorId)), insertIfChanged(db, audit)]);
    },

    /** Consumes a TOTP time step of an operator. @returns false if this step or a later one was consumed before. */
    async takeStep(operatorId: string, step: number): Promise<boolean> {
      const fresh = and(eq(operator.operatorId, operatorId), lt(operator.lastStep, step));
      return (await db.update(operator).set({ lastStep: step }).where(fresh).run()).meta.changes > 0;
    },

    async insertSession(row: typeof operatorSession.$inferInsert, audit: AuditRow): Promise<void> {
      await db.batch([db.insert(operatorSession).values(row), insertIfChanged(db, audit)]);
    },

    /** @returns the operator to whom an open session belongs. */
    findSession: (secretSha256: string, now: number) =>
      findOpen(db, eq(operatorSession.secretSha256, secretSha256), now),

    /** Like `findSession`, by the id of the session. */
    findSessionById: (sessionId: string, now: number) => findOpen(db, eq(operatorSession.sessionId, sessionId), now),

    async deleteSession(sessionId: string): Promise<void> {
      await db.delete(operatorSession).where(eq(operatorSession.sessionId, sessionId));
    },

    async deleteSessionsOf(operatorId: string): Promise<void> {
      await db.delete(operatorSession).where(eq(operatorSession.operatorId, operatorId));
    },

    async pruneSessions(now: number): Promise<void> {
      await db.delete(operatorSession).where(lt(operatorSession.expiresAt, now));
    },

    /** Replaces a sealed TOTP seed, unless it has changed since it was read. */
    async replaceSeed(operatorId: string, before: string, after: string): Promise<void> {
      const isUnchanged = and(eq(operator.operatorId, operatorId), eq(operator.seedSealed, before));
      await db.update(operator).set({ seedSealed: after }).where(isUnchanged);
    },
  };
}
