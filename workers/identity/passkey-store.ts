/** Queries for passkeys, and for the rule that an account keeps a way in. */
import { and, asc, eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { findUniqueConflict } from '../shared/unique-conflict.ts';
import { passkey } from './passkey-schema.ts';
import { password } from './schema.ts';

export type PasskeyRow = typeof passkey.$inferSelect;

export function createPasskeyStore(database: D1Database) {
  const db = drizzle(database);
  const columns = {
    passkeyId: passkey.passkeyId,
    userId: passkey.userId,
    name: passkey.name,
    publicKey: passkey.publicKey,
    counter: passkey.counter,
    transports: passkey.transports,
    createdAt: passkey.createdAt,
    lastUsedAt: passkey.lastUsedAt,
  };
  const isOwn = (userId: string, passkeyId: string) =>
    and(eq(passkey.userId, userId), eq(passkey.passkeyId, passkeyId));
  const hasPasskey = (userId: string) => sql`EXISTS (SELECT 1 FROM ${passkey} WHERE ${passkey.userId} = ${userId})`;
  return {
    /** @returns false if a passkey with this id exists, of any user. */
    async insertPasskey(row: PasskeyRow): Promise<boolean> {
      try {
        await db.insert(passkey).values(row);
        return true;
      } catch (error) {
        if (findUniqueConflict(error) !== null) return false;
        throw error;
      }
    },

    async findPasskey(passkeyId: string): Promise<PasskeyRow | null> {
      return (await db.select(columns).from(passkey).where(eq(passkey.passkeyId, passkeyId)).get()) ?? null;
    },

    /** Oldest first. */
    async listPasskeys(userId: string): Promise<PasskeyRow[]> {
      return db
        .select(columns)
        .from(passkey)
        .where(eq(passkey.userId, userId))
        .orderBy(asc(passkey.createdAt), asc(passkey.passkeyId));
    },

    /** Records a use. @returns false if the passkey was used or removed meanwhile: the counter is not the one that was verified. */
    async recordUse({ passkeyId, counter }: PasskeyRow, newCounter: number, now: number): Promise<boolean> {
      const unchanged = and(eq(passkey.passkeyId, passkeyId), eq(passkey.counter, counter));
      const set = { counter: newCounter, lastUsedAt: now };
      return (await db.update(passkey).set(set).where(unchanged).run()).meta.changes === 1;
    },

    async renamePasskey(userId: string, passkeyId: string, name: string): Promise<PasskeyRow | null> {
      const renamed = db.update(passkey).set({ name }).where(isOwn(userId, passkeyId));
      return (await renamed.returning(columns).get()) ?? null;
    },

    /** @returns false if it is not there, or if the account could not be opened without it. */
    async deletePasskey(userId: string, passkeyId: string): Promise<boolean> {
      const isAnother = sql`(SELECT count(*) FROM ${passkey} WHERE ${passkey.userId} = ${userId}) > 1`;
      const isPasswordEnough = sql`EXISTS (SELECT 1 FROM ${password}
        WHERE ${password.userId} = ${userId} AND NOT ${password.needsPasskey})`;
      const removable = and(isOwn(userId, passkeyId), sql`(${isAnother} OR ${isPasswordEnough})`);
      return (await db.delete(passkey).where(removable).run()).meta.changes === 1;
    },

    /** How the account logs in. */
    async readPasswordRule(userId: string): Promise<{ hasPassword: boolean; needsPasskey: boolean }> {
      const row = await db
        .select({ needsPasskey: password.needsPasskey })
        .from(password)
        .where(eq(password.userId, userId))
        .get();
      return { hasPassword: row !== undefined, needsPasskey: row?.needsPasskey ?? false };
    },

    /** @returns false if the user has no passkey or no password. */
    async requirePasskey(userId: string, needsPasskey: boolean): Promise<boolean> {
      const allowed = needsPasskey ? and(eq(password.userId, userId), hasPasskey(userId)) : eq(password.userId, userId);
      return (await db.update(password).set({ needsPasskey }).where(allowed).run()).meta.changes === 1;
    },

    /** @returns false if the user has no passkey, which would then be the only way in, or no password. */
    async deletePassword(userId: string): Promise<boolean> {
      const allowed = and(eq(password.userId, userId), hasPasskey(userId));
      return (await db.delete(password).where(allowed).run()).meta.changes === 1;
    },
  };
}
