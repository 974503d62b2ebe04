/** Queries of deleted boards in DIRECTORY. A deleted board keeps a row until cron has erased its seasons. */
import { and, asc, eq, gt, isNotNull, lt } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { toBoardRef } from '../domain/season-name.ts';
import { board, boardLogo, boardWebhook, deletedBoard, seasonNotice } from './schema.ts';

type BoardRow = typeof board.$inferSelect;
export type DeletedBoard = typeof deletedBoard.$inferSelect;

/** Time for which isolates of 0.2.0 cache a deleted board. */
const DELETED_KNOWN_MS = 10_000;

export function createDeletedBoardStore(directory: D1Database) {
  const db = drizzle(directory);
  return {
    /** Moves boards that 0.2.0 deleted. @param name only the one of this name */
    async adopt(name?: string): Promise<void> {
      const isDeleted = and(isNotNull(board.deletedAt), name === undefined ? undefined : eq(board.board, name));
      for (const row of await db.select().from(board).where(isDeleted).limit(100)) {
        const deletedAt = row.deletedAt ?? 0;
        await this.delete(row, deletedAt, deletedAt + DELETED_KNOWN_MS);
      }
    },

    /**
     * Deletes a board with its logo and its webhook. Cron erases its seasons.
     * @param openUntil time until which isolates may post to it, unless its shards are sealed (`setSealed`)
     */
    async delete(row: BoardRow, now: number, openUntil: number): Promise<void> {
      const name = row.board;
      const isIt = and(eq(board.board, name), eq(board.id, row.id));
      await db.batch([
        db
          .insert(deletedBoard)
          .values({ ref: toBoardRef(name, row, row.id), board: name, deletedAt: now, openUntil })
          .onConflictDoNothing(),
        db.delete(board).where(isIt),
        db.delete(boardLogo).where(eq(boardLogo.board, name)),
        db.delete(boardWebhook).where(eq(boardWebhook.board, name)),
        db.delete(seasonNotice).where(eq(seasonNotice.board, name)),
      ]);
    },

    /** Records that no isolate can post to a deleted board any more. */
    async setSealed(ref: string): Promise<void> {
      await db.update(deletedBoard).set({ openUntil: null }).where(eq(deletedBoard.ref, ref));
    },

    /** Whether an isolate may still post to a deleted board of this name. */
    async isOneOpen(name: string, now: number): Promise<boolean> {
      const isOpen = and(eq(deletedBoard.board, name), gt(deletedBoard.openUntil, now));
      return (await db.select({ ref: deletedBoard.ref }).from(deletedBoard).where(isOpen).limit(1)).length > 0;
    },

    async list(before: number, limit: number): Promise<DeletedBoard[]> {
      const isDue = lt(deletedBoard.deletedAt, before);
      return db.select().from(deletedBoard).where(isDue).orderBy(asc(deletedBoard.deletedAt)).limit(limit);
    },

    /** Forgets a deleted board, whose seasons are erased. */
    async forget(ref: string): Promise<void> {
      await db.delete(deletedBoard).where(eq(deletedBoard.ref, ref));
    },
  };
}
