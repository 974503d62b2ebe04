/** The SQL of the collectors: rounds, alarms and orphans in DIRECTORY. */
import { logError } from '../shared/log.ts';

export type CollectorName = 'mail' | 'storage' | 'leaderboard' | 'directory';
export const COLLECTOR_NAMES: readonly CollectorName[] = ['mail', 'storage', 'leaderboard', 'directory'];

export interface CollectorRow {
  readonly name: CollectorName;
  readonly round: number;
  readonly cursor: string;
  readonly scanned: number;
  readonly unrecorded: number;
  readonly finished_at: number | null;
  readonly owner: string | null;
  readonly alarm: string | null;
  readonly alarm_at: number | null;
  readonly alarm_scanned: number | null;
  readonly alarm_found: number | null;
  readonly approved: number;
  readonly take_over: number;
}

export interface Candidate {
  readonly key: string;
  readonly storedAt: number;
}

export interface FoundOrphan extends Candidate {
  /** A durable record says that the owner gave it up. */
  readonly isGivenUp: boolean;
}

/** D1 takes at most 2 MB in one value. */
const KEYS_PER_STATEMENT = 5_000;

const COLUMNS = `name, round, cursor, scanned, unrecorded, finished_at, owner, alarm, alarm_at, alarm_scanned, alarm_found,
  approved, take_over`;

export function createCollectorStore(directory: D1Database, name: CollectorName) {
  const run = (sql: string, ...values: unknown[]) =>
    directory
      .prepare(sql)
      .bind(name, ...values)
      .run();

  return {
    async read(): Promise<CollectorRow> {
      await run('INSERT INTO collector(name) VALUES (?1) ON CONFLICT DO NOTHING');
      const row = await directory
        .prepare(`SELECT ${COLUMNS} FROM collector WHERE name = ?1`)
        .bind(name)
        .first<CollectorRow>();
      if (!row) throw new Error(`the row of the collector ${name} is missing`);
      return row;
    },

    /** @returns false when another run moved the round on meanwhile. */
    async advance(from: CollectorRow, cursor: string, scanned: number, unrecorded: number): Promise<boolean> {
      const done = await run(
        `UPDATE collector SET cursor = ?4, scanned = scanned + ?5, unrecorded = unrecorded + ?6
         WHERE name = ?1 AND round = ?2 AND cursor = ?3`,
        from.round,
        from.cursor,
        cursor,
        scanned,
        unrecorded,
      );
      return done.meta.changes === 1;
    },

    /** Begins the next round. @returns false when another run did. */
    async finishRound(round: number, now: number): Promise<boolean> {
      const done = await run(
        `UPDATE collector SET round = round + 1, cursor = '', scanned = 0, unrecorded = 0, finished_at = ?3, approved = 0
         WHERE name = ?1 AND round = ?2`,
        round,
        now,
      );
      return done.meta.changes === 1;
    },

    /** Raises an alarm, or repeats it. It keeps the time of the first. */
    async raiseAlarm(reason: string, counts: { scanned: number; found: number }, now: number): Promise<void> {
      logError('collector_stopped', reason, { collector: name, ...counts });
      await run('INSERT INTO collector(name) VALUES (?1) ON CONFLICT DO NOTHING');
      await run(
        `UPDATE collector SET alarm = ?2, alarm_at = COALESCE(alarm_at, ?3), alarm_scanned = ?4, alarm_found = ?5
         WHERE name = ?1`,
        reason,
        now,
        counts.scanned,
        counts.found,
      );
    },

    async clearAlarm(): Promise<void> {
      await run(
        `UPDATE collector SET alarm = NULL, alarm_at = NULL, alarm_scanned = NULL, alarm_found = NULL WHERE name = ?1`,
      );
    },

    /** @param remove allows the next round to remove as many as the alarm counted. */
    async acknowledge({ remove, takeOver }: { remove: boolean; takeOver: boolean }): Promise<void> {
      await run('INSERT INTO collector(name) VALUES (?1) ON CONFLICT DO NOTHING');
      await run(
        `UPDATE collector SET approved = CASE WHEN ?2 THEN COALESCE(alarm_found, 0) ELSE 0 END, take_over = ?3,
           alarm = NULL, alarm_at = NULL, alarm_scanned = NULL, alarm_found = NULL WHERE name = ?1`,
        remove ? 1 : 0,
        takeOver ? 1 : 0,
      );
    },

    /** The take-over that an operator asked for is done. */
    async endTakeOver(): Promise<void> {
      await run('UPDATE collector SET take_over = 0 WHERE name = ?1');
    },

    async setOwner(owner: string, cursor: string): Promise<void> {
      await run('INSERT INTO collector(name) VALUES (?1) ON CONFLICT DO NOTHING');
      await run('UPDATE collector SET owner = ?2, cursor = ?3 WHERE name = ?1', owner, cursor);
    },

    /** Records what a round found, or that it found it again. Repeatable. */
    async recordOrphans(round: number, orphans: readonly FoundOrphan[], now: number): Promise<void> {
      for (let at = 0; at < orphans.length; at += KEYS_PER_STATEMENT) {
        const some = orphans.slice(at, at + KEYS_PER_STATEMENT);
        await run(
          `INSERT INTO orphan(collector, key, stored_at, found_at, found_round, seen_round, is_given_up)
           SELECT ?1, value->>0, value->>1, ?3, ?2, ?2, value->>2 FROM json_each(?4) WHERE true
           ON CONFLICT(collector, key) DO UPDATE SET seen_round = excluded.seen_round, is_given_up = excluded.is_given_up`,
          round,
          now,
          JSON.stringify(some.map(({ key, storedAt, isGivenUp }) => [key, storedAt, isGivenUp ? 1 : 0])),
        );
      }
    },

    /** Orphans of a round that still wait. Those that were given up on record are not counted. */
    async countOrphans(round: number): Promise<number> {
      const sql = `SELECT count(*) AS n FROM orphan WHERE collector = ?1 AND seen_round = ?2 AND is_given_up = 0
        AND removed_at IS NULL`;
      return (await directory.prepare(sql).bind(name, round).first<number>('n')) ?? 0;
    },

    async count(): Promise<{ waiting: number; removing: number }> {
      const sql = `SELECT count(*) FILTER (WHERE removed_at IS NULL) AS waiting,
        count(*) FILTER (WHERE removed_at IS NOT NULL) AS removing FROM orphan WHERE collector = ?1`;
      const row = await directory.prepare(sql).bind(name).first<{ waiting: number; removing: number }>();
      return row ?? { waiting: 0, removing: 0 };
    },

    /** Forgets candidates that this round did not find: something names them, or they are gone. */
    async forgetUnseen(round: number): Promise<void> {
      await run('DELETE FROM orphan WHERE collector = ?1 AND seen_round < ?2 AND removed_at IS NULL', round);
    },

    /** Found in this round and in an earlier one, the first time at or before `foundBy`. */
    async listDue(round: number, foundBy: number, limit: number): Promise<Candidate[]> {
      const { results } = await directory
        .prepare(
          `SELECT key, stored_at FROM orphan WHERE collector = ?1 AND seen_round = ?2 AND found_round < ?2 AND found_at <= ?3
           AND removed_at IS NULL ORDER BY key LIMIT ?4`,
        )
        .bind(name, round, foundBy, limit)
        .all<{ key: string; stored_at: number }>();
      return results.map((row) => ({ key: row.key, storedAt: row.stored_at }));
    },

    /** Deleted in the first location at or before `removedBy`. */
    async listRemoved(removedBy: number, limit: number): Promise<Candidate[]> {
      const { results } = await directory
        .prepare('SELECT key, stored_at FROM orphan WHERE collector = ?1 AND removed_at <= ?2 ORDER BY key LIMIT ?3')
        .bind(name, removedBy, limit)
        .all<{ key: string; stored_at: number }>();
      return results.map((row) => ({ key: row.key, storedAt: row.stored_at }));
    },

    async markRemoved(keys: readonly string[], now: number): Promise<void> {
      await run(
        'UPDATE orphan SET removed_at = ?2 WHERE collector = ?1 AND key IN (SELECT value FROM json_each(?3))',
        now,
        JSON.stringify(keys),
      );
    },

    async forget(keys: readonly string[]): Promise<void> {
      await run(
        'DELETE FROM orphan WHERE collector = ?1 AND key IN (SELECT value FROM json_each(?2))',
        JSON.stringify(keys),
      );
    },
  };
}

export type CollectorStore = ReturnType<typeof createCollectorStore>;
