/** Parses an S3 request from its raw target, not with `new URL()`, which would collapse `..` and `.` in keys. */
import { isSigV2Query } from '../../../identity/index.ts';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { decodeUri } from '../../../shared/pure/uri-encoding.ts';
import { CHECKSUM_ALGORITHMS, createHasher, toChecksumHeader } from '../../domain/checksums.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';

export interface S3Request {
  readonly method: string;
  /** Path of the request, percent-encoded as the client sent it, because signatures cover it. */
  readonly rawPath: string;
  readonly rawQuery: string;
  /** Query parameters, decoded. If a parameter is repeated, its first value counts. */
  readonly query: ReadonlyMap<string, string>;
  readonly headers: Headers;
  /** Names of all headers, in lower case. */
  readonly headerNames: readonly string[];
  /** Name of the bucket; empty for a request to the service. */
  readonly bucket: string;
  /** Name of the bucket if the host has it; null for a path-style request. */
  readonly hostBucket: string | null;
  /** Key of the object; empty for a request to the bucket. */
  readonly key: string;
  /** Path in error documents: `/bucket/key`. */
  readonly resource: string;
  /** The client's Accept-Encoding. The edge replaces this header in the request to the Worker. */
  readonly acceptedEncodings: string;
  readonly isSecure: boolean;
  /** TLS version of the connection, such as `1.3`; null over plain HTTP, and if the server does not know it. */
  readonly tlsVersion: string | null;
  readonly body: ReadableStream<Uint8Array> | null;
}

/** Settings that decide how a request is parsed. */
export interface RequestOptions {
  /** Host of storage. A host `bucket.S3_HOST` names a bucket. Empty if only path style is supported. */
  readonly s3Host: string;
  /** Name of a header with the raw target, which a trusted proxy sets. Empty if the request's own URL counts. */
  readonly rawTargetHeader: string;
}

export function parseS3Request(request: Request, options: RequestOptions): Result<S3Request, S3Failure> {
  const url = /^(https?):\/\/([^/?#]*)([^?#]*)(?:\?([^#]*))?/.exec(request.url);
  const forwarded = options.rawTargetHeader === '' ? null : request.headers.get(options.rawTargetHeader);
  const target = forwarded === null ? null : /^([^?#]*)(?:\?([^#]*))?/.exec(forwarded);
  const rawPath = (target ? target[1] : url?.[3]) || '/';
  const rawQuery = (target ? target[2] : url?.[4]) ?? '';
  const path = decodeUri(rawPath);
  const query = parseQuery(rawQuery);
  if (path === null || query === null) return err(s3Failure('InvalidURI'));
  const host = (request.headers.get('host') ?? url?.[2] ?? '').replace(/:\d+$/, '').toLowerCase();
  const hostBucket = toVirtualBucket(host, options.s3Host.toLowerCase());
  const { bucket, key } = splitPath(path, hostBucket);
  return ok({
    method: request.method,
    rawPath,
    rawQuery,
    query,
    headers: request.headers,
    headerNames: [...request.headers.keys()],
    bucket,
    hostBucket,
    key,
    resource: bucket === '' ? '/' : key === '' ? `/${bucket}` : `/${bucket}/${key}`,
    acceptedEncodings: String(request.cf?.clientAcceptEncoding ?? request.headers.get('accept-encoding') ?? ''),
    isSecure: url?.[1] === 'https',
    tlsVersion: url?.[1] === 'https' ? readTlsVersion(request) : null,
    body: request.body,
  });
}

/**
 * Reads the TLS version from `request.cf`. There `tlsVersion` is `TLSv1.3`, for example (Cloudflare Workers, "Request:
 * IncomingRequestCfProperties").
 */
function readTlsVersion(request: Request): string | null {
  const version = request.cf?.tlsVersion;
  return typeof version === 'string' ? (/^TLSv(\d(?:\.\d)?)$/.exec(version)?.[1] ?? null) : null;
}

function toVirtualBucket(host: string, s3Host: string): string | null {
  return s3Host !== '' && host.endsWith(`.${s3Host}`) ? host.slice(0, -s3Host.length - 1) : null;
}

function splitPath(path: string, virtualBucket: string | null): { bucket: string; key: string } {
  const rest = path.startsWith('/') ? path.slice(1) : path;
  if (virtualBucket !== null) return { bucket: virtualBucket, key: rest };
  const slash = rest.indexOf('/');
  return slash < 0 ? { bucket: rest, key: '' } : { bucket: rest.slice(0, slash), key: rest.slice(slash + 1) };
}

/**
 * Parses the query. `+` is a space, as in S3 and in the canonical query of a signature.
 * @returns null if the query is not UTF-8.
 */
export function parseQuery(rawQuery: string): Map<string, string> | null {
  const query = new Map<string, string>();
  for (const part of rawQuery.split('&')) {
    if (part === '') continue;
    const at = part.indexOf('=');
    const name = decodeUri(at < 0 ? part : part.slice(0, at), true);
    const value = decodeUri(at < 0 ? '' : part.slice(at + 1), true);
    if (name === null || value === null) return null;
    if (!query.has(name)) query.set(name, value);
  }
  return query;
}

/**
 * Query parameters that are never read as headers: those of the signature, of the body's encoding, and of a customer-provided key.
 */
const NEVER_HOISTED =
  /^x-amz-(algorithm|credential|date|expires|signedheaders|signature|security-token|content-sha256|sdk-.*|trailer|decoded-content-length|server-side-encryption-.*)$/;

/**
 * Some presigners move a customer-provided key from the headers into the link. The algorithm then counts as a header, so that a
 * request without the key is refused: ignored, it would store or read the object without encryption.
 */
const CUSTOMER_ALGORITHM = 'x-amz-server-side-encryption-customer-algorithm';
/** Options of SigV2 clients that must be refused like headers, not ignored. */
const KMS_OPTION = /^x-amz-server-side-encryption-(?!customer-)/;

/**
 * Links may have the checksum of an empty body, because presigners that do not know the body add it. Such a checksum does not apply
 * to the body that is sent later.
 */
function isChecksumOfNothing(name: string, value: string): boolean {
  const algorithm = CHECKSUM_ALGORITHMS.find((candidate) => toChecksumHeader(candidate) === name);
  return algorithm !== undefined && createHasher(algorithm).digest() === value;
}

/**
 * Presigners of some SDKs move `x-amz-*` headers (metadata, ACL, tags, checksums, the source of a copy) into the query,
 * where the signature covers them. They count as headers here. A header that was sent takes precedence.
 */
export function withHoistedHeaders(request: S3Request): S3Request {
  const isSigV2 = isSigV2Query(request.query);
  if (!isSigV2 && !request.query.has('X-Amz-Signature')) return request;
  const hoisted: [name: string, value: string][] = [];
  for (const [parameter, value] of request.query) {
    const name = parameter.toLowerCase();
    if (!/^x-amz-[a-z0-9_-]+$/.test(name) || /[\r\n\0]/.test(value)) continue;
    const isRefusable = name === CUSTOMER_ALGORITHM || (isSigV2 && KMS_OPTION.test(name));
    if (NEVER_HOISTED.test(name) && !isRefusable) continue;
    if (!request.headers.has(name) && !isChecksumOfNothing(name, value)) hoisted.push([name, value]);
  }
  if (hoisted.length === 0) return request;
  const headers = new Headers(request.headers);
  for (const [name, value] of hoisted) headers.set(name, value);
  return { ...request, headers, headerNames: [...headers.keys()] };
}
