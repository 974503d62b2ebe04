/** SQL of accounts and addresses in one user database. `address-store.ts` selects the database. */
import { and, asc, eq, gt, isNull, notExists, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { readAll, statement } from '../../shared/stores/statement.ts';
import { mailAccount, mailAddress, mailErasedAccount, mailInvite, mailMaskedAddress } from './account-schema.ts';
import { deleteOperatorRows } from './erasure-store.ts';

export interface AccountRow {
  readonly userId: string;
  readonly email: string;
  readonly accountType: string;
  readonly createdAt: number;
}

const isOpenInvite = (inviteSha256: string, now: number) =>
  and(eq(mailInvite.inviteSha256, inviteSha256), isNull(mailInvite.usedAt), gt(mailInvite.expiresAt, now));

const IS_PLAIN = 'email NOT IN (SELECT email FROM mail_masked_address WHERE user_id = :userId)';

const listSenders = statement<{ userId: string }, { email: string }>(
  `WITH own AS (SELECT email, created_at FROM mail_address WHERE user_id = :userId AND ${IS_PLAIN})
   SELECT email FROM (
     SELECT email, created_at, 0 AS is_alias FROM own
     UNION ALL
     SELECT substr(a.email, 1, instr(a.email, '@')) || d.domain, a.created_at, 1 FROM own AS a
       JOIN mail_domain AS d ON d.alias_of = substr(a.email, instr(a.email, '@') + 1)
   ) ORDER BY is_alias, created_at, email`,
);
const listAddresses = statement<{ userId: string }, { email: string }>(
  `SELECT email FROM mail_address WHERE user_id = :userId AND ${IS_PLAIN} ORDER BY created_at, email`,
);

export function createAccountStore(database: D1Database) {
  const db = drizzle(database);
  const columns = {
    userId: mailAccount.userId,
    email: mailAccount.email,
    accountType: mailAccount.accountType,
    createdAt: mailAccount.createdAt,
  };
  return {
    async findAccount(userId: string): Promise<AccountRow | null> {
      return (await db.select(columns).from(mailAccount).where(eq(mailAccount.userId, userId)).get()) ?? null;
    },

    async findAccountByEmail(email: string): Promise<AccountRow | null> {
      return (await db.select(columns).from(mailAccount).where(eq(mailAccount.email, email)).get()) ?? null;
    },

    async listAccounts(after: string, limit: number): Promise<AccountRow[]> {
      return db
        .select(columns)
        .from(mailAccount)
        .where(gt(mailAccount.userId, after))
        .orderBy(asc(mailAccount.userId))
        .limit(limit);
    },

    /**
     * Lists the addresses of a user without masked ones, oldest first. The first is the one that the account was registered with.
     */
    async listAddresses(userId: string): Promise<string[]> {
      return (await readAll(database, listAddresses, { userId })).map((row) => row.email);
    },

    /** @returns the addresses of a user without masked ones, then the same local parts at the aliases of their domains. */
    async listSenders(userId: string): Promise<string[]> {
      return (await readAll(database, listSenders, { userId })).map((row) => row.email);
    },

    /** Removes an address from its user. */
    async retireAddress(email: string, userId: string): Promise<boolean> {
      const own = and(eq(mailAddress.email, email), eq(mailAddress.userId, userId));
      return (await db.update(mailAddress).set({ userId: null }).where(own).run()).meta.changes > 0;
    },

    /** Takes all addresses that this database has from a user. */
    async retireAddresses(userId: string): Promise<void> {
      await db.update(mailAddress).set({ userId: null }).where(eq(mailAddress.userId, userId));
    },

    async setAccountType(userId: string, accountType: string): Promise<void> {
      await db.update(mailAccount).set({ accountType }).where(eq(mailAccount.userId, userId));
    },

    /** Deletes an account with the addresses that this database has, and writes a tombstone. Idempotent. */
    async deleteAccount(userId: string, now: number): Promise<void> {
      const tombstone = db
        .select({ userId: mailAccount.userId, erasedAt: sql<number>`${now}`.as('erased_at') })
        .from(mailAccount)
        .where(eq(mailAccount.userId, userId));
      await db.batch([
        db.insert(mailErasedAccount).select(tombstone).onConflictDoNothing(),
        db.update(mailAddress).set({ userId: null }).where(eq(mailAddress.userId, userId)),
        db.delete(mailMaskedAddress).where(eq(mailMaskedAddress.userId, userId)),
        db.delete(mailAccount).where(eq(mailAccount.userId, userId)),
        ...deleteOperatorRows(db, userId),
      ]);
    },

    /** @returns those of the given users whose account was erased and has not been created again. */
    async listErased(userIds: readonly string[]): Promise<string[]> {
      const { userId } = mailErasedAccount;
      const again = db.select({ userId: mailAccount.userId }).from(mailAccount).where(eq(mailAccount.userId, userId));
      // The users are passed as one JSON parameter, because D1 binds at most 100 parameters.
      const isListed = sql`${userId} IN (SELECT value FROM json_each(${JSON.stringify(userIds)}))`;
      const erased = await db
        .select({ userId })
        .from(mailErasedAccount)
        .where(and(isListed, notExists(again)));
      return erased.map((row) => row.userId);
    },

    async insertInvite(inviteSha256: string, now: number, expiresAt: number): Promise<void> {
      await db.insert(mailInvite).values({ inviteSha256, createdAt: now, expiresAt });
    },

    async isInviteOpen(inviteSha256: string, now: number): Promise<boolean> {
      const found = db.select({ createdAt: mailInvite.createdAt }).from(mailInvite);
      return (await found.where(isOpenInvite(inviteSha256, now)).get()) !== undefined;
    },

    /** Consumes an invitation. @returns false if it is unknown, used or expired. */
    async consumeInvite(inviteSha256: string, now: number): Promise<boolean> {
      const open = isOpenInvite(inviteSha256, now);
      return (await db.update(mailInvite).set({ usedAt: now }).where(open).run()).meta.changes > 0;
    },
  };
}
