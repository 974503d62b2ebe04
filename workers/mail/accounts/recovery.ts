/**
 * Recovery of accounts by mail to the confirmed recovery address. An unauthenticated request is answered before the account is
 * looked up. So neither the answer nor its time depends on whether the account exists.
 */
import {
  admitAction,
  admitClient,
  createLoginCode,
  createPasswordReset,
  findRecoveryEmail,
  RESET_AGE_MS,
} from '../../identity/index.ts';
import type { Problem } from '../../shared/json/problem.ts';
import type { Result } from '../../shared/pure/result.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { sendAccountMail } from '../outbound/account-mail.ts';
import type { AccountRow } from '../store/account-store.ts';
import { findAccountByEmail } from '../store/address-store.ts';

/**
 * Maximum of messages that unauthenticated requests may cause per address and purpose. The window of the limit is as long as a link
 * or code is valid. So the newest one stays valid until another one can be requested.
 */
const MAILS_PER_ADDRESS = { max: 3, windowMs: RESET_AGE_MS };

/** URL of the page that sets a new password. The token is in the fragment, which browsers do not send to a server. */
export const toResetUrl = (origin: string, token: string): string => `${origin}/_/mail#/reset/${token}`;

const normalizeEmail = (email: string): string => email.trim().toLowerCase();

/** Counts a request for recovery mail. @returns 429 over the limit, which is the same for known and unknown addresses. */
export async function admitRecoveryMail(
  env: Env,
  purpose: 'reset link' | 'login code',
  email: string,
  client: string,
  now: number,
): Promise<Result<null, Problem>> {
  const admitted = await admitClient(env, client);
  return admitted.ok ? admitAction(env, purpose, normalizeEmail(email), MAILS_PER_ADDRESS, now) : admitted;
}

async function mailToRecoveryAddress(
  env: Env,
  email: string,
  now: number,
  compose: (account: AccountRow) => Promise<{ subject: string; text: string }>,
): Promise<void> {
  try {
    const account = await findAccountByEmail(env, normalizeEmail(email));
    const to = account && (await findRecoveryEmail(env, account.userId, now));
    if (account && to !== null) await sendAccountMail(env, account, { to, ...(await compose(account)) });
  } catch (error) {
    logError('recovery_mail_failed', error);
  }
}

async function composeResetLink(env: Env, account: AccountRow, origin: string, now: number) {
  const { token, expiresAt } = await createPasswordReset(env, account.userId, 'mailed_reset', now);
  const text =
    `A new password for ${account.email} was requested.\n\n` +
    `Open this link to set it. It works once, within an hour:\n\n${toResetUrl(origin, token)}\n\n` +
    'If you did not request it, ignore this message. The password stays as it is.\n';
  return { subject: 'Set a new password', text, expiresAt };
}

/** Mails a link that sets a new password. Does nothing for accounts without a recovery address. Never throws. */
export const mailResetLink = (env: Env, email: string, origin: string, now: number): Promise<void> =>
  mailToRecoveryAddress(env, email, now, (account) => composeResetLink(env, account, origin, now));

/**
 * Mails the link for an operator who may not see it.
 * @returns the time at which the link ends; null if the account has no recovery address, and then nothing is mailed.
 */
export async function mailResetLinkOf(
  env: Env,
  account: AccountRow,
  origin: string,
  now: number,
): Promise<number | null> {
  const to = await findRecoveryEmail(env, account.userId, now);
  if (to === null) return null;
  const { expiresAt, ...mail } = await composeResetLink(env, account, origin, now);
  await sendAccountMail(env, account, { to, ...mail });
  return expiresAt;
}

/** Mails a code that admits a login. Does nothing for accounts without a recovery address. Never throws. */
export const mailLoginCode = (env: Env, email: string, now: number): Promise<void> =>
  mailToRecoveryAddress(env, email, now, async (account) => ({
    subject: 'Code for your login',
    text:
      `A login as ${account.email} needs a code, because there were many wrong passwords before.\n\n` +
      `If you are logging in, enter this code. It works once, within an hour: ${await createLoginCode(env, account, now)}\n\n` +
      'The code does not replace the password. If you are not logging in, ignore this message.\n',
  }));
