/** Queries of boards in DIRECTORY: those that operators created, and the title of `default`. */
import { and, asc, count, desc, eq, gt, gte, isNotNull, isNull, lt, ne, or, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { createDeletedBoardStore } from './deleted-board-store.ts';
import { board } from './schema.ts';

export type BoardRow = typeof board.$inferSelect;

export interface BoardFilter {
  /** Beginning of the names; '' for all. */
  readonly prefix: string;
  readonly isPublicOnly: boolean;
}

const isCreated = ne(board.board, 'default');

/** Rules of a board that never change. Scores that are stored depend on them. */
export const FIXED_RULES = ['sort', 'operator', 'period', 'isSigned', 'schedule'] as const;

/**
 * The columns that a change of a board sets: all but its fixed rules and those that other calls set. A new limit is therefore changed
 * without a line here.
 */
function toChanges(row: BoardRow, now: number, changesFrom: number) {
  const { board: _, id: __, sort, operator, period, isSigned, logo, createdAt, deletedAt, ...others } = row;
  const { schedule, resets, ...changes } = others;
  const isChanged = sql`${board.pointsPerDayMax} IS NOT ${changes.pointsPerDayMax}`;
  return {
    ...changes,
    pointsPerDayBefore: sql`CASE WHEN ${isChanged} AND ${board.rulesFrom} <= ${now}
      THEN ${board.pointsPerDayMax} ELSE ${board.pointsPerDayBefore} END`,
    // Two changes in one millisecond have different times, because shards keep the rules with the later one.
    rulesFrom: sql`CASE WHEN ${isChanged} THEN max(${changesFrom}, ${board.rulesFrom} + 1) ELSE ${board.rulesFrom} END`,
  };
}

export function createBoardStore(directory: D1Database) {
  const db = drizzle(directory);
  return {
    /** Finds a board by name, unless it is deleted. */
    async find(name: string): Promise<BoardRow | null> {
      const isLive = and(eq(board.board, name), isNull(board.deletedAt));
      return (await db.select().from(board).where(isLive).get()) ?? null;
    },

    /** Lists boards by name, without `default`. @param prefix beginning of their names; '' for all */
    async list(after: string, limit: number, { prefix, isPublicOnly }: BoardFilter): Promise<BoardRow[]> {
      const isShown = isPublicOnly ? eq(board.isPublic, true) : undefined;
      // Names are ASCII, so all that begin with the prefix are between these two.
      const begins = prefix === '' ? undefined : and(gte(board.board, prefix), lt(board.board, `${prefix}~`));
      const filter = and(isCreated, gt(board.board, after), begins, isNull(board.deletedAt), isShown);
      return db.select().from(board).where(filter).orderBy(asc(board.board)).limit(limit);
    },

    /** Counts the boards, except `default`. It reads a row for each. */
    async count(): Promise<number> {
      return (await db.select({ boards: count() }).from(board).where(isCreated).get())?.boards ?? 0;
    },

    /** Counts the boards whose seasons have several shards, except `default`. */
    async countSharded(): Promise<number> {
      const isSharded = or(isNull(board.shards), gt(board.shards, 1));
      const filter = and(isCreated, isSharded, isNull(board.deletedAt));
      return (await db.select({ boards: count() }).from(board).where(filter).get())?.boards ?? 0;
    },

    /** Finds the board with the longest `makes` with which a name begins. */
    async findMaker(name: string): Promise<BoardRow | null> {
      const begins = sql`${board.makes} IS NOT NULL AND substr(${name}, 1, length(${board.makes})) = ${board.makes}
        AND length(${name}) > length(${board.makes})`;
      const found = db
        .select()
        .from(board)
        .where(and(begins, isNull(board.deletedAt)));
      return (
        (await found
          .orderBy(desc(sql`length(${board.makes})`))
          .limit(1)
          .get()) ?? null
      );
    },

    /** Lets the next seasons of a board have as many shards as `LEADERBOARD_SHARDS` says, if they would have one. */
    async outgrow(name: string, id: string): Promise<void> {
      const isIt = and(eq(board.board, name), eq(board.id, id), eq(board.shards, 1));
      await db.update(board).set({ shards: null }).where(isIt);
    },

    /**
     * Creates a board, or changes title, visibility and limits of the board with this name and the same rules. A changed limit per
     * day holds from `changesFrom` on; until then, the one that holds at `now`.
     * @returns the board of this name, which may have other rules.
     */
    async put(row: BoardRow, now: number, changesFrom: number): Promise<BoardRow> {
      const isSame = and(...FIXED_RULES.map((name) => sql`${board[name]} IS ${sql.param(row[name], board[name])}`));
      await createDeletedBoardStore(directory).adopt(row.board);
      await db
        .insert(board)
        .values(row)
        .onConflictDoUpdate({
          target: board.board,
          set: toChanges(row, now, changesFrom),
          setWhere: sql`${isSame} AND ${board.deletedAt} IS NULL`,
        });
      return (await db.select().from(board).where(eq(board.board, row.board)).get()) as BoardRow;
    },

    /** Adds a board, unless a board has this name. */
    async add(row: BoardRow): Promise<void> {
      await db.insert(board).values(row).onConflictDoNothing();
    },

    /** Lists boards that do not keep all seasons. */
    async listLimited(): Promise<BoardRow[]> {
      return db
        .select()
        .from(board)
        .where(and(isNotNull(board.seasonsKept), isNull(board.deletedAt)));
    },
  };
}
