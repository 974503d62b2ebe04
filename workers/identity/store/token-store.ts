/** Queries of the tokens of programs. `store.ts` has the look-up of a token by its secret, which runs for every request. */
import { and, asc, eq, gt, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { type AuditRow, insertIfChanged } from '../../shared/audit/audit-store.ts';
import { connection } from './connection-schema.ts';
import { raiseGeneration } from './revocation-store.ts';
import { token } from './schema.ts';

export interface TokenRow {
  readonly tokenId: string;
  readonly name: string;
  readonly userId: string | null;
  readonly scopes: string[];
  readonly createdAt: number;
  /** Time at which the token expires, or an unused connection ends; null for never. */
  readonly expiresAt: number | null;
  /** Time of the token's last use, precise to an hour; null before the first use. */
  readonly lastUsedAt: number | null;
  /** The operator who made the token; null for root, and for a user's own token. */
  readonly madeBy: string | null;
  /** Id of the OAuth client of a connection; null for a token that a person or an operator made. */
  readonly clientId: string | null;
}

export async function insertToken(
  database: D1Database,
  row: typeof token.$inferInsert,
  audit: AuditRow,
): Promise<void> {
  const db = drizzle(database);
  await db.batch([db.insert(token).values(row), insertIfChanged(db, audit)]);
}

export const countTokens = (database: D1Database, userId: string): Promise<number> =>
  drizzle(database).$count(token, eq(token.userId, userId));

/** Lists all tokens, or those of one user, in order of their id. @param after id of the last token of the previous page. */
export async function listTokens(
  database: D1Database,
  userId: string | null,
  after: string,
  limit: number,
): Promise<TokenRow[]> {
  return drizzle(database)
    .select({
      tokenId: token.tokenId,
      name: token.name,
      userId: token.userId,
      scopes: token.scopes,
      createdAt: token.createdAt,
      expiresAt: sql<number | null>`COALESCE(${connection.endsAt}, ${token.expiresAt})`,
      lastUsedAt: token.lastUsedAt,
      madeBy: token.madeBy,
      clientId: connection.clientId,
    })
    .from(token)
    .leftJoin(connection, eq(connection.tokenId, token.tokenId))
    .where(and(gt(token.tokenId, after), userId === null ? undefined : eq(token.userId, userId)))
    .orderBy(asc(token.tokenId))
    .limit(limit);
}

/** Finds the owner of a token. @returns the owner (`userId` is null for a service token), or null for an unknown token. */
export async function findTokenOwner(
  database: D1Database,
  tokenId: string,
): Promise<{ readonly userId: string | null } | null> {
  const found = drizzle(database).select({ userId: token.userId }).from(token).where(eq(token.tokenId, tokenId));
  return (await found.get()) ?? null;
}

export async function deleteToken(database: D1Database, tokenId: string, audit: AuditRow): Promise<void> {
  const db = drizzle(database);
  const gone = db.delete(token).where(eq(token.tokenId, tokenId));
  await db.batch([gone, insertIfChanged(db, audit), raiseGeneration(db)]);
}

/** Deletes the tokens that an operator made. */
export async function deleteTokensMadeBy(database: D1Database, operatorId: string): Promise<void> {
  const db = drizzle(database);
  await db.batch([db.delete(token).where(eq(token.madeBy, operatorId)), raiseGeneration(db)]);
}
