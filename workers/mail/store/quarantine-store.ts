/** The list of quarantined messages in DIRECTORY. The messages themselves are stored with their mailboxes. */
import { and, desc, eq, lt, or } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { mailQuarantine } from './domain-schema.ts';
import { dropIfErased } from './erasure-store.ts';

export type QuarantineRow = typeof mailQuarantine.$inferSelect;

export async function recordQuarantine(database: D1Database, row: QuarantineRow): Promise<void> {
  const db = drizzle(database);
  await db.batch([
    db.insert(mailQuarantine).values(row).onConflictDoNothing(),
    dropIfErased(database, mailQuarantine, row.userId),
  ]);
}

/** Lists quarantined messages, newest first. */
export async function listQuarantine(
  database: D1Database,
  before: { readonly createdAt: number; readonly incomingId: string } | null,
  limit: number,
): Promise<QuarantineRow[]> {
  const { createdAt, incomingId } = mailQuarantine;
  const older = before
    ? or(lt(createdAt, before.createdAt), and(eq(createdAt, before.createdAt), lt(incomingId, before.incomingId)))
    : undefined;
  return drizzle(database)
    .select()
    .from(mailQuarantine)
    .where(older)
    .orderBy(desc(createdAt), desc(incomingId))
    .limit(limit);
}

export async function findQuarantined(database: D1Database, incomingId: string): Promise<QuarantineRow | null> {
  const { incomingId: id } = mailQuarantine;
  return (await drizzle(database).select().from(mailQuarantine).where(eq(id, incomingId)).get()) ?? null;
}

export async function deleteQuarantined(database: D1Database, incomingId: string): Promise<void> {
  await drizzle(database).delete(mailQuarantine).where(eq(mailQuarantine.incomingId, incomingId));
}
