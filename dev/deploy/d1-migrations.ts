import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The subset of a D1 binding that migrations use. Miniflare's binding implements it. */
interface MigratableDatabase {
  prepare(sql: string): {
    bind(...values: unknown[]): unknown;
    all<T>(): Promise<{ results: T[] }>;
    run(): Promise<unknown>;
  };
  batch(statements: unknown[]): Promise<unknown>;
}

/**
 * Applies the pending drizzle migrations of a folder, each in one transaction. Records them in `d1_migrations`, the table
 * that `wrangler d1 migrations apply` uses.
 * @returns the names of the migrations that this call applied.
 */
export async function applyMigrations(database: MigratableDatabase, directory: string): Promise<string[]> {
  await database
    .prepare(
      'CREATE TABLE IF NOT EXISTS d1_migrations(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)',
    )
    .run();
  const { results } = await database.prepare('SELECT name FROM d1_migrations').all<{ name: string }>();
  const applied = new Set(results.map((row) => row.name));
  const missing = readdirSync(directory)
    .filter((name) => name.endsWith('.sql') && !applied.has(name))
    .sort();
  for (const name of missing) {
    const statements = readFileSync(join(directory, name), 'utf8')
      .split('--> statement-breakpoint')
      .map((statement) => statement.trim())
      .filter((statement) => statement !== '');
    await database.batch([
      ...statements.map((statement) => database.prepare(statement)),
      database.prepare('INSERT INTO d1_migrations(name) VALUES (?)').bind(name),
    ]);
  }
  return missing;
}
