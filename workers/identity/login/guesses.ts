/**
 * Limits for password guesses. A guess is counted before any hash is computed:
 * - by client, for all addresses. This limits spraying one password over many addresses (OWASP Authentication Cheat Sheet). The
 *   platform counts per data centre and approximately.
 * - by address and place together, and by address alone. These counts are exact, in the database that `newestDatabaseOf` selects by the address.
 *
 * A place is a device (by its cookie), a network (by its IP address) or an open session. Places from which the account logged in
 * before are exempt from the limit by address. Over that limit, a login from another place needs a challenge. Devices and sessions
 * have counts of their own, separate from those of their network, and a few spare guesses when their network exceeds the limit by
 * client. The owner is therefore not locked out by guesses of others, from many places or from the owner's own network.
 */
import { createHash } from 'node:crypto';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { newestDatabaseOf } from '../../shared/stores/directories.ts';
import { type Hasher, hashGate } from '../secrets/hash-gate.ts';
import { createLoginStore } from '../store/login-store.ts';
import { admitByChallenge, type ChallengeSolution } from './challenges.ts';

const GUESSES_PER_PLACE_MAX = 10;
const PLACE_WINDOW_MS = 15 * 60_000;
/** Maximum number of guesses of a known device or a session in `PLACE_WINDOW_MS` while its client is over the limit. */
const SPARE_GUESSES_MAX = 5;
const GUESSES_PER_ADDRESS_MAX = 100;
const ADDRESS_WINDOW_MS = 3_600_000;
/** The period of the rate limit `RATE_LIMIT_AUTH` in wrangler.toml. */
const CLIENT_WINDOW_SECONDS = 60;
/** Time for which a device or network that logged in is remembered. The device's cookie lasts as long. */
export const KNOWN_PLACE_AGE_MS = 90 * 24 * 3_600_000;

/** Key of a count in `login_guard`. It is a hash, so that the table holds no names. */
export const toGuardKey = (kind: string, ...parts: string[]) =>
  createHash('sha256')
    .update([kind, ...parts].join('\n'))
    .digest('hex');

/** Source of a password guess: a client, with its device cookie if it has one, or an open session. */
export type Guesser = { readonly client: string } & (
  | { readonly device: string | null }
  /** An open session of the account itself. */
  | { readonly session: string }
);

interface Place {
  readonly key: string;
  readonly kind: 'session' | 'device' | 'known_network' | 'unknown';
}

async function findPlace(env: Env, email: string, guesser: Guesser, now: number): Promise<Place> {
  if ('session' in guesser) return { key: toGuardKey('session', email, guesser.session), kind: 'session' };
  const store = createLoginStore(newestDatabaseOf(env, email));
  const [isDevice, isClient] = await Promise.all([
    guesser.device !== null && store.isGuardSet(toGuardKey('known device', email, guesser.device), now),
    store.isGuardSet(toGuardKey('known', email, guesser.client), now),
  ]);
  if (isDevice) return { key: toGuardKey('device', email, guesser.device ?? ''), kind: 'device' };
  return { key: toGuardKey('client', email, guesser.client), kind: isClient ? 'known_network' : 'unknown' };
}

const toTooMany = (retryAfterSeconds: number): Problem =>
  problem(429, 'too_many_guesses', 'Too many attempts. Wait, then retry.', { retryAfterSeconds });

/**
 * Counts an attempt of a client, which is a guess or a registration.
 * @param client the client as `readClient` returns it.
 * @returns 429 over the limit.
 */
export async function admitClient(env: Env, client: string): Promise<Result<null, Problem>> {
  const { success } = await env.RATE_LIMIT_AUTH.limit({ key: client });
  return success ? ok(null) : err(toTooMany(CLIENT_WINDOW_SECONDS));
}

/**
 * Counts an action that concerns a subject, such as mail to an address that a stranger can cause. The count is exact, in the
 * database that `newestDatabaseOf` selects by the subject.
 * @returns 429 when the window already has `max` of them.
 */
export async function admitAction(
  env: Env,
  action: string,
  subject: string,
  { max, windowMs }: { readonly max: number; readonly windowMs: number },
  now: number,
): Promise<Result<null, Problem>> {
  const counted = await createLoginStore(newestDatabaseOf(env, subject)).countGuess(
    toGuardKey(action, subject),
    now,
    windowMs,
  );
  return counted.count > max ? err(toTooMany((counted.endsAt - now) / 1000)) : ok(null);
}

/**
 * Counts a guess at the password of an address.
 * @param solution solution of a challenge, for a login only.
 * @returns whether the guess comes from a known place; 429 with the time to wait when no more guesses are accepted, 503 while too many hashes are waiting, or 403 with the
 * challenges that admit a login from a new place while others guess at the same address.
 */
export async function admitGuess(
  env: Env,
  email: string,
  guesser: Guesser,
  now: number,
  solution?: ChallengeSolution,
): Promise<Result<Hasher, Problem>> {
  const admitted = await admitClient(env, guesser.client);
  // The queue of hashes is checked before DIRECTORY is used, so that a flood does not cost reads and writes.
  const hashing = hashGate.admit('known');
  if (!hashing.ok) return admitted.ok ? hashing : admitted;
  const place = await findPlace(env, email, guesser, now);
  if (place.kind === 'unknown') {
    const asStranger = hashGate.admit('stranger');
    if (!asStranger.ok) return admitted.ok ? asStranger : admitted;
  }
  const count = async (key: string, windowMs: number, max: number): Promise<Result<null, Problem>> => {
    const counted = await createLoginStore(newestDatabaseOf(env, email)).countGuess(key, now, windowMs);
    return counted.count > max ? err(toTooMany((counted.endsAt - now) / 1000)) : ok(null);
  };
  if (!admitted.ok) {
    if (place.kind !== 'session' && place.kind !== 'device') return admitted;
    // A correct password does not reset this count, unlike the count by place.
    const spare = await count(toGuardKey('spare', place.key), PLACE_WINDOW_MS, SPARE_GUESSES_MAX);
    if (!spare.ok) return spare;
  }
  const byPlace = await count(place.key, PLACE_WINDOW_MS, GUESSES_PER_PLACE_MAX);
  if (!byPlace.ok) return byPlace;
  if (place.kind !== 'unknown') return ok('known');
  const byAddress = await count(toGuardKey('address', email), ADDRESS_WINDOW_MS, GUESSES_PER_ADDRESS_MAX);
  if (byAddress.ok) return ok('stranger');
  if (solution === undefined) return byAddress;
  const passedKey = toGuardKey('challenge passed', place.key);
  const retryAfterSeconds = byAddress.error.retryAfterSeconds ?? ADDRESS_WINDOW_MS / 1000;
  const passed = await admitByChallenge(env, email, solution, { passedKey, retryAfterSeconds }, now);
  return passed.ok ? ok('stranger') : passed;
}

/**
 * Called after a correct password. Resets the place's count and remembers the place as known.
 * @returns whether the account never logged in from this device and network before.
 */
export async function forgiveGuesses(env: Env, email: string, guesser: Guesser, now: number): Promise<boolean> {
  const place = await findPlace(env, email, guesser, now);
  const known =
    'session' in guesser
      ? []
      : [
          toGuardKey('known', email, guesser.client),
          ...(guesser.device === null ? [] : [toGuardKey('known device', email, guesser.device)]),
        ];
  await createLoginStore(newestDatabaseOf(env, email)).settleGuards([place.key], known, now + KNOWN_PLACE_AGE_MS);
  return place.kind === 'unknown';
}
