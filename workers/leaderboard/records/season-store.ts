/** The seasons in DIRECTORY. */
import { and, asc, desc, eq, isNull, lt } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { season } from './schema.ts';

export type SeasonRow = typeof season.$inferSelect;

export function createSeasonStore(directory: D1Database) {
  const db = drizzle(directory);
  return {
    async find(name: string): Promise<SeasonRow | null> {
      return (await db.select().from(season).where(eq(season.season, name)).get()) ?? null;
    },

    /** Returns the row of a season. Creates it if it is missing. */
    async ensure(name: string, shards: number, now: number): Promise<SeasonRow> {
      await db.insert(season).values({ season: name, shards, createdAt: now }).onConflictDoNothing();
      return (await db.select().from(season).where(eq(season.season, name)).get()) as SeasonRow;
    },

    async list(before: string | null, limit: number): Promise<SeasonRow[]> {
      const filter = before === null ? undefined : lt(season.season, before);
      return db.select().from(season).where(filter).orderBy(desc(season.season)).limit(limit);
    },

    /** Lists past seasons that are not archived, or whose objects are not erased. */
    async listUnfinished(current: string): Promise<SeasonRow[]> {
      return db
        .select()
        .from(season)
        .where(and(lt(season.season, current), isNull(season.erasedAt)))
        .orderBy(asc(season.season));
    },

    async listAll(): Promise<SeasonRow[]> {
      return db.select().from(season).orderBy(desc(season.season));
    },

    async publish(name: string, archive: string, players: number, now: number): Promise<void> {
      await db
        .update(season)
        .set({ archive, players, closedAt: now })
        .where(and(eq(season.season, name), isNull(season.archive)));
    },

    /** Records the number of players, if it is the largest so far. */
    async recordPlayers(name: string, players: number): Promise<void> {
      const isMore = and(eq(season.season, name), lt(season.playersSeen, players));
      await db.update(season).set({ playersSeen: players }).where(isMore);
    },

    async markErased(name: string, now: number): Promise<void> {
      await db.update(season).set({ erasedAt: now }).where(eq(season.season, name));
    },
  };
}
