/**
 * Change records of a user database, the rows to which they refer, and the replay of such rows. Triggers write the records
 * (`shared/stores/age-schema.ts`), so no write of a journaled table can forget them.
 *
 * By design: `meta.changes` of a write to a journaled table also counts its records. Code that asks whether a row was changed compares
 * it with 0.
 */
import { prepare, readAll, readFirst, statement } from '../../../shared/stores/statement.ts';
import type { EngineContext } from '../model/context.ts';
import { type Column, hasBlob, toHexRows, toReadSql, toValueSql } from './blob-columns.ts';
import type { Row } from './database.ts';
import { WITHOUT_SECRET } from './job-store.ts';
import { toParameters } from './table-rows.ts';

export interface DirectoryChange {
  readonly number: number;
  readonly table: string;
  /** Values of the row's key, as a JSON array. */
  readonly key: string;
}

/** A page of the journal: which rows changed, and their state. A changed row without a state was deleted. */
export interface DirectoryPage {
  readonly changes: readonly (readonly [table: string, key: string])[];
  readonly rows: Readonly<Record<string, readonly Row[]>>;
}

const quote = (identifier: string): string => `"${identifier.replaceAll('"', '""')}"`;

const selectChanges = statement<{ below: number; limit: number }, DirectoryChange>(
  `SELECT number, table_name AS "table", key FROM directory_change WHERE number < :below ORDER BY number, table_name, key LIMIT :limit`,
);

/** Reads change records of earlier numbers. */
export const listDirectoryChanges = (
  { directory }: EngineContext,
  below: number,
  limit: number,
): Promise<DirectoryChange[]> => readAll(directory, selectChanges, { below, limit });

const listKeyColumns = statement<{ table: string }, { name: string }>(
  'SELECT name FROM pragma_table_info(:table) WHERE pk > 0 ORDER BY pk',
);
const listColumns = statement<{ table: string }, Column>('SELECT name, type FROM pragma_table_info(:table)');

const keyColumnsOf = async ({ directory }: EngineContext, table: string): Promise<string[]> =>
  (await readAll(directory, listKeyColumns, { table })).map(({ name }) => name);

const toList = (keys: readonly string[]): string => `[${keys.join(',')}]`;
const isKey = (columns: readonly string[]): string =>
  columns.map((column, at) => `t.${quote(column)} = a.value->>${at}`).join(' AND ');

/** Whether a table has a column of BLOBs, so that its rows may be large. */
export const hasLargeRows = async ({ directory }: EngineContext, table: string): Promise<boolean> =>
  hasBlob(await readAll(directory, listColumns, { table }));

/** Reads the present state of rows of a table. */
export async function readByKeys(context: EngineContext, table: string, keys: readonly string[]): Promise<Row[]> {
  const columns = await keyColumnsOf(context, table);
  const all = await readAll(context.directory, listColumns, { table });
  const sql = `SELECT ${all.map(toReadSql).join(', ')} FROM json_each(?1) a CROSS JOIN ${quote(table)} t ON ${isKey(columns)}`;
  return (await context.directory.prepare(sql).bind(toList(keys)).all<Row>()).results;
}

export async function removeDirectoryChanges(
  { directory }: EngineContext,
  changes: readonly DirectoryChange[],
): Promise<void> {
  const list = changes.map(({ number, table, key }) => [number, table, key]);
  const sql = `DELETE FROM directory_change WHERE (number, table_name, key) IN
    (SELECT a.value->>0, a.value->>1, a.value->>2 FROM json_each(?1) a)`;
  await directory.batch(toParameters(list).map((parameter) => directory.prepare(sql).bind(parameter)));
}

const findReplayed = statement<Record<never, never>, { number: number }>('SELECT number FROM age WHERE one = 2');
const putReplayed = statement<{ number: number }>(
  'INSERT INTO age(one, number) VALUES (2, :number) ON CONFLICT(one) DO UPDATE SET number = excluded.number',
);

/** Reads the number up to which a replay has put the journal into the database; 0 if none has begun. */
export const readReplayed = async ({ directory }: EngineContext): Promise<number> =>
  (await readFirst(directory, findReplayed, {}))?.number ?? 0;

export const writeReplayed = async ({ directory }: EngineContext, number: number): Promise<void> =>
  void (await prepare(directory, putReplayed, { number }).run());

/** Ends every job that is open: it may have been cancelled since the time to which the database was put back. */
export async function stopOpenJobs({ directory }: EngineContext, now: number): Promise<void> {
  const sql = `UPDATE storage_job SET state = 'failed', error = 'directory_rebuilt', ended_at = ?1,
    job = ${WITHOUT_SECRET} WHERE ended_at IS NULL`;
  await directory.prepare(sql).bind(Math.trunc(now)).run();
}

/** Forgets all change records, because the journal has what they record. */
export const forgetDirectoryChanges = async ({ directory }: EngineContext): Promise<void> =>
  void (await directory.prepare('DELETE FROM directory_change').run());

/**
 * Puts a page of the journal into the database in one transaction: deletes the rows that the page says were deleted, and gives the
 * others their state. A row is updated in place, because deleting it would delete the rows that refer to it.
 * @param tables names of all tables, each after those to which it refers.
 */
export async function replayDirectoryPage(
  context: EngineContext,
  page: DirectoryPage,
  tables: readonly string[],
): Promise<number> {
  const wanted = tables.filter((table) => page.changes.some(([changed]) => changed === table));
  const put = async (isReplacing: boolean) => {
    const statements: D1PreparedStatement[] = [context.directory.prepare('PRAGMA defer_foreign_keys = on')];
    for (const table of wanted) statements.push(...(await deleteAbsent(context, page, table)));
    for (const table of wanted)
      statements.push(...(await upsertRows(context, table, page.rows[table] ?? [], isReplacing)));
    await context.directory.batch(statements);
  };
  try {
    await put(false);
  } catch (error) {
    // In the seconds until the restore was found out, a name of the journal may have been given to another row. The journal is older,
    // so its row stays.
    if (!/UNIQUE constraint failed/.test(String(error))) throw error;
    await put(true);
  }
  return page.changes.length;
}

async function deleteAbsent(
  context: EngineContext,
  page: DirectoryPage,
  table: string,
): Promise<D1PreparedStatement[]> {
  const columns = await keyColumnsOf(context, table);
  const present = new Set((page.rows[table] ?? []).map((row) => JSON.stringify(columns.map((column) => row[column]))));
  const gone = page.changes.filter(([changed, key]) => changed === table && !present.has(normalise(key)));
  if (gone.length === 0) return [];
  const match = isKey(columns).replaceAll('t.', `${quote(table)}.`);
  const sql = `DELETE FROM ${quote(table)} WHERE EXISTS (SELECT 1 FROM json_each(?1) a WHERE ${match})`;
  const byKey = `DELETE FROM ${quote(table)} WHERE ${quote(columns[0] ?? '')} IN (SELECT value->>0 FROM json_each(?1))`;
  return [context.directory.prepare(columns.length === 1 ? byKey : sql).bind(toList(gone.map(([, key]) => key)))];
}

const normalise = (key: string): string => JSON.stringify(JSON.parse(key));

async function upsertRows(
  context: EngineContext,
  table: string,
  rows: readonly Row[],
  isReplacing: boolean,
): Promise<D1PreparedStatement[]> {
  const [first] = rows;
  if (first === undefined) return [];
  const keys = await keyColumnsOf(context, table);
  const found = (await readAll(context.directory, listColumns, { table })).filter(({ name }) => name in first);
  const columns = found.map(({ name }) => name);
  const values = found.map(toValueSql);
  const changed = columns.filter((column) => !keys.includes(column));
  const set = changed.map((column) => `${quote(column)} = excluded.${quote(column)}`).join(', ');
  const target = keys.map(quote).join(', ');
  const upsert = changed.length === 0 ? 'NOTHING' : `UPDATE SET ${set}`;
  const insert = `INTO ${quote(table)}(${columns.map(quote).join(', ')}) SELECT ${values.join(', ')} FROM json_each(?1) a`;
  const sql = isReplacing
    ? `INSERT OR REPLACE ${insert}`
    : `INSERT ${insert} WHERE true ON CONFLICT(${target}) DO ${upsert}`;
  return toParameters(toHexRows(found, rows)).map((parameter) => context.directory.prepare(sql).bind(parameter));
}
