/**
 * Intercepts D1 below its client library. The client of a D1 binding sends each query by `fetcher.fetch`, and the answer says how
 * many rows were read and written. `first()` and `raw()` do not return these counts to the caller. A session sends its constraint
 * or bookmark in a header.
 */
import type { Write } from './replicas.ts';

export type Fetcher = { fetch(input: RequestInfo, init?: RequestInit): Promise<Response> };
interface Wired {
  fetcher: Fetcher;
  readonly alwaysPrimarySession: { fetcher: Fetcher };
}

export interface QueryResult {
  readonly rowsRead: number;
  readonly rowsWritten: number;
}

export interface Query {
  run(): Promise<Response>;
  readResult(response: Response): Promise<QueryResult>;
  /** Constraint of the D1 session: `first-primary`, `first-unconstrained` or a bookmark; null outside sessions. */
  readonly session: string | null;
  /** The statements of the query, in the form in which replicas apply writes. */
  readonly write: Write;
}

/** Sends a query to the database and returns the answer. */
export type Exchange = (query: Query) => Promise<Response>;

const SESSION_HEADER = 'x-cf-d1-session-commit-token';

export function wireDatabase(database: D1Database, exchange: Exchange): void {
  const wired = database as unknown as Wired;
  const real = wired.fetcher;
  const fetcher: Fetcher = {
    fetch: (input, init) =>
      exchange({
        run: () => real.fetch(input, init),
        readResult,
        session: new Headers(init?.headers).get(SESSION_HEADER),
        write: { url: String(input), body: String(init?.body ?? '') },
      }),
  };
  wired.fetcher = fetcher;
  wired.alwaysPrimarySession.fetcher = fetcher;
}

/** Finds the row counts in an answer. Quotes inside values are escaped, so these names match only in the metadata of a query. */
const ROWS = /"rows_(read|written)":(\d+)/g;

async function readResult(response: Response): Promise<QueryResult> {
  const counts = { read: 0, written: 0 };
  for (const [, name, rows] of (await response.clone().text()).matchAll(ROWS)) {
    counts[name as keyof typeof counts] += Number(rows);
  }
  return { rowsRead: counts.read, rowsWritten: counts.written };
}
