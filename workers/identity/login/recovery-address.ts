/**
 * The recovery address of an account. It is used once its owner has confirmed it with a code and 72 hours have passed; until then
 * the former one counts. A thief with a stolen session thus cannot take the account by an address of his own.
 */
import { userDatabaseOf } from '../../shared/stores/directories.ts';
import { hashSecret, mintMailedCode, normalizeCode } from '../secrets/one-time-secrets.ts';
import { createRecoveryStore, type RecoveryAddressRow } from '../store/recovery-store.ts';
import { findUserById } from '../users/users.ts';

const CODE_AGE_MS = 24 * 3_600_000;

/** Time for which a former address still counts. */
const WAIT_MS = 72 * 3_600_000;

export interface RecoveryAddress {
  /** The confirmed recovery address; null if there is none. */
  readonly email: string | null;
  /** Time from which `email` counts, in milliseconds since 1970 UTC; null if it counts. */
  readonly worksFrom: number | null;
  /** The address that counts until then; null if there is none. */
  readonly formerEmail: string | null;
  /** The new address that waits for its confirmation code; null if there is none. */
  readonly pendingEmail: string | null;
}

const emailOf = (row: RecoveryAddressRow | null): string | null => (row?.email ? row.email : null);

/** @returns the address that counts at a time. */
const effectiveOf = (row: RecoveryAddressRow | null, now: number): string | null =>
  row !== null && now < row.worksFrom ? row.formerEmail : emailOf(row);

export async function readRecoveryAddress(env: Env, userId: string, now: number): Promise<RecoveryAddress> {
  const store = createRecoveryStore(userDatabaseOf(env, userId));
  const [row, pending] = await Promise.all([
    store.findRecoveryAddress(userId),
    store.findSecretOf(userId, 'recovery_address', now),
  ]);
  const isWaiting = row !== null && now < row.worksFrom;
  return {
    email: emailOf(row),
    worksFrom: isWaiting ? row.worksFrom : null,
    formerEmail: isWaiting ? row.formerEmail : null,
    pendingEmail: pending?.detail ?? null,
  };
}

/** @returns the recovery address that counts now, or null. */
export const findRecoveryEmail = async (env: Env, userId: string, now: number): Promise<string | null> =>
  effectiveOf(await createRecoveryStore(userDatabaseOf(env, userId)).findRecoveryAddress(userId), now);

/** @returns the addresses that get notices about an account: the recovery address, and the former one while it counts. */
export async function listRecoveryEmails(env: Env, userId: string, now: number): Promise<readonly string[]> {
  const row = await createRecoveryStore(userDatabaseOf(env, userId)).findRecoveryAddress(userId);
  return [...new Set([emailOf(row), effectiveOf(row, now)])].filter((email) => email !== null);
}

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

/** A change of the recovery address. */
export interface RecoveryChange {
  /** The address that counted before; null if there was none. */
  readonly formerEmail: string | null;
  /** Time from which the change counts, in milliseconds since 1970 UTC. */
  readonly worksFrom: number;
}

/**
 * Confirms a recovery address by its code. The first address of an account that is younger than 72 hours counts at once.
 * @returns the new address and the change; null if the code is wrong, used or expired.
 */
export async function confirmRecoveryAddress(
  env: Env,
  userId: string,
  code: string,
  now: number,
): Promise<(RecoveryChange & { readonly email: string }) | null> {
  const store = createRecoveryStore(userDatabaseOf(env, userId));
  const taken = await store.takeSecret(hashSecret('recovery_address', normalizeCode(code), userId), now);
  if (taken === null || taken.detail === null) return null;
  return { email: taken.detail, ...(await setAddress(env, userId, taken.detail, now)) };
}

async function setAddress(env: Env, userId: string, email: string, now: number): Promise<RecoveryChange> {
  const store = createRecoveryStore(userDatabaseOf(env, userId));
  const before = await store.findRecoveryAddress(userId);
  const formerEmail = effectiveOf(before, now);
  const createdAt = (await findUserById(env, userId))?.createdAt ?? 0;
  const isFirst = before === null && createdAt > now - WAIT_MS;
  const worksFrom = isFirst || formerEmail === email ? now : now + WAIT_MS;
  await store.putRecoveryAddress({ userId, email, confirmedAt: now, worksFrom, formerEmail });
  return { formerEmail, worksFrom };
}

/**
 * Removes the recovery address, and cancels a new one that waits for its code.
 * @returns null if there was none.
 */
export async function removeRecoveryAddress(env: Env, userId: string, now: number): Promise<RecoveryChange | null> {
  const store = createRecoveryStore(userDatabaseOf(env, userId));
  await store.deleteSecrets(userId, 'recovery_address');
  const before = await store.findRecoveryAddress(userId);
  return before === null ? null : await setAddress(env, userId, '', now);
}
