/** The address book: contacts that the user saved, and recipients of sent mail. */
import { err, ok, type Result } from '../../../workers/shared/result.ts';
import { recordChange } from '../change-store.ts';
import type { MailAddress } from '../messages/delivered-message.ts';
import { first, type Row } from '../store.ts';

const CONTACTS_MAX = 20_000;

export interface Contact {
  readonly contactId: string;
  readonly name: string;
  readonly email: string;
  readonly note: string;
  /** False: gathered from sent mail. */
  readonly isSaved: boolean;
  readonly sentCount: number;
  readonly lastSentAt: number | null;
}

export type ContactError =
  | { readonly kind: 'not_found' }
  | { readonly kind: 'conflict'; readonly detail: string }
  | { readonly kind: 'too_many'; readonly what: string; readonly max: number };

interface ContactRow extends Row {
  contact_id: string;
  name: string;
  email: string;
  note: string;
  is_saved: number;
  sent_count: number;
  last_sent_at: number | null;
}
const COLUMNS = 'contact_id, name, email, note, is_saved, sent_count, last_sent_at';

const toContact = (row: ContactRow): Contact => ({
  contactId: row.contact_id,
  name: row.name,
  email: row.email,
  note: row.note,
  isSaved: row.is_saved === 1,
  sentCount: row.sent_count,
  lastSentAt: row.last_sent_at,
});

/** Adds the recipients of a sent message. Names that the user saved stay. */
export function gatherContacts(sql: SqlStorage, recipients: readonly MailAddress[], now: number): void {
  for (const { name, email } of recipients) {
    if (!email.includes('@')) continue;
    sql.exec(
      `INSERT INTO contact (email, contact_id, name, is_saved, sent_count, last_sent_at, created_at) VALUES (?1, ?2, ?3, 0, 1, ?4, ?4)
       ON CONFLICT (email) DO UPDATE SET sent_count = sent_count + 1, last_sent_at = ?4,
         name = CASE WHEN is_saved = 0 AND ?3 <> '' THEN ?3 ELSE name END`,
      email.toLowerCase(),
      crypto.randomUUID(),
      name,
      now,
    );
  }
}

export interface ContactCursor {
  readonly sentCount: number;
  readonly email: string;
}

/**
 * Lists contacts, those with the most messages sent to them first.
 * @param text a prefix of the address, the name or any word of the name; empty for all.
 */
export function listContacts(sql: SqlStorage, text: string, after: ContactCursor | null, limit: number): Contact[] {
  const needle = text.toLowerCase().replace(/[\\%_]/g, '\\$&');
  const rows = sql.exec<ContactRow>(
    `SELECT ${COLUMNS} FROM contact
     WHERE (?1 = '' OR email LIKE ?1 || '%' ESCAPE '\\' OR lower(name) LIKE ?1 || '%' ESCAPE '\\' OR lower(name) LIKE '% ' || ?1 || '%' ESCAPE '\\')
       AND (sent_count < ?2 OR (sent_count = ?2 AND email > ?3))
     ORDER BY sent_count DESC, email LIMIT ?4`,
    needle.slice(0, 40),
    after?.sentCount ?? Number.MAX_SAFE_INTEGER,
    after?.email ?? '',
    limit,
  );
  return [...rows].map(toContact);
}

export interface ContactFields {
  readonly name: string;
  readonly email: string;
  readonly note: string;
}

/** Saves a contact. A gathered contact becomes a saved one. */
export function insertContact(sql: SqlStorage, fields: ContactFields, now: number): Result<Contact, ContactError> {
  const email = fields.email.toLowerCase();
  const known = first<ContactRow>(sql, `SELECT ${COLUMNS} FROM contact WHERE email = ?`, email);
  if (known?.is_saved === 1) return err({ kind: 'conflict', detail: 'A contact with this address exists already.' });
  const count = first<{ count: number }>(sql, 'SELECT count(*) AS count FROM contact')?.count ?? 0;
  if (!known && count >= CONTACTS_MAX) return err({ kind: 'too_many', what: 'contacts', max: CONTACTS_MAX });
  sql.exec(
    `INSERT INTO contact (email, contact_id, name, note, is_saved, created_at) VALUES (?1, ?2, ?3, ?4, 1, ?5)
     ON CONFLICT (email) DO UPDATE SET name = ?3, note = ?4, is_saved = 1`,
    email,
    crypto.randomUUID(),
    fields.name,
    fields.note,
    now,
  );
  recordChange(sql, { type: 'contacts_updated' }, now);
  const saved = first<ContactRow>(sql, `SELECT ${COLUMNS} FROM contact WHERE email = ?`, email);
  return saved ? ok(toContact(saved)) : err({ kind: 'not_found' });
}

export function replaceContact(
  sql: SqlStorage,
  contactId: string,
  fields: ContactFields,
  now: number,
): Result<Contact, ContactError> {
  const email = fields.email.toLowerCase();
  const row = first<ContactRow>(sql, `SELECT ${COLUMNS} FROM contact WHERE contact_id = ?`, contactId);
  if (!row) return err({ kind: 'not_found' });
  const other = first(sql, 'SELECT 1 AS found FROM contact WHERE email = ? AND contact_id <> ?', email, contactId);
  if (other) return err({ kind: 'conflict', detail: 'A contact with this address exists already.' });
  sql.exec(
    'UPDATE contact SET name = ?, email = ?, note = ?, is_saved = 1 WHERE contact_id = ?',
    fields.name,
    email,
    fields.note,
    contactId,
  );
  recordChange(sql, { type: 'contacts_updated' }, now);
  return ok({ ...toContact(row), ...fields, email, isSaved: true });
}

export function deleteContact(sql: SqlStorage, contactId: string, now: number): boolean {
  const deleted = first(sql, 'DELETE FROM contact WHERE contact_id = ? RETURNING 1 AS deleted', contactId) !== null;
  if (deleted) recordChange(sql, { type: 'contacts_updated' }, now);
  return deleted;
}
