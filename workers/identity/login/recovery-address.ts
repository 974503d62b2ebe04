/** The recovery address of an account. It is used only once its owner has confirmed it with a code. */
import { userDatabaseOf } from '../../shared/stores/directories.ts';
import { hashSecret, mintMailedCode, normalizeCode } from '../secrets/one-time-secrets.ts';
import { createRecoveryStore } from '../store/recovery-store.ts';

const CODE_AGE_MS = 24 * 3_600_000;

export interface RecoveryAddress {
  /** The confirmed recovery address; null if there is none. */
  readonly email: string | null;
  /** The new address that waits for its confirmation code; null if there is none. */
  readonly pendingEmail: string | null;
}

export async function readRecoveryAddress(env: Env, userId: string, now: number): Promise<RecoveryAddress> {
  const store = createRecoveryStore(userDatabaseOf(env, userId));
  const [confirmed, pending] = await Promise.all([
    store.findRecoveryAddress(userId),
    store.findSecretOf(userId, 'recovery_address', now),
  ]);
  return { email: confirmed?.email ?? null, pendingEmail: pending?.detail ?? null };
}

/** @returns the confirmed recovery address of a user, or null. */
export const findRecoveryEmail = async (env: Env, userId: string): Promise<string | null> =>
  (await createRecoveryStore(userDatabaseOf(env, userId)).findRecoveryAddress(userId))?.email ?? null;

/**
 * Begins to set a recovery address. The confirmed one stays valid until the new one is confirmed.
 * @returns the code to mail to the new address.
 */
export async function beginRecoveryAddress(env: Env, userId: string, email: string, now: number): Promise<string> {
  const code = mintMailedCode();
  await createRecoveryStore(userDatabaseOf(env, userId)).replaceSecret({
    secretSha256: hashSecret('recovery_address', normalizeCode(code), userId),
    purpose: 'recovery_address',
    userId,
    detail: email,
    expiresAt: now + CODE_AGE_MS,
  });
  return code;
}

/**
 * Confirms a recovery address by its code.
 * @returns the new address and the one that it replaces; null if the code is wrong, used or expired.
 */
export async function confirmRecoveryAddress(
  env: Env,
  userId: string,
  code: string,
  now: number,
): Promise<{ readonly email: string; readonly formerEmail: string | null } | null> {
  const store = createRecoveryStore(userDatabaseOf(env, userId));
  const taken = await store.takeSecret(hashSecret('recovery_address', normalizeCode(code), userId), now);
  if (taken === null || taken.detail === null) return null;
  const former = await store.findRecoveryAddress(userId);
  await store.putRecoveryAddress({ userId, email: taken.detail, confirmedAt: now });
  return { email: taken.detail, formerEmail: former?.email ?? null };
}

/**
 * Removes the recovery address, and cancels a new one that waits for its code.
 * @returns the address that was confirmed, or null.
 */
export async function removeRecoveryAddress(env: Env, userId: string): Promise<string | null> {
  const store = createRecoveryStore(userDatabaseOf(env, userId));
  const former = await store.findRecoveryAddress(userId);
  await store.deleteSecrets(userId, 'recovery_address');
  await store.deleteRecoveryAddress(userId);
  return former?.email ?? null;
}
