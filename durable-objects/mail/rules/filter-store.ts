/** Filters, their order, and their effect on arriving and stored messages. */
import {
  decideFilters,
  type FilterDecision,
  type FilterRule,
  type MessageFacts,
  mayAnswerAutomatically,
  mayForward,
} from '../../../workers/mail/domain/filter-rule.ts';
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import { execute, type RowOf, statement } from '../../../workers/shared/stores/statement.ts';
import type { MailAddress, StoreMessageInput } from '../contract/delivered-message.ts';
import type { MailboxRow } from '../contract/mailbox.ts';
import type { ApplyRound, Filter, FilterError } from '../contract/rules.ts';
import { recordChange } from '../database/change-store.ts';
import { executeFirst } from '../database/store.ts';
import { findFolder, isView } from '../messages/folder-store.ts';
import { type MessageState, STATE_COLUMNS } from '../messages/message-row-store.ts';
import { patchMessage } from '../messages/message-store.ts';
import type { message } from '../messages/schema.ts';
import { findAddressForward } from './address-forward-store.ts';
import { queueAutomatic } from './automatic-store.ts';
import { isConfirmed } from './forward-target-store.ts';
import type { filter } from './schema.ts';

const FILTERS_MAX = 200;
const VACATION_INTERVAL_MS = 7 * 24 * 3_600_000;
const APPLIED_PER_ROUND = 200;

type FilterRow = Pick<RowOf<typeof filter>, 'filter_id' | 'rule'>;
const list = statement<Record<never, never>, FilterRow>('SELECT filter_id, rule FROM filter ORDER BY ordinal');

export const listFilters = (sql: SqlStorage): Filter[] =>
  [...execute(sql, list, {})].map((row) => ({
    filterId: row.filter_id,
    ...(JSON.parse(row.rule) as FilterRule),
  }));

const insert = statement<{ filterId: string; ordinal: number; rule: string; now: number }>(
  'INSERT INTO filter (filter_id, ordinal, rule, created_at) VALUES (:filterId, :ordinal, :rule, :now)',
);

/** @param at position of the new filter in the list; null for the end. */
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
  execute(sql, insert, { filterId, ordinal: filters.length, rule: JSON.stringify(rule), now });
  if (at !== null) placeFilter(sql, filterId, at);
  recordChange(sql, { type: 'filters_updated' }, now);
  return ok({ filterId, ...rule });
}

const replace = statement<{ filterId: string; rule: string }>(
  'UPDATE filter SET rule = :rule WHERE filter_id = :filterId',
);

export function replaceFilter(
  sql: SqlStorage,
  filterId: string,
  rule: FilterRule,
  at: number | null,
  now: number,
): Result<Filter, FilterError> {
  if (!listFilters(sql).some((each) => each.filterId === filterId)) return err({ kind: 'not_found' });
  const fault = findFault(sql, rule);
  if (fault) return err(fault);
  execute(sql, replace, { filterId, rule: JSON.stringify(rule) });
  if (at !== null) placeFilter(sql, filterId, at);
  recordChange(sql, { type: 'filters_updated' }, now);
  return ok({ filterId, ...rule });
}

const remove = statement<{ filterId: string }, Pick<FilterRow, 'filter_id'>>(
  'DELETE FROM filter WHERE filter_id = :filterId RETURNING filter_id',
);

export function deleteFilter(sql: SqlStorage, filterId: string, now: number): boolean {
  const deleted = executeFirst(sql, remove, { filterId }) !== null;
  if (deleted) recordChange(sql, { type: 'filters_updated' }, now);
  return deleted;
}

const setOrdinal = statement<{ filterId: string; ordinal: number }>(
  'UPDATE filter SET ordinal = :ordinal WHERE filter_id = :filterId',
);

function placeFilter(sql: SqlStorage, filterId: string, at: number): void {
  const ids = listFilters(sql)
    .map((filter) => filter.filterId)
    .filter((id) => id !== filterId);
  ids.splice(Math.min(at, ids.length), 0, filterId);
  for (const [ordinal, id] of ids.entries()) execute(sql, setOrdinal, { filterId: id, ordinal });
}

/** @returns why a rule is invalid, or null. A move needs a folder that can hold mail; a forward needs a confirmed target. */
function findFault(sql: SqlStorage, rule: FilterRule): FilterError | null {
  for (const [at, action] of rule.actions.entries()) {
    if (action.type === 'move') {
      const folder = findFolder(sql, action.folder_id);
      if (!folder || isView(folder)) {
        return {
          kind: 'bad_request',
          path: `actions.${at}.folder_id`,
          message: 'Choose an existing folder that is not a view.',
        };
      }
    }
    if (action.type === 'forward' && !isConfirmed(sql, action.to)) {
      const message = 'Confirm this address first, at /v1/me/forward-targets.';
      return { kind: 'bad_request', path: `actions.${at}.to`, message };
    }
  }
  return null;
}

/** Applies the user's rules to an arriving message. Queues forwards and the vacation reply. */
export function applyRulesOnArrival(
  sql: SqlStorage,
  mailbox: MailboxRow,
  input: StoreMessageInput,
  messageId: string,
  now: number,
): FilterDecision {
  const { envelopeFrom } = input;
  const facts = toFacts(input);
  const decision = decideFilters(listFilters(sql), facts);
  if (mayForward(mailbox.userId, envelopeFrom, input.parsed.headers)) {
    const address = input.deliveredTo === undefined ? null : findAddressForward(sql, input.deliveredTo);
    const byRules = decision.forwardTo.filter((to) => isConfirmed(sql, to));
    for (const recipient of new Set([...(address?.targets ?? []), ...byRules]))
      queueAutomatic(sql, { kind: 'forward', messageId, recipient, envelopeFrom }, now);
    if (address && !address.keepsCopy) {
      queueAutomatic(sql, { kind: 'end', messageId, recipient: '', envelopeFrom }, now);
      return { ...decision, folder: 'trash', isRead: true };
    }
  }
  answerForVacation(sql, mailbox, input, facts, messageId, now);
  return decision;
}

/**
 * Applies the user's rules to a message that the checks call junk. Only rules that move messages, or stop the list, are applied;
 * their other actions count too, except forwards. No vacation reply is sent, because the sender may be forged.
 */
export function applyMovesOnArrival(sql: SqlStorage, input: StoreMessageInput): FilterDecision {
  const moves = listFilters(sql).filter(({ actions }) =>
    actions.some(({ type }) => type === 'move' || type === 'trash' || type === 'stop'),
  );
  return decideFilters(moves, toFacts(input));
}

/** Records a vacation reply to an address. Returns a row only if the address has had no reply since `before`. */
const recordReply = statement<{ email: string; now: number; before: number }, { recorded: number }>(
  `INSERT INTO vacation_reply (email, replied_at) VALUES (:email, :now)
   ON CONFLICT (email) DO UPDATE SET replied_at = :now WHERE replied_at <= :before RETURNING 1 AS recorded`,
);

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
  const isRecorded = executeFirst(sql, recordReply, { email: recipient, now, before: now - VACATION_INTERVAL_MS });
  if (isRecorded) queueAutomatic(sql, { kind: 'vacation', messageId, recipient, envelopeFrom: '' }, now);
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

type FactsRow = Pick<
  RowOf<typeof message>,
  'sender' | 'to_list' | 'cc_list' | 'subject' | 'size_bytes' | 'has_attachment'
> & { body: string; headers: string };
const findFacts = statement<{ position: number }, FactsRow>(
  `SELECT m.sender, m.to_list, m.cc_list, m.subject, m.size_bytes, m.has_attachment,
     c.text AS body, c.headers
   FROM message AS m CROSS JOIN message_content AS c ON c.position = m.position WHERE m.position = :position`,
);

function readFacts(sql: SqlStorage, position: number): MessageFacts {
  const row = execute(sql, findFacts, { position }).one();
  const sender = JSON.parse(row.sender) as MailAddress | null;
  return {
    from: sender ? [sender] : [],
    to: [...(JSON.parse(row.to_list) as MailAddress[]), ...(JSON.parse(row.cc_list) as MailAddress[])],
    subject: row.subject,
    body: row.body,
    headers: JSON.parse(row.headers) as MessageFacts['headers'],
    sizeBytes: row.size_bytes,
    hasAttachment: row.has_attachment === 1,
  };
}

/** Applies one filter to a round of received messages outside Junk and Trash, newest first. Stored messages are not forwarded. */
export function applyFilterRound(sql: SqlStorage, filter: Filter, before: number, now: number): ApplyRound {
  const messages = [
    ...sql.exec<MessageState>(
      `SELECT ${STATE_COLUMNS} FROM message INDEXED BY message_visible
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
