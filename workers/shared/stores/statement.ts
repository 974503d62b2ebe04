/**
 * SQL statements with named parameters and typed rows, for D1 and for the SQL storage of Durable Objects.
 *
 * Declare a statement once, at module load:
 *
 *     const findTask = statement<{ name: string }, Pick<RowOf<typeof task>, 'state'>>(
 *       'SELECT state FROM task WHERE name = :name',
 *     );
 *     const row = await readFirst(database, findTask, { name: 'scrub' });
 *
 * Use it where Drizzle's query builder does not fit: guarded batches, FTS5, hot paths. The names are checked at each call,
 * so a missing or a misspelt parameter throws instead of shifting the others.
 */
import type { Table } from 'drizzle-orm';

export type SqlValue = string | number | null | ArrayBuffer | Uint8Array;
export type Parameters = Readonly<Record<string, SqlValue>>;

/**
 * A row of a Drizzle table, by the names of its SQL columns. D1 returns a BLOB as an array of numbers, whatever this type
 * says: select `hex(column)`.
 */
export type RowOf<T extends Table> = {
  [Key in keyof T['_']['columns'] as T['_']['columns'][Key]['_']['name']]:
    | T['_']['columns'][Key]['_']['data']
    | (T['_']['columns'][Key]['_']['notNull'] extends true ? never : null);
};

export interface Statement<Values extends Parameters, Row> {
  /** SQL of the statement with SQLite's numbered parameters (`?1`). */
  readonly text: string;
  /** Orders the values of the named parameters. @throws if a parameter is missing or unknown. */
  toValues(values: Values): SqlValue[];
  /** Never set; it only carries the type of a row. */
  readonly row?: Row;
}

/** Declares a statement. @param text SQL with parameters as `:name`; each name may occur several times. */
export function statement<Values extends Parameters, Row = never>(text: string): Statement<Values, Row> {
  const names: string[] = [];
  const numbered = text.replace(/'(?:[^']|'')*'|:([A-Za-z]\w*)/g, (whole, name: string | undefined) => {
    if (name === undefined) return whole;
    if (!names.includes(name)) names.push(name);
    return `?${names.indexOf(name) + 1}`;
  });
  return {
    text: numbered,
    toValues(values) {
      const unknown = Object.keys(values).find((name) => !names.includes(name));
      if (unknown !== undefined) throw new Error(`the statement has no parameter :${unknown}`);
      return names.map((name) => {
        const value = values[name];
        if (value === undefined) throw new Error(`the parameter :${name} is missing`);
        return value;
      });
    },
  };
}

/** Prepares a statement for a batch, or for a caller that sets time limits or retries itself. */
export const prepare = <Values extends Parameters, Row>(
  database: D1Database | D1DatabaseSession,
  { text, toValues }: Statement<Values, Row>,
  values: Values,
): D1PreparedStatement => database.prepare(text).bind(...toValues(values));

export async function readAll<Values extends Parameters, Row>(
  database: D1Database | D1DatabaseSession,
  query: Statement<Values, Row>,
  values: Values,
): Promise<Row[]> {
  return (await prepare(database, query, values).all<Row>()).results;
}

/** Reads the first row of a statement; null when no row matches. */
export const readFirst = <Values extends Parameters, Row>(
  database: D1Database | D1DatabaseSession,
  query: Statement<Values, Row>,
  values: Values,
): Promise<Row | null> => prepare(database, query, values).first<Row>();

/**
 * Runs a statement in a Durable Object. The cursor reads lazily, so it must be read to its end before the next write to its tables.
 */
export const execute = <Values extends Parameters, Row extends Record<string, SqlStorageValue>>(
  sql: SqlStorage,
  { text, toValues }: Statement<Values, Row>,
  values: Values,
): SqlStorageCursor<Row> => sql.exec<Row>(text, ...toValues(values));
