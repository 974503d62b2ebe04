/**
 * Passkeys (WebAuthn Level 3) as the only factor and as the second factor. User verification is required, so a passkey
 * alone is two factors: the device, and its PIN or biometrics. Attestation is not requested: any device may be used.
 *
 * `@simplewebauthn/server` is loaded by the first request that needs it, so it does not slow the start of the Worker.
 */
import { randomBytes } from 'node:crypto';
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { z } from 'zod';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { databaseNumberOf, findDatabase, newestDatabaseOf, userDatabaseOf } from '../../shared/stores/directories.ts';
import { logInfo } from '../../shared/telemetry/log.ts';
import { hashSecret } from '../secrets/one-time-secrets.ts';
import { createPasskeyStore, type PasskeyOwner, type PasskeyRow } from '../store/passkey-store.ts';
import { createRecoveryStore } from '../store/recovery-store.ts';

const CHALLENGE_AGE_MS = 5 * 60_000;
const PASSKEYS_PER_USER_MAX = 20;
const RP_NAME = 'Tessera';

const INVALID_PASSKEY = problem(400, 'invalid_passkey', 'The passkey was not accepted. Start again.');
const WRONG_PASSKEY = problem(401, 'wrong_passkey', 'The passkey was not accepted.');
const TOO_MANY = problem(409, 'too_many', `An account may have at most ${PASSKEYS_PER_USER_MAX} passkeys.`);
const PASSKEY_EXISTS = problem(409, 'passkey_exists', 'This passkey is registered already.');

/**
 * Answers of devices as validated JSON. The library's types differ only in one point: their optional members may not be
 * `undefined`.
 */
export interface PasskeyRegistration {
  readonly id: string;
  readonly response: {
    readonly clientDataJSON: string;
    readonly attestationObject: string;
    readonly transports?: readonly string[] | undefined;
  };
}
export interface PasskeyAssertion {
  readonly id: string;
  readonly response: { readonly clientDataJSON: string; readonly userHandle?: string | undefined };
}

const loadLibrary = () => import('@simplewebauthn/server');

export interface PasskeyUser {
  readonly owner: PasskeyOwner;
  /** Name that the device shows for the passkey. */
  readonly userName: string;
  readonly displayName: string;
}

/** A passkey belongs to the hostname, without the port (WebAuthn §5.1.2). */
const toRpId = (origin: string): string => new URL(origin).hostname;

const databaseOfOwner = (env: Env, { kind, id }: PasskeyOwner): D1Database =>
  kind === 'user' ? userDatabaseOf(env, id) : env.DIRECTORY;

/** The user handle (WebAuthn): at most 64 bytes, without personal data. */
const toUserHandle = ({ id }: PasskeyOwner): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(id));

/**
 * Begins the registration of a passkey.
 * @param origin origin of the web app.
 * @returns options for `navigator.credentials.create`, valid once and for five minutes.
 */
export async function beginPasskey(
  env: Env,
  user: PasskeyUser,
  origin: string,
  now: number,
): Promise<Result<PublicKeyCredentialCreationOptionsJSON, Problem>> {
  const known = await createPasskeyStore(databaseOfOwner(env, user.owner)).listPasskeys(user.owner);
  if (known.length >= PASSKEYS_PER_USER_MAX) return err(TOO_MANY);
  const { generateRegistrationOptions } = await loadLibrary();
  const options = await generateRegistrationOptions({
    rpName: RP_NAME,
    rpID: toRpId(origin),
    userID: toUserHandle(user.owner),
    userName: user.userName,
    userDisplayName: user.displayName,
    challenge: new Uint8Array(randomBytes(32)),
    timeout: CHALLENGE_AGE_MS,
    attestationType: 'none',
    excludeCredentials: known.map(({ passkeyId, transports }) => ({ id: passkeyId, transports })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  });
  const { kind, id } = user.owner;
  const secret = {
    secretSha256: hashSecret('passkey_registration', options.challenge, kind, id),
    purpose: 'passkey_registration',
    detail: null,
    expiresAt: now + CHALLENGE_AGE_MS,
  };
  const store = createRecoveryStore(databaseOfOwner(env, user.owner));
  await (kind === 'user'
    ? store.replaceSecret({ ...secret, userId: id })
    : store.insertSecret({ ...secret, userId: null }));
  return ok(options);
}

/** Verifies the device's answer to `beginPasskey` and stores the passkey. @returns 400 or 409 if the answer is not accepted. */
export async function addPasskey(
  env: Env,
  owner: PasskeyOwner,
  {
    name,
    response,
    origin,
    session,
  }: {
    readonly name: string;
    readonly response: PasskeyRegistration;
    readonly origin: string;
    /** Id of the session that adds the passkey. */
    readonly session: string;
  },
  now: number,
): Promise<Result<PasskeyRow, Problem>> {
  const verified = await verifyRegistration(env, owner, response, origin, now);
  if (verified === null) return err(INVALID_PASSKEY);
  const store = createPasskeyStore(databaseOfOwner(env, owner));
  if ((await store.listPasskeys(owner)).length >= PASSKEYS_PER_USER_MAX) return err(TOO_MANY);
  const row: PasskeyRow = {
    passkeyId: verified.id,
    name,
    publicKey: Buffer.from(verified.publicKey).toString('base64url'),
    counter: verified.counter,
    transports: [...(response.response.transports ?? [])],
    createdAt: now,
    lastUsedAt: null,
    madeIn: session,
  };
  return (await store.insertPasskey(owner, row)) ? ok(row) : err(PASSKEY_EXISTS);
}

async function verifyRegistration(
  env: Env,
  owner: PasskeyOwner,
  response: PasskeyRegistration,
  origin: string,
  now: number,
) {
  const from = databaseOfOwner(env, owner);
  const expectedChallenge = await takeChallenge(from, 'passkey_registration', response, now, owner.kind, owner.id);
  if (expectedChallenge === null) return null;
  const [{ verifyRegistrationResponse }, { decodeAttestationObject }] = await Promise.all([
    loadLibrary(),
    import('@simplewebauthn/server/helpers'),
  ]);
  return orRefuse('registration', async () => {
    const bytes = new Uint8Array(Buffer.from(response.response.attestationObject, 'base64url'));
    const attestation = decodeAttestationObject(bytes);
    // Only an answer without attestation, or with one signed by the new key itself, is accepted. Verifying certificates could load
    // URLs that they name.
    const isSelfSigned = attestation.get('fmt') === 'packed' && attestation.get('attStmt').get('x5c') === undefined;
    if (attestation.get('fmt') !== 'none' && !isSelfSigned) return null;
    const { registrationInfo } = await verifyRegistrationResponse({
      response: response as RegistrationResponseJSON,
      expectedChallenge,
      expectedOrigin: origin,
      expectedRPID: toRpId(origin),
      requireUserVerification: true,
    });
    return registrationInfo?.credential ?? null;
  });
}

/** Consumes the challenge that a device signed. @returns null if the challenge is unknown, used, expired or of another account. */
async function takeChallenge(
  from: D1Database | ((challenge: string) => D1Database),
  purpose: 'passkey_registration' | 'passkey_login',
  { response }: PasskeyRegistration | PasskeyAssertion,
  now: number,
  ...parts: readonly string[]
): Promise<string | null> {
  const challenge = readChallenge(response.clientDataJSON);
  if (challenge === null) return null;
  const database = typeof from === 'function' ? from(challenge) : from;
  const taken = await createRecoveryStore(database).takeSecret(hashSecret(purpose, challenge, ...parts), now);
  return taken && challenge;
}

const clientDataSchema = z.object({ challenge: z.string() });

function readChallenge(clientDataJson: string): string | null {
  try {
    return clientDataSchema.parse(JSON.parse(Buffer.from(clientDataJson, 'base64url').toString())).challenge;
  } catch {
    return null;
  }
}

/**
 * Runs a verification of the library and converts its errors to null, because the library throws for every response that it
 * rejects.
 * @param verify only computes, so nothing else can fail.
 */
async function orRefuse<T>(ceremony: string, verify: () => Promise<T>): Promise<T | null> {
  try {
    return await verify();
  } catch {
    logInfo('passkey_refused', { ceremony });
    return null;
  }
}

/**
 * Begins a login by passkey. The options name no user, so devices offer all passkeys that they have for this host.
 * @returns options for `navigator.credentials.get`, valid once and for five minutes.
 */
export async function beginPasskeyLogin(
  env: Env,
  origin: string,
  now: number,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { generateAuthenticationOptions } = await loadLibrary();
  const options = await generateAuthenticationOptions({
    rpID: toRpId(origin),
    challenge: new Uint8Array(randomBytes(32)),
    timeout: CHALLENGE_AGE_MS,
    userVerification: 'required',
  });
  await createRecoveryStore(newestDatabaseOf(env, options.challenge)).insertSecret({
    secretSha256: hashSecret('passkey_login', options.challenge),
    purpose: 'passkey_login',
    userId: null,
    detail: null,
    expiresAt: now + CHALLENGE_AGE_MS,
  });
  return options;
}

/** Verifies the device's answer to `beginPasskeyLogin`. @returns the id of the user or operator, or 401. */
export async function verifyPasskey(
  env: Env,
  kind: PasskeyOwner['kind'],
  response: PasskeyAssertion,
  origin: string,
  now: number,
): Promise<Result<string, Problem>> {
  const { userHandle } = response.response;
  // Passkeys are discoverable, so devices send the user handle, which is the user's id. Without it, only DIRECTORY is queried.
  const home = databaseNumberOf(Buffer.from(userHandle ?? '', 'base64url').toString());
  const database = kind === 'user' ? findDatabase(env, home) : env.DIRECTORY;
  if (database === null) return err(WRONG_PASSKEY);
  const store = createPasskeyStore(database);
  const found = await store.findPasskey(kind, response.id);
  if (found === null) return err(WRONG_PASSKEY);
  const { ownerId, row } = found;
  if (userHandle !== undefined && userHandle !== Buffer.from(ownerId).toString('base64url')) return err(WRONG_PASSKEY);
  const expectedChallenge = await takeChallenge(
    (challenge) => newestDatabaseOf(env, challenge),
    'passkey_login',
    response,
    now,
  );
  if (expectedChallenge === null) return err(WRONG_PASSKEY);
  const { verifyAuthenticationResponse } = await loadLibrary();
  // The library throws if the counter did not increase, because a copy of the device may exist (WebAuthn §6.1.1).
  const verification = await orRefuse('login', () =>
    verifyAuthenticationResponse({
      response: response as AuthenticationResponseJSON,
      expectedChallenge,
      expectedOrigin: origin,
      expectedRPID: toRpId(origin),
      credential: {
        id: row.passkeyId,
        publicKey: new Uint8Array(Buffer.from(row.publicKey, 'base64url')),
        counter: row.counter,
      },
      requireUserVerification: true,
    }),
  );
  if (!verification?.verified) return err(WRONG_PASSKEY);
  const isUsed = await store.recordUse(row, verification.authenticationInfo.newCounter, now);
  return isUsed ? ok(ownerId) : err(WRONG_PASSKEY);
}
