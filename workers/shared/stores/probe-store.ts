/** Probes a database for the health check: whether it answers, which schema it has, and how full it is. */
import directory from '../../../migrations/directory/meta/_journal.json';
import objects from '../../../migrations/objects/meta/_journal.json';

/** Maximum size of a D1 database. */
const DATABASE_BYTES_MAX = 10_000_000_000;
const FULL_WARNING = 0.7;

export interface DatabaseState {
  /** Names of the applied migrations, such as `0000_initial.sql`. Empty if the database has no tables. */
  readonly migrations: readonly string[];
  readonly sizeBytes: number;
}

/** A finding about a store. The message completes a sentence that begins with the store's name. */
export interface Finding {
  readonly message: string;
  /** Whether the finding is an error; false for a warning. */
  readonly isSick: boolean;
}

/**
 * Reads schema and size of a database, with raw SQL, because `wrangler d1 migrations apply` creates the table of migrations and no
 * schema file here has it.
 */
export async function readDatabaseState(database: D1Database): Promise<DatabaseState> {
  const { results, meta } = await readMigrations(database);
  return { migrations: results.map(({ name }) => String(name)), sizeBytes: meta.size_after };
}

/** Reads the names of the applied migrations. A database without tables has none. */
async function readMigrations(database: D1Database): Promise<D1Result<Record<string, unknown>>> {
  try {
    return await database.prepare('SELECT name FROM d1_migrations').run();
  } catch (error) {
    if (!(error instanceof Error && /no such table/.test(error.message))) throw error;
    return { ...(await database.prepare('SELECT 1 WHERE 0').run()), results: [] };
  }
}

/** Judges the state of a database. @param name name of its binding. */
export function judgeDatabase(name: string, { migrations, sizeBytes }: DatabaseState): Finding[] {
  const { entries } = /^DIRECTORY(_\d+)?$/.test(name) ? directory : objects;
  const expected = entries.map(({ tag }) => `${tag}.sql`);
  const missing = expected.filter((each) => !migrations.includes(each));
  const unknown = migrations.filter((each) => !expected.includes(each));
  const findings: Finding[] = [];
  if (missing.length > 0)
    findings.push({
      message: `lacks ${missing.length === expected.length ? 'its tables' : `the migration ${missing.join(', ')}`}: run npm run upgrade`,
      isSick: true,
    });
  if (unknown.length > 0)
    findings.push({ message: `has a newer schema than this version: ${unknown.join(', ')}`, isSick: false });
  if (sizeBytes > FULL_WARNING * DATABASE_BYTES_MAX) {
    const percent = Math.floor((100 * sizeBytes) / DATABASE_BYTES_MAX);
    findings.push({
      message: `is ${percent}% full: see "A database is getting full" in docs/operations.md`,
      isSick: false,
    });
  }
  return findings;
}
