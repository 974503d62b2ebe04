/** Errors of the JSON APIs, in the form of RFC 9457 `application/problem+json`. */

import type { MisconfiguredError } from '../settings/settings.ts';
import { OlderStoreError } from '../stores/store-age.ts';
import { addApiHeaders } from './api-headers.ts';
import type { ProblemCode, StatusOf } from './problem-codes/index.ts';

export interface ProblemDetail {
  readonly path: string;
  readonly message: string;
}

/** A kind of challenge that a login or registration can solve. */
export type Challenge = 'turnstile' | 'proof_of_work' | 'recovery_code_mail';

export interface Problem {
  readonly status: number;
  /** Stable code of the problem for programs, in `snake_case`. */
  readonly code: ProblemCode;
  readonly title: string;
  readonly detail?: string;
  readonly errors?: readonly ProblemDetail[];
  /** Challenges that the caller may solve before it repeats the request. */
  readonly challenges?: readonly Challenge[];
  /** Time after which to retry, in seconds; sent as `Retry-After`. */
  readonly retryAfterSeconds?: number;
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad request',
  401: 'Authentication required',
  403: 'Not allowed',
  404: 'Not found',
  405: 'Method not allowed',
  409: 'Conflict',
  412: 'Precondition failed',
  413: 'Too large',
  415: 'Unsupported media type',
  416: 'Range not satisfiable',
  422: 'Unprocessable content',
  426: 'Upgrade required',
  429: 'Too many requests',
  500: 'Internal error',
  502: 'Bad gateway',
  503: 'Temporarily unavailable',
};

/** The title of problems with an HTTP status. */
export const titleOf = (status: number): string => TITLES[status] ?? 'Error';

/** Builds a problem. Its title follows from the status. */
export function problem<C extends ProblemCode>(
  status: StatusOf<C>,
  code: C,
  detail?: string,
  more: Pick<Problem, 'errors' | 'challenges' | 'retryAfterSeconds'> = {},
): Problem {
  return { status, code, title: titleOf(status), ...(detail === undefined ? {} : { detail }), ...more };
}

/** Error that ends a request with a problem, for code that returns no `Result`. */
export class ProblemError extends Error {
  readonly problem: Problem;
  constructor(value: Problem, cause: unknown) {
    super(value.code, { cause });
    this.problem = value;
  }
}

/** The problem for a setting that the request needs and that has a bad value, or for a database that was put back. `GET /v1/health` lists all such settings. */
export const misconfigured = (error: MisconfiguredError): Problem =>
  error instanceof OlderStoreError
    ? problem(503, 'store_older', error.message, { retryAfterSeconds: 10 })
    : problem(503, 'misconfigured', error.message);

/** Makes the JSON body of a problem, for responses and for items of batch responses. */
export function toProblemBody(value: Problem, requestId: string): Record<string, unknown> {
  return {
    type: `/_/docs#problem-${value.code}`,
    title: value.title,
    status: value.status,
    detail: value.detail ?? value.title,
    code: value.code,
    request_id: requestId,
    ...(value.errors === undefined ? {} : { errors: value.errors }),
    ...(value.challenges === undefined ? {} : { challenges: value.challenges }),
  };
}

export function toProblemResponse(value: Problem, requestId: string): Response {
  const headers = new Headers({ 'content-type': 'application/problem+json', 'x-request-id': requestId });
  if (value.status === 401) headers.set('www-authenticate', 'Bearer');
  if (value.retryAfterSeconds !== undefined) headers.set('retry-after', String(Math.ceil(value.retryAfterSeconds)));
  addApiHeaders(headers);
  return Response.json(toProblemBody(value, requestId), { status: value.status, headers });
}
