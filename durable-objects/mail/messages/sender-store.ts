/**
 * Senders that the user trusts or blocks. Trust applies only to a proven sender. A block also applies to an address that From only
 * claims.
 */

import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import { execute, type RowOf, statement } from '../../../workers/shared/stores/statement.ts';
import type { Sender, SenderError, SenderStatus } from '../contract/contacts.ts';
import type { ArrivalJudgement, ParsedMessage } from '../contract/delivered-message.ts';
import { recordChange } from '../database/change-store.ts';
import { executeFirst } from '../database/store.ts';
import { kindOfSender, listSenderKeys, toSenderKey } from '../domain/sender-key.ts';
import type { message, sender } from './schema.ts';

const SENDERS_MAX = 10_000;
/** Maximum of References of a message, the last ones, that are compared with sent mail. */
const REFERENCES_MAX = 50;

type SenderRow = RowOf<typeof sender>;
const COLUMNS = 'sender, sender_id, status, origin, created_at';

const toSender = (row: SenderRow): Sender => ({
  senderId: row.sender_id,
  sender: row.sender,
  kind: kindOfSender(row.sender),
  status: row.status as SenderStatus,
  origin: row.origin as Sender['origin'],
  createdAt: row.created_at,
});

const list = statement<{ status: string; after: string; limit: number }, SenderRow>(
  `SELECT ${COLUMNS} FROM sender WHERE sender > :after AND (:status = '' OR status = :status) ORDER BY sender LIMIT :limit`,
);

/**
 * Lists senders in order.
 * @param status null for both statuses.
 * @param after the last sender of the previous page, empty for the first page.
 */
export const listSenders = (sql: SqlStorage, status: SenderStatus | null, after: string, limit: number): Sender[] =>
  [...execute(sql, list, { status: status ?? '', after, limit })].map(toSender);

const count = statement<Record<never, never>, { count: number }>('SELECT count(*) AS count FROM sender');
const find = statement<{ key: string }, SenderRow>(`SELECT ${COLUMNS} FROM sender WHERE sender = :key`);
const save = statement<{ key: string; senderId: string; status: string; origin: string; now: number }, SenderRow>(
  `INSERT INTO sender (sender, sender_id, status, origin, created_at) VALUES (:key, :senderId, :status, :origin, :now)
   ON CONFLICT (sender) DO UPDATE SET status = :status, origin = :origin RETURNING ${COLUMNS}`,
);

/** Trusts or blocks a sender. Replaces an earlier decision about it. */
export function saveSender(
  sql: SqlStorage,
  fields: { readonly sender: string; readonly status: SenderStatus; readonly origin: Sender['origin'] },
  now: number,
): Result<Sender, SenderError> {
  const key = toSenderKey(fields.sender);
  if (key === null) {
    const message = 'Use an address, a domain like @example.com, or a list identifier like <news.example.com>.';
    return err({ kind: 'bad_request', path: 'sender', message });
  }
  if (!executeFirst(sql, find, { key }) && execute(sql, count, {}).one().count >= SENDERS_MAX)
    return err({ kind: 'too_many', what: 'senders', max: SENDERS_MAX });
  const { status, origin } = fields;
  const saved = execute(sql, save, { key, senderId: crypto.randomUUID(), status, origin, now }).one();
  recordChange(sql, { type: 'senders_updated' }, now);
  return ok(toSender(saved));
}

const remove = statement<{ senderId: string }, Pick<SenderRow, 'sender'>>(
  'DELETE FROM sender WHERE sender_id = :senderId RETURNING sender',
);

export function deleteSender(sql: SqlStorage, senderId: string, now: number): boolean {
  const deleted = executeFirst(sql, remove, { senderId }) !== null;
  if (deleted) recordChange(sql, { type: 'senders_updated' }, now);
  return deleted;
}

/** Why the user knows a sender: trusted, a contact, or the sender answered the user's mail. */
export type Acquaintance = 'trusted' | 'contact' | 'answer';
export type SenderRuling = { readonly kind: 'blocked' } | { readonly kind: 'known'; readonly by: Acquaintance } | null;

type Arrival = Pick<ParsedMessage, 'from' | 'inReplyTo' | 'references'>;

/**
 * Judges the sender of an arriving message. The most specific entry of the user's list of senders wins. Otherwise, a sender with a
 * proven address is known if it is a contact or answers mail of the user.
 */
export function judgeSender(sql: SqlStorage, parsed: Arrival, proven: ArrivalJudgement['sender']): SenderRuling {
  const claimed = toSenderKey(parsed.from?.email ?? '');
  const keys = new Set([...listSenderKeys(proven), ...listSenderKeys({ address: claimed, list: null })]);
  const provenKeys = listSenderKeys(proven);
  for (const key of keys) {
    const status = executeFirst(sql, find, { key })?.status;
    if (status === 'blocked') return { kind: 'blocked' };
    if (status === 'trusted' && provenKeys.includes(key)) return { kind: 'known', by: 'trusted' };
  }
  if (proven.address === null) return null;
  if (executeFirst(sql, findContact, { email: proven.address })) return { kind: 'known', by: 'contact' };
  return answersOwnMessage(sql, parsed) ? { kind: 'known', by: 'answer' } : null;
}

/** Finds a contact: saved by the user, or gathered from sent mail. */
const findContact = statement<{ email: string }, { found: number }>(
  'SELECT 1 AS found FROM contact WHERE email = :email',
);
const findSent = statement<{ ids: string }, { found: number }>(
  `SELECT 1 AS found FROM json_each(:ids) AS j CROSS JOIN outbox AS o
   WHERE o.header_message_id = j.value AND o.kind = 'message' LIMIT 1`,
);

function answersOwnMessage(sql: SqlStorage, { inReplyTo, references }: Arrival): boolean {
  const ids = [...references.slice(-REFERENCES_MAX), ...(inReplyTo === null ? [] : [inReplyTo])];
  return ids.length > 0 && executeFirst(sql, findSent, { ids: JSON.stringify(ids) }) !== null;
}

type FactsRow = Pick<RowOf<typeof message>, 'sender' | 'in_reply_to' | 'reference_list' | 'authentication' | 'spam'>;
const findFacts = statement<{ position: number }, FactsRow>(
  'SELECT sender, in_reply_to, reference_list, authentication, spam FROM message WHERE position = :position',
);

/** Reads what a stored message says about its sender. */
export function readSenderFacts(
  sql: SqlStorage,
  position: number,
): Arrival & { readonly proven: ArrivalJudgement['sender']; readonly arrivedAsJunk: boolean } {
  const row = execute(sql, findFacts, { position }).one();
  const { sender: proven } = JSON.parse(row.authentication ?? '{}') as { sender?: ArrivalJudgement['sender'] };
  const { verdict = 'ham' } = JSON.parse(row.spam ?? '{}') as { verdict?: string };
  return {
    from: JSON.parse(row.sender) as ParsedMessage['from'],
    inReplyTo: row.in_reply_to,
    references: JSON.parse(row.reference_list) as string[],
    proven: proven ?? { address: null, list: null },
    arrivedAsJunk: verdict !== 'ham',
  };
}

/**
 * Trusts or blocks the proven sender of a message that was moved out of or into Junk: its list if it has one, otherwise its
 * address.
 * @returns false if the move must train words instead, because no sender is proven, or because the user did not know the sender of
 * a message moved to Junk.
 */
export function learnSender(
  sql: SqlStorage,
  label: 'junk' | 'ham',
  message: Arrival,
  proven: ArrivalJudgement['sender'],
  now: number,
): boolean {
  const key = proven.list === null ? proven.address : `<${proven.list}>`;
  if (key === null) return false;
  if (label === 'junk' && judgeSender(sql, message, proven)?.kind !== 'known') return false;
  const status = label === 'ham' ? 'trusted' : 'blocked';
  return saveSender(sql, { sender: key, status, origin: 'mail' }, now).ok;
}
