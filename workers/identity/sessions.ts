/**
 * Mail sessions, and the guard against guessing. A guess is counted before any hash is computed: by address and client
 * together, and by address alone. A client that this account logged in from before is not held to the second count, so
 * a stranger who guesses from many places locks out other strangers, not the owner.
 */
import { createHash, randomUUID } from 'node:crypto';
import { err, ok, type Result } from '../shared/result.ts';
import { hashToken, mintSessionSecret } from './credentials.ts';
import { createLoginStore } from './login-store.ts';

export const SESSION_AGE_MAX_MS = 30 * 24 * 3_600_000;
const GUESSES_PER_CLIENT_MAX = 10;
const CLIENT_WINDOW_MS = 15 * 60_000;
const GUESSES_PER_ADDRESS_MAX = 100;
const ADDRESS_WINDOW_MS = 3_600_000;
const KNOWN_CLIENT_AGE_MS = 90 * 24 * 3_600_000;

export interface NewSession {
  readonly sessionId: string;
  /** The bearer token; shown once. */
  readonly secret: string;
  readonly expiresAt: number;
}

export async function createSession(
  env: Env,
  userId: string,
  userAgent: string | null,
  now: number,
): Promise<NewSession> {
  const secret = mintSessionSecret();
  const sessionId = randomUUID();
  const expiresAt = now + SESSION_AGE_MAX_MS;
  await createLoginStore(env.DIRECTORY).insertSession({
    sessionId,
    secretSha256: hashToken(secret),
    userId,
    userAgent: userAgent?.slice(0, 300) ?? null,
    createdAt: now,
    lastSeenAt: now,
    expiresAt,
  });
  return { sessionId, secret, expiresAt };
}

const toGuardKey = (kind: string, ...parts: string[]) =>
  createHash('sha256')
    .update([kind, ...parts].join('\n'))
    .digest('hex');

/** Counts a guess. An error says for how long no more are taken. */
export async function admitGuess(
  env: Env,
  email: string,
  client: string,
  now: number,
): Promise<Result<null, { retryAfterSeconds: number }>> {
  const store = createLoginStore(env.DIRECTORY);
  const [byClient, isKnown] = await Promise.all([
    store.countGuess(toGuardKey('client', email, client), now, CLIENT_WINDOW_MS),
    store.isGuardSet(toGuardKey('known', email, client), now),
  ]);
  if (byClient.count > GUESSES_PER_CLIENT_MAX) return err({ retryAfterSeconds: (byClient.endsAt - now) / 1000 });
  if (isKnown) return ok(null);
  const byAddress = await store.countGuess(toGuardKey('address', email), now, ADDRESS_WINDOW_MS);
  if (byAddress.count > GUESSES_PER_ADDRESS_MAX) return err({ retryAfterSeconds: (byAddress.endsAt - now) / 1000 });
  return ok(null);
}

/** A right password: this client's guesses are forgiven and it is known from now on. */
export async function forgiveGuesses(env: Env, email: string, client: string, now: number): Promise<void> {
  await createLoginStore(env.DIRECTORY).settleGuards(
    [toGuardKey('client', email, client)],
    toGuardKey('known', email, client),
    now + KNOWN_CLIENT_AGE_MS,
  );
}
