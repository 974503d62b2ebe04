/**
 * Makes the ids of JMAP emails (`workers/mail/domain/email-id.ts`). They are not stored: an email id consists of the message's id
 * and, for a draft, its revision.
 */
import { toEmailId } from '../../../workers/mail/domain/email-id.ts';
import { first } from '../database/store.ts';

/** SQL expression of the email id of `message AS m`. */
export const EMAIL_ID = `CASE m.origin WHEN 'draft' THEN m.message_id || ifnull((SELECT '-' || d.revision FROM draft AS d
  WHERE d.position = m.position AND d.revision > 1), '') ELSE m.message_id END`;

export const readRevision = (sql: SqlStorage, position: number): number =>
  first<{ revision: number }>(sql, 'SELECT revision FROM draft WHERE position = ?', position)?.revision ?? 0;

interface Identified {
  readonly position: number;
  readonly message_id: string;
  readonly origin: string;
}

export const readEmailId = (sql: SqlStorage, { position, message_id, origin }: Identified): string =>
  origin === 'draft' ? toEmailId({ messageId: message_id, revision: readRevision(sql, position) }) : message_id;

/** @returns the member `email_id` of a change record about a message. */
export function nameEmail(sql: SqlStorage, message: Identified): { readonly email_id?: string } {
  const email_id = readEmailId(sql, message);
  return email_id === message.message_id ? {} : { email_id };
}
