/** Reads due times of the alarm's work. Each has a query; together they are one, because they are read after each write. */
import { first } from '../database/store.ts';

/**
 * @param queries by name. Each selects one value: a time in milliseconds since 1970, 0 for at once, or null for never, as no row is.
 * @returns the values by name.
 */
export function readDueTimes(
  sql: SqlStorage,
  queries: readonly (readonly [name: string, query: string])[],
): Readonly<Record<string, SqlStorageValue>> {
  const columns = queries.map(([name, query]) => `(${query}) AS ${name}`);
  return columns.length === 0 ? {} : (first(sql, `SELECT ${columns.join(', ')}`) ?? {});
}
