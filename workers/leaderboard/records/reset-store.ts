/** Records resets of boards in DIRECTORY. */
import { and, eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { board, season } from './schema.ts';
import { toNewSeason } from './season-store.ts';

/** A reset of a board. Times are milliseconds since 1970. */
interface Reset {
  /** Name of the board. */
  readonly board: string;
  /** Its resets before and after this one. */
  readonly before: readonly number[] | null;
  readonly after: readonly number[];
  readonly at: number;
  readonly now: number;
}

/**
 * Resets a board: records the time, and ends the season of that time with it. Both or none.
 * @returns whether nobody else reset the board meanwhile
 */
export async function recordReset(
  directory: D1Database,
  name: string,
  shards: number,
  { board: id, before, after, at, now }: Reset,
): Promise<boolean> {
  const db = drizzle(directory);
  const isSame = and(eq(board.board, id), sql`${board.resets} IS ${sql.param(before, board.resets)}`);
  const row = toNewSeason(name, shards, now, at);
  const isReset = sql`EXISTS (SELECT 1 FROM board WHERE board = ${id} AND resets = ${JSON.stringify(after)})`;
  const [changed] = await db.batch([
    db.update(board).set({ resets: after }).where(isSame).returning({ board: board.board }),
    db.insert(season).values(row).onConflictDoNothing(),
    db
      .update(season)
      .set({ endsAt: at, dueAt: at })
      .where(and(eq(season.season, name), isReset)),
  ]);
  return changed.length > 0;
}
