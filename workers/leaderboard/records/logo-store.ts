/** Queries of the logos of boards in DIRECTORY. */
import { and, eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { board, boardLogo } from './schema.ts';

type LogoRow = typeof boardLogo.$inferSelect;

export function createLogoStore(directory: D1Database) {
  const db = drizzle(directory);
  return {
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
  };
}
