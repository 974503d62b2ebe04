/**
 * Decides which sender addresses a user may use: the user's own addresses, with or without a `+tag`, the same at aliases of their
 * domains, and addresses that match the user's wildcards.
 */
import { type Problem, problem } from '../../../shared/json/problem.ts';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { createClock } from '../../../shared/settings/clock.ts';
import { listExactReceivers, listReceivers } from '../../domain/email-address.ts';
import { type MailPath, parseMailPath } from '../../domain/mail-path.ts';
import { isOpen } from '../../domain/masked-state.ts';
import { findMainDomain, isHostedDomain } from '../../domains/hosted-domains.ts';
import { type FoundRecipient, findRecipient } from '../../store/recipient-store.ts';

export interface Sender {
  readonly userId: string;
  readonly name: string;
  /** The address that the account was registered with. The account never loses it. Null for a user without a mailbox. */
  readonly email: string | null;
}

export interface SenderAddress {
  /** Empty for a masked address, unless the request names one. */
  readonly name: string;
  /** The address in lower case. It is valid in an SMTP command. */
  readonly email: string;
  /** The address of the account that allows it: itself, itself without its tag, or a wildcard. */
  readonly ownAddress: string;
}

interface OwnAddress {
  readonly email: string;
  readonly isMasked: boolean;
}

/**
 * @param from the requested sender; if missing, the address the account was registered with.
 * @param source `replica`: the answer may be out of date, so the mailbox must prove that the account still has `ownAddress`. A
 * refusal is always the primary's.
 */
export async function decideFrom(
  env: Env,
  sender: Sender,
  from: { readonly name?: string | undefined; readonly email: string } | undefined,
  source: 'replica' | 'primary',
): Promise<Result<SenderAddress, Problem>> {
  if (from === undefined) {
    const { name, email } = sender;
    return email === null ? err(NO_MAILBOX) : ok({ name, email, ownAddress: email });
  }
  // The user chooses the tag, so the whole address must match the grammar.
  const path = parseMailPath(from.email.toLowerCase());
  const near = path && source === 'replica' ? await findExactly(env, sender, path) : null;
  const own = near ?? (path && (await findInPrimary(env, sender, path)));
  if (path && own !== null) {
    // The account's name would tell whose the masked address is. A name that the request gives is the person's choice.
    const name = from.name ?? (own.isMasked ? '' : sender.name);
    return ok({ name, email: path.email, ownAddress: own.email });
  }
  const errors = [{ path: 'from.email', message: 'must be one of your own addresses' }];
  return err(problem(400, 'foreign_sender', 'From is not one of your addresses.', { errors }));
}

/** Finds the sender among the addresses that were issued to the user, without the primary of DIRECTORY. */
async function findExactly(env: Env, { userId, email }: Sender, path: MailPath): Promise<OwnAddress | null> {
  if (!(await isHostedDomain(env, path.domain))) return null;
  const emails = listExactReceivers(path);
  if (email !== null && emails.includes(email)) return { email, isMasked: false };
  const found = await findRecipient(env, emails, 'replica');
  return toOwn(env, userId, found);
}

async function findInPrimary(env: Env, { userId }: Sender, path: MailPath): Promise<OwnAddress | null> {
  const main = await findMainDomain(env, path.domain);
  // The first match receives mail to the address. A wildcard of the user therefore does not cover an address of another user.
  const found = main === null ? null : await findRecipient(env, listReceivers(path, main));
  return toOwn(env, userId, found);
}

/** @returns the found address if it is the user's and open. */
const toOwn = (env: Env, userId: string, found: FoundRecipient | null): OwnAddress | null =>
  found?.userId === userId && isOpen(found.masked, createClock(env)())
    ? { email: found.email, isMasked: found.masked !== null }
    : null;

const NO_MAILBOX = problem(404, 'no_mailbox', 'This user has no mailbox.');
