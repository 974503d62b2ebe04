/** Calls the JSON APIs. A problem (RFC 9457) becomes an `ApiError`, a network error one with status 0. */
import { formatRelative } from './format.ts';
import { fill, language, texts } from './texts/index.ts';

export interface ProblemBody {
  title?: string;
  detail?: string;
  code?: string;
  status?: number;
  request_id?: string;
  errors?: { path: string; message: string }[];
  challenges?: string[];
}

export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly problem: ProblemBody;
  readonly retryAfterSeconds: number | null;

  constructor(status: number, problem: ProblemBody, retryAfterSeconds: number | null = null) {
    super(describeProblem(status, problem, retryAfterSeconds));
    this.status = status;
    this.code = problem.code ?? '';
    this.problem = problem;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

const INVALID_CODES: readonly string[] = ['invalid_request', 'bad_request'];

/**
 * Describes a problem in a sentence for the user. The sentence comes from the page's texts; the server's own words are for
 * developers.
 */
export function describeProblem(status: number, problem: ProblemBody, retryAfterSeconds: number | null = null): string {
  if (status === 0) return texts.unreachable;
  const code = problem.code ?? '';
  const values = {
    // The server writes English.
    detail: language === 'en' ? (toDetail(problem.errors?.[0]) ?? problem.detail ?? problem.title ?? '') : '',
    wait:
      retryAfterSeconds === null
        ? texts.soon
        : formatRelative(new Date(Date.now() + retryAfterSeconds * 1000).toISOString()),
  };
  const fields = INVALID_CODES.includes(code) ? (problem.errors ?? []) : [];
  const sentences = fields.flatMap(({ path }) => texts.fields[toField(path)] ?? []);
  if (sentences.length > 0) return [...new Set(sentences)].map((text) => fill(text, values)).join(' ');
  return fill(texts.problems[code] ?? '{detail}', values) || fill(texts.unknown, { status: String(status) });
}

/** The server's words about a member. Those that do not begin a sentence complete the name of the member. */
const toDetail = (error: { path: string; message: string } | undefined): string | undefined =>
  error && /^[a-z]/.test(error.message) ? `${error.path}: ${error.message}.` : error?.message;

/** Finds the field that an error path names: `to.0.email` → `to`, the outermost member, which the user knows. */
const toField = (path: string): string => path.split('.').find((part) => part in texts.fields) ?? '';

/** Statuses of a server or a proxy that is down for a while (RFC 9110 §15.6). */
const OUTAGE_STATUSES: readonly number[] = [502, 503, 504];

/** Whether the unchanged request may succeed later, when the network or the server is back. */
export const isUnreachable = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 0 || OUTAGE_STATUSES.includes(error.status));

export interface CallOptions {
  method?: string;
  body?: unknown;
  /** Request body to send unchanged, for uploads. */
  rawBody?: BodyInit;
  headers?: Record<string, string>;
  token?: string | null;
  signal?: AbortSignal;
}

let askForConfirmation: (() => Promise<boolean>) | null = null;

/**
 * Registers the dialog that asks the user to confirm the session (`confirmation.tsx`).
 * @param ask resolves to whether the session is confirmed now. @returns a function that removes it.
 */
export function askWhenConfirmationRequired(ask: () => Promise<boolean>): () => void {
  askForConfirmation = ask;
  return () => {
    askForConfirmation = null;
  };
}

/** Asks the user to confirm the session, before a navigation that cannot be repeated. */
export const confirmSession = async (): Promise<boolean> => (await askForConfirmation?.()) ?? false;

/**
 * Calls an API. If the API requires a confirmed session, repeats the request once after the user has confirmed it.
 * @returns a successful response.
 * @throws ApiError if the status is another one or the network fails.
 */
export async function call(path: string, options: CallOptions = {}): Promise<Response> {
  try {
    return await callOnce(path, options);
  } catch (error) {
    const isUnconfirmed = error instanceof ApiError && error.code === 'confirmation_required';
    if (!isUnconfirmed || !askForConfirmation || !(await askForConfirmation())) throw error;
    return callOnce(path, options);
  }
}

async function callOnce(path: string, options: CallOptions): Promise<Response> {
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

/**
 * Calls an API and parses its JSON answer.
 * @typeParam T type of the answer: `z.infer` of the API's own schema, or void if the answer has no body.
 */
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
