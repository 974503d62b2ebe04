/**
 * An expected failure of an S3 request: AWS's error code, and what the error document adds to the code's usual message.
 */
import { S3_ERRORS, type S3ErrorCode } from './error-codes.ts';

export interface S3Failure {
  readonly code: S3ErrorCode;
  readonly message: string;
  /** HTTP status of the answer. Default: the usual status of the error code. */
  readonly status?: number;
  /** Further elements of the XML error document, in order. */
  readonly details?: Readonly<Record<string, string>>;
  /** Further headers of the error's answer. */
  readonly headers?: Readonly<Record<string, string>>;
}

export function s3Failure(
  code: S3ErrorCode,
  message?: string,
  more: Pick<S3Failure, 'status' | 'details' | 'headers'> = {},
): S3Failure {
  return { code, message: message ?? S3_ERRORS[code][1], ...more };
}

/** The error `InvalidArgument`, with the elements that AWS adds to it. */
export const invalidArgument = (name: string, value: string, message = 'Invalid Argument'): S3Failure =>
  s3Failure('InvalidArgument', message, { details: { ArgumentName: name, ArgumentValue: value } });

export const isServerError = ({ code, status = S3_ERRORS[code][0] }: S3Failure): boolean => status >= 500;
