/** Reads SigV4 credentials from the Authorization header, the query or a POST form. */
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { authFailure, type S3AuthFailure } from './s3-auth-failure.ts';
import { type CredentialScope, SIGV4_ALGORITHM } from './sigv4.ts';

/** A SigV4 signature with its parameters. Not verified yet. */
export interface SigV4Claim {
  readonly scope: CredentialScope;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
}

/** Maximum validity of a presigned query: 7 days (sigv4-query-string-auth, X-Amz-Expires). */
export const PRESIGNED_SECONDS_MAX = 604_800;
/** Maximum difference between the client's clock and ours (S3 error RequestTimeTooSkewed). */
export const CLOCK_SKEW_MS_MAX = 15 * 60 * 1000;

type Code = 'AuthorizationHeaderMalformed' | 'AuthorizationQueryParametersError' | 'InvalidArgument';

/** The services for which requests are signed: object storage, and the Security Token Service of temporary keys. */
export type SignedService = 's3' | 'sts';

/**
 * Parses a credential scope.
 * @param text `AKID/20130524/us-east-1/s3/aws4_request`. The access key id itself must contain no slash.
 */
export function parseCredentialScope(
  text: string,
  code: Code,
  service: SignedService = 's3',
): Result<CredentialScope, S3AuthFailure> {
  const parts = text.split('/');
  const [accessKeyId, date, region, signedService, terminator] = parts;
  if (parts.length !== 5 || !accessKeyId || !date || !region || !signedService) {
    return err(
      authFailure(
        code,
        'The credential must have the form "<your-access-key-id>/YYYYMMDD/<region>/<service>/aws4_request".',
      ),
    );
  }
  if (!/^\d{8}$/.test(date))
    return err(authFailure(code, `The credential's date "${date}" is not of the form yyyyMMdd.`));
  if (signedService !== service) {
    return err(
      authFailure(code, `The credential's service "${signedService}" is wrong. This endpoint belongs to "${service}".`),
    );
  }
  if (terminator !== 'aws4_request') {
    return err(authFailure(code, `The credential ends in "${terminator}"; "aws4_request" is expected.`));
  }
  return ok({ accessKeyId, date, region, service });
}

/**
 * Parses an Authorization header of the form `AWS4-HMAC-SHA256 Credential=…, SignedHeaders=…, Signature=…`, with or without blanks
 * after the commas.
 */
export function parseAuthorizationHeader(
  header: string,
  service: SignedService = 's3',
): Result<SigV4Claim, S3AuthFailure> {
  const malformed = (message: string) => err(authFailure('AuthorizationHeaderMalformed', message));
  const fields = new Map<string, string>();
  for (const part of header.slice(SIGV4_ALGORITHM.length).split(',')) {
    const at = part.indexOf('=');
    if (at > 0) fields.set(part.slice(0, at).trim(), part.slice(at + 1).trim());
  }
  const credential = fields.get('Credential');
  const signedHeaders = fields.get('SignedHeaders');
  const signature = fields.get('Signature');
  if (!credential) return malformed('The authorization header is malformed; it has no Credential.');
  if (!signedHeaders) return malformed('The authorization header is malformed; it has no SignedHeaders.');
  if (!signature) return malformed('The authorization header is malformed; it has no Signature.');
  const scope = parseCredentialScope(credential, 'AuthorizationHeaderMalformed', service);
  if (!scope.ok) return scope;
  const names = signedHeaders.toLowerCase().split(';');
  if (!names.includes('host')) return err(authFailure('SignatureDoesNotMatch', 'The Host header must be signed.'));
  return ok({ scope: scope.value, signedHeaders: names, signature });
}

export interface PresignedClaim extends SigV4Claim {
  readonly amzDate: string;
  readonly expiresSeconds: number;
}

/**
 * Reads the SigV4 signature of a presigned link from its query.
 * @param query decoded query parameters, one of which is `X-Amz-Algorithm`.
 */
export function parsePresignedQuery(query: ReadonlyMap<string, string>): Result<PresignedClaim, S3AuthFailure> {
  const wrong = (message: string) => err(authFailure('AuthorizationQueryParametersError', message));
  if (query.get('X-Amz-Algorithm') !== SIGV4_ALGORITHM) {
    return wrong('X-Amz-Algorithm only supports "AWS4-HMAC-SHA256".');
  }
  const credential = query.get('X-Amz-Credential');
  const amzDate = query.get('X-Amz-Date');
  const expires = query.get('X-Amz-Expires');
  const signedHeaders = query.get('X-Amz-SignedHeaders');
  const signature = query.get('X-Amz-Signature');
  if (!credential || !amzDate || expires === undefined || !signedHeaders || !signature) {
    return wrong(
      'Query-string authentication needs X-Amz-Algorithm, X-Amz-Credential, X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and X-Amz-Expires.',
    );
  }
  if (!/^-?\d+$/.test(expires)) return wrong('X-Amz-Expires should be a number.');
  const expiresSeconds = Number(expires);
  if (expiresSeconds < 0) return wrong('X-Amz-Expires must be non-negative.');
  if (expiresSeconds > PRESIGNED_SECONDS_MAX) {
    return wrong(`X-Amz-Expires must be less than a week (in seconds); that is, ${PRESIGNED_SECONDS_MAX}.`);
  }
  if (parseAmzDate(amzDate) === null) return wrong("X-Amz-Date must be in the ISO 8601 form \"yyyyMMdd'T'HHmmss'Z'\".");
  const scope = parseCredentialScope(credential, 'AuthorizationQueryParametersError');
  if (!scope.ok) return scope;
  if (!amzDate.startsWith(scope.value.date)) {
    return wrong(`Invalid credential date "${scope.value.date}". This date is not the same as X-Amz-Date.`);
  }
  const names = signedHeaders.toLowerCase().split(';');
  if (!names.includes('host')) return wrong('X-Amz-SignedHeaders must name the host header.');
  return ok({ scope: scope.value, signedHeaders: names, signature, amzDate, expiresSeconds });
}

/** Parses a time of the form `YYYYMMDDTHHMMSSZ`. @returns milliseconds since 1970 UTC, or null. */
export function parseAmzDate(text: string): number | null {
  const match = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text);
  if (!match) return null;
  const [, year, month, day, hour, minute, second] = match;
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(time) ? null : time;
}

/** Formats a time as `20130524T000000Z`. */
export const toAmzDate = (epochMs: number): string =>
  `${new Date(epochMs).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`;

/**
 * Reads the time of a header-signed request: `x-amz-date`, else `Date` as an HTTP or ISO date.
 * @returns the time, and the form that the string to sign contains.
 */
export function readRequestDate(headers: {
  get(name: string): string | null;
}): Result<{ epochMs: number; amzDate: string }, S3AuthFailure> {
  const missing = authFailure('AccessDenied', 'AWS authentication requires a valid Date or x-amz-date header');
  const own = headers.get('x-amz-date');
  const text = own ?? headers.get('date');
  if (text === null) return err(missing);
  const basic = parseAmzDate(text);
  if (basic !== null) return ok({ epochMs: basic, amzDate: text });
  const time = Date.parse(text);
  return Number.isNaN(time) ? err(missing) : ok({ epochMs: time, amzDate: toAmzDate(time) });
}
