/** Parses the request object (RFC 8620 §3.3). Any other document is refused as a whole (§3.6.1). */
import { z } from '@hono/zod-openapi';
import { addApiHeaders } from '../../../shared/json/api-headers.ts';
import { findExceededBound } from '../../../shared/pure/request-budget.ts';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import {
  CALL_ID_LENGTH_MAX,
  CALLS_PER_REQUEST_MAX,
  REQUEST_BYTES_MAX,
  REQUEST_DEPTH_MAX,
  REQUEST_VALUES_MAX,
} from './limits.ts';
import { type Arguments, CAPABILITIES, type Invocation } from './method.ts';

const requestSchema = z.object({
  using: z.array(z.string()),
  methodCalls: z.array(z.tuple([z.string(), z.record(z.string(), z.unknown()), z.string().max(CALL_ID_LENGTH_MAX)])),
  createdIds: z.record(z.string(), z.string()).nullish(),
});

export interface JmapRequest {
  readonly using: readonly string[];
  readonly methodCalls: readonly Invocation[];
  /** Creation ids of earlier requests. Null if the request had no `createdIds`; the response then has none either. */
  readonly createdIds: Readonly<Record<string, string>> | null;
}

export interface RequestError {
  readonly type: 'unknownCapability' | 'notJSON' | 'notRequest' | 'limit';
  readonly status: number;
  readonly detail: string;
  /** Name of the limit that was exceeded. */
  readonly limit?: string;
}

export function parseRequest(contentType: string, bytes: Uint8Array): Result<JmapRequest, RequestError> {
  if (!/^application\/json(?:\s*;|\s*$)/i.test(contentType))
    return err({ type: 'notJSON', status: 400, detail: 'The media type of a request must be application/json.' });
  if (bytes.byteLength > REQUEST_BYTES_MAX)
    return err({
      type: 'limit',
      status: 400,
      limit: 'maxSizeRequest',
      detail: `A request has at most ${REQUEST_BYTES_MAX} bytes.`,
    });
  const exceeded = findExceededBound(bytes, { depthMax: REQUEST_DEPTH_MAX, valuesMax: REQUEST_VALUES_MAX });
  // A parser may limit the depth of JSON (RFC 8259 §9).
  if (exceeded === 'depthMax')
    return err({ type: 'notJSON', status: 400, detail: `The JSON nests at most ${REQUEST_DEPTH_MAX} levels.` });
  if (exceeded === 'valuesMax')
    return err({
      type: 'limit',
      status: 400,
      limit: 'maxSizeRequest',
      detail: `A request has at most ${REQUEST_VALUES_MAX} values.`,
    });
  const json = parseJson(bytes);
  if (json === undefined) return err({ type: 'notJSON', status: 400, detail: 'The request is not JSON in UTF-8.' });
  const parsed = requestSchema.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const detail = `The request is not a JMAP request: ${issue?.path.join('.') || 'it'}: ${issue?.message ?? ''}`;
    return err({ type: 'notRequest', status: 400, detail });
  }
  const { using, methodCalls, createdIds } = parsed.data;
  const known: readonly string[] = Object.values(CAPABILITIES);
  const unknown = using.find((capability) => !known.includes(capability));
  if (unknown !== undefined)
    return err({ type: 'unknownCapability', status: 400, detail: `Unknown capability: ${unknown.slice(0, 200)}` });
  if (methodCalls.length > CALLS_PER_REQUEST_MAX)
    return err({
      type: 'limit',
      status: 400,
      limit: 'maxCallsInRequest',
      detail: `A request has at most ${CALLS_PER_REQUEST_MAX} method calls.`,
    });
  return ok({ using, methodCalls, createdIds: createdIds ?? null });
}

export const tooManyAtOnce = (limit: 'maxConcurrentRequests' | 'maxConcurrentUpload'): RequestError => ({
  type: 'limit',
  status: 400,
  limit,
  detail: 'Too many requests of this user run at once. Wait for one of them.',
});

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes));
  } catch {
    return undefined;
  }
}

/** Converts an error of a request to a problem document (RFC 7807) with the types of RFC 8620 §3.6.1. */
export function toRequestErrorResponse({ type, status, detail, limit }: RequestError): Response {
  const body: Arguments = {
    type: `urn:ietf:params:jmap:error:${type}`,
    status,
    detail,
    ...(limit === undefined ? {} : { limit }),
  };
  const headers = new Headers({ 'content-type': 'application/problem+json' });
  addApiHeaders(headers);
  return Response.json(body, { status, headers });
}
