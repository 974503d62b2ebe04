/** Resolves an envelope recipient to a mailbox (domain aliases, `+tags`, wildcards, catch-all), or to the reply that refuses it. */
import { refuseIfAnyLost } from '../../../shared/collectors/owner-store.ts';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { createClock } from '../../../shared/settings/clock.ts';
import { settingsOf } from '../../../shared/settings/settings.ts';
import { readLimits } from '../../bindings/account-limits.ts';
import { openMailbox } from '../../bindings/mailbox.ts';
import { readTransportSettings } from '../../bindings/transport-settings.ts';
import { toBase64Size } from '../../domain/base64-size.ts';
import { listExactReceivers, listReceivers } from '../../domain/email-address.ts';
import { type MailPath, parseMailPath } from '../../domain/mail-path.ts';
import { isOpen, type MaskedFacts } from '../../domain/masked-state.ts';
import { readReturnPath } from '../../domain/return-path.ts';
import { findMainDomain, isHostedDomain, listConfiguredDomains } from '../../domains/hosted-domains.ts';
import { readReturnPathSigners } from '../../domains/return-path-keys.ts';
import { type FoundRecipient, findCatchAll, findRecipient } from '../../store/recipient-store.ts';

export interface RecipientReply {
  readonly email: string;
  readonly smtp_code: number;
  /** Text of the reply. It begins with the enhanced status code (RFC 3463). */
  readonly detail: string;
}

export interface Recipient {
  /** The envelope recipient in lower case. */
  readonly email: string;
  /** The address or wildcard of the account that matched; equal to `email` if a catch-all receives the message. */
  readonly deliveredTo: string;
  readonly userId: string;
  /** Maximum size of the raw message. */
  readonly messageBytesMax: number;
  /** Maximum size of all files of the message together, decoded. */
  readonly fileBytesMax: number;
  /**
   * Whether the primary of DIRECTORY said so. If not, a replica did: the mailbox must prove that the account still has the
   * address, and a refusal counts only if the primary confirms it.
   */
  readonly isConfirmed: boolean;
  /** Facts of a masked address; null for any other. */
  readonly masked: MaskedFacts | null;
}

/** Allowance for text, headers and MIME, in addition to the size of the attachments. */
const MESSAGE_OVERHEAD_BYTES = 2 * 1024 * 1024;
const OPERATOR_ACCOUNT = { userId: 'operator', accountType: 'business', limitBytes: 1024 ** 3 };

/** Makes a reply to the SMTP client: acceptance (250) or refusal. */
export const toReply = (email: string, smtp_code: number, detail: string): RecipientReply => ({
  email,
  smtp_code,
  detail,
});

/**
 * Local parts for which mail always has a reader (RFC 5321 §4.5.1, RFC 2142). Users cannot have them, because certificate
 * authorities send confirmations to postmaster.
 */
const OPERATOR_NAMES = /^(?:postmaster|abuse)$/i;
/** Mailbox for mail to the operator's names that belong to no account. It is read through `/v1/quarantine`. */
export const OPERATOR_MAILBOX = 'operator';

/**
 * Without a domain, `postmaster` is the one of the first configured domain (RFC 5321 §4.5.1 requires that it is accepted).
 * @param from the envelope sender.
 * @param source `replica`: a replica is asked first, and the primary if it does not find the recipient.
 * @throws when DIRECTORY cannot be reached; the caller answers 451.
 */
export async function resolveRecipient(
  env: Env,
  text: string,
  from: string,
  source: 'replica' | 'primary',
): Promise<Result<Recipient, RecipientReply>> {
  const domains = listConfiguredDomains(env);
  const isBare = /^postmaster$/i.test(text.trim());
  if (isBare && domains.length === 0) return ok(await resolveOperator(env, readTransportSettings(env).hostname));
  const path = parseMailPath(isBare ? `postmaster@${domains[0]}` : text.trim());
  if (!path) return err(toReply(text.slice(0, 320), 553, '5.1.3 invalid address'));
  const email = path.email.toLowerCase();
  const returned = readReturnPath(path, createClock(env)(), readReturnPathSigners(env));
  const isReport = returned !== null && returned !== false && from === '';
  if (source === 'replica' && (returned === null || isReport)) {
    const near = await findInReplica(env, path, returned ? [returned.owner] : listExactReceivers(path));
    if (near && isOpen(near.masked, createClock(env)()))
      return ok(toRecipient(env, { email, deliveredTo: near.email, isConfirmed: false }, near));
  }
  const main = await findMainDomain(env, path.domain);
  if (main === null) {
    await refuseIfAnyLost(env, [0]);
    return err(toReply(email, 550, '5.7.1 relaying denied'));
  }
  if (returned === false) return err(toReply(email, 550, '5.7.1 return path invalid or expired'));
  if (returned && from !== '') return err(toReply(email, 550, '5.7.1 this address accepts delivery reports only'));
  const operator = OPERATOR_NAMES.test(path.local) ? settingsOf(env).POSTMASTER_ADDRESS.toLowerCase() : '';
  const receivers = returned ? [returned.owner] : listReceivers(path, main);
  const emails = operator === '' ? receivers : [email, `${path.local}@${main}`.toLowerCase(), operator, ...receivers];
  const receiver = await findRecipient(env, emails);
  const noMailbox = toReply(email, 550, '5.1.1 no such mailbox');
  if (receiver && !isOpen(receiver.masked, createClock(env)())) return err(noMailbox);
  const match = receiver ?? (await findCatchAll(env, main));
  if (!match && OPERATOR_NAMES.test(path.local)) {
    return ok(await openOperatorMailbox(env, email));
  }
  if (!match) return err(noMailbox);
  const address = { email, deliveredTo: receiver?.email ?? email, isConfirmed: true };
  return ok(toRecipient(env, address, { masked: null, ...match }));
}

async function openOperatorMailbox(env: Env, email: string): Promise<Recipient> {
  await openMailbox(env, OPERATOR_MAILBOX).createMailbox(OPERATOR_ACCOUNT);
  const sizes = { messageBytesMax: MESSAGE_OVERHEAD_BYTES, fileBytesMax: MESSAGE_OVERHEAD_BYTES };
  const operatorMailbox = { userId: OPERATOR_MAILBOX, ...sizes };
  return { email, deliveredTo: email, ...operatorMailbox, isConfirmed: true, masked: null };
}

/** Resolves `postmaster` without a domain in a deployment whose domains were all added by the API. */
async function resolveOperator(env: Env, hostname: string): Promise<Recipient> {
  const address = settingsOf(env).POSTMASTER_ADDRESS.toLowerCase();
  const found = address === '' ? null : await findRecipient(env, [address]);
  const email = `postmaster@${hostname}`;
  return found
    ? toRecipient(env, { email, deliveredTo: found.email, isConfirmed: true }, found)
    : openOperatorMailbox(env, email);
}

/**
 * Finds the account that an address was issued to. An address is issued to one account for ever, so the answer is right until the
 * account loses the address, which its mailbox knows. Wildcards, catch-alls, aliases of domains and the operator's names depend
 * on rows that a replica may lack, so the primary decides them.
 * @param emails exact addresses.
 */
async function findInReplica(env: Env, path: MailPath, emails: readonly string[]): Promise<FoundRecipient | null> {
  if (OPERATOR_NAMES.test(path.local) || !(await isHostedDomain(env, path.domain))) return null;
  return findRecipient(env, emails, 'replica');
}

function toRecipient(
  env: Env,
  address: Pick<Recipient, 'email' | 'deliveredTo' | 'isConfirmed'>,
  { userId, accountType, masked }: Omit<FoundRecipient, 'email'>,
): Recipient {
  const { attachmentBytes } = readLimits(env, accountType);
  const messageBytesMax = toBase64Size(attachmentBytes) + MESSAGE_OVERHEAD_BYTES;
  return { ...address, userId, messageBytesMax, fileBytesMax: attachmentBytes, masked };
}
