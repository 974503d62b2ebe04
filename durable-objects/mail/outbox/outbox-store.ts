/**
 * The outbox: outgoing mail with the state of each recipient. Queue messages are only hints to look here. A row is read, changed
 * and written as a whole, inside the caller's transaction. `outbox-attempt-store.ts` has leases and attempts.
 */
import { HINT_DELAY_MS_MAX } from '../../../workers/mail/domain/recipient-state.ts';
import { execute, type RowOf, statement } from '../../../workers/shared/stores/statement.ts';
import type { DeliveryState } from '../contract/messages.ts';
import type { NewOutboxMessage, OutboxKind } from '../contract/outbox.ts';
import { recordChange } from '../database/change-store.ts';
import { addGarbage, executeFirst, first } from '../database/store.ts';
import { saveDelivery, saveSubmissionDelivery } from '../messages/delivery-state-store.ts';
import type { outbox } from './schema.ts';

export interface OutboxRecipient extends DeliveryState {
  readonly ordinal: number;
  readonly domain: string;
  /** Time at which the recipient was last made ready to send. The five days of attempts start here. */
  readonly queuedAt: number;
  readonly lease: { readonly id: string; readonly until: number } | null;
  readonly lastAttemptAt: number | null;
  readonly isExpired: boolean;
  /** Whether the last attempt found the address on a suppression list. Rows of earlier versions do not have it. */
  readonly isSuppressed?: boolean;
  /** Report to the sender that is due, or null. Its id is null until the report was begun. */
  readonly report: { readonly due: 'failed' | 'delayed'; readonly id: string | null } | null;
}

export interface OutboxMessage extends Omit<NewOutboxMessage, 'recipients'> {
  readonly position: number | null;
  readonly queuedAt: number;
  /** Verdicts of the checks as JSON. */
  readonly verdicts: string | null;
  readonly warnedAt: number | null;
  readonly recipients: readonly OutboxRecipient[];
  readonly version: number;
  readonly publishedVersion: number;
}

const HOUR_MS = 3_600_000;
/**
 * Delay before a queued message appears in the operator's tables, counted from the end of a short hold. A message that is sent
 * earlier never appears there.
 */
const PUBLISH_AFTER_MS = 5_000;
const PUBLISH_SOON_MS = 1_000;
/** Shortest hold during which a message appears in the operator's tables. */
const SHORT_HOLD_MS = 60_000;

type OutboxRow = RowOf<typeof outbox>;

const toMessage = (row: OutboxRow): OutboxMessage => ({
  outboxId: row.outbox_id,
  kind: row.kind as OutboxKind,
  position: row.position,
  headerMessageId: row.header_message_id,
  rawKey: row.raw_key,
  ownsRaw: row.owns_raw === 1,
  sizeBytes: row.size_bytes,
  bodyHash: row.body_hash,
  isEightBit: row.is_eight_bit === 1,
  envelopeFrom: row.envelope_from,
  queuedAt: row.queued_at,
  holdUntil: row.hold_until,
  verdicts: row.verdicts,
  warnedAt: row.warned_at,
  recipients: JSON.parse(row.recipients) as OutboxRecipient[],
  version: row.version,
  publishedVersion: row.published_version,
});

const find = statement<{ outboxId: string }, OutboxRow>('SELECT * FROM outbox WHERE outbox_id = :outboxId');
const findByPosition = statement<{ position: number }, OutboxRow>('SELECT * FROM outbox WHERE position = :position');
const findByHeader = statement<{ id: string }, OutboxRow>('SELECT * FROM outbox WHERE header_message_id = :id');
const listDue = statement<{ now: number; limit: number }, OutboxRow>(
  'SELECT * FROM outbox WHERE next_attempt_at <= :now ORDER BY next_attempt_at LIMIT :limit',
);
const listReports = statement<Record<never, never>, OutboxRow>(
  `SELECT * FROM outbox WHERE EXISTS (SELECT 1 FROM json_each(recipients) WHERE json_extract(value, '$.report') IS NOT NULL)`,
);
const listToPublish = statement<{ now: number; limit: number }, OutboxRow>(
  'SELECT * FROM outbox WHERE publish_at <= :now ORDER BY publish_at LIMIT :limit',
);

export function readOutbox(sql: SqlStorage, outboxId: string): OutboxMessage | null {
  const row = executeFirst(sql, find, { outboxId });
  return row && toMessage(row);
}

export function findOutboxByHeader(sql: SqlStorage, headerMessageId: string): OutboxMessage | null {
  const row = executeFirst(sql, findByHeader, { id: headerMessageId });
  return row && toMessage(row);
}

export const listDueOutbox = (sql: SqlStorage, now: number, limit: number): OutboxMessage[] =>
  [...execute(sql, listDue, { now, limit })].map(toMessage);
export const listReporting = (sql: SqlStorage): OutboxMessage[] => [...execute(sql, listReports, {})].map(toMessage);
export const listPublishable = (sql: SqlStorage, now: number, limit: number): OutboxMessage[] =>
  [...execute(sql, listToPublish, { now, limit })].map(toMessage);

const save = statement<{
  outboxId: string;
  verdicts: string | null;
  warnedAt: number | null;
  recipients: string;
  nextAttemptAt: number | null;
  version: number;
  publishAt: number | null;
}>(
  `UPDATE outbox SET verdicts = :verdicts, warned_at = :warnedAt, recipients = :recipients, next_attempt_at = :nextAttemptAt,
     version = :version, publish_at = :publishAt WHERE outbox_id = :outboxId`,
);
const remove = statement<{ outboxId: string }>('DELETE FROM outbox WHERE outbox_id = :outboxId');

/** @returns the time at which a recipient needs work next, because it is due or its lease ends; null if it does not wait. */
export const nextOf = ({ nextAttemptAt, lease }: OutboxRecipient): number | null =>
  nextAttemptAt === null ? null : Math.max(nextAttemptAt, lease?.until ?? 0);

const earliest = (recipients: readonly OutboxRecipient[]): number | null =>
  recipients.reduce<number | null>((least, each) => {
    const at = nextOf(each);
    return at === null || (least !== null && least <= at) ? least : at;
  }, null);

/**
 * Writes a changed message. Once no recipient waits, the delivery states are copied to the copy in Sent. Once no report is due
 * either, the message's own bytes become garbage. The row is then deleted, unless it has failures, the operator's tables have it,
 * or no user wrote the message.
 */
export function saveOutbox(sql: SqlStorage, message: OutboxMessage, now: number): void {
  const { outboxId, recipients, publishedVersion, position } = message;
  const nextAttemptAt = earliest(recipients);
  const isOver = nextAttemptAt === null && recipients.every(({ report }) => report === null);
  const hasFailed = recipients.some(({ state }) => state === 'failed');
  if (nextAttemptAt === null && position !== null) {
    saveDelivery(sql, position, recipients);
    saveSubmissionDelivery(sql, outboxId, recipients);
  }
  // Bytes that the copy in Sent owns are not garbage, or were added to `garbage` when the copy was erased.
  if (isOver && message.ownsRaw) addGarbage(sql, [message.rawKey], now);
  // Automatic mail may be enqueued again after a crash. Its row is therefore kept for an hour, to recognise the repetition.
  if (isOver && !hasFailed && publishedVersion === 0 && message.kind === 'message')
    return void execute(sql, remove, { outboxId });
  const isShown = hasFailed || publishedVersion > 0;
  const publishAt = isShown ? now + PUBLISH_SOON_MS : isOver ? null : toPublishAt(message);
  execute(sql, save, {
    outboxId,
    verdicts: message.verdicts,
    warnedAt: message.warnedAt,
    recipients: JSON.stringify(recipients),
    nextAttemptAt,
    version: message.version + 1,
    publishAt,
  });
}

const toPublishAt = ({ queuedAt, holdUntil }: Pick<OutboxMessage, 'queuedAt' | 'holdUntil'>): number =>
  PUBLISH_AFTER_MS + (holdUntil - queuedAt < SHORT_HOLD_MS ? Math.max(queuedAt, holdUntil) : queuedAt);

/** Inserts a message. Idempotent by `outboxId`. @param position of the copy in Sent; null if there is none. */
export function insertOutbox(sql: SqlStorage, message: NewOutboxMessage, position: number | null, now: number): void {
  if (readOutbox(sql, message.outboxId)) return;
  if (position === null) pruneAutomatic(sql, now);
  const readyAt = Math.max(now, message.holdUntil);
  const recipients = message.recipients.map(
    ({ email, domain }, ordinal): OutboxRecipient => ({
      ...{ ordinal, email, domain, state: message.holdUntil > now ? 'held' : 'queued', queuedAt: readyAt, attempts: 0 },
      ...{ nextAttemptAt: readyAt, lease: null, lastCode: null, lastReply: null, lastAttemptAt: null },
      ...{ isUncertain: false, isExpired: false, report: null },
    }),
  );
  const started = { position, queuedAt: now, verdicts: null, warnedAt: null, recipients };
  insertRow(sql, { ...message, ...started }, toPublishAt({ queuedAt: now, holdUntil: message.holdUntil }));
}

/**
 * Inserts a message again after its row was deleted, because something new is known of one of its recipients: a failure or a delay,
 * which must be reported to the sender. It appears in the operator's tables.
 */
export const reinsertOutbox = (sql: SqlStorage, message: OutboxState, now: number): void =>
  insertRow(sql, message, now + PUBLISH_SOON_MS);

type OutboxState = Omit<OutboxMessage, 'version' | 'publishedVersion'>;

function insertRow(sql: SqlStorage, message: OutboxState, publishAt: number): void {
  sql.exec(
    `INSERT INTO outbox (outbox_id, kind, position, header_message_id, raw_key, owns_raw, size_bytes, body_hash,
       is_eight_bit, envelope_from, queued_at, hold_until, warned_at, recipients, next_attempt_at, version, publish_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?)`,
    message.outboxId,
    message.kind,
    message.position,
    message.headerMessageId,
    message.rawKey,
    Number(message.ownsRaw),
    message.sizeBytes,
    message.bodyHash,
    Number(message.isEightBit),
    message.envelopeFrom,
    message.queuedAt,
    message.holdUntil,
    message.warnedAt,
    JSON.stringify(message.recipients),
    earliest(message.recipients),
    publishAt,
  );
}

/**
 * Deletes automatic mail that was sent more than an hour ago. Neither recognising a repetition nor the hourly limit needs its row
 * any more.
 */
function pruneAutomatic(sql: SqlStorage, now: number): void {
  sql.exec(
    `DELETE FROM outbox WHERE position IS NULL AND next_attempt_at IS NULL AND publish_at IS NULL
       AND max(queued_at, hold_until) < ? AND recipients NOT LIKE '%"failed"%'`,
    now - HOUR_MS,
  );
}

/**
 * Limits forwards and vacation replies per hour, so that a flood of incoming mail does not cause a flood of outgoing mail.
 * @returns the earliest time to send the next one.
 */
export function readAutomaticTurn(sql: SqlStorage, limitPerHour: number): number {
  const nth = first<{ at: number }>(
    sql,
    `SELECT max(queued_at, hold_until) AS at FROM outbox WHERE kind IN ('forward', 'vacation')
     ORDER BY at DESC LIMIT 1 OFFSET ?`,
    Math.max(0, limitPerHour - 1),
  );
  return nth ? nth.at + HOUR_MS : 0;
}

/** Records in the change log that the delivery of a copy in Sent changed. Automatic mail has no such copy. */
export function announceDelivery(sql: SqlStorage, position: number | null, now: number): void {
  const copy = first<{ message_id: string; folder_id: string }>(
    sql,
    'SELECT m.message_id, f.folder_id FROM message m JOIN folder f ON f.folder = m.folder WHERE m.position = ?',
    position,
  );
  if (copy) recordChange(sql, { type: 'delivery_updated', ...copy }, now);
}

/**
 * @param hintWaitMs how long to wait for the hint of an attempt. Messages that are held for longer than a queue delays a hint have none.
 * @returns the next time at which the alarm must send: a recipient is due, or its lease has ended, and no hint came; null if none waits.
 */
export const nextOutboxAt = (sql: SqlStorage, hintWaitMs: number): number | null =>
  first<{ at: number | null }>(
    sql,
    `SELECT min(next_attempt_at
       + CASE WHEN next_attempt_at = hold_until AND hold_until - queued_at > ? THEN 0 ELSE ? END) AS at FROM outbox`,
    HINT_DELAY_MS_MAX,
    hintWaitMs,
  )?.at ?? null;

/**
 * Cancels the recipients of a message that are still held.
 * @returns how many recipients are canceled; null if the message is not in the outbox.
 */
export function cancelOutbox(sql: SqlStorage, position: number, now: number): number | null {
  const rows = [...execute(sql, findByPosition, { position })];
  return rows.length === 0 ? null : rows.reduce((sum, row) => sum + cancelHeld(sql, toMessage(row), now), 0);
}

/** Cancels the held recipients of one submission of a message. @returns how many recipients are canceled. */
export function cancelOutboxById(sql: SqlStorage, outboxId: string, now: number): number {
  const message = readOutbox(sql, outboxId);
  return message ? cancelHeld(sql, message, now) : 0;
}

/** Marks a JMAP submission as canceled. Does nothing for other mail. */
const cancelSubmission = statement<{ id: string }>(
  'UPDATE email_submission SET is_canceled = 1 WHERE submission_id = :id',
);

function cancelHeld(sql: SqlStorage, message: OutboxMessage, now: number): number {
  const isHeld = ({ state, lease, nextAttemptAt }: OutboxRecipient) =>
    state === 'held' && lease === null && (nextAttemptAt ?? 0) > now;
  if (!message.recipients.some(isHeld)) return 0;
  const recipients = message.recipients.map((each) =>
    isHeld(each) ? { ...each, state: 'canceled' as const, nextAttemptAt: null } : each,
  );
  saveOutbox(sql, { ...message, recipients }, now);
  execute(sql, cancelSubmission, { id: message.outboxId });
  if (message.position !== null) announceDelivery(sql, message.position, now);
  return recipients.filter(({ state }) => state === 'canceled').length;
}

/** Forgets the copy in Sent of a message that went back to its author. */
export function detachOutbox(sql: SqlStorage, outboxId: string): void {
  sql.exec('UPDATE outbox SET position = NULL WHERE outbox_id = ?', outboxId);
}

/** A message whose author has it again as a draft. If it were sent from here too, it would arrive twice. */
const isReturned = ({ kind, position }: OutboxMessage): boolean => kind === 'message' && position === null;

/**
 * Makes recipients due now: all that wait, or only the named ones. A failed recipient is retried only if it is named; its attempts
 * start again, with another five days.
 * @param named addresses in lower case; null for all recipients that wait.
 * @returns how many recipients are due now, and the named addresses that are not recipients; null if the message is unknown.
 */
export function retryOutbox(
  sql: SqlStorage,
  outboxId: string,
  named: readonly string[] | null,
  now: number,
): { readonly count: number; readonly unknown: readonly string[] } | null {
  const message = readOutbox(sql, outboxId);
  if (!message || isReturned(message)) return null;
  const emails = new Set(message.recipients.map(({ email }) => email.toLowerCase()));
  const unknown = (named ?? []).filter((email) => !emails.has(email));
  if (unknown.length > 0) return { count: 0, unknown };
  const isChosen = ({ email, state, lease }: OutboxRecipient) =>
    lease === null &&
    (named === null || named.includes(email.toLowerCase())) &&
    (state === 'deferred' || state === 'queued' || (state === 'failed' && named !== null));
  const count = message.recipients.filter(isChosen).length;
  const restart = (each: OutboxRecipient): OutboxRecipient => ({
    ...each,
    ...(each.state === 'failed' ? { queuedAt: now, attempts: 0 } : {}),
    ...{ state: 'queued', nextAttemptAt: now, report: null, isSuppressed: false },
  });
  const recipients = message.recipients.map((each) => (isChosen(each) ? restart(each) : each));
  saveOutbox(sql, { ...message, recipients, warnedAt: count > 0 ? null : message.warnedAt }, now);
  announceDelivery(sql, message.position, now);
  return { count, unknown };
}
