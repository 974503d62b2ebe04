/**
 * Cards of contacts. A card is what a program stored, byte for byte. Its addresses are saved contacts, so that completion and the
 * judgement of senders know them. A contact that was saved in the app has a card too.
 *
 * By design: an address in several cards is one contact, with the name of the first of them by name.
 */
import { type CardFacts, changeVcard, readVcard, writeVcard } from '../../../workers/mail/domain/vcard.ts';
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import { execute, type RowOf, statement } from '../../../workers/shared/stores/statement.ts';
import type {
  Card,
  CardBook,
  CardChangePage,
  CardChangePlace,
  CardCondition,
  CardError,
  CardPage,
  NewCard,
  SavedCard,
} from '../contract/cards.ts';
import type { ContactFields } from '../contract/contacts.ts';
import { readState, recordChange } from '../database/change-store.ts';
import { executeFirst } from '../database/store.ts';
import type { card } from './card-schema.ts';
import type { contact } from './schema.ts';

const CARDS_MAX = 20_000;
const CARD_BYTES_TOTAL_MAX = 128 * 1024 * 1024;
/** Deletions that are remembered. A program that missed more compares all cards. */
const DELETIONS_MAX = 1_000;

type CardRow = RowOf<typeof card>;
const NOTHING: Readonly<Record<string, never>> = {};

const findCard = statement<{ name: string }, CardRow>(
  'SELECT card_name, uid, state, size_bytes, vcard FROM card WHERE card_name = :name AND vcard IS NOT NULL',
);
const toCard = ({ card_name, state, size_bytes, vcard }: CardRow): Card => ({
  name: card_name,
  state,
  sizeBytes: size_bytes,
  vcard,
});

const readLast = statement<Record<never, never>, { state: number | null }>('SELECT max(state) AS state FROM card');
const readFloor = statement<Record<never, never>, { state: number }>("SELECT state FROM card WHERE card_name = ''");
const findCardless = statement<
  Record<never, never>,
  Pick<RowOf<typeof contact>, 'contact_id' | 'name' | 'email' | 'note'>
>(
  `SELECT contact_id, name, email, note FROM contact
   WHERE is_saved = 1 AND NOT EXISTS (SELECT 1 FROM card_email AS c WHERE c.email = contact.email)`,
);

/**
 * Reads the state of the book.
 * @param isWhole whether the caller will read all cards. Then, and before the first card, contacts that were saved before there were
 * cards get one: that reads every contact.
 */
export function readCardBook(sql: SqlStorage, isWhole: boolean, now: number): CardBook {
  if (isWhole || executeFirst(sql, readLast, NOTHING)?.state == null) addMissingCards(sql, now);
  return {
    state: executeFirst(sql, readLast, NOTHING)?.state ?? 0,
    floor: executeFirst(sql, readFloor, NOTHING)?.state ?? 0,
  };
}

function addMissingCards(sql: SqlStorage, now: number): void {
  const cardless = [...execute(sql, findCardless, NOTHING)];
  if (cardless.length === 0) return;
  const at = { state: nextState(sql, now), now };
  for (const { contact_id, ...fields } of cardless) putCard(sql, toNewCard(contact_id, fields), at);
}

const toNewCard = (contactId: string, fields: ContactFields): NewCard => ({
  name: `${contactId}.vcf`,
  vcard: writeVcard(contactId, fields),
});

function nextState(sql: SqlStorage, now: number): number {
  recordChange(sql, { type: 'contacts_updated' }, now);
  return readState(sql);
}

/** Names of cards begin behind the floor's. */
const list = statement<{ after: string; limit: number }, CardRow>(
  `SELECT card_name, uid, state, size_bytes, vcard FROM card
   WHERE card_name > :after AND vcard IS NOT NULL ORDER BY card_name LIMIT :limit`,
);
const listStates = statement<{ after: string; limit: number }, CardRow>(
  `SELECT card_name, uid, state, size_bytes, NULL AS vcard FROM card
   WHERE card_name > :after AND vcard IS NOT NULL ORDER BY card_name LIMIT :limit`,
);

export interface PageBounds {
  readonly limit: number;
  /** Maximum of bytes of the cards of a page. One card fits always. Null: only their states are read. */
  readonly bytesMax: number | null;
}

export function listCards(sql: SqlStorage, after: string, bounds: PageBounds): CardPage {
  const rows = execute(sql, bounds.bytesMax === null ? listStates : list, { after, limit: bounds.limit + 1 });
  const { kept, isMore } = takePage(rows, bounds);
  return { cards: kept.map(toCard), next: isMore ? (kept.at(-1)?.card_name ?? null) : null };
}

function takePage(rows: Iterable<CardRow>, { limit, bytesMax }: PageBounds): { kept: CardRow[]; isMore: boolean } {
  const kept: CardRow[] = [];
  let bytes = 0;
  for (const row of rows) {
    bytes += row.size_bytes;
    if (kept.length === limit || (bytesMax !== null && kept.length > 0 && bytes > bytesMax))
      return { kept, isMore: true };
    kept.push(row);
  }
  return { kept, isMore: false };
}

const listChanged = statement<{ state: number; name: string; limit: number; text: number }, CardRow>(
  `SELECT card_name, uid, state, size_bytes, CASE WHEN :text = 1 OR vcard IS NULL THEN vcard ELSE '' END AS vcard FROM card
   WHERE (state, card_name) > (:state, :name) AND card_name <> '' ORDER BY state, card_name LIMIT :limit`,
);

/** Lists what changed after a place, in the order of the changes. A place without a name is after all changes of its state. */
export function listCardChanges(sql: SqlStorage, after: CardChangePlace, bounds: PageBounds): CardChangePage {
  const from = after.name === '' ? { state: after.state + 1, name: '' } : after;
  const text = bounds.bytesMax === null ? 0 : 1;
  const { kept, isMore } = takePage(execute(sql, listChanged, { ...from, limit: bounds.limit + 1, text }), bounds);
  const last = kept.at(-1);
  return {
    changes: kept.map((row) => ({
      ...toCard(row),
      vcard: text === 1 ? row.vcard : null,
      isDeleted: row.vcard === null,
    })),
    next: isMore && last ? { state: last.state, name: last.card_name } : null,
  };
}

/** Reads cards by name, in the order given, as many as fit. @returns those that there are, and how many names were looked at. */
export function readCards(
  sql: SqlStorage,
  names: readonly string[],
  bytesMax: number,
): { readonly cards: Card[]; readonly read: number } {
  const cards: Card[] = [];
  let bytes = 0;
  for (const [at, name] of names.entries()) {
    const row = name === '' ? null : executeFirst(sql, findCard, { name });
    if (!row) continue;
    bytes += row.size_bytes;
    if (cards.length > 0 && bytes > bytesMax) return { cards, read: at };
    cards.push(toCard(row));
  }
  return { cards, read: names.length };
}

const findUid = statement<{ uid: string; name: string }, Pick<CardRow, 'card_name'>>(
  'SELECT card_name FROM card WHERE uid = :uid AND card_name <> :name AND vcard IS NOT NULL LIMIT 1',
);
const measure = statement<Record<never, never>, { count: number; bytes: number }>(
  'SELECT count(*) AS count, coalesce(sum(size_bytes), 0) AS bytes FROM card WHERE vcard IS NOT NULL',
);

/** Stores a card that `readVcard` accepts. */
export function saveCard(
  sql: SqlStorage,
  { name, vcard }: NewCard,
  condition: CardCondition,
  now: number,
): Result<SavedCard, CardError> {
  const facts = readVcard(vcard);
  if (!facts.ok || name === '') return err({ kind: 'not_found' });
  const known = executeFirst(sql, findCard, { name });
  if (!isMet(condition, known)) return err({ kind: 'condition_failed' });
  const other = executeFirst(sql, findUid, { uid: facts.value.uid, name });
  if (other) return err({ kind: 'uid_conflict', name: other.card_name });
  const full = findFull(sql, known, Buffer.byteLength(vcard));
  if (full) return err(full);
  const state = nextState(sql, now);
  putCard(sql, { name, vcard }, { state, now });
  return ok({ state, isNew: known === null });
}

const isMet = ({ ifMatch, ifAbsent }: CardCondition, known: CardRow | null): boolean => {
  if (ifAbsent && known) return false;
  return ifMatch === null || (known !== null && (ifMatch.length === 0 || ifMatch.includes(known.state)));
};

function findFull(sql: SqlStorage, known: CardRow | null, sizeBytes: number): CardError | null {
  const { count, bytes } = execute(sql, measure, NOTHING).one();
  if (known === null && count >= CARDS_MAX) return { kind: 'too_many', what: 'contacts', max: CARDS_MAX };
  if (bytes - (known?.size_bytes ?? 0) + sizeBytes <= CARD_BYTES_TOTAL_MAX) return null;
  return { kind: 'too_many', what: 'bytes of contacts', max: CARD_BYTES_TOTAL_MAX };
}

export function deleteCard(
  sql: SqlStorage,
  name: string,
  condition: CardCondition,
  now: number,
): Result<null, CardError> {
  const known = executeFirst(sql, findCard, { name });
  if (!known) return err({ kind: 'not_found' });
  if (!isMet(condition, known)) return err({ kind: 'condition_failed' });
  takeCard(sql, known, { state: nextState(sql, now), now });
  return ok(null);
}

const put = statement<{ name: string; uid: string; state: number; sizeBytes: number; vcard: string }>(
  `INSERT INTO card (card_name, uid, state, size_bytes, vcard) VALUES (:name, :uid, :state, :sizeBytes, :vcard)
   ON CONFLICT (card_name) DO UPDATE SET uid = :uid, state = :state, size_bytes = :sizeBytes, vcard = :vcard`,
);
const addEmail = statement<{ email: string; name: string }>(
  'INSERT OR IGNORE INTO card_email (email, card_name) VALUES (:email, :name)',
);
const removeEmail = statement<{ email: string; name: string }>(
  'DELETE FROM card_email WHERE email = :email AND card_name = :name',
);
const findOwner = statement<{ email: string }, Pick<CardRow, 'card_name'>>(
  'SELECT card_name FROM card_email WHERE email = :email ORDER BY card_name LIMIT 1',
);

/** The change by which a card is written. */
interface CardChange {
  readonly state: number;
  readonly now: number;
}

/** Writes a card and the contacts of its addresses. The caller has checked the limits. */
function putCard(sql: SqlStorage, { name, vcard }: NewCard, { state, now }: CardChange): void {
  const facts = factsOf(vcard);
  const before = factsOf(executeFirst(sql, findCard, { name })?.vcard ?? null);
  execute(sql, put, { name, uid: facts?.uid ?? '', state, sizeBytes: Buffer.byteLength(vcard), vcard });
  const emails = facts?.emails ?? [];
  for (const email of emails) {
    execute(sql, addEmail, { email, name });
    writeContactOf(sql, email, now);
  }
  for (const email of before?.emails ?? []) if (!emails.includes(email)) releaseEmail(sql, { email, name }, now);
}

function factsOf(vcard: string | null): CardFacts | null {
  const facts = vcard === null ? null : readVcard(vcard);
  return facts?.ok ? facts.value : null;
}

const writeContact = statement<{ email: string; contactId: string; name: string; note: string; now: number }>(
  `INSERT INTO contact (email, contact_id, name, note, is_saved, created_at)
   VALUES (:email, :contactId, :name, :note, 1, :now)
   ON CONFLICT (email) DO UPDATE SET name = :name, note = :note, is_saved = 1`,
);
const removeContact = statement<{ email: string }>('DELETE FROM contact WHERE email = :email');

/** Writes the contact of an address as its first card says. @returns whether a card has the address. */
function writeContactOf(sql: SqlStorage, email: string, now: number): boolean {
  const owner = executeFirst(sql, findOwner, { email })?.card_name;
  const facts = owner === undefined ? null : factsOf(executeFirst(sql, findCard, { name: owner })?.vcard ?? null);
  if (!facts) return false;
  execute(sql, writeContact, { email, contactId: crypto.randomUUID(), name: facts.name, note: facts.note, now });
  return true;
}

/** Takes an address from a card. The contact goes with the last card that has it. */
function releaseEmail(sql: SqlStorage, { email, name }: { email: string; name: string }, now: number): void {
  execute(sql, removeEmail, { email, name });
  if (!writeContactOf(sql, email, now)) execute(sql, removeContact, { email });
}

const bury = statement<{ name: string; state: number }>(
  "UPDATE card SET uid = '', state = :state, size_bytes = 0, vcard = NULL WHERE card_name = :name",
);
const findOldDeletion = statement<{ offset: number }, Pick<CardRow, 'state'>>(
  `SELECT state FROM card WHERE uid = '' AND card_name <> '' AND vcard IS NULL ORDER BY state DESC LIMIT 1 OFFSET :offset`,
);
const forgetDeletions = statement<{ state: number }>(
  "DELETE FROM card WHERE uid = '' AND card_name <> '' AND vcard IS NULL AND state <= :state",
);
const raiseFloor = statement<{ state: number }>(
  `INSERT INTO card (card_name, uid, state, size_bytes, vcard) VALUES ('', '', :state, 0, NULL)
   ON CONFLICT (card_name) DO UPDATE SET state = max(state, :state)`,
);

/** Deletes a card, and the contacts that no other card has. */
function takeCard(sql: SqlStorage, known: CardRow, { state, now }: CardChange): void {
  const emails = factsOf(known.vcard)?.emails ?? [];
  execute(sql, bury, { name: known.card_name, state });
  for (const email of emails) releaseEmail(sql, { email, name: known.card_name }, now);
  const old = executeFirst(sql, findOldDeletion, { offset: DELETIONS_MAX });
  if (!old) return;
  execute(sql, raiseFloor, { state: old.state });
  execute(sql, forgetDeletions, { state: old.state });
}

/** After a restore, programs compare all cards: what they know may be newer than the cards. */
export const raiseCardFloor = (sql: SqlStorage, state: number): void => {
  execute(sql, raiseFloor, { state });
};

/** Makes the card of a contact that was saved in the app, as part of the last change. */
export function addCardOf(sql: SqlStorage, { contactId, ...fields }: StoredContact, now: number): void {
  putCard(sql, toNewCard(contactId, fields), { state: readState(sql), now });
}

export interface StoredContact extends ContactFields {
  readonly contactId: string;
}

const findCards = statement<{ email: string }, CardRow>(
  `SELECT c.card_name, c.uid, c.state, c.size_bytes, c.vcard FROM card_email AS e
   JOIN card AS c ON c.card_name = e.card_name WHERE e.email = :email AND c.vcard IS NOT NULL ORDER BY c.card_name`,
);

/** Changes the first card of a contact that was changed in the app, as part of the last change. Makes one if it has none. */
export function changeCardOf(sql: SqlStorage, before: ContactFields, contact: StoredContact, now: number): void {
  const known = executeFirst(sql, findCards, { email: before.email });
  if (!known?.vcard) {
    addCardOf(sql, contact, now);
    return;
  }
  const { name, note, email } = contact;
  const vcard = changeVcard(known.vcard, {
    ...(name === before.name ? {} : { name }),
    ...(note === before.note ? {} : { note }),
    ...(email === before.email ? {} : { email: { from: before.email, to: email } }),
  });
  putCard(sql, { name: known.card_name, vcard }, { state: readState(sql), now });
}

/** Takes the address of a contact that was deleted in the app from its cards. A card without another address goes too. */
export function removeCardsOf(sql: SqlStorage, email: string, now: number): void {
  const change = { state: readState(sql), now };
  for (const known of [...execute(sql, findCards, { email })]) {
    const isLast = factsOf(known.vcard)?.emails.every((each) => each === email) ?? true;
    if (isLast || known.vcard === null) takeCard(sql, known, change);
    else
      putCard(
        sql,
        { name: known.card_name, vcard: changeVcard(known.vcard, { email: { from: email, to: null } }) },
        change,
      );
  }
}
