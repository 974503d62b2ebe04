/** Whole rows of a table, whatever its columns are. */
import type { Row } from './store.ts';

const quote = (name: string): string => `"${name}"`;

/** Reads all rows with all columns. */
export function readWholeRows(sql: SqlStorage, table: string): Row[] {
  const columns = [...sql.exec<{ name: string }>('SELECT name FROM pragma_table_info(?)', table)];
  const names = columns.map(({ name }) => quote(name)).join(', ');
  return [...sql.exec<Row>(`SELECT ${names} FROM ${quote(table)}`)];
}

export function insertWholeRow(sql: SqlStorage, table: string, row: Row): void {
  const names = Object.keys(row).map(quote);
  const marks = names.map(() => '?');
  sql.exec(`INSERT INTO ${quote(table)} (${names.join(', ')}) VALUES (${marks.join(', ')})`, ...Object.values(row));
}
