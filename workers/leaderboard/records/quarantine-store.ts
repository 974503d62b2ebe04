/** Queries of results in quarantine and of banned players in DIRECTORY. Boards are named by their reference. */
import { and, asc, count, eq, gt, lt } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { bannedPlayer, quarantinedResult } from './schema.ts';

export type QuarantinedRow = typeof quarantinedResult.$inferSelect;
export type BanRow = typeof bannedPlayer.$inferSelect;

export function createQuarantineStore(directory: D1Database) {
  const db = drizzle(directory);
  const isIt = (board: string, play: string) =>
    and(eq(quarantinedResult.play, play), eq(quarantinedResult.board, board));
  const isBan = (board: string, userId: string) => and(eq(bannedPlayer.board, board), eq(bannedPlayer.userId, userId));
  return {
    async find(board: string, play: string): Promise<QuarantinedRow | null> {
      return (await db.select().from(quarantinedResult).where(isIt(board, play)).get()) ?? null;
    },

    /** Adds a result, unless its play has one. @returns the result of the play */
    async add(row: QuarantinedRow): Promise<QuarantinedRow> {
      await db.insert(quarantinedResult).values(row).onConflictDoNothing();
      return (await db
        .select()
        .from(quarantinedResult)
        .where(eq(quarantinedResult.play, row.play))
        .get()) as QuarantinedRow;
    },

    async count(board: string, state: QuarantinedRow['state']): Promise<number> {
      const filter = and(eq(quarantinedResult.board, board), eq(quarantinedResult.state, state));
      return (await db.select({ results: count() }).from(quarantinedResult).where(filter).get())?.results ?? 0;
    },

    /** Lists results in the order of their plays. */
    async list(board: string, state: QuarantinedRow['state'], after: string, limit: number): Promise<QuarantinedRow[]> {
      const { play } = quarantinedResult;
      const filter = and(eq(quarantinedResult.board, board), eq(quarantinedResult.state, state), gt(play, after));
      return db.select().from(quarantinedResult).where(filter).orderBy(asc(play)).limit(limit);
    },

    /** Decides about a result that waits. @returns false if it does not wait */
    async decide(board: string, play: string, state: 'accepted' | 'refused', now: number): Promise<boolean> {
      const waits = and(isIt(board, play), eq(quarantinedResult.state, 'waiting'));
      const { meta } = await db.update(quarantinedResult).set({ state, decidedAt: now }).where(waits).run();
      return meta.changes > 0;
    },

    /** Removes results that were decided before a time. */
    async removeDecided(before: number): Promise<void> {
      await db.delete(quarantinedResult).where(lt(quarantinedResult.decidedAt, before));
    },

    /** Removes all that is known about a player. */
    async removePlayer(board: string, userId: string): Promise<void> {
      const { board: ofBoard, userId: ofUser } = quarantinedResult;
      await db.delete(quarantinedResult).where(and(eq(ofBoard, board), eq(ofUser, userId)));
    },

    /** Removes the results and bans of a board. */
    async removeBoard(board: string): Promise<void> {
      await db.batch([
        db.delete(quarantinedResult).where(eq(quarantinedResult.board, board)),
        db.delete(bannedPlayer).where(eq(bannedPlayer.board, board)),
      ]);
    },

    async isBanned(board: string, userId: string): Promise<boolean> {
      return (await db.select().from(bannedPlayer).where(isBan(board, userId)).get()) !== undefined;
    },

    async ban(row: BanRow): Promise<void> {
      await db.insert(bannedPlayer).values(row).onConflictDoNothing();
    },

    /** @returns false if the player was not banned */
    async unban(board: string, userId: string): Promise<boolean> {
      return (await db.delete(bannedPlayer).where(isBan(board, userId)).run()).meta.changes > 0;
    },

    async listBans(board: string, after: string, limit: number): Promise<BanRow[]> {
      const filter = and(eq(bannedPlayer.board, board), gt(bannedPlayer.userId, after));
      return db.select().from(bannedPlayer).where(filter).orderBy(asc(bannedPlayer.userId)).limit(limit);
    },
  };
}
