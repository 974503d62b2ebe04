/** The SQL of the collectors: rounds, alarms and orphans in DIRECTORY. */
import { and, asc, count, eq, inArray, isNull, lt, lte, type SQL, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { logError } from '../shared/log.ts';
import { collector, orphan } from './schema.ts';

export type CollectorName = 'mail' | 'storage' | 'leaderboard' | 'directory';
export const COLLECTOR_NAMES: readonly CollectorName[] = ['mail', 'storage', 'leaderboard', 'directory'];

export type CollectorRow = Readonly<typeof collector.$inferSelect>;

export interface Candidate {
  readonly key: string;
  readonly storedAt: number;
}

export interface FoundOrphan extends Candidate {
  /** A durable record says that the owner gave it up. */
  readonly isGivenUp: boolean;
}

/** D1 takes at most 2 MB in one value. */
const KEYS_PER_STATEMENT = 5_000;

const NO_ALARM = { alarm: null, alarmAt: null, alarmScanned: null, alarmFound: null };

/** A list of keys as one bound value: a statement binds at most 100. */
const toKeyList = (keys: readonly string[]): SQL => sql`(SELECT value FROM json_each(${JSON.stringify(keys)}))`;

export function createCollectorStore(directory: D1Database, name: CollectorName) {
  const db = drizzle(directory);
  const isOwnRow = eq(collector.name, name);
  const isOwnOrphan = eq(orphan.collector, name);
  const ensureRow = () => db.insert(collector).values({ name }).onConflictDoNothing();

  return {
    async read(): Promise<CollectorRow> {
      await ensureRow();
      const row = await db.select().from(collector).where(isOwnRow).get();
      if (!row) throw new Error(`the row of the collector ${name} is missing`);
      return row;
    },

    /** @returns the owner id, or null. Writes no row. */
    async findOwner(): Promise<string | null> {
      const row = await db.select({ owner: collector.owner }).from(collector).where(isOwnRow).get();
      return row?.owner ?? null;
    },

    /** @returns false if another run has advanced the round meanwhile. */
    async advance(from: CollectorRow, cursor: string, scanned: number, unrecorded: number): Promise<boolean> {
      const done = await db
        .update(collector)
        .set({
          cursor,
          scanned: sql`${collector.scanned} + ${scanned}`,
          unrecorded: sql`${collector.unrecorded} + ${unrecorded}`,
        })
        .where(and(isOwnRow, eq(collector.round, from.round), eq(collector.cursor, from.cursor)))
        .run();
      return done.meta.changes === 1;
    },

    /** Begins the next round. @returns false if another run did. */
    async finishRound(round: number, now: number): Promise<boolean> {
      const done = await db
        .update(collector)
        .set({ round: round + 1, cursor: '', scanned: 0, unrecorded: 0, finishedAt: now, approved: 0 })
        .where(and(isOwnRow, eq(collector.round, round)))
        .run();
      return done.meta.changes === 1;
    },

    /** Raises an alarm. A repeated alarm keeps the time of the first. */
    async raiseAlarm(reason: string, counts: { scanned: number; found: number }, now: number): Promise<void> {
      logError('collector_stopped', reason, { collector: name, ...counts });
      await ensureRow();
      await db
        .update(collector)
        .set({
          alarm: reason,
          alarmAt: sql`coalesce(${collector.alarmAt}, ${now})`,
          alarmScanned: counts.scanned,
          alarmFound: counts.found,
        })
        .where(isOwnRow);
    },

    async clearAlarm(): Promise<void> {
      await db.update(collector).set(NO_ALARM).where(isOwnRow);
    },

    /** @param remove allows the next round to remove as many as the alarm counted. */
    async acknowledge({ remove, takeOver }: { remove: boolean; takeOver: boolean }): Promise<void> {
      await ensureRow();
      const approved = remove ? sql`coalesce(${collector.alarmFound}, 0)` : 0;
      await db
        .update(collector)
        .set({ ...NO_ALARM, approved, takeOver: takeOver ? 1 : 0 })
        .where(isOwnRow);
    },

    /** Records that a take-over is done. */
    async endTakeOver(): Promise<void> {
      await db.update(collector).set({ takeOver: 0 }).where(isOwnRow);
    },

    async setOwner(owner: string, cursor: string): Promise<void> {
      await ensureRow();
      await db.update(collector).set({ owner, cursor }).where(isOwnRow);
    },

    /** Records what a round found, or that it found it again. Repeatable. */
    async recordOrphans(round: number, orphans: readonly FoundOrphan[], now: number): Promise<void> {
      for (let at = 0; at < orphans.length; at += KEYS_PER_STATEMENT) {
        const some = orphans.slice(at, at + KEYS_PER_STATEMENT);
        const rows = JSON.stringify(some.map(({ key, storedAt, isGivenUp }) => [key, storedAt, isGivenUp ? 1 : 0]));
        await db
          .insert(orphan)
          .select(
            // In the order of the table's columns. SQLite needs the WHERE to tell ON CONFLICT from a join.
            sql`SELECT ${name}, value->>0, value->>1, ${now}, ${round}, ${round}, value->>2, NULL
              FROM json_each(${rows}) WHERE true`,
          )
          .onConflictDoUpdate({
            target: [orphan.collector, orphan.key],
            set: { seenRound: sql`excluded.seen_round`, isGivenUp: sql`excluded.is_given_up` },
          });
      }
    },

    /** Counts orphans of a round that are not deleted yet, except those that their owner gave up on record. */
    async countOrphans(round: number): Promise<number> {
      const isCounted = and(eq(orphan.seenRound, round), eq(orphan.isGivenUp, 0), isNull(orphan.removedAt));
      return db.$count(orphan, and(isOwnOrphan, isCounted));
    },

    async count(): Promise<{ waiting: number; removing: number }> {
      const { all, removing } = (await db
        .select({ all: count(), removing: count(orphan.removedAt) })
        .from(orphan)
        .where(isOwnOrphan)
        .get()) ?? { all: 0, removing: 0 };
      return { waiting: all - removing, removing };
    },

    /** Forgets candidates that this round did not find: a row names them, or they are gone. */
    async forgetUnseen(round: number): Promise<void> {
      await db.delete(orphan).where(and(isOwnOrphan, lt(orphan.seenRound, round), isNull(orphan.removedAt)));
    },

    /** Lists orphans found in this round and in an earlier one, the first time at or before `foundBy`. */
    async listDue(round: number, foundBy: number, limit: number): Promise<Candidate[]> {
      const isFoundTwice = and(eq(orphan.seenRound, round), lt(orphan.foundRound, round), lte(orphan.foundAt, foundBy));
      return db
        .select({ key: orphan.key, storedAt: orphan.storedAt })
        .from(orphan)
        .where(and(isOwnOrphan, isFoundTwice, isNull(orphan.removedAt)))
        .orderBy(asc(orphan.key))
        .limit(limit);
    },

    /** Lists orphans that the first location deleted at or before `removedBy`. */
    async listRemoved(removedBy: number, limit: number): Promise<Candidate[]> {
      return db
        .select({ key: orphan.key, storedAt: orphan.storedAt })
        .from(orphan)
        .where(and(isOwnOrphan, lte(orphan.removedAt, removedBy)))
        .orderBy(asc(orphan.key))
        .limit(limit);
    },

    async markRemoved(keys: readonly string[], now: number): Promise<void> {
      await db
        .update(orphan)
        .set({ removedAt: now })
        .where(and(isOwnOrphan, inArray(orphan.key, toKeyList(keys))));
    },

    async forget(keys: readonly string[]): Promise<void> {
      await db.delete(orphan).where(and(isOwnOrphan, inArray(orphan.key, toKeyList(keys))));
    },
  };
}

export type CollectorStore = ReturnType<typeof createCollectorStore>;
