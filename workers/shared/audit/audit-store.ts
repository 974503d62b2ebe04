/** Queries of the audit log. No other file reads or writes its table. */
import { and, asc, desc, eq, gte, inArray, lt, or, sql } from 'drizzle-orm';
import { type DrizzleD1Database, drizzle } from 'drizzle-orm/d1';
import { auditEntry } from './audit-schema.ts';

export type AuditRow = typeof auditEntry.$inferSelect;

export interface AuditFilter {
  readonly action?: string | undefined;
  readonly actorId?: string | undefined;
  readonly targetId?: string | undefined;
  /** Start of the listed period in milliseconds since 1970 UTC, inclusive. */
  readonly since?: number | undefined;
  /** End of the listed period in milliseconds since 1970 UTC, exclusive. */
  readonly until?: number | undefined;
}

/** Maximum number of expired rows that one statement deletes. */
const ROWS_PER_DELETE_MAX = 1_000;

const toInsert = (db: DrizzleD1Database, row: AuditRow, condition: ReturnType<typeof sql>) =>
  db.insert(auditEntry).select(sql`SELECT ${row.at}, ${row.entryId}, ${row.actorKind}, ${row.actorId}, ${row.action},
    ${row.targetType}, ${row.targetId}, ${row.network}, ${row.userAgentDigest}, ${row.requestId},
    ${JSON.stringify(row.details)} WHERE ${condition}`);

/** Statement for a batch: inserts the entry if the statement before it changed a row. */
export const insertIfChanged = (db: DrizzleD1Database, row: AuditRow) => toInsert(db, row, sql`changes() > 0`);

/** Statement for a batch: inserts the entry unconditionally. */
export const insertAlways = (db: DrizzleD1Database, row: AuditRow) => toInsert(db, row, sql`TRUE`);

/**
 * Statements for a batch: remove everything that identifies a person from every entry, and keep the other facts. The person's id is
 * replaced by the same pseudonym in all entries.
 * @param type how entries name the person as a target. Only users are also actors.
 */
export function eraseFromEntries(db: DrizzleD1Database, type: 'user' | 'player', id: string, pseudonym: string) {
  const asTarget = and(eq(auditEntry.targetType, type), eq(auditEntry.targetId, id));
  const asActor = and(eq(auditEntry.actorKind, type), eq(auditEntry.actorId, id));
  return [
    db.update(auditEntry).set({ targetId: pseudonym, details: {} }).where(asTarget),
    db.update(auditEntry).set({ actorId: pseudonym, network: null, userAgentDigest: null, details: {} }).where(asActor),
  ] as const;
}

export function createAuditStore(database: D1Database) {
  const db = drizzle(database);
  return {
    async insert(row: AuditRow): Promise<void> {
      await insertAlways(db, row);
    },

    /** Inserts an entry, unless an entry with its time and id exists. */
    async insertOnce(row: AuditRow): Promise<void> {
      const same = sql`SELECT 1 FROM ${auditEntry} WHERE ${auditEntry.at} = ${row.at} AND ${auditEntry.entryId} = ${row.entryId}`;
      await toInsert(db, row, sql`NOT EXISTS (${same})`);
    },

    /** Lists entries, newest first. @param before the last entry of the previous page. */
    async list(
      filter: AuditFilter,
      before: { readonly at: number; readonly id: string } | null,
      limit: number,
    ): Promise<AuditRow[]> {
      const isBefore =
        before === null
          ? undefined
          : or(lt(auditEntry.at, before.at), and(eq(auditEntry.at, before.at), lt(auditEntry.entryId, before.id)));
      const { action, actorId, targetId, since, until } = filter;
      return db
        .select()
        .from(auditEntry)
        .where(
          and(
            isBefore,
            action === undefined ? undefined : eq(auditEntry.action, action),
            actorId === undefined ? undefined : eq(auditEntry.actorId, actorId),
            targetId === undefined ? undefined : eq(auditEntry.targetId, targetId),
            since === undefined ? undefined : gte(auditEntry.at, since),
            until === undefined ? undefined : lt(auditEntry.at, until),
          ),
        )
        .orderBy(desc(auditEntry.at), desc(auditEntry.entryId))
        .limit(limit);
    },

    /** Deletes at most 1,000 of the oldest entries from before `endsAt`. @returns the number of deleted entries. */
    async prune(endsAt: number): Promise<number> {
      const oldest = db
        .select({ entryId: auditEntry.entryId })
        .from(auditEntry)
        .where(lt(auditEntry.at, endsAt))
        .orderBy(asc(auditEntry.at))
        .limit(ROWS_PER_DELETE_MAX);
      const expired = and(lt(auditEntry.at, endsAt), inArray(auditEntry.entryId, oldest));
      return (await db.delete(auditEntry).where(expired).returning({ entryId: auditEntry.entryId })).length;
    },

    /** Erases a user from all entries. */
    async eraseUser(userId: string, pseudonym: string): Promise<void> {
      await db.batch(eraseFromEntries(db, 'user', userId, pseudonym));
    },

    /** Erases a player from the audit entries of some seasons. */
    async erasePlayer(userId: string, seasons: readonly string[], pseudonym: string): Promise<void> {
      const isOfSeason = sql`json_extract(${auditEntry.details}, '$.season') IN (SELECT value FROM json_each(${JSON.stringify(seasons)}))`;
      await db
        .update(auditEntry)
        .set({ targetId: pseudonym, details: {} })
        .where(and(eq(auditEntry.targetType, 'player'), eq(auditEntry.targetId, userId), isOfSeason));
    },
  };
}
