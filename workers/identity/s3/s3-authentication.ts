/**
 * Authenticates S3 requests: SigV4 in the header and in the query (presigned), with the payload modes of each; SigV2 in the query;
 * a bearer token; or anonymous access. The caller of this code passes the look-up of access keys as a function, so that it can run
 * in parallel with other queries. Browser forms are in `s3-form-authentication.ts`.
 *
 * By design: any region name is accepted, since one service serves all regions. SigV2 in the header and SigV4A are
 * rejected.
 */
import { equalInConstantTime } from '../../shared/pure/constant-time.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { authFailure, type S3AuthFailure } from '../domain/s3-auth-failure.ts';
import {
  checkSigV2Expiry,
  isSigV2Query,
  parseSigV2Query,
  type SigV2Request,
  signSigV2,
  toSigV2Strings,
} from '../domain/sigv2.ts';
import {
  type CredentialScope,
  hmacSha256Hex,
  type SecretAccessKey,
  SIGV4_ALGORITHM,
  toCanonicalRequests,
  toStringToSign,
} from '../domain/sigv4.ts';
import {
  CLOCK_SKEW_MS_MAX,
  parseAmzDate,
  parseAuthorizationHeader,
  parsePresignedQuery,
  readRequestDate,
  type SigV4Claim,
  toAmzDate,
} from '../domain/sigv4-credentials.ts';
import { createChunkVerifier } from '../domain/sigv4-streaming.ts';
import type { UserPrincipal } from '../principal.ts';
import { type PayloadMode, readPayloadMode } from './s3-payload-mode.ts';

export type SignatureVersion = 'AWS' | 'AWS4-HMAC-SHA256';

export interface S3Caller {
  /** The authenticated user; null for anonymous access. */
  readonly principal: UserPrincipal | null;
  readonly via: 'anonymous' | 'header' | 'query' | 'bearer' | 'form';
  /** Version of the signature, as the condition key `s3:signatureversion` has it; null without a signature. */
  readonly signature: SignatureVersion | null;
  readonly payload: PayloadMode;
}

export interface AccessKeySecret {
  readonly secret: SecretAccessKey;
  readonly principal: UserPrincipal;
}

/** Look-ups of credentials, and settings, that S3 authentication needs. */
export interface S3Credentials {
  /** Whether links and forms may be signed with Signature Version 2. */
  readonly allowsSigV2: boolean;
  findAccessKey(accessKeyId: string): Promise<AccessKeySecret | null>;
  /**
   * Finds a temporary key by its session token.
   * @returns `invalid` if the token is not one of this key, or if the key was ended or its parent is gone.
   */
  findTemporaryKey(accessKeyId: string, sessionToken: string): Promise<Result<AccessKeySecret, 'invalid' | 'expired'>>;
  /** Finds the user of a bearer token. @returns null if the token is unknown, expired or belongs to no user. */
  findBearer(token: string): Promise<UserPrincipal | null>;
}

/** The parts of a request, as sent, that authentication needs. Signature Version 2 needs more of them than the other methods. */
export type S3AuthenticationRequest = SigV2Request;

/** Authenticates an S3 request. @param now milliseconds since 1970 UTC. */
export async function authenticateS3(
  request: S3AuthenticationRequest,
  credentials: S3Credentials,
  now: number,
): Promise<Result<S3Caller, S3AuthFailure>> {
  // An empty Authorization header counts as absent.
  const header = request.headers.get('authorization') || null;
  if (header !== null) {
    if (request.query.has('X-Amz-Algorithm') || request.query.has('Signature')) {
      return err(
        authFailure(
          'InvalidArgument',
          'Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature query string parameter or the Authorization header should be specified',
        ),
      );
    }
    if (header.startsWith(SIGV4_ALGORITHM)) return authenticateHeader(request, header, credentials, now);
    if (/^bearer /i.test(header)) return authenticateBearer(request, header.slice(7).trim(), credentials);
    if (header.startsWith('AWS ') || header.startsWith('AWS4-')) return err(unsupportedMechanism());
    return err(
      authFailure('InvalidArgument', 'Unsupported Authorization Type', {
        ArgumentName: 'Authorization',
        ArgumentValue: header.slice(0, 40),
      }),
    );
  }
  if (request.query.has('X-Amz-Algorithm')) return authenticateQuery(request, credentials, now);
  if (isSigV2Query(request.query)) return authenticateSigV2Query(request, credentials, now);
  const mode = readPayloadMode(request.headers.get('x-amz-content-sha256') ?? 'UNSIGNED-PAYLOAD', null);
  return mode.ok ? ok({ principal: null, via: 'anonymous', signature: null, payload: mode.value }) : mode;
}

export const unsupportedMechanism = () =>
  authFailure(
    'InvalidRequest',
    'The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.',
  );

async function authenticateBearer(
  request: S3AuthenticationRequest,
  token: string,
  credentials: S3Credentials,
): Promise<Result<S3Caller, S3AuthFailure>> {
  const principal = await credentials.findBearer(token);
  // Bearer tokens are an extension, which AWS does not have. An invalid one gets 401, as in the JSON APIs.
  if (!principal) return err({ ...authFailure('InvalidToken'), status: 401 });
  const mode = readPayloadMode(request.headers.get('x-amz-content-sha256') ?? 'UNSIGNED-PAYLOAD', null);
  return mode.ok ? ok({ principal, via: 'bearer', signature: null, payload: mode.value }) : mode;
}

/**
 * Authenticates a request to the Security Token Service, which is signed in the header, over the hash of its body.
 * @param bodySha256 hash of the body that arrived, in hex.
 */
export async function authenticateSts(
  request: S3AuthenticationRequest,
  bodySha256: string,
  credentials: S3Credentials,
  now: number,
): Promise<Result<S3Caller, S3AuthFailure>> {
  const header = request.headers.get('authorization');
  if (!header?.startsWith(SIGV4_ALGORITHM)) return err(unsupportedMechanism());
  const claim = parseAuthorizationHeader(header, 'sts');
  return claim.ok ? await authenticateClaim(request, claim.value, bodySha256, { credentials, now }) : claim;
}

async function authenticateHeader(
  request: S3AuthenticationRequest,
  header: string,
  credentials: S3Credentials,
  now: number,
): Promise<Result<S3Caller, S3AuthFailure>> {
  const claim = parseAuthorizationHeader(header);
  if (!claim.ok) return claim;
  const content = request.headers.get('x-amz-content-sha256');
  return await authenticateClaim(request, claim.value, content, { credentials, now });
}

/** @param content hash of the body, or the payload mode, as the client signed it; null if it named none. */
async function authenticateClaim(
  request: S3AuthenticationRequest,
  claim: SigV4Claim,
  content: string | null,
  { credentials, now }: { readonly credentials: S3Credentials; readonly now: number },
): Promise<Result<S3Caller, S3AuthFailure>> {
  const { scope, signedHeaders, signature } = claim;
  const date = readRequestDate(request.headers);
  if (!date.ok) return date;
  const { amzDate, epochMs } = date.value;
  if (!amzDate.startsWith(scope.date)) {
    return err(
      authFailure(
        'AuthorizationHeaderMalformed',
        `The authorization header is malformed; Invalid credential date "${scope.date}". This date is not the same as X-Amz-Date: "${amzDate.slice(0, 8)}".`,
      ),
    );
  }
  if (Math.abs(now - epochMs) > CLOCK_SKEW_MS_MAX) return err(skewed(amzDate, now));
  if (content === null) {
    return err(authFailure('InvalidRequest', 'Missing required header for this request: x-amz-content-sha256'));
  }
  const notSigned = findUnsigned(request, signedHeaders, []);
  if (notSigned) return err(notSigned);
  const key = await findKey(scope.accessKeyId, credentials, request.headers.get('x-amz-security-token'));
  if (!key.ok) return key;
  const signingKey = key.value.secret.signingKeyOf(scope);
  const matched = verifySignature(request, signedHeaders, content, amzDate, scope, signingKey, signature);
  if (!matched.ok) return matched;
  const mode = readPayloadMode(content, createChunkVerifier(signingKey, amzDate, scope, signature));
  const { principal } = key.value;
  return mode.ok ? ok({ principal, via: 'header', signature: SIGV4_ALGORITHM, payload: mode.value }) : mode;
}

async function authenticateQuery(
  request: S3AuthenticationRequest,
  credentials: S3Credentials,
  now: number,
): Promise<Result<S3Caller, S3AuthFailure>> {
  const claim = parsePresignedQuery(request.query);
  if (!claim.ok) return claim;
  const { scope, signedHeaders, signature, amzDate, expiresSeconds } = claim.value;
  const signedAt = parseAmzDate(amzDate) ?? 0;
  if (signedAt - now > CLOCK_SKEW_MS_MAX) {
    return err(authFailure('AccessDenied', 'Request is not yet valid', { ServerTime: new Date(now).toISOString() }));
  }
  if (now > signedAt + expiresSeconds * 1000) {
    return err(
      authFailure('AccessDenied', 'Request has expired', {
        'X-Amz-Expires': String(expiresSeconds),
        Expires: new Date(signedAt + expiresSeconds * 1000).toISOString(),
        ServerTime: new Date(now).toISOString(),
      }),
    );
  }
  const notSigned = findUnsigned(request, signedHeaders, ['x-amz-content-sha256']);
  if (notSigned) return err(notSigned);
  const key = await findKey(scope.accessKeyId, credentials, request.query.get('X-Amz-Security-Token') ?? null);
  if (!key.ok) return key;
  const content =
    request.query.get('X-Amz-Content-Sha256') ?? request.headers.get('x-amz-content-sha256') ?? 'UNSIGNED-PAYLOAD';
  const signingKey = key.value.secret.signingKeyOf(scope);
  // Presigners sign UNSIGNED-PAYLOAD unless they know the body. If the client sends a hash anyway, the body must match
  // it.
  let matched = verifySignature(request, signedHeaders, content, amzDate, scope, signingKey, signature);
  if (!matched.ok && content !== 'UNSIGNED-PAYLOAD' && !signedHeaders.includes('x-amz-content-sha256')) {
    matched = verifySignature(request, signedHeaders, 'UNSIGNED-PAYLOAD', amzDate, scope, signingKey, signature);
  }
  if (!matched.ok) return matched;
  const mode = readPayloadMode(content, createChunkVerifier(signingKey, amzDate, scope, signature));
  const { principal } = key.value;
  return mode.ok ? ok({ principal, via: 'query', signature: SIGV4_ALGORITHM, payload: mode.value }) : mode;
}

async function authenticateSigV2Query(
  request: S3AuthenticationRequest,
  credentials: S3Credentials,
  now: number,
): Promise<Result<S3Caller, S3AuthFailure>> {
  if (!credentials.allowsSigV2) return err(unsupportedMechanism());
  const claim = parseSigV2Query(request.query);
  if (!claim.ok) return claim;
  const { accessKeyId, signature } = claim.value;
  const expired = checkSigV2Expiry(claim.value, now);
  if (expired) return err(expired);
  // The string to sign contains `x-amz-*` headers, but not their aliases `x-meta-*`, so a request with an alias is refused.
  const aliases = request.headerNames.filter((name) => name.startsWith('x-meta-'));
  if (aliases.length > 0) return err(notSigned(aliases));
  const strings = toSigV2Strings(request, claim.value);
  if (!strings.ok) return strings;
  const token = request.query.get('x-amz-security-token') ?? request.headers.get('x-amz-security-token');
  const key = await findKey(accessKeyId, credentials, token);
  if (!key.ok) return key;
  const { principal, secret } = key.value;
  if (!strings.value.some((text) => equalInConstantTime(signSigV2(secret.text, text), signature))) {
    return err(
      authFailure('SignatureDoesNotMatch', undefined, {
        AWSAccessKeyId: accessKeyId,
        StringToSign: strings.value[0] ?? '',
        SignatureProvided: signature,
      }),
    );
  }
  const mode = readPayloadMode(request.headers.get('x-amz-content-sha256') ?? 'UNSIGNED-PAYLOAD', null);
  return mode.ok ? ok({ principal, via: 'query', signature: 'AWS', payload: mode.value }) : mode;
}

/** Finds an access key, or with a session token a temporary key. */
export async function findKey(
  accessKeyId: string,
  credentials: S3Credentials,
  sessionToken: string | null,
): Promise<Result<AccessKeySecret, S3AuthFailure>> {
  if (sessionToken) {
    const found = await credentials.findTemporaryKey(accessKeyId, sessionToken);
    if (found.ok) return found;
    if (found.error === 'expired') return err(authFailure('ExpiredToken', 'The provided token has expired.'));
    return err(authFailure('InvalidToken', 'The provided token is malformed or otherwise invalid.'));
  }
  const key = await credentials.findAccessKey(accessKeyId);
  return key ? ok(key) : err(unknownKey(accessKeyId));
}

const unknownKey = (accessKeyId: string) =>
  authFailure('InvalidAccessKeyId', undefined, { AWSAccessKeyId: accessKeyId });

export const skewed = (amzDate: string, now: number) =>
  authFailure('RequestTimeTooSkewed', undefined, {
    RequestTime: amzDate,
    ServerTime: toAmzDate(now),
    MaxAllowedSkewMilliseconds: String(CLOCK_SKEW_MS_MAX),
  });

/**
 * Rejects `x-amz-*` headers that the signature does not cover, as S3 does: anyone on the path could have added them.
 * `x-meta-*` is an alias of `x-amz-meta-*`, so the same rule applies to it.
 */
function findUnsigned(
  request: S3AuthenticationRequest,
  signedHeaders: readonly string[],
  exempt: readonly string[],
): S3AuthFailure | null {
  const names = request.headerNames.filter(
    (name) => /^x-(amz|meta)-/.test(name) && !signedHeaders.includes(name) && !exempt.includes(name),
  );
  return names.length === 0 ? null : notSigned(names);
}

const notSigned = (names: readonly string[]) =>
  authFailure('AccessDenied', 'There were headers present in the request which were not signed', {
    HeadersNotSigned: names.join(', '),
  });

function verifySignature(
  request: S3AuthenticationRequest,
  signedHeaders: readonly string[],
  payloadHash: string,
  amzDate: string,
  scope: CredentialScope,
  signingKey: Uint8Array,
  signature: string,
): Result<null, S3AuthFailure> {
  let first: { canonical: string; stringToSign: string } | null = null;
  for (const canonical of toCanonicalRequests(request, signedHeaders, payloadHash)) {
    const stringToSign = toStringToSign(amzDate, scope, canonical);
    if (equalInConstantTime(hmacSha256Hex(signingKey, stringToSign), signature)) return ok(null);
    first ??= { canonical, stringToSign };
  }
  return err(
    authFailure('SignatureDoesNotMatch', undefined, {
      AWSAccessKeyId: scope.accessKeyId,
      StringToSign: first?.stringToSign ?? '',
      SignatureProvided: signature,
      CanonicalRequest: first?.canonical ?? '',
    }),
  );
}
