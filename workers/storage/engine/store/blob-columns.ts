/**
 * BLOBs of a user database in its snapshots and its journal, which are JSON. A BLOB is there in hexadecimal. Snapshots of 0.2.0 have it
 * as a list of numbers, as D1 returns it.
 */
import type { Row } from './database.ts';

/** A column of a table, as `pragma_table_info` describes it. */
export interface Column {
  readonly name: string;
  readonly type: string;
}

const isBlob = ({ type }: Column): boolean => type.toUpperCase() === 'BLOB';

export const hasBlob = (columns: readonly Column[]): boolean => columns.some(isBlob);

const quote = (identifier: string): string => `"${identifier.replaceAll('"', '""')}"`;

/** SQL that reads a column of `t`. `hex(NULL)` would be an empty text. */
export const toReadSql = (column: Column): string => {
  const name = `t.${quote(column.name)}`;
  return isBlob(column) ? `iif(${name} IS NULL, NULL, hex(${name})) AS ${quote(column.name)}` : name;
};

/** SQL of the value of a column in the JSON object `a.value`. */
export const toValueSql = (column: Column): string => {
  const value = `a.value->>'$."${column.name}"'`;
  return isBlob(column) ? `unhex(${value})` : value;
};

/** Rows whose BLOBs are in hexadecimal. */
export function toHexRows(columns: readonly Column[], rows: readonly Row[]): readonly Row[] {
  const blobs = columns.filter(isBlob).map(({ name }) => name);
  if (blobs.length === 0) return rows;
  const toHex = (row: Row, name: string) => {
    const value: unknown = row[name];
    return Array.isArray(value) ? { [name]: Buffer.from(value as number[]).toString('hex') } : {};
  };
  return rows.map((row) => Object.assign({}, row, ...blobs.map((name) => toHex(row, name))) as Row);
}
