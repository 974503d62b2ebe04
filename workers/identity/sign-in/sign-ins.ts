/**
 * Accounts of providers that are bound to users and operators.
 *
 * An account is found by issuer and subject only. An address that a provider claims never finds an account, because it can be forged
 * or change hands.
 */
import { createHash } from 'node:crypto';
import type { AuditRow } from '../../shared/audit/audit-store.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import type { SecretKeeper } from '../secrets/master-key.ts';
import { sealSecret } from '../secrets/secrets.ts';
import {
  createProviderSessionStore,
  createSignInCheckStore,
  createSignInStore,
  prepareSignedInUser,
  type SignInRow,
} from '../store/sign-in-store.ts';
import { resumeUser } from '../users/suspensions.ts';
import { findUserById } from '../users/users.ts';
import type { Proof } from './proof.ts';

/** Time for which a log-out may name a session at the provider. */
const PROVIDER_SESSION_AGE_MS = 31 * 24 * 3_600_000;

/** Id of a sign-in in the JSON API. */
export const toSignInId = ({ issuer, subject }: Pick<SignInRow, 'issuer' | 'subject'>): string =>
  createHash('sha256').update(`${issuer}\n${subject}`).digest('base64url').slice(0, 22);

export const refreshContextOf = ({ kind, issuer, subject }: Pick<SignInRow, 'kind' | 'issuer' | 'subject'>): string =>
  `refresh-token:${kind} ${issuer} ${subject}`;

const recheckMsOf = (env: Env): number => settingsOf(env).OIDC_RECHECK_MINUTES * 60_000;

/** @returns what a confirmed account is stored with. @param refreshToken the provider's newest one. */
export function toConfirmed(
  env: Env,
  key: Pick<SignInRow, 'kind' | 'issuer' | 'subject'>,
  refreshToken: string | null,
  now: number,
): Pick<SignInRow, 'refreshSealed' | 'checkAt' | 'confirmedAt'> {
  const refreshSealed = refreshToken === null ? null : sealSecret(refreshToken, refreshContextOf(key), env);
  return { refreshSealed, checkAt: now + recheckMsOf(env), confirmedAt: now };
}

/**
 * Binds an account of a provider to a user or an operator.
 * @param proof what the provider said; or only issuer and subject, if an operator binds an account before its first sign-in.
 * @returns false if the account is bound already, or the owner has another one of this provider.
 */
export async function bindSignIn(
  env: Env,
  proof: Proof | Pick<Proof, 'issuer' | 'subject'>,
  owner: Pick<SignInRow, 'kind' | 'ownerId'>,
  { now, audit }: { readonly now: number; readonly audit: AuditRow | null },
): Promise<boolean> {
  return createSignInStore(env.DIRECTORY).bind(toRow(env, proof, owner, now), audit);
}

function toRow(
  env: Env,
  proof: Proof | Pick<Proof, 'issuer' | 'subject'>,
  owner: Pick<SignInRow, 'kind' | 'ownerId'>,
  now: number,
): SignInRow {
  const key = { issuer: proof.issuer, subject: proof.subject, kind: owner.kind };
  const unconfirmed = { refreshSealed: null, checkAt: null, confirmedAt: null };
  const state = 'refreshToken' in proof ? toConfirmed(env, key, proof.refreshToken, now) : unconfirmed;
  return { ...key, ownerId: owner.ownerId, createdAt: now, lastUsedAt: null, ...state };
}

/** Prepares a new user of DIRECTORY whom a proof opens, for the end of a batch that makes the account (`prepareSignedInUser`). */
export const prepareUserOfProof = (
  env: Env,
  proof: Proof,
  user: Parameters<typeof prepareSignedInUser>[1],
): D1PreparedStatement[] =>
  prepareSignedInUser(env.DIRECTORY, user, toRow(env, proof, { kind: 'user', ownerId: user.userId }, user.createdAt));

/** Finds the user of an account of a provider. Forgets a user that was deleted. */
export async function findSignedInUser(env: Env, proof: Pick<Proof, 'issuer' | 'subject'>): Promise<string | null> {
  const store = createSignInStore(env.DIRECTORY);
  const row = await store.find({ issuer: proof.issuer, subject: proof.subject, kind: 'user' });
  if (row === null) return null;
  if (await findUserById(env, row.ownerId)) return row.ownerId;
  await store.unbind(row, null);
  return null;
}

/** Records a sign-in: the provider confirms the account now. Lifts a suspension that a check made. */
export async function recordSignIn(env: Env, kind: SignInRow['kind'], proof: Proof, now: number): Promise<void> {
  const store = createSignInStore(env.DIRECTORY);
  const key = { issuer: proof.issuer, subject: proof.subject, kind };
  await store.update(key, { lastUsedAt: now, ...toConfirmed(env, key, proof.refreshToken, now) });
  if (proof.sid !== null) {
    const { issuer, sid, subject } = proof;
    await createProviderSessionStore(env.DIRECTORY).putProviderSession({
      issuer,
      sid,
      subject,
      expiresAt: now + PROVIDER_SESSION_AGE_MS,
    });
  }
  const row = kind === 'user' ? await store.find(key) : null;
  if (row !== null) await resumeUser(env, row.ownerId, now);
}

/** The refresh tokens of providers, for the rotation of MASTER_KEY. */
export const refreshTokenSecrets: SecretKeeper = {
  name: 'refresh_tokens',
  async list(env, after, limit) {
    const rows = await createSignInCheckStore(env.DIRECTORY).listSealed(after, limit);
    return rows.map(({ key, sealed }) => ({ key, context: `refresh-token:${key}`, sealed }));
  },
  replace: (env, _key, before, after) => createSignInCheckStore(env.DIRECTORY).replaceSealed(before, after),
};
