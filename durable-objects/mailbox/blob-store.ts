/** Which R2 objects the mailbox holds: everything that a row names. */
import { first } from './store.ts';

/** Each column that names a key. The mailbox itself removes what is in `garbage`. */
const HOLDERS = [
  { table: 'incoming', column: 'raw_key' },
  { table: 'message', column: 'raw_key' },
  { table: 'message_part', column: 'r2_key' },
  { table: 'attachment', column: 'r2_key' },
  { table: 'upload', column: 'r2_key' },
  { table: 'outbox', column: 'raw_key' },
  { table: 'garbage', column: 'r2_key' },
] as const;

export interface Unheld {
  readonly keys: string[];
  /** When this mailbox was created, in milliseconds since 1970: it cannot know who named older objects. */
  readonly createdAt: number;
}

/**
 * Finds the keys that no row names. Reads every row of those tables once per call, so callers pass many keys at a time: an
 * index on each key column would cost a row written per message, which is dearer than these reads (docs/collectors.md).
 */
export function listUnheld(sql: SqlStorage, keys: readonly string[]): Unheld {
  const unheld = new Set(keys);
  for (const { table, column } of HOLDERS) {
    const query = `SELECT ${column} AS key FROM ${table} WHERE ${column} IN (SELECT value FROM json_each(?))`;
    for (const { key } of sql.exec<{ key: string }>(query, JSON.stringify(keys))) unheld.delete(key);
  }
  const createdAt = first<{ at: number }>(sql, 'SELECT created_at AS at FROM mailbox')?.at ?? Number.MAX_SAFE_INTEGER;
  return { keys: [...unheld], createdAt };
}
