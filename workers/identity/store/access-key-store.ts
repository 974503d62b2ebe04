/** Queries of access keys for their owners, and of the last use of keys and tokens. */
import { and, asc, eq, gt, isNull, lt, or, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { type AuditRow, insertIfChanged } from '../../shared/audit/audit-store.ts';
import { readFirst, statement } from '../../shared/stores/statement.ts';
import { raiseGeneration } from './revocation-store.ts';
import { accessKey, token } from './schema.ts';

export interface AccessKeyRow {
  readonly accessKeyId: string;
  readonly userId: string;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
}

/** Interval at which uses of a credential are recorded. Uses within this time after a recorded use are not recorded. */
export const USE_INTERVAL_MS = 3_600_000;

export function createAccessKeyStore(database: D1Database) {
  const db = drizzle(database);
  const columns = {
    accessKeyId: accessKey.accessKeyId,
    userId: accessKey.userId,
    createdAt: accessKey.createdAt,
    expiresAt: accessKey.expiresAt,
    lastUsedAt: accessKey.lastUsedAt,
  };
  const ofUser = (userId: string, accessKeyId: string) =>
    and(eq(accessKey.userId, userId), eq(accessKey.accessKeyId, accessKeyId));
  return {
    async list(userId: string, after: string, limit: number): Promise<AccessKeyRow[]> {
      return db
        .select(columns)
        .from(accessKey)
        .where(and(eq(accessKey.userId, userId), gt(accessKey.accessKeyId, after)))
        .orderBy(asc(accessKey.accessKeyId))
        .limit(limit);
    },

    /**
     * Inserts a key, unless the user has `max` keys that have not expired. It is one statement, so that concurrent requests cannot
     * exceed the limit.
     */
    async insertUpTo(max: number, row: typeof accessKey.$inferInsert, audit: AuditRow): Promise<boolean> {
      const { accessKeyId, userId, secretSealed, createdAt, expiresAt = null, madeIn = null } = row;
      const valid = sql`(SELECT count(*) FROM ${accessKey} WHERE ${accessKey.userId} = ${userId}
        AND (${accessKey.expiresAt} IS NULL OR ${accessKey.expiresAt} > ${createdAt}))`;
      const insert = db
        .insert(accessKey)
        .select(
          sql`SELECT ${accessKeyId}, ${userId}, ${secretSealed}, ${createdAt}, ${expiresAt}, NULL, ${madeIn}, NULL WHERE ${valid} < ${max}`,
        );
      return (await db.batch([insert, insertIfChanged(db, audit)]))[0].meta.changes > 0;
    },

    /**
     * Replaces a key of the user: inserts the new key and sets the end of the old one, in one batch.
     * @returns false if the user has no such valid key.
     */
    async replace(
      before: { readonly accessKeyId: string; readonly endsAt: number },
      row: typeof accessKey.$inferInsert,
      audit: AuditRow,
    ): Promise<boolean> {
      const { accessKeyId, userId, secretSealed, createdAt, expiresAt = null, madeIn = null } = row;
      const isValid = sql`(${accessKey.expiresAt} IS NULL OR ${accessKey.expiresAt} > ${createdAt})`;
      const insert = db.insert(accessKey).select(
        sql`SELECT ${accessKeyId}, ${userId}, ${secretSealed}, ${createdAt}, ${expiresAt}, NULL, ${madeIn}, NULL FROM ${accessKey}
            WHERE ${ofUser(userId, before.accessKeyId)} AND ${isValid}`,
      );
      const end = db
        .update(accessKey)
        .set({ expiresAt: sql`min(coalesce(${accessKey.expiresAt}, ${before.endsAt}), ${before.endsAt})` })
        .where(and(ofUser(userId, before.accessKeyId), sql`${isValid}`));
      const [inserted] = await db.batch([insert, insertIfChanged(db, audit), end, raiseGeneration(db)]);
      return inserted.meta.changes > 0;
    },

    async delete(userId: string, accessKeyId: string, audit: AuditRow): Promise<boolean> {
      const gone = db.delete(accessKey).where(ofUser(userId, accessKeyId));
      return (await db.batch([gone, insertIfChanged(db, audit), raiseGeneration(db)]))[0].meta.changes > 0;
    },

    async recordUse(kind: 'access_key' | 'token', credentialId: string, now: number): Promise<void> {
      const isDue = (column: typeof accessKey.lastUsedAt | typeof token.lastUsedAt) =>
        or(isNull(column), lt(column, now - USE_INTERVAL_MS));
      const values = { lastUsedAt: now };
      if (kind === 'token')
        await db
          .update(token)
          .set(values)
          .where(and(eq(token.tokenId, credentialId), isDue(token.lastUsedAt)));
      else
        await db
          .update(accessKey)
          .set(values)
          .where(and(eq(accessKey.accessKeyId, credentialId), isDue(accessKey.lastUsedAt)));
    },
  };
}

const findParent = statement<{ id: string }, { user_id: string; expires_at: number | null }>(
  'SELECT user_id, expires_at FROM access_key WHERE access_key_id = :id',
);

/** Finds the user and the end of an access key; null for never. */
export async function findParentKey(database: D1Database, accessKeyId: string) {
  const row = await readFirst(database, findParent, { id: accessKeyId });
  return row && { userId: row.user_id, expiresAt: row.expires_at };
}

/**
 * Ends the temporary keys that were made from a key at a time or earlier.
 * @param key.userId user who must own the key; null for any. @returns false if there is no such key.
 */
export async function endTemporary(
  database: D1Database,
  { accessKeyId, userId }: { readonly accessKeyId: string; readonly userId: string | null },
  before: number,
  audit: AuditRow,
): Promise<boolean> {
  const db = drizzle(database);
  const isKey = eq(accessKey.accessKeyId, accessKeyId);
  const end = db
    .update(accessKey)
    .set({ temporaryEnded: sql`max(coalesce(${accessKey.temporaryEnded}, 0), ${before})` })
    .where(userId === null ? isKey : and(isKey, eq(accessKey.userId, userId)));
  return (await db.batch([end, insertIfChanged(db, audit), raiseGeneration(db)]))[0].meta.changes > 0;
}
