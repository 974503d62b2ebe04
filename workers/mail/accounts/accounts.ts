/** Registers accounts and checks logins: the identity user, the address and the mailbox together. */
import { createHash } from 'node:crypto';
import {
  admitClient,
  admitGuess,
  admitRegistration,
  checkSecondFactor,
  createLoginStore,
  findSuspension,
  forgetUser,
  forgiveGuesses,
  type Guesser,
  hashPassword,
  inventUserName,
  isEmailElsewhere,
  readPasswordRule,
  refusePasswords,
  verifyPasskey,
  verifyPassword,
} from '../../identity/index.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { appOrigin } from '../../shared/settings/app-origin.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { mintUserId, userDatabaseOf } from '../../shared/stores/directories.ts';
import { readLimits } from '../bindings/account-limits.ts';
import { placeMailbox } from '../bindings/mailbox.ts';
import { claimNamespace } from '../bindings/namespace-owner.ts';
import { parseOwnAddress } from '../domain/email-address.ts';
import { mayHaveAddresses } from '../domains/hosted-domains.ts';
import type { Login, Register } from '../schemas/account.ts';
import { toBadRequest } from '../schemas/errors.ts';
import { type AccountRow, createAccountStore } from '../store/account-store.ts';
import { createAccount, findAccountByEmail, isAddressIssued } from '../store/address-store.ts';

const ADDRESS_TAKEN = problem(409, 'address_taken', 'This address was already issued.');
const INVITE_REQUIRED = problem(403, 'invite_required', 'Registration requires an unused invitation.');
const WRONG_LOGIN = problem(401, 'wrong_login', 'Wrong address or password.');
const FACTOR_NEEDED = problem(
  401,
  'second_factor_required',
  'A second factor is required: totp, recovery_code or passkey.',
);
const WRONG_FACTOR = problem(401, 'wrong_second_factor', 'The code is wrong or was already used.');

interface RegistrationSource {
  readonly client: string;
  readonly url: string;
  readonly continent?: ContinentCode | null;
}

/**
 * Registers an account.
 * @param source origin of the request: the client whose attempts are limited (from `readClient`), the URL and the continent.
 * @returns 400, 403 or 409 for a bad address or invitation; 429 or 503, before the password is hashed, if the client makes too many
 * attempts or the server is busy.
 */
export async function registerAccount(
  env: Env,
  request: Register,
  { client, url, continent = null }: RegistrationSource,
  now: number,
): Promise<Result<AccountRow, Problem>> {
  const refused = refusePasswords(env);
  if (refused !== null) return err(refused);
  const { REGISTRATION: registration } = settingsOf(env);
  if (registration === 'closed') {
    return err(problem(403, 'registration_closed', 'Registration is closed. The operator creates accounts.'));
  }
  const address = parseOwnAddress(request.email);
  if (address === 'bad_address') return err(toBadRequest('email', 'This address cannot be used for an account.'));
  if (!(await mayHaveAddresses(env, address === 'reserved' ? (request.email.split('@')[1] ?? '') : address.domain))) {
    return err(toBadRequest('email', 'This service does not host this domain.'));
  }
  if (address === 'reserved')
    return err(problem(403, 'address_reserved', 'This address is reserved for the operator.'));
  const admitted = await admitClient(env, client);
  if (!admitted.ok) return admitted;
  const challenged = await admitRegistration(env, { turnstile: request.turnstile, url });
  if (!challenged.ok) return challenged;
  const store = createAccountStore(env.DIRECTORY);
  if (await isAddressIssued(env, address.email)) return err(ADDRESS_TAKEN);
  const invite = registration === 'invite' ? hashInvite(request.invite ?? '') : null;
  if (invite !== null && !(await store.isInviteOpen(invite, now))) return err(INVITE_REQUIRED);
  const hash = await hashPassword(request.password, 'stranger');
  if (!hash.ok) return hash;
  // The invitation is consumed last. A registration that was refused because the server was busy can be retried with it.
  if (invite !== null && !(await store.consumeInvite(invite, now))) return err(INVITE_REQUIRED);
  const account = {
    userId: mintUserId(env, address.email),
    email: address.email,
    accountType: 'personal',
    createdAt: now,
  };
  const { userId, email } = account;
  const user = { userId, userName: inventUserName(userId), name: request.name, email, createdAt: now };
  // If an IAM user has this email, or another registration wins the race for the address, no user is left behind.
  const logins = createLoginStore(userDatabaseOf(env, userId));
  if (!(await logins.insertUserWithPassword(user, hash.value))) return err(ADDRESS_TAKEN);
  if ((await isEmailElsewhere(env, email, userId)) || !(await createAccount(env, account))) {
    await forgetUser(env, userId);
    return err(ADDRESS_TAKEN);
  }
  await ensureMailbox(env, account, continent);
  return ok(account);
}

export const hashInvite = (invite: string): string => createHash('sha256').update(invite).digest('hex');

/**
 * Creates the mailbox of an account, or updates its limits. Also repairs a registration that a crash interrupted.
 * @param continent of the owner, where a new mailbox is placed; null if the caller is not the owner.
 */
export async function ensureMailbox(
  env: Env,
  account: AccountRow,
  continent: ContinentCode | null = null,
): Promise<void> {
  await claimNamespace(env);
  const { quotaBytes } = readLimits(env, account.accountType);
  await placeMailbox(env, account.userId, continent).createMailbox({
    userId: account.userId,
    accountType: account.accountType,
    limitBytes: quotaBytes,
  });
}

/** Login events that are written to the audit log. */
export type LoginEvent = 'login.failed' | 'login.new_place' | 'login.second_factor_failed';

/**
 * Checks address, password and second factor. For an unknown address, it does the same work and gives the same answer as for a
 * wrong password.
 * @param record is called with login events. The user is null for a failed login to an unknown address.
 */
export async function checkLogin(
  env: Env,
  request: Login,
  { guesser, url }: { readonly guesser: Guesser; readonly url: string },
  now: number,
  record: (event: LoginEvent, userId: string | null) => Promise<void>,
): Promise<Result<AccountRow & { readonly isPasswordStill: () => Promise<boolean> }, Problem>> {
  const refused = refusePasswords(env);
  if (refused !== null) return err(refused);
  const email = request.email.trim().toLowerCase();
  const admitted = await admitGuess(env, email, guesser, now, {
    turnstile: request.turnstile,
    proof: request.proof,
    mailedCode: request.mailed_code,
    mayMail: true,
    url,
  });
  if (!admitted.ok) return admitted;
  const account = await findAccountByEmail(env, email);
  const store = createLoginStore(userDatabaseOf(env, account?.userId ?? ''));
  const hash = await store.findPassword(account?.userId ?? '');
  const verified = await verifyPassword(request.password, hash, admitted.value);
  if (!verified.ok) return verified;
  if (!verified.value || !account) {
    await record('login.failed', account?.userId ?? null);
    return err(WRONG_LOGIN);
  }
  const factor = await checkFactor(env, account.userId, request, url, now);
  if (!factor.ok) {
    if (factor.error === WRONG_FACTOR) await record('login.second_factor_failed', account.userId);
    return factor;
  }
  const suspension = await findSuspension(env, account.userId);
  if (suspension !== null) return err(suspension);
  if (await forgiveGuesses(env, email, guesser, now)) await record('login.new_place', account.userId);
  return ok({ ...account, isPasswordStill: async () => (await store.findPassword(account.userId)) === hash });
}

/** Checks the second factor of a login by password: a code of the authenticator, a recovery code or a passkey. */
async function checkFactor(
  env: Env,
  userId: string,
  request: Login,
  url: string,
  now: number,
): Promise<Result<null, Problem>> {
  if (request.passkey !== undefined) {
    const verified = await verifyPasskey(env, 'user', request.passkey, appOrigin(env, url), now);
    return verified.ok && verified.value === userId ? ok(null) : err(WRONG_FACTOR);
  }
  const factor = await checkSecondFactor(env, userId, request, now);
  if (!factor.ok) return err(factor.error === 'required' ? FACTOR_NEEDED : WRONG_FACTOR);
  const { needsPasskey } = await readPasswordRule(userDatabaseOf(env, userId), userId);
  return needsPasskey ? err(FACTOR_NEEDED) : ok(null);
}
