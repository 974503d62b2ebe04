/** Pages of rows that are ordered by a time and an id. */
import { decodeCursor, encodeCursor } from '../../shared/json-api.ts';

export interface TimeKey {
  /** Milliseconds since 1970 UTC. */
  readonly at: number;
  readonly id: string;
}

/** @returns the key of the last row of the previous page, null for the first page, undefined if the cursor is invalid. */
export function readTimeCursor(cursor: string | undefined): TimeKey | null | undefined {
  if (cursor === undefined) return null;
  const [at, id] = decodeCursor(cursor) ?? [];
  return typeof at === 'number' && typeof id === 'string' ? { at, id } : undefined;
}

/** @param found rows that were read with `limit + 1`. */
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
