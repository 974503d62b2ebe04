/**
 * Challenges for logins while strangers guess at the password of an address. A refusal instead would let a stranger lock the owner
 * out for good.
 *
 * By design: the possible challenges are listed whether or not the account exists, and a challenge is solved before the password is
 * checked. Neither thus reveals anything about the account, and guesses stay limited. Without Turnstile, a proof of work stands in for
 * it, so that everybody can solve one.
 */
import { createHash } from 'node:crypto';

import { type Challenge, type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { newestDatabaseOf, possibleDatabasesOf, userDatabaseOf } from '../../shared/stores/directories.ts';
import { hasProofBits, isProofTimely, toProofText } from '../../shared/web/proof-of-work.ts';
import { hashSecret, mintMailedCode, normalizeCode } from '../secrets/one-time-secrets.ts';
import { createLoginStore } from '../store/login-store.ts';
import { createRecoveryStore } from '../store/recovery-store.ts';
import { isTurnstileSet, verifyTurnstile } from './turnstile.ts';

const LOGIN_CODE_AGE_MS = 3_600_000;
/**
 * Time for which a solved challenge counts. The second request of a login, which adds the second factor, thus needs no second
 * challenge.
 */
const PASSED_MS = 10 * 60_000;

export interface ChallengeSolution {
  /** Token of the Turnstile widget. */
  readonly turnstile: string | undefined;
  readonly mailedCode: string | undefined;
  /** Proof of work (`workers/shared/web/proof-of-work.ts`). */
  readonly proof: string | undefined;
  /** Whether a code can be mailed to a recovery address. Operators have none. */
  readonly mayMail: boolean;
  /** URL of the request. Its hostname is compared with that of the widget. */
  readonly url: string;
}

/**
 * Creates a code to be mailed that admits a login. Earlier codes stay valid, so that a stranger who requests a code does not
 * invalidate the owner's.
 */
export async function createLoginCode(env: Env, user: { userId: string; email: string }, now: number): Promise<string> {
  const code = mintMailedCode();
  await createRecoveryStore(userDatabaseOf(env, user.userId)).insertSecret({
    secretSha256: hashSecret('login_code', normalizeCode(code), user.email),
    purpose: 'login_code',
    userId: user.userId,
    detail: null,
    expiresAt: now + LOGIN_CODE_AGE_MS,
  });
  return code;
}

const toChallengeProblem = (
  code: 'challenge_required' | 'challenge_failed',
  detail: string,
  challenges: readonly Challenge[],
  retryAfterSeconds?: number,
): Problem =>
  problem(403, code, detail, { challenges, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) });

const CHALLENGE_UNAVAILABLE = problem(503, 'challenge_unavailable', 'Turnstile cannot be reached. Retry.', {
  retryAfterSeconds: 10,
});

/** Lifetime of a used proof's count: longer than a proof is timely. */
const PROOF_AGE_MS = 3_600_000;

/** Checks a proof of work, which counts once. */
async function checkProof(env: Env, subject: string, proof: string, now: number): Promise<'passed' | 'failed'> {
  const hash = createHash('sha256').update(toProofText(subject, proof)).digest();
  if (!isProofTimely(proof, now) || !hasProofBits(hash)) return 'failed';
  const store = createLoginStore(newestDatabaseOf(env, subject));
  const { count } = await store.countGuess(hash.toString('hex'), now, PROOF_AGE_MS);
  return count === 1 ? 'passed' : 'failed';
}

/**
 * Decides about a login for an address, or for an operator, over its limit of guesses.
 * @param passedKey guard that is set when this place has solved a challenge for this address.
 * @returns 403 with the possible challenges, unless one was solved.
 */
export async function admitByChallenge(
  env: Env,
  email: string,
  solution: ChallengeSolution,
  { passedKey, retryAfterSeconds }: { readonly passedKey: string; readonly retryAfterSeconds: number },
  now: number,
): Promise<Result<null, Problem>> {
  const guards = createLoginStore(newestDatabaseOf(env, email));
  if (await guards.isGuardSet(passedKey, now)) return ok(null);
  const byMail = solution.mayMail ? (['recovery_code_mail'] as const) : [];
  const possible: readonly Challenge[] = [isTurnstileSet(env) ? 'turnstile' : 'proof_of_work', ...byMail];
  let outcome: 'passed' | 'failed' | 'unavailable' | null = null;
  if (solution.mayMail && solution.mailedCode !== undefined) {
    const secret = hashSecret('login_code', normalizeCode(solution.mailedCode), email);
    const takes = possibleDatabasesOf(env, email).map((database) =>
      createRecoveryStore(database).takeSecret(secret, now),
    );
    outcome = (await Promise.all(takes)).some((taken) => taken !== null) ? 'passed' : 'failed';
  } else if (solution.proof !== undefined && !isTurnstileSet(env)) {
    outcome = await checkProof(env, email, solution.proof, now);
  } else if (solution.turnstile !== undefined && isTurnstileSet(env)) {
    outcome = await verifyTurnstile(env, solution.turnstile, { action: 'login', url: solution.url });
  }
  switch (outcome) {
    case 'passed':
      await guards.settleGuards([], [passedKey], now + PASSED_MS);
      return ok(null);
    case 'failed':
      return err(toChallengeProblem('challenge_failed', 'The challenge was not solved. Try again.', possible));
    case 'unavailable':
      return solution.mayMail
        ? err(toChallengeProblem('challenge_required', 'Turnstile cannot be reached. Use a code by mail.', byMail))
        : err(CHALLENGE_UNAVAILABLE);
    case null:
      return err(
        toChallengeProblem(
          'challenge_required',
          'Too many wrong passwords from elsewhere. Solve a challenge, or wait.',
          possible,
          retryAfterSeconds,
        ),
      );
  }
}

/**
 * Requires a solved Turnstile challenge for a registration if Turnstile is configured.
 * @returns 403 without one, or 503 if it cannot be verified.
 */
export async function admitRegistration(
  env: Env,
  solution: Pick<ChallengeSolution, 'turnstile' | 'url'>,
): Promise<Result<null, Problem>> {
  if (!isTurnstileSet(env)) return ok(null);
  const { turnstile, url } = solution;
  if (turnstile === undefined) {
    return err(toChallengeProblem('challenge_required', 'Registration requires a challenge.', ['turnstile']));
  }
  switch (await verifyTurnstile(env, turnstile, { action: 'register', url })) {
    case 'passed':
      return ok(null);
    case 'failed':
      return err(toChallengeProblem('challenge_failed', 'The challenge was not solved. Try again.', ['turnstile']));
    case 'unavailable':
      return err(CHALLENGE_UNAVAILABLE);
  }
}
