/** Queries of the webhooks of boards, and of the notices that wait for their receivers, in DIRECTORY. */
import { and, asc, eq, getTableColumns, gt, lte } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { boardWebhook, season, seasonNotice } from './schema.ts';

export type WebhookRow = typeof boardWebhook.$inferSelect;
export type NoticeRow = typeof seasonNotice.$inferSelect;

/** A due notice with the facts for its message, and its webhook. */
export type DueNotice = NoticeRow &
  Pick<typeof season.$inferSelect, 'players' | 'endsAt' | 'closedAt'> &
  Pick<WebhookRow, 'url' | 'secretsSealed'>;

export function createWebhookStore(directory: D1Database) {
  const db = drizzle(directory);
  const isNotice = ({ season: name, attempts }: NoticeRow) =>
    and(eq(seasonNotice.season, name), eq(seasonNotice.attempts, attempts));
  return {
    async find(board: string): Promise<WebhookRow | null> {
      return (await db.select().from(boardWebhook).where(eq(boardWebhook.board, board)).get()) ?? null;
    },

    /** Creates the webhook of a board, or changes its URL. @returns the stored row. */
    async put(row: WebhookRow): Promise<WebhookRow> {
      const set = { url: row.url };
      return db
        .insert(boardWebhook)
        .values(row)
        .onConflictDoUpdate({ target: boardWebhook.board, set })
        .returning()
        .get();
    },

    /** Replaces the secrets of a webhook, unless another call replaced them first. @returns whether it did. */
    async replaceSecrets(board: string, before: string, after: string): Promise<boolean> {
      const isSame = and(eq(boardWebhook.board, board), eq(boardWebhook.secretsSealed, before));
      const { meta } = await db.update(boardWebhook).set({ secretsSealed: after }).where(isSame).run();
      return meta.changes > 0;
    },

    async list(after: string, limit: number): Promise<WebhookRow[]> {
      const isAfter = gt(boardWebhook.board, after);
      return db.select().from(boardWebhook).where(isAfter).orderBy(asc(boardWebhook.board)).limit(limit);
    },

    /** Removes the webhook of a board with its notices. @returns whether there was one. */
    async remove(board: string): Promise<boolean> {
      const [{ meta }] = await db.batch([
        db.delete(boardWebhook).where(eq(boardWebhook.board, board)),
        db.delete(seasonNotice).where(eq(seasonNotice.board, board)),
      ]);
      return meta.changes > 0;
    },

    async listNotices(board: string, limit: number): Promise<NoticeRow[]> {
      const isOfBoard = eq(seasonNotice.board, board);
      return db.select().from(seasonNotice).where(isOfBoard).orderBy(asc(seasonNotice.createdAt)).limit(limit);
    },

    async listDueNotices(now: number, limit: number): Promise<DueNotice[]> {
      return db
        .select({
          ...getTableColumns(seasonNotice),
          players: season.players,
          endsAt: season.endsAt,
          closedAt: season.closedAt,
          url: boardWebhook.url,
          secretsSealed: boardWebhook.secretsSealed,
        })
        .from(seasonNotice)
        .innerJoin(season, eq(season.season, seasonNotice.season))
        .innerJoin(boardWebhook, eq(boardWebhook.board, seasonNotice.board))
        .where(lte(seasonNotice.dueAt, now))
        .orderBy(asc(seasonNotice.dueAt))
        .limit(limit);
    },

    /**
     * Leases a notice for an attempt: no other run sends it until `dueAt`.
     * @returns false if another run has it.
     */
    async claimNotice(notice: NoticeRow, dueAt: number): Promise<boolean> {
      const next = { attempts: notice.attempts + 1, dueAt };
      return (await db.update(seasonNotice).set(next).where(isNotice(notice)).run()).meta.changes > 0;
    },

    async recordStatus(name: string, status: number | null): Promise<void> {
      await db.update(seasonNotice).set({ status }).where(eq(seasonNotice.season, name));
    },

    async removeNotice(name: string): Promise<void> {
      await db.delete(seasonNotice).where(eq(seasonNotice.season, name));
    },
  };
}
