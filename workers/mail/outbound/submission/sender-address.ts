/**
 * Decides which sender addresses a user may use: the user's own addresses, with or without a `+tag`, the same at aliases of their
 * domains, and addresses that match the user's wildcards.
 */
import { type Problem, problem } from '../../../shared/problem.ts';
import { err, ok, type Result } from '../../../shared/result.ts';
import { listReceivers } from '../../domain/email-address.ts';
import { parseMailPath } from '../../domain/mail-path.ts';
import { findMainDomain } from '../../domains/hosted-domains.ts';
import { createAccountStore } from '../../store/account-store.ts';
import { findRecipients } from '../../store/recipient-store.ts';

export interface Sender {
  readonly userId: string;
  readonly name: string;
}

export interface SenderAddress {
  readonly name: string;
  /** The address in lower case. It is valid in an SMTP command. */
  readonly email: string;
  readonly accountType: string;
}

/** @param from the requested sender. Default: the address that the account was registered with. */
export async function decideFrom(
  env: Env,
  sender: Sender,
  from: { readonly name?: string | undefined; readonly email: string } | undefined,
): Promise<Result<SenderAddress, Problem>> {
  if (from === undefined) {
    const account = await createAccountStore(env.DIRECTORY).findAccount(sender.userId);
    return account
      ? ok({ name: sender.name, email: account.email, accountType: account.accountType })
      : err(NO_MAILBOX);
  }
  // The user chooses the tag, so the whole address must match the grammar.
  const path = parseMailPath(from.email.toLowerCase());
  const main = path && (await findMainDomain(env, path.domain));
  const emails = path && main ? listReceivers(path, main) : [];
  const found = await findRecipients(env.DIRECTORY, emails);
  // The user must own the address that receives mail to the sender. So a wildcard does not cover addresses of other users.
  const [own] = emails.flatMap((email) => found.find((row) => row.email === email) ?? []);
  if (path && own?.userId === sender.userId)
    return ok({ name: from.name ?? sender.name, email: path.email, accountType: own.accountType });
  const errors = [{ path: 'from.email', message: 'Use one of your own addresses.' }];
  return err(problem(400, 'foreign_sender', 'From is not one of your addresses.', { errors }));
}

const NO_MAILBOX = problem(404, 'no_mailbox', 'This user has no mailbox.');
