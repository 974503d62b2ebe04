/** Which R2 objects the mailbox holds: everything that a row names. */

/** Each column that names a key; `garbage` too, which the mailbox removes itself. */
const HOLDERS = [
  { table: 'incoming', column: 'raw_key' },
  { table: 'message', column: 'raw_key' },
  { table: 'message_part', column: 'r2_key' },
  { table: 'attachment', column: 'r2_key' },
  { table: 'upload', column: 'r2_key' },
  { table: 'outbox', column: 'raw_key' },
  { table: 'garbage', column: 'r2_key' },
] as const;

/** @returns those of the keys that no row names. Reads every row of those tables once. */
export function listUnheld(sql: SqlStorage, keys: readonly string[]): string[] {
  const asked = new Set(keys);
  for (const { table, column } of HOLDERS) {
    const query = `SELECT ${column} AS key FROM ${table} WHERE ${column} IN (SELECT value FROM json_each(?))`;
    for (const { key } of sql.exec<{ key: string }>(query, JSON.stringify(keys))) asked.delete(key);
  }
  return [...asked];
}
