/** The verdict on the health of the stores. A request reads one row for it. */
import { prepare, readFirst, statement } from './statement.ts';

export interface VerdictRow {
  readonly judged_at: number;
  readonly cron_at: number;
  readonly findings: string;
}

const DAY_MS = 86_400_000;

const find = statement<{ versionId: string }, VerdictRow>(
  'SELECT judged_at, cron_at, findings FROM health_verdict WHERE version_id = :versionId',
);

/** Reads the last verdict of a version of the Worker. @returns null if there is none. */
export const readVerdict = (database: D1Database, versionId: string): Promise<VerdictRow | null> =>
  readFirst(database, find, { versionId });

const claim = statement<{ versionId: string; now: number; before: number }, { claimed_at: number }>(
  `INSERT INTO health_verdict(version_id, judged_at, claimed_at, cron_at, findings) VALUES (:versionId, 0, :now, 0, '')
   ON CONFLICT(version_id) DO UPDATE SET claimed_at = excluded.claimed_at WHERE claimed_at < :before
   RETURNING claimed_at`,
);

/**
 * Allows one request to judge the stores.
 * @param leaseMs time for which no other request may.
 * @returns false if another request has the lease.
 */
export const claimVerdict = async (
  database: D1Database,
  versionId: string,
  now: number,
  leaseMs: number,
): Promise<boolean> => (await readFirst(database, claim, { versionId, now, before: now - leaseMs })) !== null;

const write = statement<{ versionId: string; now: number; cronAt: number; findings: string }>(
  `INSERT INTO health_verdict(version_id, judged_at, claimed_at, cron_at, findings)
   VALUES (:versionId, :now, 0, :cronAt, :findings)
   ON CONFLICT(version_id) DO UPDATE SET judged_at = excluded.judged_at, findings = excluded.findings,
     cron_at = max(cron_at, excluded.cron_at) WHERE judged_at < excluded.judged_at`,
);

const removeOld = statement<{ before: number }>(
  'DELETE FROM health_verdict WHERE judged_at < :before AND claimed_at < :before',
);

/** Writes a verdict that was begun at `now`, unless a later one is there, and removes those of versions that have not judged for a day. */
export async function writeVerdict(
  database: D1Database,
  verdict: { readonly versionId: string; readonly now: number; readonly isCron: boolean; readonly findings: string },
): Promise<void> {
  const { versionId, now, isCron, findings } = verdict;
  await database.batch([
    prepare(database, write, { versionId, now, cronAt: isCron ? now : 0, findings }),
    prepare(database, removeOld, { before: now - DAY_MS }),
  ]);
}
