/** From an envelope recipient to a mailbox: aliases, `+tags`, catch-all; or the reply that refuses it. */
import { err, ok, type Result } from '../../shared/result.ts';
import { readLimits } from '../account-limits.ts';
import { parseMailPath, withoutTag } from '../domain/mail-path.ts';
import { isHostedDomain } from '../hosted-domains.ts';
import { toBase64Size } from '../outbound/compose-message.ts';
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

export const refuse = (email: string, smtp_code: number, detail: string): RecipientReply => ({
  email,
  smtp_code,
  detail,
});

/** @throws when DIRECTORY cannot be asked: the caller answers 451. */
export async function resolveRecipient(env: Env, text: string): Promise<Result<Recipient, RecipientReply>> {
  const path = parseMailPath(text.trim());
  if (!path) return err(refuse(text.slice(0, 320), 553, '5.1.3 this is no mail address'));
  const email = path.email.toLowerCase();
  if (!(await isHostedDomain(env, path.domain)))
    return err(refuse(email, 550, '5.7.1 mail for this domain is not taken here: relaying denied'));
  const untagged = withoutTag(path)?.toLowerCase();
  const found = await findRecipients(env.DIRECTORY, untagged ? [email, untagged] : [email]);
  const match =
    found.find((row) => row.email === email) ??
    found.find((row) => row.email === untagged) ??
    (await findCatchAll(env.DIRECTORY, path.domain));
  if (!match) return err(refuse(email, 550, '5.1.1 there is no such mailbox here'));
  const { attachmentBytes } = readLimits(env, match.accountType);
  return ok({ email, userId: match.userId, messageBytesMax: toBase64Size(attachmentBytes) + MESSAGE_ROOM_BYTES });
}
