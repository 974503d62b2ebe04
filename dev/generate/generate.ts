/**
 * `npm run generate` writes every generated file: `worker-configuration.d.ts` from wrangler.toml, pages of `docs/` from
 * their tables, `clients/javascript` from the routes, and the migrations of each database from its schema files.
 *   -- --check        writes nothing; exits with status 1 if a file is out of date
 */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DATABASES } from '../../drizzle.config.ts';
import { ROOT } from '../local/build.ts';
import { DOCUMENT_PATH } from './api-document.ts';
import { readServedDocument, TYPES_PATH, toTypes } from './api-types.ts';
import { toConfigurationPage } from './configuration-page.ts';
import { RESULTS_PATH, toCostsPage } from './costs-page.ts';
import { toErrorsPage } from './errors-page.ts';

const run = promisify(execFile);
const isCheck = process.argv.includes('--check');

const countMigrations = (directory: string) =>
  existsSync(directory) ? readdirSync(directory).filter((name) => name.endsWith('.sql')).length : 0;

/** Tables to which WITHOUT ROWID is added in the newest migration, because drizzle-kit cannot express it. */
function addWithoutRowid(directory: string, tables: readonly string[]): void {
  const newest = readdirSync(directory)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .at(-1);
  if (newest === undefined) return;
  const path = join(directory, newest);
  const statements = readFileSync(path, 'utf8').split('--> statement-breakpoint');
  const changed = statements.map((statement) => {
    const table = /^\s*CREATE TABLE `(?:__new_)?(\w+)`/.exec(statement)?.[1];
    return table !== undefined && tables.includes(table)
      ? statement.replace(/\);(\s*)$/, ') WITHOUT ROWID;$1')
      : statement;
  });
  writeFileSync(path, changed.join('--> statement-breakpoint'));
}

const BREAKPOINT = '--> statement-breakpoint';

/**
 * Triggers that record the changes of a journaled table. SQLite drops them with the table, so they follow each of its creations. They
 * look for the record first, because the conflict clause of the statement that fires a trigger overrides the trigger's own.
 */
function toTriggers(table: string, key: readonly string[]): string[] {
  const record = (row: 'NEW' | 'OLD') => {
    const values = key.map((column) => `${row}.\`${column}\``).join(', ');
    const change = `SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, '${table}' AS t, json_array(${values}) AS k`;
    const isKnown =
      'EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k)';
    return `INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (${change}) c WHERE NOT ${isKnown};`;
  };
  const trigger = (event: string, rows: readonly ('NEW' | 'OLD')[]) =>
    `\nCREATE TRIGGER \`journal_${table}_${event}\` AFTER ${event.toUpperCase()} ON \`${table}\` BEGIN ${rows.map(record).join(' ')} END;`;
  return [trigger('insert', ['NEW']), trigger('update', ['OLD', 'NEW']), trigger('delete', ['OLD'])];
}

/** Adds the triggers of journaled tables that the newest migration creates; those of all tables if it creates their table of records. */
function addTriggers(directory: string, journaled: Readonly<Record<string, readonly string[]>>): void {
  const newest = readdirSync(directory)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .at(-1);
  if (newest === undefined) return;
  const path = join(directory, newest);
  const sql = readFileSync(path, 'utf8');
  const created = new Set(Array.from(sql.matchAll(/CREATE TABLE `(?:__new_)?(\w+)`/g), ([, table]) => table ?? ''));
  const isFirst = created.has('directory_change');
  const triggers = Object.entries(journaled).flatMap(([table, key]) =>
    isFirst || created.has(table) ? toTriggers(table, key) : [],
  );
  writeFileSync(path, [sql.trimEnd(), ...triggers].join(BREAKPOINT));
}

async function generateMigrations(name: string): Promise<string | null> {
  const directory = join(ROOT, 'migrations', name);
  mkdirSync(join(ROOT, 'dist'), { recursive: true });
  const scratch = mkdtempSync(join(ROOT, 'dist/migrations-'));
  const out = isCheck ? scratch : directory;
  try {
    if (isCheck && existsSync(directory)) cpSync(directory, out, { recursive: true });
    const before = countMigrations(out);
    const { stdout, stderr } = await run(
      join(ROOT, 'node_modules/.bin/drizzle-kit'),
      ['generate', '--name', before === 0 ? 'initial' : 'change'],
      { cwd: ROOT, env: { ...process.env, DATABASE: name, MIGRATIONS_OUT: out.slice(ROOT.length + 1) } },
    );
    if (!/No schema changes|migration file/.test(stdout)) throw new Error(`${stdout}${stderr}`);
    const isChanged = countMigrations(out) !== before;
    if (isChanged && !isCheck) {
      addWithoutRowid(out, DATABASES[name]?.withoutRowid ?? []);
      addTriggers(out, DATABASES[name]?.journaled ?? {});
    }
    if (isCheck && isChanged) return `migrations/${name} is out of date. Run npm run generate.`;
    if (isChanged) console.log(`wrote migrations/${name}`);
    return null;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function generateTypes(): Promise<string | null> {
  const args = ['types', '--include-runtime=false', '--strict-vars=false'];
  try {
    await run(join(ROOT, 'node_modules/.bin/wrangler'), isCheck ? [...args, '--check'] : args, {
      cwd: ROOT,
      // Skips the build of the web app, which the types do not need. That build would empty the directory that `npm run check`
      // writes at the same time.
      env: { ...process.env, WRANGLER_SEND_METRICS: 'false', TESSERA_PREBUILT: '1' },
    });
    return null;
  } catch (error) {
    if (!isCheck) throw error;
    return 'worker-configuration.d.ts is out of date. Run npm run generate.';
  }
}

function generatePage(name: string, page: string, source: string): string | null {
  const path = join(ROOT, 'docs', name);
  if (existsSync(path) && readFileSync(path, 'utf8') === page) return null;
  if (isCheck) return `docs/${name} is out of date with ${source}. Run npm run generate.`;
  mkdirSync(join(ROOT, 'docs'), { recursive: true });
  writeFileSync(path, page);
  return null;
}

/** Generates the API document and the types. `--check` skips both: a system test compares the types with the served document. */
async function generateApiTypes(): Promise<null> {
  if (isCheck) return null;
  const document = await readServedDocument();
  writeFileSync(DOCUMENT_PATH, document);
  writeFileSync(TYPES_PATH, await toTypes(JSON.parse(document)));
  return null;
}

const results = [
  await generateTypes(),
  await generateApiTypes(),
  generatePage('configuration.md', toConfigurationPage(), 'the schema of settings'),
  generatePage('costs.md', toCostsPage(), RESULTS_PATH),
  generatePage('errors.md', toErrorsPage(), 'the tables of error codes'),
];
for (const name of Object.keys(DATABASES)) results.push(await generateMigrations(name));
const problems = results.filter((result) => result !== null);
for (const problem of problems) console.error(problem);
process.exit(problems.length === 0 ? 0 : 1);
