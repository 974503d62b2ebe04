/** The address book: contacts that the user saved, and recipients of sent mail. */
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import { execute, type RowOf, statement } from '../../../workers/shared/stores/statement.ts';
import type { Contact, ContactCursor, ContactError, ContactFields } from '../contract/contacts.ts';
import type { MailAddress } from '../contract/delivered-message.ts';
import { recordChange } from '../database/change-store.ts';
import { executeFirst } from '../database/store.ts';
import { addCardOf, changeCardOf, removeCardsOf } from './card-store.ts';
import type { contact } from './schema.ts';

const CONTACTS_MAX = 20_000;

type ContactRow = Omit<RowOf<typeof contact>, 'created_at'>;
const COLUMNS = 'contact_id, name, email, note, is_saved, sent_count, last_sent_at';
const findByEmail = statement<{ email: string }, ContactRow>(`SELECT ${COLUMNS} FROM contact WHERE email = :email`);

const toContact = (row: ContactRow): Contact => ({
  contactId: row.contact_id,
  name: row.name,
  email: row.email,
  note: row.note,
  isSaved: row.is_saved === 1,
  sentCount: row.sent_count,
  lastSentAt: row.last_sent_at,
});

const gather = statement<{ email: string; contactId: string; name: string; now: number }>(
  `INSERT INTO contact (email, contact_id, name, is_saved, sent_count, last_sent_at, created_at)
   VALUES (:email, :contactId, :name, 0, 1, :now, :now)
   ON CONFLICT (email) DO UPDATE SET sent_count = sent_count + 1, last_sent_at = :now,
     name = CASE WHEN is_saved = 0 AND :name <> '' THEN :name ELSE name END`,
);

/** Adds the recipients of a sent message. Does not change names that the user saved. */
export function gatherContacts(sql: SqlStorage, recipients: readonly MailAddress[], now: number): void {
  for (const { name, email } of recipients) {
    if (!email.includes('@')) continue;
    execute(sql, gather, { email: email.toLowerCase(), contactId: crypto.randomUUID(), name, now });
  }
}

const list = statement<{ needle: string; sentCount: number; email: string; limit: number }, ContactRow>(
  `SELECT ${COLUMNS} FROM contact
   WHERE (:needle = '' OR email LIKE :needle || '%' ESCAPE '\\' OR lower(name) LIKE :needle || '%' ESCAPE '\\'
       OR lower(name) LIKE '% ' || :needle || '%' ESCAPE '\\')
     AND (sent_count < :sentCount OR (sent_count = :sentCount AND email > :email))
   ORDER BY sent_count DESC, email LIMIT :limit`,
);

/**
 * Lists contacts, those with the most sent messages first.
 * @param text a prefix of the address, the name or any word of the name; empty for all contacts.
 */
export function listContacts(sql: SqlStorage, text: string, after: ContactCursor | null, limit: number): Contact[] {
  const needle = text
    .toLowerCase()
    .replace(/[\\%_]/g, '\\$&')
    .slice(0, 40);
  const { sentCount, email } = after ?? { sentCount: Number.MAX_SAFE_INTEGER, email: '' };
  return [...execute(sql, list, { needle, sentCount, email, limit })].map(toContact);
}

const count = statement<Record<never, never>, { count: number }>('SELECT count(*) AS count FROM contact');
const save = statement<{ name: string; email: string; note: string; contactId: string; now: number }, ContactRow>(
  `INSERT INTO contact (email, contact_id, name, note, is_saved, created_at) VALUES (:email, :contactId, :name, :note, 1, :now)
   ON CONFLICT (email) DO UPDATE SET name = :name, note = :note, is_saved = 1 RETURNING ${COLUMNS}`,
);

/** Saves a contact. A gathered contact becomes a saved one. */
export function insertContact(sql: SqlStorage, fields: ContactFields, now: number): Result<Contact, ContactError> {
  const email = fields.email.toLowerCase();
  const known = executeFirst(sql, findByEmail, { email });
  if (known?.is_saved === 1) return err({ kind: 'conflict', detail: 'A contact with this address exists already.' });
  if (!known && execute(sql, count, {}).one().count >= CONTACTS_MAX)
    return err({ kind: 'too_many', what: 'contacts', max: CONTACTS_MAX });
  const { name, note } = fields;
  const saved = execute(sql, save, { name, note, email, contactId: crypto.randomUUID(), now }).one();
  recordChange(sql, { type: 'contacts_updated' }, now);
  addCardOf(sql, toContact(saved), now);
  return ok(toContact(saved));
}

const findById = statement<{ contactId: string }, Pick<ContactRow, 'email' | 'name' | 'note'>>(
  'SELECT email, name, note FROM contact WHERE contact_id = :contactId',
);
const findOther = statement<{ email: string; contactId: string }, Pick<ContactRow, 'email'>>(
  'SELECT email FROM contact WHERE email = :email AND contact_id <> :contactId',
);
const replace = statement<{ name: string; email: string; note: string; contactId: string }, ContactRow>(
  `UPDATE contact SET name = :name, email = :email, note = :note, is_saved = 1 WHERE contact_id = :contactId
   RETURNING ${COLUMNS}`,
);

export function replaceContact(
  sql: SqlStorage,
  contactId: string,
  fields: ContactFields,
  now: number,
): Result<Contact, ContactError> {
  const email = fields.email.toLowerCase();
  const before = executeFirst(sql, findById, { contactId });
  if (!before) return err({ kind: 'not_found' });
  if (executeFirst(sql, findOther, { email, contactId }))
    return err({ kind: 'conflict', detail: 'A contact with this address exists already.' });
  const { name, note } = fields;
  const replaced = execute(sql, replace, { name, note, email, contactId }).one();
  recordChange(sql, { type: 'contacts_updated' }, now);
  changeCardOf(sql, before, toContact(replaced), now);
  return ok(toContact(replaced));
}

const remove = statement<{ contactId: string }, Pick<ContactRow, 'email'>>(
  'DELETE FROM contact WHERE contact_id = :contactId RETURNING email',
);

export function deleteContact(sql: SqlStorage, contactId: string, now: number): boolean {
  const deleted = executeFirst(sql, remove, { contactId });
  if (deleted === null) return false;
  recordChange(sql, { type: 'contacts_updated' }, now);
  removeCardsOf(sql, deleted.email, now);
  return true;
}
