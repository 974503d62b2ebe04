/** Pages of rows in the order of a time and an id. */
import { decodeCursor, encodeCursor } from '../../shared/json/json-api.ts';

export interface TimeKey {
  /** Time of the row, in milliseconds since 1970 UTC. */
  readonly at: number;
  readonly id: string;
}

/**
 * Reads a cursor.
 * @returns the time and id of the previous page's last row; null for the first page, undefined for an invalid cursor.
 */
export function readTimeCursor(cursor: string | undefined): TimeKey | null | undefined {
  if (cursor === undefined) return null;
  const [at, id] = decodeCursor(cursor) ?? [];
  return typeof at === 'number' && typeof id === 'string' ? { at, id } : undefined;
}

/** Makes a page. @param found the rows of a query with `limit + 1`; an extra row shows that there is a next page. */
export function toTimePage<Row, Json>(
  found: readonly Row[],
  limit: number,
  keyOf: (row: Row) => TimeKey,
  toJson: (row: Row) => Json,
): { data: Json[]; next_cursor: string | null } {
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  const key = last && keyOf(last);
  return { data: rows.map(toJson), next_cursor: key ? encodeCursor([key.at, key.id]) : null };
}
