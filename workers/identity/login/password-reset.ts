/** Links that set a new password without the old one. Each works once, within an hour. */

import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { databaseNumberOf, findDatabase, userDatabaseOf } from '../../shared/stores/directories.ts';
import { publishRevocations } from '../revocations.ts';
import { homeOfSecret } from '../secrets/credentials.ts';
import { hashSecret, mintResetToken } from '../secrets/one-time-secrets.ts';
import { hashPassword } from '../secrets/passwords.ts';
import { changePassword } from '../store/password-change-store.ts';
import { createRecoveryStore } from '../store/recovery-store.ts';
import { endingCredentials } from '../users/obligations.ts';
import { refusePasswords } from './password-setting.ts';

/**
 * Time for which a link is valid. It is also the window of the limit for mailed links, so that a link stays valid until another one
 * can be requested.
 */
export const RESET_AGE_MS = 3_600_000;

/**
 * Purposes of the links. Links of operators and mailed links are separate, so that a stranger who requests a mail does not replace
 * an operator's link.
 */
const PURPOSES = ['operator_reset', 'mailed_reset'] as const;

const INVALID_RESET_TOKEN = problem(
  400,
  'invalid_reset_token',
  'The link is wrong, expired, used or replaced by a newer one. Request a new link.',
);

/** Age of passkeys and access keys of other sessions that a new password ends by default: a theft is usually noticed by then. */
export const ENDS_SINCE_MS = 30 * 24 * 3_600_000;

export interface PasswordReset {
  /** Secret of the link. It is stored as a hash only, so it cannot be shown again. */
  readonly token: string;
  readonly expiresAt: number;
}

/** Creates a link that replaces the user's earlier link of the same purpose. */
export async function createPasswordReset(
  env: Env,
  userId: string,
  purpose: (typeof PURPOSES)[number],
  now: number,
): Promise<PasswordReset> {
  const token = mintResetToken(databaseNumberOf(userId));
  const expiresAt = now + RESET_AGE_MS;
  const row = { secretSha256: hashSecret(purpose, token), purpose, userId, detail: null, expiresAt };
  await createRecoveryStore(userDatabaseOf(env, userId)).replaceSecret(row);
  return { token, expiresAt };
}

/**
 * Sets the password, and ends all sessions and app tokens of the user, and the passkeys and access keys that the user made in the
 * last 30 days. The second factor stays.
 * @returns the user id; 400 `invalid_reset_token`; or 503 while too many hashes wait or the mailbox cannot be reached. On 503 the
 * link is not consumed.
 */
export async function resetPassword(
  env: Env,
  token: string,
  password: string,
  now: number,
): Promise<Result<string, Problem>> {
  const refused = refusePasswords(env);
  if (refused !== null) return err(refused);
  const database = findDatabase(env, homeOfSecret(token));
  if (database === null) return err(INVALID_RESET_TOKEN);
  const store = createRecoveryStore(database);
  const found = await store.findSecret(
    PURPOSES.map((purpose) => hashSecret(purpose, token)),
    now,
  );
  if (found === null || found.userId === null) return err(INVALID_RESET_TOKEN);
  const hash = await hashPassword(password, 'known');
  if (!hash.ok) return hash;
  const { userId, secretSha256 } = found;
  const since = now - ENDS_SINCE_MS;
  const change = { userId, hash: hash.value, now, since, keptSession: null, keepsTokens: false, secretSha256 };
  const reset = () => changePassword(database, change, null);
  const isReset = await endingCredentials(env, userId, {}, reset);
  await publishRevocations(env, [databaseNumberOf(userId)]);
  return isReset ? ok(userId) : err(INVALID_RESET_TOKEN);
}
