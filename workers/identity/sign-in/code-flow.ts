/**
 * The authorization code flow with PKCE (OpenID Connect Core §3.1, RFC 7636, RFC 9700).
 *
 * The browser that begins a sign-in gets a sealed cookie for ten minutes with `state`, `nonce` and the PKCE verifier. The callback is
 * accepted only from that browser (log-in CSRF), with that code challenge (code injection), from that issuer (mix-up, RFC 9207), and
 * its ID token must name the issuer, this client and the nonce, be timely, and be signed with a key of the provider.
 */
import type { IDToken, TokenEndpointResponse } from 'oauth4webapi';
import { z } from 'zod';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import type { Claims } from '../domain/provider-claims.ts';
import { openSecret, sealSecret } from '../secrets/secrets.ts';
import { type Proof, PURPOSES, type Purpose, toProof } from './proof.ts';
import {
  CLOCK_TOLERANCE_SECONDS,
  openProvider,
  type Provider,
  SIGN_IN_FAILED,
  toProviderProblem,
  verifyToken,
} from './provider.ts';

export const BEGUN_AGE_MS = 10 * 60_000;
export const CALLBACK_PATH = '/v1/auth/oidc/callback';

const CONTEXT = 'sign-in-begun';
const EXPIRED = problem(401, 'sign_in_expired', 'The sign-in expired. Start again.');

/** Content of the cookie of a sign-in that is under way. */
const begunSchema = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  purpose: z.enum(PURPOSES),
  begunAt: z.number(),
});
type Begun = z.infer<typeof begunSchema>;

const toRedirectUri = (origin: string): string => `${origin}${CALLBACK_PATH}`;

/**
 * Begins a sign-in.
 * @param origin origin of the web app. @param now milliseconds since 1970 UTC.
 * @returns the provider's page, and the content of the cookie.
 */
export async function beginSignIn(
  env: Env,
  purpose: Purpose,
  origin: string,
  now: number,
): Promise<Result<{ readonly url: string; readonly cookie: string }, Problem>> {
  const provider = await openProvider(env, now);
  if (!provider.ok) return provider;
  const { library, server, client } = provider.value;
  const begun: Begun = {
    state: library.generateRandomState(),
    nonce: library.generateRandomNonce(),
    verifier: library.generateRandomCodeVerifier(),
    purpose,
    begunAt: now,
  };
  const { OIDC_SCOPES: scope, OIDC_PARAMETERS: further } = settingsOf(env);
  const url = new URL(server.authorization_endpoint ?? '');
  for (const [name, value] of new URLSearchParams(further)) url.searchParams.set(name, value);
  const parameters = {
    client_id: client.client_id,
    redirect_uri: toRedirectUri(origin),
    response_type: 'code',
    scope,
    state: begun.state,
    nonce: begun.nonce,
    code_challenge: await library.calculatePKCECodeChallenge(begun.verifier),
    code_challenge_method: 'S256',
    // A confirmation is worth something only if the person proves again who they are.
    ...(purpose === 'confirm' ? { prompt: 'login', max_age: '0' } : {}),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return ok({ url: url.href, cookie: sealSecret(JSON.stringify(begun), CONTEXT, env) });
}

/** Opens the cookie of a sign-in. @returns null if it is none, or older than ten minutes. */
export function openBegun(env: Env, cookie: string | undefined, now: number): Begun | null {
  const opened = cookie === undefined ? null : openSecret(cookie, CONTEXT, env);
  if (!opened?.ok) return null;
  const begun = begunSchema.parse(JSON.parse(opened.value));
  return begun.begunAt > now - BEGUN_AGE_MS && begun.begunAt <= now ? begun : null;
}

/**
 * Finishes a sign-in with the parameters of the callback.
 * @param begun content of the browser's cookie; null if it has none.
 */
export async function completeSignIn(
  env: Env,
  begun: Begun | null,
  parameters: URLSearchParams,
  { origin, now }: { readonly origin: string; readonly now: number },
): Promise<Result<Proof, Problem>> {
  if (begun === null) return err(EXPIRED);
  const opened = await openProvider(env, now);
  if (!opened.ok) return opened;
  const provider = opened.value;
  try {
    const { library, server, client } = provider;
    const valid = library.validateAuthResponse(server, client, parameters, begun.state);
    const response = await library.authorizationCodeGrantRequest(
      server,
      client,
      provider.authentication,
      valid,
      toRedirectUri(origin),
      begun.verifier,
      provider.options(),
    );
    const tokens = await library.processAuthorizationCodeResponse(server, client, response, {
      expectedNonce: begun.nonce,
      requireIdToken: true,
      ...(begun.purpose === 'confirm' ? { maxAge: BEGUN_AGE_MS / 1000 } : {}),
    });
    const proof = await toProofOfTokens(env, provider, tokens, now);
    if (!proof.ok || begun.purpose !== 'confirm') return proof;
    const since = begun.begunAt - CLOCK_TOLERANCE_SECONDS * 1000;
    return (proof.value.authenticatedAt ?? 0) >= since ? proof : err(SIGN_IN_FAILED);
  } catch (error) {
    return err(toProviderProblem(error));
  }
}

/** Verifies the signature of an ID token that the library has parsed, and adds claims of the userinfo endpoint. */
export async function toProofOfTokens(
  env: Env,
  provider: Provider,
  tokens: TokenEndpointResponse,
  now: number,
): Promise<Result<Proof, Problem>> {
  const parsed = provider.library.getValidatedIdTokenClaims(tokens);
  if (parsed === undefined || tokens.id_token === undefined) return err(SIGN_IN_FAILED);
  const { issuer } = provider.server;
  const verified = await verifyToken(provider, tokens.id_token, { issuer, audience: provider.client.client_id, now });
  if (!verified.ok) return verified;
  const claims = { ...(await readUserInfo(env, provider, tokens, parsed)), ...parsed };
  const proof = toProof(env, issuer, claims, tokens.refresh_token ?? null);
  return proof === null ? err(SIGN_IN_FAILED) : ok(proof);
}

/** Asks the userinfo endpoint for claims that the ID token lacks, which many providers put only there. */
async function readUserInfo(
  env: Env,
  { library, server, client, options }: Provider,
  { access_token: accessToken }: TokenEndpointResponse,
  { sub, ...claims }: IDToken,
): Promise<Claims> {
  const { OIDC_ROLE_CLAIM: groups } = settingsOf(env);
  const isComplete = 'email' in claims && 'name' in claims && (groups in claims || groups.includes('.'));
  if (isComplete || server.userinfo_endpoint === undefined) return {};
  const response = await library.userInfoRequest(server, client, accessToken, options());
  return library.processUserInfoResponse(server, client, sub, response);
}
