/** From an envelope recipient to a mailbox: aliases, `+tags`, catch-all; or the reply that refuses it. */
import { createClock } from '../../shared/clock.ts';
import { err, ok, type Result } from '../../shared/result.ts';
import { settingsOf } from '../../shared/settings.ts';
import { readLimits } from '../account-limits.ts';
import { parseMailPath, withoutTag } from '../domain/mail-path.ts';
import { readReturnPath } from '../domain/return-path.ts';
import { isHostedDomain } from '../hosted-domains.ts';
import { openMailbox } from '../mailbox.ts';
import { toBase64Size } from '../outbound/compose-message.ts';
import { readReturnPathSigners } from '../return-path-keys.ts';
import { findCatchAll, findRecipients } from './recipient-store.ts';

export interface RecipientReply {
  readonly email: string;
  readonly smtp_code: number;
  /** Begins with the enhanced status code (RFC 3463). */
  readonly detail: string;
}

export interface Recipient {
  /** As the envelope has it, lower-cased. */
  readonly email: string;
  readonly userId: string;
  /** Of the raw message. */
  readonly messageBytesMax: number;
}

/** What text, headers and MIME may add to the attachments. */
const MESSAGE_ROOM_BYTES = 2 * 1024 * 1024;
const OPERATOR_ACCOUNT = { userId: 'operator', accountType: 'business', limitBytes: 1024 ** 3 };

export const refuse = (email: string, smtp_code: number, detail: string): RecipientReply => ({
  email,
  smtp_code,
  detail,
});

/**
 * Mail for these always has somebody who reads it (RFC 5321 §4.5.1, RFC 2142). Never a user by chance: who reads postmaster's mail
 * can have certificates made for the domain.
 */
const OPERATOR_NAMES = /^(?:postmaster|abuse)$/i;
/** The mailbox of what is the operator's and nobody's account; read through `/v1/quarantine`. */
export const OPERATOR_MAILBOX = 'operator';

/** @param from the envelope sender. @throws when DIRECTORY cannot be asked: the caller answers 451. */
export async function resolveRecipient(
  env: Env,
  text: string,
  from: string,
): Promise<Result<Recipient, RecipientReply>> {
  const path = parseMailPath(text.trim());
  if (!path) return err(refuse(text.slice(0, 320), 553, '5.1.3 this is no mail address'));
  const email = path.email.toLowerCase();
  if (!(await isHostedDomain(env, path.domain)))
    return err(refuse(email, 550, '5.7.1 mail for this domain is not taken here: relaying denied'));
  const returned = readReturnPath(path, createClock(env)(), readReturnPathSigners(env));
  if (returned === false) return err(refuse(email, 550, '5.7.1 this return path is none of ours, or too old'));
  if (returned && from !== '') return err(refuse(email, 550, '5.7.1 only reports are taken here'));
  const untagged = returned?.owner ?? withoutTag(path)?.toLowerCase();
  const operator = OPERATOR_NAMES.test(path.local) ? settingsOf(env).POSTMASTER_ADDRESS.toLowerCase() : undefined;
  const emails = [email, untagged ?? '', operator ?? ''].filter((each) => each !== '');
  const found = await findRecipients(env.DIRECTORY, emails);
  const match =
    emails.flatMap((each) => found.find((row) => row.email === each) ?? [])[0] ??
    (await findCatchAll(env.DIRECTORY, path.domain));
  if (!match && OPERATOR_NAMES.test(path.local)) {
    await openMailbox(env, OPERATOR_MAILBOX).createMailbox(OPERATOR_ACCOUNT);
    return ok({ email, userId: OPERATOR_MAILBOX, messageBytesMax: MESSAGE_ROOM_BYTES });
  }
  if (!match) return err(refuse(email, 550, '5.1.1 there is no such mailbox here'));
  const { attachmentBytes } = readLimits(env, match.accountType);
  return ok({ email, userId: match.userId, messageBytesMax: toBase64Size(attachmentBytes) + MESSAGE_ROOM_BYTES });
}
