/**
 * Queries of connections by OAuth. Each step is one batch whose first statement matches everything that the caller proves, so that a
 * code and a refresh token work once, however many requests bring them at the same time.
 */
import { drizzle } from 'drizzle-orm/d1';
import { type AuditRow, insertIfChanged } from '../../shared/audit/audit-store.ts';
import { prepare, readFirst, statement } from '../../shared/stores/statement.ts';
import { connection } from './connection-schema.ts';
import { token } from './schema.ts';

/** What a client proves with a code (RFC 6749 §4.1.3, RFC 7636 §4.5). */
type CodeProof = {
  readonly codeSha256: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly codeChallenge: string;
};
type RefreshProof = { readonly familySha256: string; readonly refreshSha256: string; readonly clientId: string };

/** Hashes of new tokens, and the times at which they end. */
export type NewTokens = {
  readonly newFamily: string;
  readonly newRefresh: string;
  readonly newAccess: string;
  readonly accessEndsAt: number;
  readonly endsAt: number;
};
type Granted = { readonly scopes: string };

/** The user's account works. A suspended user's connection pauses and does not end. */
const IS_ACTIVE = `EXISTS (SELECT 1 FROM token t JOIN user u ON u.user_id = t.user_id
  WHERE t.token_id = connection.token_id AND u.suspended_at IS NULL)`;
const IS_CODE = `code_sha256 = :codeSha256 AND client_id = :clientId AND redirect_uri = :redirectUri
  AND code_challenge = :codeChallenge`;

const forgetUnusedCodes = statement<{ userId: string; now: number }>(
  `DELETE FROM token WHERE user_id = :userId AND token_id IN (
     SELECT token_id FROM connection WHERE family_sha256 IS NULL AND ends_at <= :now)`,
);
const takeCode = statement<CodeProof & { newFamily: string; newRefresh: string; endsAt: number; now: number }>(
  `UPDATE connection SET family_sha256 = :newFamily, refresh_sha256 = :newRefresh, ends_at = :endsAt
   WHERE ${IS_CODE} AND family_sha256 IS NULL AND ends_at > :now AND ${IS_ACTIVE}`,
);
const rotate = statement<RefreshProof & { newRefresh: string; endsAt: number; now: number }>(
  `UPDATE connection SET refresh_sha256 = :newRefresh, ends_at = :endsAt
   WHERE family_sha256 = :familySha256 AND refresh_sha256 = :refreshSha256 AND client_id = :clientId AND ends_at > :now
     AND ${IS_ACTIVE}`,
);
const putAccess = statement<
  { newFamily: string; newRefresh: string; newAccess: string; accessEndsAt: number },
  Granted
>(
  `UPDATE token SET token_sha256 = :newAccess, expires_at = :accessEndsAt
   WHERE token_id = (SELECT token_id FROM connection WHERE family_sha256 = :newFamily AND refresh_sha256 = :newRefresh)
   RETURNING scopes`,
);
const findByUsedCode = statement<CodeProof, { token_id: string }>(
  `SELECT token_id FROM connection WHERE ${IS_CODE} AND family_sha256 IS NOT NULL`,
);
const findByUsedRefresh = statement<RefreshProof, { token_id: string }>(
  `SELECT token_id FROM connection
   WHERE family_sha256 = :familySha256 AND client_id = :clientId AND refresh_sha256 <> :refreshSha256`,
);
const deleteEnded = statement<{ now: number }>(
  'DELETE FROM token WHERE token_id IN (SELECT token_id FROM connection WHERE ends_at <= :now)',
);

type TokenInsert = typeof token.$inferInsert & { readonly userId: string };

/** Stores a connection whose code waits for its client, and forgets codes of the user that nobody used. */
export async function insertConnection(
  database: D1Database,
  tokenRow: TokenInsert,
  row: typeof connection.$inferInsert,
  audit: AuditRow,
): Promise<void> {
  const db = drizzle(database);
  await prepare(database, forgetUnusedCodes, { userId: tokenRow.userId, now: tokenRow.createdAt }).run();
  await db.batch([db.insert(token).values(tokenRow), db.insert(connection).values(row), insertIfChanged(db, audit)]);
}

/** @returns the scopes; null if the code does not fit or was used. */
export async function exchangeCode(
  database: D1Database,
  proof: CodeProof,
  { newFamily, newRefresh, newAccess, accessEndsAt, endsAt }: NewTokens,
  now: number,
): Promise<string[] | null> {
  const [, granted] = await database.batch<Granted>([
    prepare(database, takeCode, { ...proof, newFamily, newRefresh, endsAt, now }),
    prepare(database, putAccess, { newFamily, newRefresh, newAccess, accessEndsAt }),
  ]);
  return readScopes(granted);
}

/** @returns the scopes; null if the refresh token does not fit or was replaced. */
export async function rotateRefreshToken(
  database: D1Database,
  proof: RefreshProof,
  { newFamily, newRefresh, newAccess, accessEndsAt, endsAt }: NewTokens,
  now: number,
): Promise<string[] | null> {
  const [, granted] = await database.batch<Granted>([
    prepare(database, rotate, { ...proof, newRefresh, endsAt, now }),
    prepare(database, putAccess, { newFamily, newRefresh, newAccess, accessEndsAt }),
  ]);
  return readScopes(granted);
}

const readScopes = (granted: D1Result<Granted> | undefined): string[] | null =>
  granted?.results[0] === undefined ? null : (JSON.parse(granted.results[0].scopes) as string[]);

/** @returns the id of the token whose code was used before, by the one who proves that it is the client's. */
export const findUsedCode = async (database: D1Database, proof: CodeProof): Promise<string | null> =>
  (await readFirst(database, findByUsedCode, proof))?.token_id ?? null;

/** @returns the id of the token of whose refresh tokens this was an earlier one. */
export const findUsedRefreshToken = async (database: D1Database, proof: RefreshProof): Promise<string | null> =>
  (await readFirst(database, findByUsedRefresh, proof))?.token_id ?? null;

export async function deleteEndedConnections(database: D1Database, now: number): Promise<void> {
  await prepare(database, deleteEnded, { now }).run();
}
