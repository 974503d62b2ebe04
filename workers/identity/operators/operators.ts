/**
 * Operators as people: a password and a mandatory second factor, a role, and sessions of twelve hours. ROOT_TOKEN creates the first
 * operator, and helps if no operator can log in.
 *
 * The second factor is TOTP or a passkey. A passkey alone also logs in, because the device verifies its user.
 */
import { randomUUID } from 'node:crypto';
import type { AuditRow } from '../../shared/audit/audit-store.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { admitAction, admitGuess, forgiveGuesses, type Guesser } from '../login/guesses.ts';
import { type PasskeyAssertion, verifyPasskey } from '../login/passkeys.ts';
import { refusePasswords } from '../login/password-setting.ts';
import { hashToken, mintOperatorSecret } from '../secrets/credentials.ts';
import type { SecretKeeper } from '../secrets/master-key.ts';
import { verifyPassword } from '../secrets/passwords.ts';
import { openSecret, sealSecret } from '../secrets/secrets.ts';
import { findStep, mintSeed } from '../secrets/totp.ts';
import { createOperatorStore, type OperatorRow } from '../store/operator-store.ts';

export const OPERATOR_SESSION_MS = 12 * 3_600_000;

const WRONG_LOGIN = problem(401, 'wrong_login', 'Wrong login or password.');
const FACTOR_NEEDED = problem(401, 'second_factor_required', 'A second factor is required: totp or passkey.');
const WRONG_FACTOR = problem(401, 'wrong_second_factor', 'The code is wrong or was already used.');

/** Second factors per operator that are checked for new places, after the right password. Codes can be guessed from many places. */
const FACTORS_FROM_STRANGERS = { max: 100, windowMs: 3_600_000 };

const contextOf = (operatorId: string) => `operator-totp:${operatorId}`;

/** Creates a TOTP seed for an operator. @returns the seed in plain text and sealed. */
export function createOperatorSeed(env: Env, operatorId: string): { readonly seed: string; readonly sealed: string } {
  const seed = mintSeed();
  return { seed, sealed: sealSecret(seed, contextOf(operatorId), env) };
}

export interface OperatorFactor {
  readonly totp?: string | undefined;
  readonly passkey?: PasskeyAssertion | undefined;
}

/** Solution of the challenge that a login needs while others guess at the same operator's password. */
interface OperatorSolution {
  readonly turnstile?: string | undefined;
  readonly proof?: string | undefined;
}

/** Consumes a TOTP code or the answer to a passkey challenge. @returns false if it is wrong or was used. */
async function checkFactor(
  env: Env,
  row: OperatorRow,
  { totp, passkey }: OperatorFactor,
  { origin, now }: { readonly origin: string; readonly now: number },
): Promise<boolean> {
  if (passkey !== undefined) {
    const verified = await verifyPasskey(env, 'operator', passkey, origin, now);
    return verified.ok && verified.value === row.operatorId;
  }
  if (totp === undefined) return false;
  const seed = openSecret(row.seedSealed, contextOf(row.operatorId), env);
  if (!seed.ok) throw new Error(`the second factor of an operator cannot be unsealed: ${seed.error.kind}`);
  const step = findStep(seed.value, totp, now);
  return step !== null && createOperatorStore(env.DIRECTORY).takeStep(row.operatorId, step);
}

/**
 * Checks login, password and second factor. Counts guesses before the hash is computed.
 * @param at origin of the web app, for passkeys, and the time.
 * @param record is called with failures: of the password (the operator is null for an unknown login), or of the second factor.
 */
export async function checkOperatorLogin(
  env: Env,
  given: OperatorFactor & OperatorSolution & { readonly login: string; readonly password: string },
  guesser: Guesser,
  at: { readonly origin: string; readonly now: number },
  record: (event: 'login.failed' | 'login.second_factor_failed', operatorId: string | null) => Promise<void>,
): Promise<Result<OperatorRow, Problem>> {
  const refused = refusePasswords(env);
  if (refused !== null) return err(refused);
  // The space separates these counts from those of mail accounts, because no address contains a space.
  const subject = `operator ${given.login.toLowerCase()}`;
  const admitted = await admitGuess(env, subject, guesser, at.now, {
    turnstile: given.turnstile,
    proof: given.proof,
    mailedCode: undefined,
    mayMail: false,
    url: at.origin,
  });
  if (!admitted.ok) return admitted;
  const row = await createOperatorStore(env.DIRECTORY).findByLogin(given.login);
  const verified = await verifyPassword(given.password, row?.passwordHash ?? null, admitted.value);
  if (!verified.ok) return verified;
  if (!verified.value || !row) {
    await record('login.failed', row?.operatorId ?? null);
    return err(WRONG_LOGIN);
  }
  if (given.totp === undefined && given.passkey === undefined) return err(FACTOR_NEEDED);
  if (admitted.value === 'stranger') {
    const factors = await admitAction(env, 'operator second factor', row.operatorId, FACTORS_FROM_STRANGERS, at.now);
    if (!factors.ok) return factors;
  }
  if (!(await checkFactor(env, row, given, at))) {
    await record('login.second_factor_failed', row.operatorId);
    return err(WRONG_FACTOR);
  }
  await forgiveGuesses(env, subject, guesser, at.now);
  return ok(row);
}

/** Opens a session. @returns the bearer token, which is stored as a hash only and cannot be shown again. */
export async function openOperatorSession(
  env: Env,
  operatorId: string,
  now: number,
  audit: AuditRow,
): Promise<{ readonly token: string; readonly expiresAt: number }> {
  const token = mintOperatorSecret();
  const expiresAt = now + OPERATOR_SESSION_MS;
  await createOperatorStore(env.DIRECTORY).insertSession(
    { sessionId: randomUUID(), secretSha256: hashToken(token), operatorId, createdAt: now, expiresAt },
    audit,
  );
  return { token, expiresAt };
}

/** The TOTP seeds of operators, for the rotation of MASTER_KEY. */
export const operatorSecrets: SecretKeeper = {
  name: 'operator_totp_seeds',
  async list(env, after, limit) {
    const rows = await createOperatorStore(env.DIRECTORY).list(after, limit);
    return rows.map((row) => ({
      key: row.operatorId,
      context: contextOf(row.operatorId),
      sealed: row.seedSealed,
    }));
  },
  replace: (env, key, before, after) => createOperatorStore(env.DIRECTORY).replaceSeed(key, before, after),
};
