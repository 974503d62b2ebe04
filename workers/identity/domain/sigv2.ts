/**
 * AWS Signature Version 2 in links and POST forms, pure: claim, validity, string to sign, signature.
 *
 * Source: "Signing and authenticating REST requests (AWS signature version 2)", Amazon S3 API Reference (RESTAuthentication).
 *
 * Gaps, as at AWS: the signature covers no parameters of listings, so the holder of a link that lists a bucket can list any prefix.
 * It covers decoded values without their boundaries, so `a%26tagging` in a signed `response-*` value equals a further `tagging`.
 * Only Signature Version 4 avoids both.
 */
import { createHmac } from 'node:crypto';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { decodeUri } from '../../shared/pure/uri-encoding.ts';
import { authFailure, type S3AuthFailure } from './s3-auth-failure.ts';
import { S3_SUBRESOURCES } from './s3-subresources.ts';
import { type SignedRequest, toCanonicalPath } from './sigv4.ts';
import { CLOCK_SKEW_MS_MAX, PRESIGNED_SECONDS_MAX } from './sigv4-credentials.ts';

/** The signature of a link, with its parameters. Not verified yet. */
export interface SigV2Claim {
  readonly accessKeyId: string;
  readonly signature: string;
  /** Time of expiry in seconds since 1970 UTC, as the text that the string to sign contains. */
  readonly expires: string;
}

export interface SigV2Request extends SignedRequest {
  readonly query: ReadonlyMap<string, string>;
  /** Names of the request's headers, in lower case. */
  readonly headerNames: readonly string[];
  /** Name of the bucket if the host has it; null for a path-style request. */
  readonly hostBucket: string | null;
}

/** Query parameters that the string to sign contains, besides the names that select an operation. */
const SIGNED_PARAMETERS: ReadonlySet<string> = new Set<string>([
  ...S3_SUBRESOURCES,
  'partNumber',
  'uploadId',
  'versionId',
  'response-cache-control',
  'response-content-disposition',
  'response-content-encoding',
  'response-content-language',
  'response-content-type',
  'response-expires',
]);

export const isSigV2Query = (query: ReadonlyMap<string, string>): boolean =>
  query.has('AWSAccessKeyId') || query.has('Signature');

/** Reads the SigV2 signature of a link from its query. @param query decoded query parameters, for which `isSigV2Query` holds. */
export function parseSigV2Query(query: ReadonlyMap<string, string>): Result<SigV2Claim, S3AuthFailure> {
  const [accessKeyId, signature, expires] = [query.get('AWSAccessKeyId'), query.get('Signature'), query.get('Expires')];
  if (!accessKeyId || !signature || !expires) {
    return err(
      authFailure(
        'AccessDenied',
        'Query-string authentication requires the Signature, Expires and AWSAccessKeyId parameters',
      ),
    );
  }
  if (!/^\d{1,12}$/.test(expires)) {
    return err(authFailure('AccessDenied', `Invalid date (should be seconds since epoch): ${expires.slice(0, 40)}`));
  }
  // Base64 has no spaces, so a space here was a `+` that the client did not escape.
  return ok({ accessKeyId, signature: signature.replaceAll(' ', '+'), expires });
}

/**
 * Checks the time of a link. It is valid until its `Expires`, which may be at most 7 days ahead; AWS sets no such limit for
 * Signature Version 2. The tolerance for the client's clock is that of Signature Version 4.
 * @param now milliseconds since 1970 UTC.
 */
export function checkSigV2Expiry({ expires }: SigV2Claim, now: number): S3AuthFailure | null {
  const expiresMs = Number(expires) * 1000;
  const ServerTime = new Date(now).toISOString();
  if (now > expiresMs) {
    return authFailure('AccessDenied', 'Request has expired', {
      Expires: new Date(expiresMs).toISOString(),
      ServerTime,
    });
  }
  if (expiresMs - now > PRESIGNED_SECONDS_MAX * 1000 + CLOCK_SKEW_MS_MAX) {
    const message = `Expires must be at most 7 days (${PRESIGNED_SECONDS_MAX} seconds) ahead.`;
    return authFailure('AccessDenied', message, { ServerTime });
  }
  return null;
}

export const signSigV2 = (secretAccessKey: string, text: string): string =>
  createHmac('sha1', secretAccessKey).update(text).digest('base64');

/**
 * The strings that the client may have signed. HTTP clients change the encoding of the path, so the path is tried as sent and
 * encoded again. The path of a bucket without a key is tried with and without the slash at its end, because boto3 has signed both
 * (boto/boto3#4433). All of these strings name the same resource.
 */
export function toSigV2Strings(
  request: SigV2Request,
  { expires }: SigV2Claim,
): Result<readonly string[], S3AuthFailure> {
  const amzHeaders = toAmzHeaders(request);
  if (!amzHeaders.ok) return amzHeaders;
  const header = (name: string) => request.headers.get(name)?.trim() ?? '';
  const start = [request.method, header('content-md5'), header('content-type'), expires, ''].join('\n');
  const bucket = request.hostBucket === null ? '' : `/${request.hostBucket}`;
  const paths = new Set<string>();
  for (const path of [bucket + request.rawPath, bucket + toCanonicalPath(request.rawPath)]) {
    paths.add(path);
    const bare = /^(\/[^/]+)\/?$/.exec(path)?.[1];
    if (bare !== undefined) paths.add(bare).add(`${bare}/`);
  }
  return ok([...paths].map((path) => `${start}${amzHeaders.value}${path}${toSignedQuery(request.rawQuery)}`));
}

/**
 * Whether a header is part of the string to sign: every `x-amz-*` header except `x-amz-date`, which SigV2 omits from links
 * (RESTAuthentication, "Query string request authentication alternative").
 */
const isSignedHeader = (name: string): boolean => name.startsWith('x-amz-') && name !== 'x-amz-date';

/**
 * Collects `x-amz-*` headers, and those that the signer moved into the query (boto3 does). A header that is sent takes precedence.
 * All of them are part of the string to sign, so the holder of a link cannot add one.
 */
function toAmzHeaders(request: SigV2Request): Result<string, S3AuthFailure> {
  const values = new Map<string, string>();
  for (const [parameter, value] of request.query) {
    const name = parameter.toLowerCase();
    if (!isSignedHeader(name)) continue;
    // Two spellings of one name, or a line break, would give two different requests the same string to sign.
    if (values.has(name) || /[\r\n\0]/.test(name + value)) {
      return err(
        authFailure('InvalidArgument', 'Invalid header in the query string', {
          ArgumentName: name,
          ArgumentValue: value,
        }),
      );
    }
    values.set(name, value);
  }
  for (const name of request.headerNames) {
    if (isSignedHeader(name)) values.set(name, request.headers.get(name) ?? '');
  }
  const names = [...values.keys()].sort();
  return ok(names.map((name) => `${name}:${(values.get(name) ?? '').trim()}\n`).join(''));
}

/** Sorts the query parameters by name and decodes their values. A name without `=` stays without it. */
function toSignedQuery(rawQuery: string): string {
  const signed: [name: string, text: string][] = [];
  for (const part of rawQuery.split('&')) {
    const [rawName = '', ...rawValue] = part.split('=');
    const name = decodeUri(rawName) ?? '';
    if (!SIGNED_PARAMETERS.has(name)) continue;
    signed.push([name, part.includes('=') ? `${name}=${decodeUri(rawValue.join('='), true) ?? ''}` : name]);
  }
  signed.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return signed.length === 0 ? '' : `?${signed.map(([, text]) => text).join('&')}`;
}
