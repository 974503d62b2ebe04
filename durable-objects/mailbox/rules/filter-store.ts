/** Filters in their order, and their effect on arriving and on stored messages. */
import {
  decideFilters,
  type FilterDecision,
  type FilterRule,
  type MessageFacts,
  mayAnswerAutomatically,
  mayForward,
} from '../../../workers/mail/domain/filter-rule.ts';
import { err, ok, type Result } from '../../../workers/shared/result.ts';
import { recordChange } from '../change-store.ts';
import type { MailAddress, StoreMessageInput } from '../messages/delivered-message.ts';
import { findFolder, isView } from '../messages/folder-store.ts';
import { type MessageState, patchMessage } from '../messages/message-store.ts';
import { queueAutomatic } from '../outbox/automatic-store.ts';
import { first, type MailboxRow, type Row } from '../store.ts';

const FILTERS_MAX = 200;
const VACATION_INTERVAL_MS = 7 * 24 * 3_600_000;
const APPLIED_PER_ROUND = 200;

export interface Filter extends FilterRule {
  readonly filterId: string;
}

export type FilterError =
  | { readonly kind: 'not_found' }
  | { readonly kind: 'too_many'; readonly what: string; readonly max: number }
  | { readonly kind: 'bad_request'; readonly path: string; readonly message: string };

export function listFilters(sql: SqlStorage): Filter[] {
  const rows = sql.exec<{ filter_id: string; rule: string }>('SELECT filter_id, rule FROM filter ORDER BY ordinal');
  return [...rows].map((row) => ({ filterId: row.filter_id, ...(JSON.parse(row.rule) as FilterRule) }));
}

/** @param at its place in the order; null is last. */
export function insertFilter(
  sql: SqlStorage,
  rule: FilterRule,
  at: number | null,
  now: number,
): Result<Filter, FilterError> {
  const filters = listFilters(sql);
  if (filters.length >= FILTERS_MAX) return err({ kind: 'too_many', what: 'filters', max: FILTERS_MAX });
  const fault = findFault(sql, rule);
  if (fault) return err(fault);
  const filterId = crypto.randomUUID();
  sql.exec(
    'INSERT INTO filter (filter_id, ordinal, rule, created_at) VALUES (?, ?, ?, ?)',
    filterId,
    filters.length,
    JSON.stringify(rule),
    now,
  );
  if (at !== null) placeFilter(sql, filterId, at);
  recordChange(sql, { type: 'filters_updated' }, now);
  return ok({ filterId, ...rule });
}

export function replaceFilter(
  sql: SqlStorage,
  filterId: string,
  rule: FilterRule,
  at: number | null,
  now: number,
): Result<Filter, FilterError> {
  if (!first(sql, 'SELECT 1 AS found FROM filter WHERE filter_id = ?', filterId)) return err({ kind: 'not_found' });
  const fault = findFault(sql, rule);
  if (fault) return err(fault);
  sql.exec('UPDATE filter SET rule = ? WHERE filter_id = ?', JSON.stringify(rule), filterId);
  if (at !== null) placeFilter(sql, filterId, at);
  recordChange(sql, { type: 'filters_updated' }, now);
  return ok({ filterId, ...rule });
}

export function deleteFilter(sql: SqlStorage, filterId: string, now: number): boolean {
  const deleted = first(sql, 'DELETE FROM filter WHERE filter_id = ? RETURNING 1 AS deleted', filterId) !== null;
  if (deleted) recordChange(sql, { type: 'filters_updated' }, now);
  return deleted;
}

function placeFilter(sql: SqlStorage, filterId: string, at: number): void {
  const ids = listFilters(sql)
    .map((filter) => filter.filterId)
    .filter((id) => id !== filterId);
  ids.splice(Math.min(at, ids.length), 0, filterId);
  for (const [ordinal, id] of ids.entries()) sql.exec('UPDATE filter SET ordinal = ? WHERE filter_id = ?', ordinal, id);
}

/** A move needs a folder that holds mail. A forward needs a confirmed destination. */
function findFault(sql: SqlStorage, rule: FilterRule): FilterError | null {
  for (const [at, action] of rule.actions.entries()) {
    if (action.type === 'move') {
      const folder = findFolder(sql, action.folder_id);
      if (!folder || isView(folder)) {
        return { kind: 'bad_request', path: `actions.${at}.folder_id`, message: 'There is no such folder to move to.' };
      }
    }
    if (action.type === 'forward' && !isConfirmed(sql, action.to)) {
      const message = 'Mail is forwarded only to an address whose owner confirmed: /v1/me/forward-targets.';
      return { kind: 'bad_request', path: `actions.${at}.to`, message };
    }
  }
  return null;
}

export const isConfirmed = (sql: SqlStorage, email: string): boolean =>
  first(
    sql,
    'SELECT 1 AS found FROM forward_target WHERE email = ? AND confirmed_at IS NOT NULL',
    email.toLowerCase(),
  ) !== null;

/** Decides by the user's rules what happens to an arriving message. Queues forwards and the vacation reply. */
export function applyRulesOnArrival(
  sql: SqlStorage,
  mailbox: MailboxRow,
  input: StoreMessageInput,
  messageId: string,
  now: number,
): FilterDecision {
  const facts = toFacts(input);
  const decision = decideFilters(listFilters(sql), facts);
  if (mayForward(mailbox.userId, input.envelopeFrom, input.parsed.headers)) {
    for (const to of decision.forwardTo) {
      if (isConfirmed(sql, to))
        queueAutomatic(sql, { kind: 'forward', messageId, recipient: to, envelopeFrom: input.envelopeFrom }, now);
    }
  }
  answerForVacation(sql, mailbox, input, facts, messageId, now);
  return decision;
}

function answerForVacation(
  sql: SqlStorage,
  mailbox: MailboxRow,
  input: StoreMessageInput,
  facts: MessageFacts,
  messageId: string,
  now: number,
): void {
  const { vacation } = mailbox.settings;
  if (!vacation?.isEnabled || now < (vacation.startsAt ?? 0) || now > (vacation.endsAt ?? Number.POSITIVE_INFINITY))
    return;
  const own = new Set(vacation.addresses);
  if (input.envelopeTo !== null) own.add(input.envelopeTo.toLowerCase().replace(/\+[^@]*@/, '@'));
  if (!mayAnswerAutomatically(input.envelopeFrom, own, facts)) return;
  const recipient = input.envelopeFrom.toLowerCase();
  const taken = first(
    sql,
    `INSERT INTO vacation_reply (email, replied_at) VALUES (?1, ?2)
     ON CONFLICT (email) DO UPDATE SET replied_at = ?2 WHERE replied_at <= ?3 RETURNING 1 AS taken`,
    recipient,
    now,
    now - VACATION_INTERVAL_MS,
  );
  if (taken) queueAutomatic(sql, { kind: 'vacation', messageId, recipient, envelopeFrom: '' }, now);
}

const toFacts = ({ parsed, sizeBytes }: StoreMessageInput): MessageFacts => ({
  from: parsed.from ? [parsed.from] : [],
  to: [...parsed.to, ...parsed.cc],
  subject: parsed.subject,
  body: parsed.text.value,
  headers: parsed.headers,
  sizeBytes,
  hasAttachment: parsed.attachments.some((attachment) => !attachment.isInline),
});

interface StoredFactsRow extends Row {
  sender: string;
  to_list: string;
  cc_list: string;
  subject: string;
  size_bytes: number;
  has_attachment: number;
  body: string | null;
  headers: string | null;
}

function readFacts(sql: SqlStorage, position: number): MessageFacts {
  const row = first<StoredFactsRow>(
    sql,
    `SELECT m.sender, m.to_list, m.cc_list, m.subject, m.size_bytes, m.has_attachment,
       (SELECT value FROM message_part AS p WHERE p.position = m.position AND p.kind = 'text') AS body,
       (SELECT value FROM message_part AS p WHERE p.position = m.position AND p.kind = 'headers') AS headers
     FROM message AS m WHERE m.position = ?`,
    position,
  );
  if (!row) throw new Error('a message of the batch is gone within its transaction');
  const sender = JSON.parse(row.sender) as MailAddress | null;
  return {
    from: sender ? [sender] : [],
    to: [...(JSON.parse(row.to_list) as MailAddress[]), ...(JSON.parse(row.cc_list) as MailAddress[])],
    subject: row.subject,
    body: row.body ?? '',
    headers: JSON.parse(row.headers ?? '[]') as MessageFacts['headers'],
    sizeBytes: row.size_bytes,
    hasAttachment: row.has_attachment === 1,
  };
}

export interface ApplyRound {
  readonly looked: number;
  readonly changed: number;
  /** Continue before this position; null if all messages were checked. */
  readonly before: number | null;
}

/** Applies one filter to a round of received mail outside Junk and Trash, newest first. Does not forward stored mail. */
export function applyFilterRound(sql: SqlStorage, filter: Filter, before: number, now: number): ApplyRound {
  const messages = [
    ...sql.exec<MessageState>(
      `SELECT position, message_id, folder, thread, origin, is_read, is_flagged, is_visible, size_bytes
       FROM message INDEXED BY message_visible
       WHERE is_visible = 1 AND position < ? AND origin IN ('received', 'imported') ORDER BY position DESC LIMIT ?`,
      before,
      APPLIED_PER_ROUND,
    ),
  ];
  let changed = 0;
  for (const message of messages) {
    const decision = decideFilters([{ ...filter, enabled: true }], readFacts(sql, message.position));
    const folder = decision.folder === null ? null : findFolder(sql, decision.folder);
    const patch = {
      folder: folder ?? undefined,
      isRead: decision.isRead || undefined,
      isFlagged: decision.isFlagged || undefined,
      addLabels: decision.labels.length > 0 ? decision.labels : undefined,
    };
    if (patchMessage(sql, message, patch, now)) changed += 1;
  }
  const last = messages.at(-1);
  return {
    looked: messages.length,
    changed,
    before: messages.length === APPLIED_PER_ROUND && last ? last.position : null,
  };
}
