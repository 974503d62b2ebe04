/**
 * Mail sessions, and the guard against guessing. A guess is counted before any hash is computed: by address and place
 * together, and by address alone. A place that this account logged in from before (a device by its cookie, a network by
 * its address, a session that is open) is not held to the second count; and a device is counted by itself, not with its
 * network. So a stranger who guesses, from many places or from the owner's own network, locks out strangers, not the owner.
 */
import { createHash, randomUUID } from 'node:crypto';
import { err, ok, type Result } from '../shared/result.ts';
import { hashToken, mintSessionSecret } from './credentials.ts';
import { createLoginStore } from './login-store.ts';

export const SESSION_AGE_MAX_MS = 30 * 24 * 3_600_000;
const GUESSES_PER_PLACE_MAX = 10;
const PLACE_WINDOW_MS = 15 * 60_000;
const GUESSES_PER_ADDRESS_MAX = 100;
const ADDRESS_WINDOW_MS = 3_600_000;
/** How long a device or network that logged in is remembered; a device's cookie lasts as long. */
export const KNOWN_PLACE_AGE_MS = 90 * 24 * 3_600_000;

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

/** Who guesses: somebody at the door, with the cookie of a device if it has one, or whoever has a session already. */
export type Guesser = { readonly client: string; readonly device: string | null } | { readonly session: string };

interface Place {
  readonly key: string;
  readonly isKnown: boolean;
}

async function findPlace(env: Env, email: string, guesser: Guesser, now: number): Promise<Place> {
  if ('session' in guesser) return { key: toGuardKey('session', email, guesser.session), isKnown: true };
  const store = createLoginStore(env.DIRECTORY);
  const [isDevice, isClient] = await Promise.all([
    guesser.device !== null && store.isGuardSet(toGuardKey('known device', email, guesser.device), now),
    store.isGuardSet(toGuardKey('known', email, guesser.client), now),
  ]);
  if (isDevice) return { key: toGuardKey('device', email, guesser.device ?? ''), isKnown: true };
  return { key: toGuardKey('client', email, guesser.client), isKnown: isClient };
}

/** Counts a guess. An error says for how long no more are taken. */
export async function admitGuess(
  env: Env,
  email: string,
  guesser: Guesser,
  now: number,
): Promise<Result<null, { retryAfterSeconds: number }>> {
  const store = createLoginStore(env.DIRECTORY);
  const place = await findPlace(env, email, guesser, now);
  const byPlace = await store.countGuess(place.key, now, PLACE_WINDOW_MS);
  if (byPlace.count > GUESSES_PER_PLACE_MAX) return err({ retryAfterSeconds: (byPlace.endsAt - now) / 1000 });
  if (place.isKnown) return ok(null);
  const byAddress = await store.countGuess(toGuardKey('address', email), now, ADDRESS_WINDOW_MS);
  if (byAddress.count > GUESSES_PER_ADDRESS_MAX) return err({ retryAfterSeconds: (byAddress.endsAt - now) / 1000 });
  return ok(null);
}

/** A right password: this place's guesses are forgiven and it is known from now on. */
export async function forgiveGuesses(env: Env, email: string, guesser: Guesser, now: number): Promise<void> {
  const place = await findPlace(env, email, guesser, now);
  const known =
    'session' in guesser
      ? []
      : [
          toGuardKey('known', email, guesser.client),
          ...(guesser.device === null ? [] : [toGuardKey('known device', email, guesser.device)]),
        ];
  await createLoginStore(env.DIRECTORY).settleGuards([place.key], known, now + KNOWN_PLACE_AGE_MS);
}
