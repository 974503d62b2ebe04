/** Inserts of whole rows, with columns by their names. */
import { getTableName, type Table } from 'drizzle-orm';
import type { RowOf, SqlValue } from './statement.ts';

type Columns<T extends Table> = T['_']['columns'];
type OptionalColumn<T extends Table> = {
  [Key in keyof Columns<T>]: Columns<T>[Key]['_']['hasDefault'] extends true
    ? Columns<T>[Key]['_']['name']
    : Columns<T>[Key]['_']['notNull'] extends true
      ? never
      : Columns<T>[Key]['_']['name'];
}[keyof Columns<T>];

/** A row to insert, by the names of its SQL columns. A column that may be null or has a default may be absent. */
export type NewRowOf<T extends Table> = Omit<RowOf<T>, OptionalColumn<T>> &
  Partial<Pick<RowOf<T>, OptionalColumn<T> & keyof RowOf<T>>>;

export interface Insert {
  readonly text: string;
  readonly values: readonly SqlValue[];
}

/** @param conflict what happens to an existing row with the same key. By default, that is an error. */
export function insertInto<T extends Table>(table: T, row: NewRowOf<T>, conflict?: 'IGNORE' | 'REPLACE'): Insert {
  const entries = Object.entries(row as Record<string, SqlValue | undefined>).filter(
    ([, value]) => value !== undefined,
  );
  const names = entries.map(([name]) => name).join(', ');
  const verb = conflict === undefined ? 'INSERT' : `INSERT OR ${conflict}`;
  return {
    text: `${verb} INTO ${getTableName(table)} (${names}) VALUES (${entries.map(() => '?').join(', ')})`,
    values: entries.map(([, value]) => value as SqlValue),
  };
}
