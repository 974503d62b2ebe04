/** Calls the JSON APIs. A problem (RFC 9457) becomes an `ApiError`, a network error one with status 0. */

export interface ProblemBody {
  title?: string;
  detail?: string;
  code?: string;
  status?: number;
  request_id?: string;
  errors?: { path: string; message: string }[];
}

export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly problem: ProblemBody;
  readonly retryAfterSeconds: number | null;

  constructor(status: number, problem: ProblemBody, retryAfterSeconds: number | null = null) {
    super(describeProblem(status, problem));
    this.status = status;
    this.code = problem.code ?? '';
    this.problem = problem;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

function describeProblem(status: number, problem: ProblemBody): string {
  if (status === 0) return 'The server cannot be reached.';
  const members = problem.errors?.map((error) => (error.path ? `${error.path}: ${error.message}` : error.message));
  if (members && members.length > 0) return members.join('; ');
  return problem.detail ?? problem.title ?? `The server answered ${status}.`;
}

export interface CallOptions {
  method?: string;
  body?: unknown;
  /** Body to send unchanged, for uploads. */
  rawBody?: BodyInit;
  headers?: Record<string, string>;
  token?: string | null;
  signal?: AbortSignal;
}

/**
 * @returns a successful response.
 * @throws ApiError if the status is another one or the network fails.
 */
export async function call(path: string, options: CallOptions = {}): Promise<Response> {
  const headers = new Headers(options.headers);
  if (options.body !== undefined) headers.set('content-type', 'application/json');
  if (options.token) headers.set('authorization', `Bearer ${options.token}`);
  const body = options.body !== undefined ? JSON.stringify(options.body) : options.rawBody;
  const init: RequestInit = { method: options.method ?? (body === undefined ? 'GET' : 'POST'), headers };
  if (body !== undefined) init.body = body;
  if (options.signal) init.signal = options.signal;
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError(0, {});
  }
  if (response.ok) return response;
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  const problem: ProblemBody = await response.json().catch(() => ({}));
  throw new ApiError(response.status, problem, Number.isFinite(retryAfter) ? retryAfter : null);
}

/** @typeParam T type of the answer: `z.infer` of the API's own schema, or void if the answer has no body. */
export async function callJson<T>(path: string, options: CallOptions = {}): Promise<T> {
  const response = await call(path, options);
  const text = await response.text();
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

export interface Page<T> {
  data: T[];
  next_cursor: string | null;
}

export const describeError = (error: unknown): string => (error instanceof Error ? error.message : String(error));
