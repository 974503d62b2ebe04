/** Second factors of users: set-up, confirmation, check and removal. Seeds are sealed with MASTER_KEY. */

import { err, ok, type Result } from '../../shared/pure/result.ts';
import { compareText, readMerged, userDatabaseOf } from '../../shared/stores/directories.ts';
import type { SecretKeeper } from '../secrets/master-key.ts';
import { openSecret, sealSecret } from '../secrets/secrets.ts';
import { findStep, hashRecoveryCode, mintRecoveryCodes, mintSeed } from '../secrets/totp.ts';
import { createLoginStore, type SecondFactorRow } from '../store/login-store.ts';

export type SecondFactorError = 'required' | 'wrong' | 'already_on' | 'not_begun';

const contextOf = (userId: string) => `totp:${userId}`;

function openSeed(env: Env, factor: SecondFactorRow): string {
  const seed = openSecret(factor.seedSealed, contextOf(factor.userId), env);
  if (!seed.ok) throw new Error(`a second factor cannot be unsealed: ${seed.error.kind}`);
  return seed.value;
}

/** Checks the second factor of a login. A code and a recovery code each work once. */
export async function checkSecondFactor(
  env: Env,
  userId: string,
  given: { readonly totp?: string | undefined; readonly recovery_code?: string | undefined },
  now: number,
): Promise<Result<null, SecondFactorError>> {
  const store = createLoginStore(userDatabaseOf(env, userId));
  const factor = await store.findSecondFactor(userId);
  if (!factor || factor.confirmedAt === null) return ok(null);
  if (given.recovery_code !== undefined) {
    return (await store.takeRecoveryCode(factor, hashRecoveryCode(given.recovery_code))) ? ok(null) : err('wrong');
  }
  if (given.totp === undefined) return err('required');
  const step = findStep(openSeed(env, factor), given.totp, now);
  return step !== null && (await store.takeStep(userId, step, factor.confirmedAt)) ? ok(null) : err('wrong');
}

/** Creates the seed of a second factor. Logins do not need the factor until the user confirms it with a first code. */
export async function beginSecondFactor(env: Env, userId: string): Promise<Result<string, SecondFactorError>> {
  const store = createLoginStore(userDatabaseOf(env, userId));
  const factor = await store.findSecondFactor(userId);
  if (factor && factor.confirmedAt !== null) return err('already_on');
  const seed = mintSeed();
  await store.putSecondFactor({
    userId,
    seedSealed: sealSecret(seed, contextOf(userId), env),
    confirmedAt: null,
    lastStep: 0,
    recoverySha256: [],
  });
  return ok(seed);
}

/** Confirms the seed with a first code. @returns the recovery codes, which are stored as hashes only and cannot be shown again. */
export async function confirmSecondFactor(
  env: Env,
  userId: string,
  code: string,
  now: number,
): Promise<Result<string[], SecondFactorError>> {
  const store = createLoginStore(userDatabaseOf(env, userId));
  const factor = await store.findSecondFactor(userId);
  if (!factor) return err('not_begun');
  if (factor.confirmedAt !== null) return err('already_on');
  const step = findStep(openSeed(env, factor), code, now);
  if (step === null) return err('wrong');
  const codes = mintRecoveryCodes();
  await store.putSecondFactor({
    ...factor,
    confirmedAt: now,
    lastStep: step,
    recoverySha256: codes.map(hashRecoveryCode),
  });
  return ok(codes);
}

/** Replaces the recovery codes. @returns ten new codes, which cannot be shown again; `not_begun` without a second factor. */
export async function replaceRecoveryCodes(env: Env, userId: string): Promise<Result<string[], SecondFactorError>> {
  const codes = mintRecoveryCodes();
  const isOn = await createLoginStore(userDatabaseOf(env, userId)).replaceRecoveryCodes(
    userId,
    codes.map(hashRecoveryCode),
  );
  return isOn ? ok(codes) : err('not_begun');
}

export const removeSecondFactor = (env: Env, userId: string): Promise<void> =>
  createLoginStore(userDatabaseOf(env, userId)).deleteSecondFactor(userId);

/** The seeds of second factors, for the rotation of MASTER_KEY. */
export const totpSecrets: SecretKeeper = {
  name: 'totp_seeds',
  async list(env, after, limit) {
    const read = (database: D1Database) => createLoginStore(database).listSealedSeeds(after, limit);
    const rows = await readMerged(env, read, (a, b) => compareText(a.userId, b.userId), limit);
    return rows.map((row) => ({ key: row.userId, context: contextOf(row.userId), sealed: row.seedSealed }));
  },
  replace: (env, userId, before, after) =>
    createLoginStore(userDatabaseOf(env, userId)).replaceSealedSeed(userId, before, after),
};
