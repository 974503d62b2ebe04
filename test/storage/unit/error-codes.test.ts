/** Tests the HTTP status of each error code. SDKs decide by it whether they repeat a request and which exception they throw. */
import { expect, it } from 'vitest';
import { S3_ERRORS, type S3ErrorCode } from '../../../workers/storage/domain/error-codes.ts';
import { isServerError, s3Failure } from '../../../workers/storage/domain/failure.ts';

const codesWith = (status: number) =>
  Object.entries(S3_ERRORS).flatMap(([code, [each]]) => (each === status ? [code as S3ErrorCode] : []));

/**
 * Error codes by status (Amazon S3 API Reference, "Error responses"). `QuotaExceeded` and 451 are our own. All other codes have
 * 400.
 */
const STATUSES: Readonly<Record<number, readonly string[]>> = {
  301: ['PermanentRedirect'],
  304: ['NotModified'],
  403: [
    ...['AccessDenied', 'AccessForbidden', 'InvalidAccessKeyId', 'InvalidChunkSizeError', 'QuotaExceeded'],
    ...['RequestTimeTooSkewed', 'SignatureDoesNotMatch'],
  ],
  405: ['MethodNotAllowed'],
  409: [
    ...['BucketAlreadyExists', 'BucketAlreadyOwnedByYou', 'BucketNotEmpty', 'ConditionalRequestConflict'],
    ...['InvalidBucketState', 'OperationAborted'],
  ],
  411: ['MissingContentLength'],
  412: ['PreconditionFailed'],
  416: ['InvalidPartNumber', 'InvalidRange'],
  451: ['UnavailableForLegalReasons'],
  500: ['InternalError'],
  501: ['NotImplemented'],
  503: ['ServiceUnavailable', 'SlowDown'],
};

it.each(Object.keys(STATUSES).map(Number))('status %i belongs to the codes that AWS lists under it', (status) => {
  expect(codesWith(status).sort()).toEqual(STATUSES[status]);
});

it('what is not found has 404, and every other error is a bad request', () => {
  const isMissing = (code: string) => /^NoSuch|NotFound(?:Error)?$/.test(code);
  const codes = Object.keys(S3_ERRORS).filter((code) => !Object.values(STATUSES).flat().includes(code));
  expect(codesWith(404)).toEqual(codes.filter(isMissing));
  expect(codesWith(400)).toEqual(codes.filter((code) => !isMissing(code)));
});

it('an error of the server has a status from 500', () => {
  expect(
    codesWith(500)
      .concat(codesWith(503))
      .map((code) => isServerError(s3Failure(code))),
  ).not.toContain(false);
  expect(isServerError(s3Failure('InvalidRange'))).toBe(false);
  expect([499, 500].map((status) => isServerError(s3Failure('InvalidArgument', '', { status })))).toEqual([
    false,
    true,
  ]);
});
