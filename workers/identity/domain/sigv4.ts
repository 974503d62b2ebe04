/**
 * AWS Signature Version 4, pure: canonical request, string to sign, signing key.
 *
 * Source: "Authenticating Requests (AWS Signature Version 4)", Amazon S3 API Reference (sig-v4-header-based-auth,
 * sigv4-query-string-auth, sigv4-streaming). S3 differs from other services: the path is encoded once and never normalised.
 */
import { createHash, createHmac } from 'node:crypto';
import { decodeUriToBytes, encodeUriBytes } from '../../shared/pure/uri-encoding.ts';

export const SIGV4_ALGORITHM = 'AWS4-HMAC-SHA256';
export const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/** Scope of a credential: `AKID/20130524/us-east-1/s3/aws4_request`. */
export interface CredentialScope {
  readonly accessKeyId: string;
  /** Date of the scope as `YYYYMMDD`. */
  readonly date: string;
  readonly region: string;
  readonly service: string;
}

export const toScopeText = (scope: CredentialScope): string =>
  `${scope.date}/${scope.region}/${scope.service}/aws4_request`;

/** The parts of a request that a signature covers, as sent. */
export interface SignedRequest {
  readonly method: string;
  /** Path before the `?`, percent-encoded as the client sent it. */
  readonly rawPath: string;
  /** Query after the `?`; may be empty. */
  readonly rawQuery: string;
  readonly headers: { get(name: string): string | null };
}

export const sha256Hex = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex');
export const hmacSha256 = (key: string | Uint8Array, data: string): Uint8Array =>
  createHmac('sha256', key).update(data).digest();
export const hmacSha256Hex = (key: Uint8Array, data: string): string =>
  createHmac('sha256', key).update(data).digest('hex');

/** @returns the signing key for the date, region and service of a scope. */
export function deriveSigningKey(secretAccessKey: string, scope: CredentialScope): Uint8Array {
  const dateKey = hmacSha256(`AWS4${secretAccessKey}`, scope.date);
  const regionKey = hmacSha256(dateKey, scope.region);
  return hmacSha256(hmacSha256(regionKey, scope.service), 'aws4_request');
}

/** The secret of an access key. Keeps the signing key of the last scope, because requests of one client and day have the same. */
export class SecretAccessKey {
  readonly text: string;
  #kept: { readonly scope: string; readonly signingKey: Uint8Array } | null = null;

  constructor(text: string) {
    this.text = text;
  }

  /** @returns the signing key for the date, region and service of a scope. */
  signingKeyOf(scope: CredentialScope): Uint8Array {
    const text = toScopeText(scope);
    if (this.#kept?.scope !== text) this.#kept = { scope: text, signingKey: deriveSigningKey(this.text, scope) };
    return this.#kept.signingKey;
  }
}

/** Makes the string to sign of a request. @param amzDate time of the request as `YYYYMMDDTHHMMSSZ`. */
export function toStringToSign(amzDate: string, scope: CredentialScope, canonicalRequest: string): string {
  return [SIGV4_ALGORITHM, amzDate, toScopeText(scope), sha256Hex(canonicalRequest)].join('\n');
}

/**
 * All canonical requests that the client may have signed, the likeliest first. HTTP clients differ in what they sign: the path as
 * sent, or encoded again. Repeated headers reach a Worker joined by `, `, but SigV4 joins them by `,`. Some (git-annex) sign `Host`
 * without its port. All variants mean the same to the rest of the service, so accepting any of them is safe.
 */
export function* toCanonicalRequests(
  request: SignedRequest,
  signedHeaders: readonly string[],
  payloadHash: string,
): Generator<string> {
  const seen = new Set<string>();
  const query = toCanonicalQuery(request.rawQuery);
  for (const headers of toCanonicalHeaders(request, signedHeaders)) {
    for (const path of [toCanonicalPath(request.rawPath), request.rawPath]) {
      const text = `${request.method}\n${path}\n${query}\n${headers}\n${signedHeaders.join(';')}\n${payloadHash}`;
      if (!seen.has(text)) yield text;
      seen.add(text);
    }
  }
}

/** Decodes a path and encodes it again, so that `%7e` and `~` are equal. Keeps slashes, including repeated ones. */
export function toCanonicalPath(rawPath: string): string {
  return /^[A-Za-z0-9\-._~/]*$/.test(rawPath) ? rawPath : encodeUriBytes(decodeUriToBytes(rawPath), true);
}

/**
 * Sorts the query parameters by encoded name, then by encoded value. Omits `X-Amz-Signature`, which is the signature itself.
 *
 * `+` is a space, as in S3 and in `parseQuery` of object storage. Both must read it alike: otherwise a signed `%2B` could
 * be replaced by `+`, which the operation reads as a space. Clients that mean a plus must send `%2B`.
 */
export function toCanonicalQuery(rawQuery: string): string {
  if (rawQuery === '') return '';
  const pairs: [name: string, value: string][] = [];
  let hasSignature = false;
  for (const part of rawQuery.split('&')) {
    if (part === '') continue;
    const at = part.indexOf('=');
    const name = encodeUriBytes(decodeUriToBytes(at < 0 ? part : part.slice(0, at), true));
    // A second signature was not signed, so the request does not match.
    if (name === 'X-Amz-Signature' && !hasSignature) {
      hasSignature = true;
      continue;
    }
    pairs.push([name, encodeUriBytes(decodeUriToBytes(at < 0 ? '' : part.slice(at + 1), true))]);
  }
  pairs.sort(([a, x], [b, y]) => compareText(a, b) || compareText(x, y));
  return pairs.map(([name, value]) => `${name}=${value}`).join('&');
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function* toCanonicalHeaders(request: SignedRequest, signedHeaders: readonly string[]): Generator<string> {
  const toText = (joiner: ', ' | ',', isWithPort: boolean) => {
    let text = '';
    for (const name of signedHeaders) {
      const sent = (request.headers.get(name) ?? '').trim().replace(/\s+/g, ' ');
      const value = name === 'host' && !isWithPort ? sent.replace(/:\d+$/, '') : sent;
      text += `${name}:${joiner === ',' ? value.replaceAll(', ', ',') : value}\n`;
    }
    return text;
  };
  yield toText(', ', true);
  yield toText(',', true);
  yield toText(', ', false);
}
