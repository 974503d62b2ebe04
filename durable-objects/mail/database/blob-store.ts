/** Finds R2 keys that the mailbox does not own. It owns every key that one of its rows names. */

import type { Unheld } from '../contract/recovery.ts';
import { first } from './store.ts';

/** All columns that contain an R2 key. The table `garbage` is included, because the mailbox itself deletes its objects. */
const HOLDERS = [
  { table: 'incoming', column: 'raw_key' },
  { table: 'message', column: 'raw_key' },
  { table: 'message_content', column: 'text_key' },
  { table: 'message_content', column: 'html_key' },
  { table: 'message_content, json_each(attachments)', column: "json_extract(value, '$.r2Key')" },
  { table: 'upload', column: 'r2_key' },
  { table: 'outbox', column: 'raw_key' },
  { table: 'snapshot', column: 'r2_key' },
  { table: 'garbage', column: 'r2_key' },
] as const;

/**
 * Finds the keys that no row names. Each call reads every row of the tables above, so pass many keys per call. An index on each key
 * column would write one more row per message, which costs more than these reads (docs/collectors.md).
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
