/** Queries of boards in DIRECTORY: those that operators created, and the title of `default`. */
import { and, asc, count, eq, gt, isNotNull, isNull, lt, ne, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { board, boardLogo, boardWebhook, seasonNotice } from './schema.ts';

export type BoardRow = typeof board.$inferSelect;
type LogoRow = typeof boardLogo.$inferSelect;

const isCreated = ne(board.board, 'default');

/** Rules of a board that never change. Scores that are stored depend on them. */
export const FIXED_RULES = ['sort', 'operator', 'period', 'isSigned'] as const;

/**
 * The columns that a change of a board sets: all but its fixed rules and those that other calls set. A new limit is therefore changed
 * without a line here.
 */
function toChanges(row: BoardRow, now: number, changesFrom: number) {
  const { board: _, id: __, sort, operator, period, isSigned, logo, createdAt, deletedAt, ...changes } = row;
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

    /** Lists boards by name, without `default`. */
    async list(after: string, limit: number, isPublicOnly: boolean): Promise<BoardRow[]> {
      const isShown = isPublicOnly ? eq(board.isPublic, true) : undefined;
      const filter = and(isCreated, gt(board.board, after), isNull(board.deletedAt), isShown);
      return db.select().from(board).where(filter).orderBy(asc(board.board)).limit(limit);
    },

    /** Counts all boards except `default`, including deleted ones. */
    async count(): Promise<number> {
      return (await db.select({ boards: count() }).from(board).where(isCreated).get())?.boards ?? 0;
    },

    /**
     * Creates a board, or changes title, visibility and limits of the board with this name and the same rules. A changed limit per
     * day holds from `changesFrom` on; until then, the one that holds at `now`.
     * @returns the board of this name, which may have other rules.
     */
    async put(row: BoardRow, now: number, changesFrom: number): Promise<BoardRow> {
      const isSame = and(...FIXED_RULES.map((name) => eq(board[name], row[name])));
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

    async findLogo(name: string, hash: string): Promise<LogoRow | null> {
      const isIt = and(eq(boardLogo.board, name), eq(boardLogo.hash, hash));
      return (await db.select().from(boardLogo).where(isIt).get()) ?? null;
    },

    async putLogo(row: LogoRow): Promise<void> {
      const { hash, type, image } = row;
      await db.batch([
        db.insert(boardLogo).values(row).onConflictDoUpdate({ target: boardLogo.board, set: { hash, type, image } }),
        db.update(board).set({ logo: hash }).where(eq(board.board, row.board)),
      ]);
    },

    async removeLogo(name: string): Promise<void> {
      await db.batch([
        db.delete(boardLogo).where(eq(boardLogo.board, name)),
        db.update(board).set({ logo: null }).where(eq(board.board, name)),
      ]);
    },

    /** Marks a board as deleted. Also removes its logo and its webhook. */
    async markDeleted(name: string, now: number): Promise<void> {
      await db.batch([
        db.update(board).set({ deletedAt: now }).where(eq(board.board, name)),
        db.delete(boardLogo).where(eq(boardLogo.board, name)),
        db.delete(boardWebhook).where(eq(boardWebhook.board, name)),
        db.delete(seasonNotice).where(eq(seasonNotice.board, name)),
      ]);
    },

    /** Lists boards that do not keep all seasons. */
    async listLimited(): Promise<BoardRow[]> {
      return db
        .select()
        .from(board)
        .where(and(isNotNull(board.seasonsKept), isNull(board.deletedAt)));
    },

    async listDeleted(before: number): Promise<BoardRow[]> {
      return db.select().from(board).where(lt(board.deletedAt, before)).orderBy(asc(board.board));
    },

    async remove(name: string): Promise<void> {
      await db.delete(board).where(eq(board.board, name));
    },
  };
}
