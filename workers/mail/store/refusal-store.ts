/** Counts refused recipients, so that the operator's numbers cover all incoming mail. */
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { mailRefusal } from './domain-schema.ts';

/** An SMTP reply. `detail` begins with the enhanced status code. */
interface Reply {
  readonly smtp_code: number;
  readonly detail: string;
}

/** Counts refusals by day, reply code and enhanced status code. Stores no address. */
export async function recordRefusals(database: D1Database, replies: readonly Reply[]): Promise<void> {
  const refused = replies.filter((reply) => reply.smtp_code >= 400);
  if (refused.length === 0) return;
  const db = drizzle(database);
  const day = new Date().toISOString().slice(0, 10);
  const counts = new Map<string, { smtpCode: number; reason: string; count: number }>();
  for (const { smtp_code, detail } of refused) {
    const reason = detail.split(' ', 1)[0] ?? '';
    const key = `${smtp_code} ${reason}`;
    counts.set(key, { smtpCode: smtp_code, reason, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  for (const { smtpCode, reason, count } of counts.values()) {
    await db
      .insert(mailRefusal)
      .values({ day, smtpCode, reason, count })
      .onConflictDoUpdate({
        target: [mailRefusal.day, mailRefusal.smtpCode, mailRefusal.reason],
        set: { count: sql`${mailRefusal.count} + ${count}` },
      });
  }
}
