/** Resolves an envelope recipient to a mailbox (domain aliases, `+tags`, wildcards, catch-all), or to the reply that refuses it. */
import { createClock } from '../../shared/clock.ts';
import { err, ok, type Result } from '../../shared/result.ts';
import { settingsOf } from '../../shared/settings.ts';
import { readLimits } from '../accounts/account-limits.ts';
import { openMailbox } from '../bindings/mailbox.ts';
import { toBase64Size } from '../domain/base64-size.ts';
import { listReceivers } from '../domain/email-address.ts';
import { parseMailPath } from '../domain/mail-path.ts';
import { readReturnPath } from '../domain/return-path.ts';
import { findMainDomain } from '../domains/hosted-domains.ts';
import { readReturnPathSigners } from '../domains/return-path-keys.ts';
import { findCatchAll, findRecipients } from '../store/recipient-store.ts';

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
}

/** Allowance for text, headers and MIME, in addition to the size of the attachments. */
const MESSAGE_OVERHEAD_BYTES = 2 * 1024 * 1024;
const OPERATOR_ACCOUNT = { userId: 'operator', accountType: 'business', limitBytes: 1024 ** 3 };

export const refuse = (email: string, smtp_code: number, detail: string): RecipientReply => ({
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

/** Resolves a recipient. @param from the envelope sender. @throws when DIRECTORY cannot be reached; the caller answers 451. */
export async function resolveRecipient(
  env: Env,
  text: string,
  from: string,
): Promise<Result<Recipient, RecipientReply>> {
  const path = parseMailPath(text.trim());
  if (!path) return err(refuse(text.slice(0, 320), 553, '5.1.3 invalid address'));
  const email = path.email.toLowerCase();
  const main = await findMainDomain(env, path.domain);
  if (main === null) return err(refuse(email, 550, '5.7.1 relaying denied'));
  const returned = readReturnPath(path, createClock(env)(), readReturnPathSigners(env));
  if (returned === false) return err(refuse(email, 550, '5.7.1 return path invalid or expired'));
  if (returned && from !== '') return err(refuse(email, 550, '5.7.1 this address accepts delivery reports only'));
  const operator = OPERATOR_NAMES.test(path.local) ? settingsOf(env).POSTMASTER_ADDRESS.toLowerCase() : '';
  const receivers = returned ? [returned.owner] : listReceivers(path, main);
  const emails = operator === '' ? receivers : [email, `${path.local}@${main}`.toLowerCase(), operator, ...receivers];
  const found = await findRecipients(env.DIRECTORY, emails);
  const receiver = emails.flatMap((each) => found.find((row) => row.email === each) ?? [])[0];
  const match = receiver ?? (await findCatchAll(env.DIRECTORY, main));
  if (!match && OPERATOR_NAMES.test(path.local)) {
    await openMailbox(env, OPERATOR_MAILBOX).createMailbox(OPERATOR_ACCOUNT);
    return ok({ email, deliveredTo: email, userId: OPERATOR_MAILBOX, messageBytesMax: MESSAGE_OVERHEAD_BYTES });
  }
  if (!match) return err(refuse(email, 550, '5.1.1 no such mailbox'));
  const { attachmentBytes } = readLimits(env, match.accountType);
  return ok({
    email,
    deliveredTo: receiver?.email ?? email,
    userId: match.userId,
    messageBytesMax: toBase64Size(attachmentBytes) + MESSAGE_OVERHEAD_BYTES,
  });
}
