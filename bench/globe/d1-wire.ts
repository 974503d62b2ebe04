/**
 * Intercepts D1 below its client. The client of a D1 binding sends each query by `fetcher.fetch`, and the answer says how many
 * rows were read and written. `first()` and `raw()` do not show this to the caller. A session names its constraint or bookmark in
 * a header.
 */

type Fetcher = { fetch(input: RequestInfo, init?: RequestInit): Promise<Response> };
interface Wired {
  fetcher: Fetcher;
  readonly alwaysPrimarySession: { fetcher: Fetcher };
}

export interface QueryResult {
  readonly rowsRead: number;
  readonly rowsWritten: number;
}

interface Answer {
  readonly meta?: { readonly rows_read?: number; readonly rows_written?: number };
}

/** Runs one exchange with the database. */
export type Exchange = (
  run: () => Promise<Response>,
  readResult: (response: Response) => Promise<QueryResult>,
  /** `first-primary`, `first-unconstrained` or a bookmark; null outside of sessions. */
  session: string | null,
) => Promise<Response>;

const SESSION_HEADER = 'x-cf-d1-session-commit-token';

export function wireDatabase(database: D1Database, exchange: Exchange): void {
  const wired = database as unknown as Wired;
  const real = wired.fetcher;
  const fetcher: Fetcher = {
    fetch: (input, init) =>
      exchange(() => real.fetch(input, init), readResult, new Headers(init?.headers).get(SESSION_HEADER)),
  };
  wired.fetcher = fetcher;
  wired.alwaysPrimarySession.fetcher = fetcher;
}

async function readResult(response: Response): Promise<QueryResult> {
  const body = (await response.clone().json()) as Answer | Answer[];
  const answers = Array.isArray(body) ? body : [body];
  const add = (name: 'rows_read' | 'rows_written') =>
    answers.reduce((total, answer) => total + (answer.meta?.[name] ?? 0), 0);
  return { rowsRead: add('rows_read'), rowsWritten: add('rows_written') };
}
