/** Making, opening and describing accounts: identity's user, the address, and the mailbox, together. */
import { createHash, randomUUID } from 'node:crypto';
import {
  admitClient,
  admitGuess,
  checkSecondFactor,
  createLoginStore,
  findUserById,
  forgetUser,
  forgiveGuesses,
  type Guesser,
  hashPassword,
  inventUserName,
  verifyPassword,
} from '../identity/index.ts';
import { type Problem, problem } from '../shared/problem.ts';
import { err, ok, type Result } from '../shared/result.ts';
import { settingsOf } from '../shared/settings.ts';
import { readLimits } from './account-limits.ts';
import { type AccountRow, createAccountStore } from './account-store.ts';
import { parseOwnAddress } from './domain/email-address.ts';
import { toBadRequest } from './errors.ts';
import { isHostedDomain } from './hosted-domains.ts';
import { openMailbox } from './mailbox.ts';
import { claimNamespace } from './namespace-owner.ts';
import { askMailbox, toTime } from './routes/route.ts';
import type { Login, Profile, Register } from './schemas/account.ts';

const ADDRESS_TAKEN = problem(409, 'address_taken', 'This address was issued before.');
const INVITE_REQUIRED = problem(403, 'invite_required', 'This needs an invitation that was not used.');
const WRONG_LOGIN = problem(401, 'wrong_login', 'The address or the password is not right.');
const FACTOR_NEEDED = problem(401, 'second_factor_required', 'This account asks for a code: totp or recovery_code.');
const WRONG_FACTOR = problem(401, 'wrong_second_factor', 'The code is not right, or was used before.');

/**
 * @param client whose attempts are limited, as `readClient` returns it.
 * @returns 400, 403 or 409 as the address or the invitation demands; 429 or 503 before a hash is computed.
 */
export async function registerAccount(
  env: Env,
  request: Register,
  client: string,
  now: number,
): Promise<Result<AccountRow, Problem>> {
  const { REGISTRATION: registration } = settingsOf(env);
  if (registration === 'closed') {
    return err(problem(403, 'registration_closed', 'Accounts are made by the operator.'));
  }
  const address = parseOwnAddress(request.email);
  if (address === 'bad_address') return err(toBadRequest('email', 'Not an address an account can have.'));
  if (!(await isHostedDomain(env, address === 'reserved' ? (request.email.split('@')[1] ?? '') : address.domain))) {
    return err(toBadRequest('email', 'This service does not host that domain.'));
  }
  if (address === 'reserved') return err(problem(403, 'address_reserved', 'This address is the operator’s.'));
  const admitted = await admitClient(env, client);
  if (!admitted.ok) return admitted;
  const store = createAccountStore(env.DIRECTORY);
  if (await store.isAddressIssued(address.email)) return err(ADDRESS_TAKEN);
  const invite = registration === 'invite' ? hashInvite(request.invite ?? '') : null;
  if (invite !== null && !(await store.isInviteOpen(invite, now))) return err(INVITE_REQUIRED);
  const hash = await hashPassword(request.password);
  if (!hash.ok) return hash;
  // Used up only now: a registration that is refused as busy can be repeated with the same invitation.
  if (invite !== null && !(await store.takeInvite(invite, now))) return err(INVITE_REQUIRED);
  const account = { userId: randomUUID(), email: address.email, accountType: 'personal', createdAt: now };
  const { userId, email } = account;
  const user = { userId, userName: inventUserName(userId), name: request.name, email, createdAt: now };
  // An IAM user may have this email, and two registrations may race for the address. The loser leaves no user behind.
  if (!(await createLoginStore(env.DIRECTORY).insertUserWithPassword(user, hash.value))) return err(ADDRESS_TAKEN);
  if (!(await store.insertAccount(account))) {
    await forgetUser(env, userId);
    return err(ADDRESS_TAKEN);
  }
  await ensureMailbox(env, account);
  return ok(account);
}

export const hashInvite = (invite: string): string => createHash('sha256').update(invite).digest('hex');

/** Creates the mailbox, or updates its limits. Also repairs a registration that a crash cut short. */
export async function ensureMailbox(env: Env, account: AccountRow): Promise<void> {
  await claimNamespace(env);
  const { quotaBytes } = readLimits(env, account.accountType);
  await openMailbox(env, account.userId).createMailbox({
    userId: account.userId,
    accountType: account.accountType,
    limitBytes: quotaBytes,
  });
}

/** Checks address, password and second factor; the same work and the same answer whether the address exists or not. */
export async function checkLogin(
  env: Env,
  request: Login,
  guesser: Guesser,
  now: number,
): Promise<Result<AccountRow, Problem>> {
  const email = request.email.trim().toLowerCase();
  const admitted = await admitGuess(env, email, guesser, now);
  if (!admitted.ok) return admitted;
  const account = await createAccountStore(env.DIRECTORY).findAccountByEmail(email);
  const store = createLoginStore(env.DIRECTORY);
  const hash = await store.findPassword(account?.userId ?? '');
  const verified = await verifyPassword(request.password, hash);
  if (!verified.ok) return verified;
  if (!verified.value || !account) return err(WRONG_LOGIN);
  const factor = await checkSecondFactor(env, account.userId, request, now);
  if (!factor.ok) return err(factor.error === 'required' ? FACTOR_NEEDED : WRONG_FACTOR);
  await forgiveGuesses(env, email, guesser, now);
  return ok(account);
}

/** `GET /v1/me`. */
export async function readProfile(env: Env, userId: string): Promise<Result<Profile, Problem>> {
  const accounts = createAccountStore(env.DIRECTORY);
  const [account, user, addresses, factor, mailbox] = await Promise.all([
    accounts.findAccount(userId),
    findUserById(env, userId),
    accounts.listAddresses(userId),
    createLoginStore(env.DIRECTORY).findSecondFactor(userId),
    askMailbox(env, userId, (box) => box.readProfile()),
  ]);
  if (!account || !user) return err(problem(404, 'no_mailbox', 'This user has no mailbox.'));
  if (!mailbox.ok) return mailbox;
  return ok({
    user_id: userId,
    email: account.email,
    name: user.name,
    account_type: account.accountType === 'business' ? 'business' : 'personal',
    quota: { used_bytes: mailbox.value.usedBytes, limit_bytes: mailbox.value.limitBytes },
    attachment_limit_bytes: readLimits(env, account.accountType).attachmentBytes,
    signature: mailbox.value.settings.signature,
    addresses,
    totp_enabled: (factor?.confirmedAt ?? null) !== null,
    state: mailbox.value.state,
    created_at: toTime(account.createdAt),
  });
}
