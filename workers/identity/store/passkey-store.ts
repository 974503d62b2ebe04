/** Queries of passkeys, which also ensure that an account always keeps a way to log in. */
import { and, asc, eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { findUniqueConflict } from '../../shared/stores/unique-conflict.ts';
import { passkey } from './passkey-schema.ts';
import { password } from './schema.ts';

/** Owner of a passkey: a user or an operator. A passkey of one kind never opens an account of the other. */
export interface PasskeyOwner {
  readonly kind: 'user' | 'operator';
  readonly id: string;
}

export type PasskeyRow = Omit<typeof passkey.$inferSelect, 'userId' | 'operatorId'>;

const isOf = ({ kind, id }: PasskeyOwner) => eq(kind === 'user' ? passkey.userId : passkey.operatorId, id);
const isOne = (owner: PasskeyOwner, passkeyId: string) => and(isOf(owner), eq(passkey.passkeyId, passkeyId));

export function createPasskeyStore(database: D1Database) {
  const db = drizzle(database);
  const columns = {
    passkeyId: passkey.passkeyId,
    name: passkey.name,
    publicKey: passkey.publicKey,
    counter: passkey.counter,
    transports: passkey.transports,
    createdAt: passkey.createdAt,
    lastUsedAt: passkey.lastUsedAt,
    madeIn: passkey.madeIn,
  };
  const hasPasskey = (userId: string) => sql`EXISTS (SELECT 1 FROM ${passkey} WHERE ${passkey.userId} = ${userId})`;
  return {
    /** Inserts a passkey. @returns false if any owner has a passkey with this id. */
    async insertPasskey({ kind, id }: PasskeyOwner, row: PasskeyRow): Promise<boolean> {
      try {
        await db.insert(passkey).values({ ...row, ...(kind === 'user' ? { userId: id } : { operatorId: id }) });
        return true;
      } catch (error) {
        if (findUniqueConflict(error) !== null) return false;
        throw error;
      }
    },

    /** Finds a passkey of any owner of this kind. */
    async findPasskey(
      kind: PasskeyOwner['kind'],
      passkeyId: string,
    ): Promise<{ readonly ownerId: string; readonly row: PasskeyRow } | null> {
      const ownerColumn = kind === 'user' ? passkey.userId : passkey.operatorId;
      const found = await db
        .select({ ...columns, ownerId: ownerColumn })
        .from(passkey)
        .where(eq(passkey.passkeyId, passkeyId))
        .get();
      if (!found || found.ownerId === null) return null;
      const { ownerId, ...row } = found;
      return { ownerId, row };
    },

    /** Lists the passkeys of an owner, the oldest first. */
    async listPasskeys(owner: PasskeyOwner): Promise<PasskeyRow[]> {
      return db
        .select(columns)
        .from(passkey)
        .where(isOf(owner))
        .orderBy(asc(passkey.createdAt), asc(passkey.passkeyId));
    },

    /**
     * Records a use of a passkey and its new counter.
     * @returns false if the passkey was used or removed meanwhile, so that its counter is not the one that was verified.
     */
    async recordUse({ passkeyId, counter }: PasskeyRow, newCounter: number, now: number): Promise<boolean> {
      const unchanged = and(eq(passkey.passkeyId, passkeyId), eq(passkey.counter, counter));
      const set = { counter: newCounter, lastUsedAt: now };
      return (await db.update(passkey).set(set).where(unchanged).run()).meta.changes > 0;
    },

    async renamePasskey(owner: PasskeyOwner, passkeyId: string, name: string): Promise<PasskeyRow | null> {
      const renamed = db.update(passkey).set({ name }).where(isOne(owner, passkeyId));
      return (await renamed.returning(columns).get()) ?? null;
    },

    /**
     * Deletes a passkey of an operator. Any may be deleted, because operators keep their password and TOTP.
     * @returns false if it does not exist.
     */
    async deleteOperatorPasskey(operatorId: string, passkeyId: string): Promise<boolean> {
      const own = isOne({ kind: 'operator', id: operatorId }, passkeyId);
      return (await db.delete(passkey).where(own).run()).meta.changes > 0;
    },

    /** Deletes a passkey of a user. @returns false if it does not exist, or if the account could not be opened without it. */
    async deletePasskey(userId: string, passkeyId: string): Promise<boolean> {
      const isAnother = sql`(SELECT count(*) FROM ${passkey} WHERE ${passkey.userId} = ${userId}) > 1`;
      const isPasswordEnough = sql`EXISTS (SELECT 1 FROM ${password}
        WHERE ${password.userId} = ${userId} AND NOT ${password.needsPasskey})`;
      const removable = and(isOne({ kind: 'user', id: userId }, passkeyId), sql`(${isAnother} OR ${isPasswordEnough})`);
      return (await db.delete(passkey).where(removable).run()).meta.changes > 0;
    },

    /** Sets whether a login by password needs a passkey. @returns false if the user has no passkey or no password. */
    async requirePasskey(userId: string, needsPasskey: boolean): Promise<boolean> {
      const allowed = needsPasskey ? and(eq(password.userId, userId), hasPasskey(userId)) : eq(password.userId, userId);
      return (await db.update(password).set({ needsPasskey }).where(allowed).run()).meta.changes > 0;
    },

    /** Deletes the password, so that only passkeys open the account. @returns false if the user has no passkey or no password. */
    async deletePassword(userId: string): Promise<boolean> {
      const allowed = and(eq(password.userId, userId), hasPasskey(userId));
      return (await db.delete(password).where(allowed).run()).meta.changes > 0;
    },
  };
}

/**
 * Reads how an account logs in: whether it has a password, whether that needs a passkey too, and whether the user has not yet seen
 * what the last new password ended.
 */
export async function readPasswordRule(
  database: D1Database,
  userId: string,
): Promise<{ readonly hasPassword: boolean; readonly needsPasskey: boolean; readonly hasReview: boolean }> {
  const row = await drizzle(database)
    .select({ needsPasskey: password.needsPasskey, hasReview: sql`${password.review} IS NOT NULL` })
    .from(password)
    .where(eq(password.userId, userId))
    .get();
  const { needsPasskey = false, hasReview } = row ?? {};
  return { hasPassword: row !== undefined, needsPasskey, hasReview: hasReview === 1 };
}
