/** Queries of the ends of seasons in DIRECTORY: what is recorded once, and the notice for the webhook of the board. */
import { and, eq, isNull, type SQL, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { boardOfRef, readSeason } from '../domain/season-name.ts';
import { boardWebhook, season, seasonNotice } from './schema.ts';

export function createSeasonEndStore(directory: D1Database) {
  const db = drizzle(directory);
  /** Inserts the notice of a season that is still open, if its board has a webhook. */
  const noticeOf = (name: string, isOpen: SQL | undefined, now: number) => {
    const notice = db
      .select({
        season: season.season,
        board: boardWebhook.board,
        createdAt: sql<number>`${now}`.as('created_at'),
        attempts: sql<number>`0`.as('attempts'),
        dueAt: sql<number>`${now}`.as('due_at'),
        status: sql<null>`NULL`.as('status'),
      })
      .from(season)
      .innerJoin(boardWebhook, eq(boardWebhook.board, boardOfRef(readSeason(name).board)))
      .where(isOpen);
    return db.insert(seasonNotice).select(notice).onConflictDoNothing();
  };
  return {
    /** Records that a season is final, and the notice for the board's webhook. Idempotent. @param without missing shards */
    async finish(name: string, players: number, without: readonly number[], now: number): Promise<void> {
      const isOpen = and(eq(season.season, name), isNull(season.closedAt));
      const rest = without.length === 0 ? null : JSON.stringify(without);
      await db.batch([
        noticeOf(name, isOpen, now),
        db
          .update(season)
          .set({
            players,
            without: rest,
            closedAt: sql`coalesce(${season.closedAt}, ${now})`,
            dueAt: null,
            silentAt: null,
          })
          .where(eq(season.season, name)),
      ]);
    },

    /** Names the archive of a season in a copy of DIRECTORY that lacks it, and records the notice. */
    async publish(name: string, archive: string, players: number, now: number): Promise<void> {
      const isOpen = and(eq(season.season, name), isNull(season.archive));
      await db.batch([
        noticeOf(name, isOpen, now),
        db.update(season).set({ archive, players, closedAt: now }).where(isOpen),
      ]);
    },

    /** Records that a season which 0.2.0 archived is in its shards. @param dueAt time at which its files are removed */
    async move(name: string, players: number, dueAt: number | null, now: number): Promise<void> {
      const closedAt = sql`coalesce(${season.closedAt}, ${now})`;
      await db
        .update(season)
        .set({ archive: null, erasedAt: null, players, closedAt, dueAt })
        .where(eq(season.season, name));
    },

    async markErased(name: string, now: number): Promise<void> {
      await db.update(season).set({ erasedAt: now, dueAt: null }).where(eq(season.season, name));
    },
  };
}
