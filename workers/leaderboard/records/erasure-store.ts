/** Queries of the erasures of players in DIRECTORY. */
import { and, asc, eq, isNull, lt, lte, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { playerErasure } from './schema.ts';

export type ErasureRow = typeof playerErasure.$inferSelect;

/** Found by this run or by one before. */
const orFound = (isFound: boolean) => sql`max(${playerErasure.isFound}, ${Number(isFound)})`;

export function createErasureStore(directory: D1Database) {
  const db = drizzle(directory);
  return {
    async add(row: ErasureRow): Promise<void> {
      await db.insert(playerErasure).values(row);
    },

    /** @param board reference of the board */
    async find(board: string, erasure: string): Promise<ErasureRow | null> {
      const isIt = and(eq(playerErasure.erasure, erasure), eq(playerErasure.board, board));
      return (await db.select().from(playerErasure).where(isIt).get()) ?? null;
    },

    async listDue(now: number, limit: number): Promise<ErasureRow[]> {
      const isDue = lte(playerErasure.dueAt, now);
      return db.select().from(playerErasure).where(isDue).orderBy(asc(playerErasure.dueAt)).limit(limit);
    },

    /** Records a run that left some seasons. A run at the same time may have finished the rest. */
    async retry({ erasure, isFound, attempts }: ErasureRow, waiting: readonly string[], dueAt: number): Promise<void> {
      const changes = { waiting: JSON.stringify(waiting), isFound: orFound(isFound), attempts: attempts + 1, dueAt };
      const isOpen = and(eq(playerErasure.erasure, erasure), isNull(playerErasure.finishedAt));
      await db.update(playerErasure).set(changes).where(isOpen);
    },

    /** Records that the player is erased, and forgets who it was. */
    async finish({ erasure, isFound, attempts }: ErasureRow, finishedAt: number): Promise<void> {
      const done = { userId: '', waiting: '[]', attempts: attempts + 1, dueAt: null, finishedAt };
      const changes = { ...done, isFound: orFound(isFound) };
      await db.update(playerErasure).set(changes).where(eq(playerErasure.erasure, erasure));
    },

    async removeFinished(before: number): Promise<void> {
      await db.delete(playerErasure).where(lt(playerErasure.finishedAt, before));
    },
  };
}
