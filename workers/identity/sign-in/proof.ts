/**
 * Proofs: what a provider said of a person. The callback cannot answer the page that began the sign-in, so it keeps the proof for two
 * minutes under a secret in a cookie, which works once. The page then takes it for what it began: a session, or a connection to an
 * account.
 */
import { z } from 'zod';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { type Claims, readGroups } from '../domain/provider-claims.ts';
import { mintSecret } from '../secrets/credentials.ts';
import { hashSecret } from '../secrets/one-time-secrets.ts';
import { openSecret, sealSecret } from '../secrets/secrets.ts';
import { createRecoveryStore } from '../store/recovery-store.ts';

/** What a sign-in is for. A proof is taken only for what it was begun for. */
export const PURPOSES = ['mail', 'operator', 'storage', 'bind', 'confirm'] as const;
export type Purpose = (typeof PURPOSES)[number];

export const PROOF_AGE_MS = 2 * 60_000;
const EXPIRED = problem(401, 'sign_in_expired', 'The sign-in expired, or was used. Start again.');

const proofSchema = z.object({
  issuer: z.string(),
  subject: z.string(),
  email: z.string().nullable(),
  isEmailVerified: z.boolean(),
  name: z.string().nullable(),
  hostedDomain: z.string().nullable(),
  groups: z.array(z.string()),
  /** Refresh token with which the account is checked later; null if the provider gave none. */
  refreshToken: z.string().nullable(),
  /** Session at the provider (`sid`); null if it named none. */
  sid: z.string().nullable(),
  /** Time from which the person typed a password or the like at the provider, in milliseconds since 1970 UTC; null if unknown. */
  authenticatedAt: z.number().nullable(),
});
export type Proof = z.infer<typeof proofSchema>;
const keptSchema = proofSchema.extend({ purpose: z.enum(PURPOSES) });

const SUBJECT_LENGTH_MAX = 255;
const textOf = (value: unknown, max: number): string | null =>
  typeof value === 'string' && value !== '' && value.length <= max ? value : null;

/** Reads the claims that Tessera uses. @returns null if the subject is not one (OpenID Connect Core §2: at most 255 characters). */
export function toProof(env: Env, issuer: string, claims: Claims, refreshToken: string | null): Proof | null {
  const subject = textOf(claims.sub, SUBJECT_LENGTH_MAX);
  if (subject === null) return null;
  return {
    issuer,
    subject,
    email: textOf(claims.email, 320),
    isEmailVerified: claims.email_verified === true,
    name: textOf(claims.name, 1_000),
    hostedDomain: textOf(claims.hd, 253),
    groups: readGroups(claims, settingsOf(env).OIDC_ROLE_CLAIM),
    refreshToken,
    sid: textOf(claims.sid, 1_000),
    authenticatedAt: typeof claims.auth_time === 'number' ? claims.auth_time * 1000 : null,
  };
}

const contextOf = (hash: string): string => `sign-in-proof:${hash}`;

/** Keeps a proof. @returns the secret for the cookie. */
export async function keepProof(env: Env, purpose: Purpose, proof: Proof, now: number): Promise<string> {
  const secret = mintSecret('prf', 0);
  const secretSha256 = hashSecret('sign_in_proof', secret);
  const detail = sealSecret(JSON.stringify({ ...proof, purpose }), contextOf(secretSha256), env);
  const row = { secretSha256, purpose: 'sign_in_proof', userId: null, detail, expiresAt: now + PROOF_AGE_MS };
  await createRecoveryStore(env.DIRECTORY).insertSecret(row);
  return secret;
}

/** Takes a proof, which works once. @returns 401 `sign_in_expired` if there is none, or if it was begun for something else. */
export async function takeProof(
  env: Env,
  purpose: Purpose,
  secret: string | undefined,
  now: number,
): Promise<Result<Proof, Problem>> {
  const hash = hashSecret('sign_in_proof', secret ?? '');
  const row = secret === undefined ? null : await createRecoveryStore(env.DIRECTORY).takeSecret(hash, now);
  const opened = row === null ? null : openSecret(row.detail ?? '', contextOf(hash), env);
  if (!opened?.ok) return err(EXPIRED);
  const { purpose: begunFor, ...proof } = keptSchema.parse(JSON.parse(opened.value));
  return begunFor === purpose ? ok(proof) : err(EXPIRED);
}
