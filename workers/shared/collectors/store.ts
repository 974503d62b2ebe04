/** Queries of the collectors: rounds, alarms and orphans in DIRECTORY. */
import { and, asc, count, eq, inArray, isNull, lt, lte, type SQL, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { allDatabaseNumbers } from '../stores/directories.ts';
import { logError } from '../telemetry/log.ts';
import { collector, orphan } from './schema.ts';

export type CollectorName = 'mail' | 'storage' | 'leaderboard' | 'directory' | 's3-location';
export const COLLECTOR_NAMES: readonly CollectorName[] = ['mail', 'storage', 'leaderboard', 'directory', 's3-location'];

export interface Collector {
  readonly name: CollectorName;
  /** Number of the database that has the collector's row. Each user database has its own row `directory`. */
  readonly database: number;
}

export const listCollectors = (env: Env): Collector[] => [
  ...COLLECTOR_NAMES.map((name) => ({ name, database: 0 })),
  ...allDatabaseNumbers(env)
    .slice(1)
    .map((database) => ({ name: 'directory' as const, database })),
];

export type CollectorRow = Readonly<typeof collector.$inferSelect>;

export interface Candidate {
  readonly key: string;
  readonly storedAt: number;
}

export interface FoundOrphan extends Candidate {
  /** Whether a durable record (tombstone) says that the owner gave the object up. */
  readonly isGivenUp: boolean;
}

/** Maximum number of keys per statement, because D1 accepts at most 2 MB per value. */
const KEYS_PER_STATEMENT = 5_000;

const NO_ALARM = { alarm: null, alarmAt: null, alarmScanned: null, alarmFound: null };

/** SQL of a list of keys, bound as one JSON value, because D1 binds at most 100 values per statement. */
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

    /** Reads the owner id of the collector; null if there is none. Does not create the collector's row. */
    async findOwner(): Promise<string | null> {
      const row = await db.select({ owner: collector.owner }).from(collector).where(isOwnRow).get();
      return row?.owner ?? null;
    },

    /** Stores the progress of a round. @returns false if another run has advanced the round meanwhile. */
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

    /** Begins the next round. @returns false if another run began it first. */
    async finishRound(round: number, now: number): Promise<boolean> {
      const done = await db
        .update(collector)
        .set({ round: round + 1, cursor: '', scanned: 0, unrecorded: 0, finishedAt: now, approved: 0 })
        .where(and(isOwnRow, eq(collector.round, round)))
        .run();
      return done.meta.changes === 1;
    },

    /** Raises the alarm of the collector. A repeated alarm keeps the time of the first one. */
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

    /** Acknowledges the alarm. @param remove whether the next round may remove as many objects as the alarm counted. */
    async acknowledge({ remove, takeOver }: { remove: boolean; takeOver: boolean }): Promise<void> {
      await ensureRow();
      const approved = remove ? sql`coalesce(${collector.alarmFound}, 0)` : 0;
      await db
        .update(collector)
        .set({ ...NO_ALARM, approved, takeOver: takeOver ? 1 : 0 })
        .where(isOwnRow);
    },

    /** Records that the take-over of the stores is done. */
    async endTakeOver(): Promise<void> {
      await db.update(collector).set({ takeOver: 0 }).where(isOwnRow);
    },

    async setOwner(owner: string, cursor: string): Promise<void> {
      await ensureRow();
      await db.update(collector).set({ owner, cursor }).where(isOwnRow);
    },

    /** Records the orphans that a round found, or that it found them again. Can be repeated. */
    async recordOrphans(round: number, orphans: readonly FoundOrphan[], now: number): Promise<void> {
      for (let at = 0; at < orphans.length; at += KEYS_PER_STATEMENT) {
        const some = orphans.slice(at, at + KEYS_PER_STATEMENT);
        const rows = JSON.stringify(some.map(({ key, storedAt, isGivenUp }) => [key, storedAt, isGivenUp ? 1 : 0]));
        await db
          .insert(orphan)
          .select(
            // The columns are in the order of the table. SQLite needs the WHERE to distinguish ON CONFLICT from a join.
            sql`SELECT ${name}, value->>0, value->>1, ${now}, ${round}, ${round}, value->>2, NULL
              FROM json_each(${rows}) WHERE true`,
          )
          .onConflictDoUpdate({
            target: [orphan.collector, orphan.key],
            set: { seenRound: sql`excluded.seen_round`, isGivenUp: sql`excluded.is_given_up` },
          });
      }
    },

    /** Counts the orphans of a round that are not deleted yet, without those that a tombstone records as given up. */
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

    /** Deletes candidates that this round did not find, because a row names them or they are gone. */
    async forgetUnseen(round: number): Promise<void> {
      await db.delete(orphan).where(and(isOwnOrphan, lt(orphan.seenRound, round), isNull(orphan.removedAt)));
    },

    /** Lists orphans that this round and an earlier one found, the first time at or before `foundBy`. */
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
