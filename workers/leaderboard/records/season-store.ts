/** Queries of the seasons in DIRECTORY. */
import { and, asc, desc, eq, gt, isNotNull, isNull, lt, lte } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { preparationAt, readSeason } from '../domain/season-name.ts';
import { season, seasonNotice } from './schema.ts';

export type SeasonRow = typeof season.$inferSelect;

/** The row of a season that begins to be used. */
export function toNewSeason(name: string, shards: number, now: number, endsAt: number): typeof season.$inferInsert {
  const { board, endsAt: periodEndsAt } = readSeason(name);
  // The next season of a single shard is not prepared: a board that nobody uses any more costs nothing more.
  const prepareAt = shards > 1 || board === '' ? preparationAt(name) : null;
  const closeAt = endsAt === Number.MAX_SAFE_INTEGER ? null : endsAt;
  const dueAt = endsAt === periodEndsAt ? (prepareAt ?? closeAt) : closeAt;
  return { season: name, board, endsAt, shards, createdAt: now, dueAt };
}

export function createSeasonStore(directory: D1Database) {
  const db = drizzle(directory);
  return {
    async find(name: string): Promise<SeasonRow | null> {
      return (await db.select().from(season).where(eq(season.season, name)).get()) ?? null;
    },

    /** @param endsAt end of the season, if it is a reset before the end of its period */
    async ensure(name: string, shards: number, now: number, endsAt = readSeason(name).endsAt): Promise<SeasonRow> {
      await db
        .insert(season)
        .values(toNewSeason(name, shards, now, endsAt))
        .onConflictDoNothing();
      return (await db.select().from(season).where(eq(season.season, name)).get()) as SeasonRow;
    },

    /**
     * Lists the seasons of a board, newest first.
     * @param before name of the season before which the page begins; null for the first page.
     */
    async list(ref: string, before: string | null, limit: number): Promise<SeasonRow[]> {
      const older = before === null ? undefined : lt(season.season, before);
      const filter = and(eq(season.board, ref), older);
      return db.select().from(season).where(filter).orderBy(desc(season.season)).limit(limit);
    },

    /**
     * Lists seasons with due work for cron. The newest work comes first, so that a season that cannot be closed does not delay
     * others.
     */
    async listDue(now: number, limit: number): Promise<SeasonRow[]> {
      return db.select().from(season).where(lte(season.dueAt, now)).orderBy(desc(season.dueAt)).limit(limit);
    },

    /** Makes the seasons due that 0.2.0 archived and that are not in shards yet. */
    async planImports(now: number): Promise<void> {
      await db
        .update(season)
        .set({ dueAt: now })
        .where(and(isNotNull(season.archive), isNull(season.dueAt)));
    },

    /** @param dueAt null if no work is left */
    async setDue(name: string, dueAt: number | null): Promise<void> {
      await db.update(season).set({ dueAt }).where(eq(season.season, name));
    },

    /** Lists seasons that are not final and have a part that did not answer. */
    async listSilent(limit: number): Promise<SeasonRow[]> {
      const isSilent = and(isNotNull(season.silentAt), isNull(season.closedAt));
      return db.select().from(season).where(isSilent).orderBy(desc(season.silentAt)).limit(limit);
    },

    /** Records whether a part of a season did not answer. @param at time at which it did not answer; null if all parts answer. */
    async setSilent(name: string, at: number | null): Promise<void> {
      const isOther = at === null ? isNotNull(season.silentAt) : isNull(season.silentAt);
      await db
        .update(season)
        .set({ silentAt: at })
        .where(and(eq(season.season, name), isOther));
    },

    /** Lists final seasons that lack a shard. */
    async listIncomplete(limit: number): Promise<SeasonRow[]> {
      return db.select().from(season).where(isNotNull(season.without)).orderBy(desc(season.season)).limit(limit);
    },

    /** Lists the current seasons with several shards. A shard that is alone counts its players itself. */
    async listCurrent(now: number): Promise<SeasonRow[]> {
      const isSharded = and(gt(season.endsAt, now), gt(season.shards, 1));
      return db.select().from(season).where(isSharded).orderBy(asc(season.season));
    },

    async listAll(ref: string): Promise<SeasonRow[]> {
      return db.select().from(season).where(eq(season.board, ref)).orderBy(desc(season.season));
    },

    async remove(name: string): Promise<void> {
      await db.batch([
        db.delete(seasonNotice).where(eq(seasonNotice.season, name)),
        db.delete(season).where(eq(season.season, name)),
      ]);
    },

    /** Records the number of players of a season, if it is the largest so far. */
    async recordPlayers(name: string, players: number): Promise<void> {
      const isMore = and(eq(season.season, name), lt(season.playersSeen, players));
      await db.update(season).set({ playersSeen: players }).where(isMore);
    },
  };
}
