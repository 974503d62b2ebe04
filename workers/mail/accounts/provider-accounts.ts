/** Mail accounts of people who sign in with a provider: the one that is bound to them, or a new one. */
import {
  bindSignIn,
  findSignedInUser,
  findSuspension,
  forgetUser,
  insertUserWithoutPassword,
  inventUserName,
  isEmailElsewhere,
  type Proof,
  prepareUserOfProof,
  recordSignIn,
  SIGN_IN_AGAIN,
  toNewAddress,
} from '../../identity/index.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { mintUserId, possibleDatabasesOf, userDatabaseOf } from '../../shared/stores/directories.ts';
import { findUniqueConflict } from '../../shared/stores/unique-conflict.ts';
import { parseOwnAddress } from '../domain/email-address.ts';
import { mayHaveAddresses } from '../domains/hosted-domains.ts';
import { nameSchema } from '../schemas/account.ts';
import { type AccountRow, createAccountStore } from '../store/account-store.ts';
import { createAccount, isAddressIssued } from '../store/address-store.ts';

const UNKNOWN = problem(403, 'sign_in_unknown', 'No account belongs to this sign-in. Ask the operator.');
const NO_MAILBOX = problem(404, 'no_mailbox', 'This user has no mailbox.');

/**
 * Finds the account of a proof, or makes one, and records the sign-in.
 * @returns 403 `sign_in_unknown` if no account is bound and none may be made, 403 `account_suspended`, or 404 without a mailbox.
 */
export async function signInByProof(env: Env, proof: Proof, now: number): Promise<Result<AccountRow, Problem>> {
  // The person may sign in twice at once. Then the other request makes the account.
  const userId =
    (await findSignedInUser(env, proof)) ??
    (await createByClaim(env, proof, now)) ??
    (await findSignedInUser(env, proof));
  if (userId === null) return err(UNKNOWN);
  const account = await createAccountStore(userDatabaseOf(env, userId)).findAccount(userId);
  if (account === null) return err(NO_MAILBOX);
  const suspension = await findSuspension(env, userId);
  // The provider confirms the account now, so only an operator's suspension counts.
  if (suspension !== null && suspension !== SIGN_IN_AGAIN) return err(suspension);
  await recordSignIn(env, 'user', proof, now);
  return ok(account);
}

/**
 * Makes an account with the address that the provider claims, if the operator allows it. An address that was ever issued is
 * refused, so that nobody gets an account, or the mail of a former one, by an address.
 */
async function createByClaim(env: Env, proof: Proof, now: number): Promise<string | null> {
  const { OIDC_NEW_ACCOUNTS: from, OIDC_HOSTED_DOMAIN: hostedDomain } = settingsOf(env);
  const claimed = toNewAddress(proof, { from, hostedDomain });
  const address = claimed === null ? 'bad_address' : parseOwnAddress(claimed);
  if (address === 'bad_address' || address === 'reserved') return null;
  const { email, domain, local } = address;
  if (!(await mayHaveAddresses(env, domain)) || (await isAddressIssued(env, email))) return null;
  const userId = mintUserId(env, email);
  const name = nameSchema.safeParse(proof.name ?? local);
  const user = {
    userId,
    userName: inventUserName(userId),
    name: name.success ? name.data : local,
    email,
    createdAt: now,
  };
  const account = { userId, email, accountType: 'personal', createdAt: now };
  const isCreated =
    possibleDatabasesOf(env, email).length === 1
      ? await createAtOnce(env, proof, user, account)
      : await createInSteps(env, proof, user, account);
  return isCreated ? userId : null;
}

type NewUser = Parameters<typeof prepareUserOfProof>[2];

/** Makes account, user and sign-in in one batch, so that a Worker that dies leaves all of them or none. */
async function createAtOnce(env: Env, proof: Proof, user: NewUser, account: AccountRow): Promise<boolean> {
  try {
    return await createAccount(env, account, prepareUserOfProof(env, proof, user));
  } catch (error) {
    if (findUniqueConflict(error) === null) throw error;
    return false;
  }
}

/**
 * The same with several user databases: sign-ins are in DIRECTORY, and users of other databases may have the email. A Worker that dies
 * may leave the user without a mailbox or without the sign-in; the operator then deletes the user, or connects the sign-in.
 */
async function createInSteps(env: Env, proof: Proof, user: NewUser, account: AccountRow): Promise<boolean> {
  const { userId, email, createdAt: now } = user;
  if (!(await insertUserWithoutPassword(userDatabaseOf(env, userId), user))) return false;
  const isAccount =
    !(await isEmailElsewhere(env, email, userId)) &&
    (await bindSignIn(env, proof, { kind: 'user', ownerId: userId }, { now, audit: null })) &&
    (await createAccount(env, account));
  if (!isAccount) await forgetUser(env, userId);
  return isAccount;
}
