/**
 * Erases a user from the operator's tables in DIRECTORY. Mailboxes and workers may still write rows of a user whose account is
 * being erased. So each such write ends with `dropIfErased` in the same batch, which deletes the rows if a tombstone exists.
 */
import { and, eq, exists, notExists } from 'drizzle-orm';
import { type DrizzleD1Database, drizzle } from 'drizzle-orm/d1';
import { mailAccount, mailErasedAccount } from './account-schema.ts';
import { mailError, mailLedger, mailQuarantine, mailQueue } from './domain-schema.ts';

const TABLES = [mailQueue, mailError, mailQuarantine, mailLedger] as const;
type UserTable = (typeof TABLES)[number];

/** Statements that delete the rows of a user from all of the operator's tables. Idempotent. */
export const deleteOperatorRows = (db: DrizzleD1Database, userId: string) =>
  TABLES.map((table) => db.delete(table).where(eq(table.userId, userId)));

/** Statement that deletes the rows of a user from one table if the account was erased and has not been created again. */
export function dropIfErased(database: D1Database, table: UserTable, userId: string) {
  const db = drizzle(database);
  const { userId: erased } = mailErasedAccount;
  const tombstone = db.select({ erased }).from(mailErasedAccount).where(eq(erased, userId));
  const account = db.select({ id: mailAccount.userId }).from(mailAccount).where(eq(mailAccount.userId, userId));
  return db.delete(table).where(and(eq(table.userId, userId), exists(tombstone), notExists(account)));
}
