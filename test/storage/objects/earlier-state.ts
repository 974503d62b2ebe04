/** Puts a database back to an earlier copy of its rows, as D1's Time Travel does. */

export type Rows = Record<string, unknown>[];

async function listTables(database: D1Database): Promise<string[]> {
  const sql = `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%\\_cf\\_%' ESCAPE '\\'
    AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT IN ('guard', 'd1_migrations')`;
  return (await database.prepare(sql).all<{ name: string }>()).results.map(({ name }) => name);
}

export async function copyRows(database: D1Database): Promise<Map<string, Rows>> {
  const copies = new Map<string, Rows>();
  for (const table of await listTables(database))
    copies.set(table, (await database.prepare(`SELECT * FROM ${table}`).all<Record<string, unknown>>()).results);
  return copies;
}

export async function restoreRows(database: D1Database, copies: ReadonlyMap<string, Rows>): Promise<void> {
  const statements = [database.prepare('PRAGMA defer_foreign_keys = on')];
  for (const table of copies.keys()) statements.push(database.prepare(`DELETE FROM ${table}`));
  for (const [table, rows] of copies) {
    for (const row of rows) {
      const names = Object.keys(row);
      const values = Object.values(row).map((cell) => (Array.isArray(cell) ? new Uint8Array(cell) : cell));
      const marks = names.map(() => '?').join(', ');
      statements.push(database.prepare(`INSERT INTO ${table}(${names.join(', ')}) VALUES (${marks})`).bind(...values));
    }
  }
  await database.batch(statements);
}
