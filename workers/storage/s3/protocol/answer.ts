/**
 * Answers of the S3 API. Every body is sent unchanged (`encodeBody: 'manual'`), because stored bytes and lengths must
 * not change.
 */
import { findMisconfigured, type MisconfiguredError } from '../../../shared/settings/settings.ts';
import { OlderStoreError } from '../../../shared/stores/store-age.ts';
import { S3_ERRORS } from '../../domain/error-codes.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';
import { element, type XmlContent, xmlDocument } from './xml.ts';

export function answer(body: BodyInit | null, status = 200, headers: HeadersInit = {}): Response {
  return new Response(body, { status, headers, encodeBody: 'manual' });
}

export const emptyAnswer = (status: number, headers: HeadersInit = {}): Response => answer(null, status, headers);

export function xmlAnswer(name: string, content: XmlContent, headers: Record<string, string> = {}): Response {
  return answer(xmlDocument(name, content), 200, { 'content-type': 'application/xml', ...headers });
}

/** Answers with AWS's error document. Answers to HEAD and answers with status 304 have no body. */
export function failureAnswer(failure: S3Failure, resource: string, requestId: string, method: string): Response {
  const status = failure.status ?? S3_ERRORS[failure.code][0];
  const headers = new Headers(failure.headers);
  if (status === 304 || method === 'HEAD') return answer(null, status, headers);
  headers.set('content-type', 'application/xml');
  return answer(toErrorDocument(failure, resource, requestId), status, headers);
}

/** Writes AWS's error document. @param envelope name of an element around `Error`, as answers of S3 Control have one. */
export function toErrorDocument(failure: S3Failure, resource: string, requestId: string, envelope?: string): string {
  const details = Object.entries(failure.details ?? {}).map(([name, value]) => element(name, value));
  const inner = [
    element('Code', failure.code),
    element('Message', failure.message),
    ...details,
    element('Resource', resource),
    element('RequestId', requestId),
    element('HostId', requestId),
  ];
  const error = element('Error', inner);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${(envelope === undefined ? error : element(envelope, error)).xml}`;
}

/** The error when a setting that the request needs has a bad value, or a database was put back to an earlier state. */
export const misconfiguredFailure = (error: MisconfiguredError): S3Failure =>
  error instanceof OlderStoreError
    ? s3Failure('ServiceUnavailable', error.message, { headers: { 'retry-after': '10' } })
    : s3Failure('ServiceUnavailable', `Misconfigured: ${error.message}`);

/** The failure for an error that was thrown. */
export function toThrownFailure(error: unknown): S3Failure {
  const found = findMisconfigured(error);
  return found ? misconfiguredFailure(found) : internalFailure();
}

const internalFailure = (): S3Failure => s3Failure('InternalError');
