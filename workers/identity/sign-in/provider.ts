/**
 * The provider of `OIDC_ISSUER`: its metadata (OpenID Connect Discovery §4) and keys. An isolate keeps both for ten minutes. A token
 * with an unknown key loads the keys again, at most every ten seconds, so that a provider may rotate them at any time.
 */
import type { JWTPayload } from 'jose';
import type { AuthorizationServer, Client, ClientAuth } from 'oauth4webapi';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { logError, logInfo } from '../../shared/telemetry/log.ts';

const METADATA_AGE_MS = 10 * 60_000;
const TIMEOUT_MS = 8_000;
/** A key that is not known loads the keys again, but not sooner than this after the last time. */
const KEY_OPTIONS = { timeoutDuration: TIMEOUT_MS, cooldownDuration: 10_000 };
/** Difference of clocks that tokens may show. */
export const CLOCK_TOLERANCE_SECONDS = 30;
/** Algorithms of signatures. `none` and those with a shared secret are never accepted. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

export const OIDC_OFF = problem(404, 'oidc_off', 'No provider is configured.');
export const SIGN_IN_FAILED = problem(401, 'sign_in_failed', 'The sign-in is not valid. Start again.');
export const PROVIDER_UNAVAILABLE = problem(503, 'provider_unavailable', 'The provider does not answer. Retry.', {
  retryAfterSeconds: 30,
});

export const loadLibrary = () => import('./library.ts');
export type Library = Awaited<ReturnType<typeof loadLibrary>>;
type Keys = ReturnType<Library['createRemoteJWKSet']>;

export interface Provider {
  readonly library: Library;
  readonly server: AuthorizationServer;
  readonly client: Client;
  readonly authentication: ClientAuth;
  readonly keys: Keys;
  /** Options of each request to the provider. @returns new ones, because their time begins now. */
  readonly options: () => RequestOptions;
}
interface RequestOptions {
  readonly signal: AbortSignal;
  readonly [allow: symbol]: boolean;
}

interface Metadata {
  readonly server: AuthorizationServer;
  readonly keys: Keys;
  readonly endsAt: number;
}

/** Metadata and keys of providers, by issuer. A deployment has one of each kind; tests have more. */
const known = new Map<string, Metadata>();
const KNOWN_MAX = 8;

const isInsecure = (issuer: string): boolean => issuer.startsWith('http:');

/**
 * Finds the provider of `OIDC_ISSUER`.
 * @param now milliseconds since 1970 UTC, with which tokens are compared.
 * @returns 404 `oidc_off` if none is configured, 503 `provider_unavailable` if its metadata cannot be read.
 */
export async function openProvider(env: Env, now: number): Promise<Result<Provider, Problem>> {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: secret } = settingsOf(env);
  if (issuer === '' || clientId === '') return err(OIDC_OFF);
  const library = await loadLibrary();
  const options = () => ({
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...(isInsecure(issuer) ? { [library.allowInsecureRequests]: true } : {}),
  });
  const found = await readMetadata(library, issuer, options, now);
  if (!found.ok) return found;
  const { server, keys } = found.value;
  const client: Client = {
    client_id: clientId,
    // The clock of a test may be moved.
    [library.clockSkew]: Math.round((now - Date.now()) / 1000),
    [library.clockTolerance]: CLOCK_TOLERANCE_SECONDS,
  };
  return ok({ library, server, client, authentication: toAuthentication(library, server, secret), keys, options });
}

/** The default of a client with a secret is Basic (RFC 8414 §2). */
function toAuthentication(library: Library, server: AuthorizationServer, secret: string): ClientAuth {
  if (secret === '') return library.None();
  const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  return methods.includes('client_secret_basic') ? library.ClientSecretBasic(secret) : library.ClientSecretPost(secret);
}

async function readMetadata(
  library: Library,
  issuer: string,
  options: () => RequestOptions,
  now: number,
): Promise<Result<Metadata, Problem>> {
  const kept = known.get(issuer);
  if (kept && kept.endsAt > now && kept.endsAt <= now + METADATA_AGE_MS) return ok(kept);
  try {
    const url = new URL(issuer);
    const server = await library.processDiscoveryResponse(url, await library.discoveryRequest(url, options()));
    if (server.jwks_uri === undefined || server.authorization_endpoint === undefined) throw new Error('not complete');
    const jwks = new URL(server.jwks_uri);
    if (jwks.protocol !== 'https:' && !isInsecure(issuer)) throw new Error('jwks_uri is not https');
    const keys = library.createRemoteJWKSet(jwks, KEY_OPTIONS);
    const metadata = { server, keys, endsAt: now + METADATA_AGE_MS };
    keep(issuer, metadata);
    return ok(metadata);
  } catch (error) {
    logError('provider_metadata_failed', error);
    return err(PROVIDER_UNAVAILABLE);
  }
}

function keep(issuer: string, metadata: Metadata): void {
  if (known.size >= KNOWN_MAX) known.clear();
  known.set(issuer, metadata);
}

/** The keys of Cloudflare Access, whose address is fixed (Cloudflare docs, "Validate JWTs"). It has no metadata to read. */
export async function openAccessKeys(env: Env): Promise<{ readonly library: Library; readonly keys: Keys } | null> {
  const { ACCESS_ISSUER: issuer } = settingsOf(env);
  if (issuer === '') return null;
  const library = await loadLibrary();
  const kept = known.get(issuer);
  if (kept) return { library, keys: kept.keys };
  const keys = library.createRemoteJWKSet(new URL('/cdn-cgi/access/certs', issuer), KEY_OPTIONS);
  keep(issuer, { server: { issuer }, keys, endsAt: Number.POSITIVE_INFINITY });
  return { library, keys };
}

export interface Expected {
  readonly issuer: string;
  readonly audience: string;
  readonly now: number;
  /** Maximum age of the token by `iat`, in seconds, if it has one. */
  readonly ageSecondsMax?: number;
  readonly typ?: string;
}

/**
 * Verifies the signature, issuer, audience and times of a token.
 * @returns its claims; 401 `sign_in_failed` if it is not valid, 503 if the keys cannot be read.
 */
export async function verifyToken(
  { library, keys }: Pick<Provider, 'library' | 'keys'>,
  token: string,
  { issuer, audience, now, ageSecondsMax, typ }: Expected,
): Promise<Result<JWTPayload, Problem>> {
  try {
    const { payload } = await library.jwtVerify(token, keys, {
      issuer,
      audience,
      algorithms: ALGORITHMS,
      currentDate: new Date(now),
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      requiredClaims: ['exp', 'iat'],
      ...(ageSecondsMax === undefined ? {} : { maxTokenAge: ageSecondsMax }),
      ...(typ === undefined ? {} : { typ }),
    });
    // The library refuses a token of the future only together with a maximum age.
    if ((payload.iat ?? 0) <= now / 1000 + CLOCK_TOLERANCE_SECONDS) return ok(payload);
    logInfo('sign_in_refused', { reason: 'iat' });
    return err(SIGN_IN_FAILED);
  } catch (error) {
    return err(toProviderProblem(error));
  }
}

/** Faults that are not in the answer itself: a timeout, and keys that are answered with another status than 200. */
const PROVIDER_FAULTS = ['ERR_JWKS_TIMEOUT', 'ERR_JOSE_GENERIC'];

/** A fault of the provider or of the network is 503; every other one is a sign-in that is not valid. */
export function toProviderProblem(error: unknown): Problem {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const isFault = !/^(?:OAUTH|ERR)_/.test(code) || PROVIDER_FAULTS.includes(code);
  if (isFault) logError('provider_request_failed', error);
  else logInfo('sign_in_refused', { reason: code });
  return isFault ? PROVIDER_UNAVAILABLE : SIGN_IN_FAILED;
}
