/** Converts a query of Drizzle's builder to a D1 statement, for callers that batch, retry or set time limits themselves. */
export type Query = { toSQL(): { sql: string; params: unknown[] } };

/** @returns a statement whose result rows have the names of the SQL columns (`RowOf`). */
export function toStatement(database: D1Database, query: Query): D1PreparedStatement {
  const { sql, params } = query.toSQL();
  return database.prepare(sql).bind(...params);
}
