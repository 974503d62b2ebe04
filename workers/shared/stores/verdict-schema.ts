/** Table of the verdicts on the health of the stores, in DIRECTORY. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** The last verdict of each version of the Worker. Two versions run side by side during a gradual upgrade. */
export const healthVerdict = sqliteTable('health_verdict', {
  /** Cloudflare's id of the version. */
  versionId: text('version_id').primaryKey(),
  /** Time of the verdict in milliseconds since 1970 UTC; 0 while the first one is being made. */
  judgedAt: integer('judged_at').notNull(),
  /** Time at which a request began to judge, in milliseconds since 1970 UTC; 0 if none did since the last verdict. */
  claimedAt: integer('claimed_at').notNull(),
  /** Time of cron's last verdict, in milliseconds since 1970 UTC; 0 if cron made none. */
  cronAt: integer('cron_at').notNull(),
  /** What was found about the stores, as JSON. */
  findings: text('findings').notNull(),
});
