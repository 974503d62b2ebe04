/** Reasons why an S3 request was not authenticated: AWS's error code, and the elements that AWS adds to the error document. */

export type S3AuthCode =
  | 'AccessDenied'
  | 'AuthorizationHeaderMalformed'
  | 'AuthorizationQueryParametersError'
  | 'ExpiredToken'
  | 'InvalidAccessKeyId'
  | 'InvalidArgument'
  | 'InvalidRequest'
  | 'InvalidToken'
  | 'MissingSecurityHeader'
  | 'NotImplemented'
  | 'RequestTimeTooSkewed'
  | 'SignatureDoesNotMatch';

export interface S3AuthFailure {
  readonly code: S3AuthCode;
  readonly message?: string;
  /** HTTP status of the answer. Default: the usual status of the error code. */
  readonly status?: number;
  readonly details?: Readonly<Record<string, string>>;
}

export const authFailure = (
  code: S3AuthCode,
  message?: string,
  details?: Readonly<Record<string, string>>,
): S3AuthFailure => ({ code, ...(message === undefined ? {} : { message }), ...(details ? { details } : {}) });
