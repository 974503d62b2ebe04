/**
 * Cloudflare Access as a proof: the token that Access adds to each request of a person whom it let through (Cloudflare docs,
 * "Validate JWTs"). It has no refresh token, so a person proves again after `OIDC_RECHECK_MINUTES`, which a page behind Access does
 * without asking.
 */
import type { Problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { type Proof, toProof } from './proof.ts';
import { OIDC_OFF, openAccessKeys, SIGN_IN_FAILED, verifyToken } from './provider.ts';

const TOKEN_HEADER = 'cf-access-jwt-assertion';

/** Reads the proof of a request. @returns 404 `oidc_off` if Access is not configured, 401 `sign_in_failed` without a valid token. */
export async function readAccessProof(env: Env, headers: Headers, now: number): Promise<Result<Proof, Problem>> {
  const { ACCESS_ISSUER: issuer, ACCESS_AUDIENCE: audience } = settingsOf(env);
  const opened = audience === '' ? null : await openAccessKeys(env);
  if (opened === null) return err(OIDC_OFF);
  const verified = await verifyToken(opened, headers.get(TOKEN_HEADER) ?? '', { issuer, audience, now });
  if (!verified.ok) return verified;
  const { custom } = verified.value;
  // Claims of the identity provider that the operator lets Access pass on.
  const claims = typeof custom === 'object' ? { ...custom, ...verified.value } : verified.value;
  // A token of a service has no subject.
  const proof = toProof(env, issuer, claims, null);
  return proof === null ? err(SIGN_IN_FAILED) : ok(proof);
}
