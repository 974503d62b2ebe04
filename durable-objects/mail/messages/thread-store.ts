/**
 * Assigns messages to threads by Message-ID, In-Reply-To and References. A message joins the thread of its nearest known parent. If
 * no parent is known, it joins a thread in which a message refers to it; otherwise it begins a thread. A message never moves to
 * another thread, and threads are never merged, so thread ids are stable.
 *
 * The subject decides only where ids are missing and RFC 5256 allows it:
 * - A reply that names no parent joins a message with the same base subject.
 * - An original message joins a thread that consists only of such replies.
 * In both cases, the sender and a recipient must have taken part in that thread within a few days. Otherwise a stranger who guesses
 * a subject would appear in a trusted conversation.
 */

import type { MailAddress } from '../contract/delivered-message.ts';
import { first } from '../database/store.ts';
import { toBaseSubject, toSubjectPart } from '../domain/base-subject.ts';

/** Maximum of ids used per message. The root and the nearest parents matter, so ids in the middle of a longer list are dropped. */
const REFERENCES_MAX = 100;
/** Maximum time between a message and a message of the thread that it joins by its subject. */
const SUBJECT_AGE_MAX_MS = 5 * 86_400_000;
/**
 * `SUBJECT_MESSAGES_MAX`: messages near in time that are searched for the subject. `PARTICIPANTS_MESSAGES_MAX`: messages of a
 * thread that are searched for a participant.
 */
const SUBJECT_MESSAGES_MAX = 500;
const PARTICIPANTS_MESSAGES_MAX = 100;
/**
 * Limit for forgetting the ids of an erased message. In threads of up to this many messages, ids that no other message names are
 * forgotten. In longer threads they stay.
 */
const FORGET_MESSAGES_MAX = 200;

export interface Threadable {
  readonly messageId: string | null;
  readonly inReplyTo: string | null;
  readonly references: readonly string[];
  readonly subject: string;
  readonly from: MailAddress | null;
  readonly to: readonly MailAddress[];
  readonly cc: readonly MailAddress[];
}

/**
 * Finds the thread of a new message, or begins a thread.
 * @param receivedAt time of arrival, which may be years ago for an imported message.
 * @returns the thread's number; it equals `position` if the message begins a thread.
 */
export function assignThread(sql: SqlStorage, message: Threadable, position: number, receivedAt: number): number {
  const thread = findByIds(sql, message) ?? findBySubject(sql, message, receivedAt) ?? position;
  keepReferences(sql, thread, message);
  return thread;
}

/**
 * Moves a saved draft to the thread of the parent that it now names. A draft without a known parent stays in its thread.
 * @returns the thread's number.
 */
export function reassignThread(sql: SqlStorage, thread: number, message: Threadable): number {
  const found = findByIds(sql, message) ?? thread;
  keepReferences(sql, found, message);
  return found;
}

/** Assigns the ids of a message to a thread, except ids that belong to a thread already. */
export function keepReferences(sql: SqlStorage, thread: number, message: Threadable): void {
  for (const id of listIds(message))
    sql.exec('INSERT OR IGNORE INTO thread_reference (reference, thread) VALUES (?, ?)', id, thread);
}

/** @returns the ids that a message names, its nearest parent first, its own id last. */
function listIds({ messageId, inReplyTo, references }: Threadable): string[] {
  const named = [...references, ...(inReplyTo === null ? [] : [inReplyTo])].reverse();
  const kept = named.length > REFERENCES_MAX ? [...named.slice(0, REFERENCES_MAX - 1), ...named.slice(-1)] : named;
  return [...new Set([...kept, ...(messageId === null ? [] : [messageId])].map((id) => id.slice(0, 500)))];
}

const findByIds = (sql: SqlStorage, message: Threadable): number | null =>
  first<{ thread: number }>(
    sql,
    `SELECT r.thread AS thread FROM json_each(?) AS j CROSS JOIN thread_reference AS r
     WHERE r.reference = j.value ORDER BY j.key LIMIT 1`,
    JSON.stringify(listIds(message)),
  )?.thread ?? null;

function findBySubject(sql: SqlStorage, message: Threadable, receivedAt: number): number | null {
  const { base, isReply } = toBaseSubject(message.subject);
  const sender = toKey(message.from);
  const namesParent = message.inReplyTo !== null || message.references.length > 0;
  if (namesParent || base === '' || sender === '') return null;
  const recipients = [...message.to, ...message.cc].map(toKey);
  const near = sql.exec<{ thread: number; subject: string }>(
    `SELECT thread, subject FROM (SELECT position, thread, subject FROM message WHERE position BETWEEN ? AND ?
       ORDER BY position DESC LIMIT ?)
     WHERE instr(lower(subject), ?) > 0 ORDER BY position DESC`,
    (receivedAt - SUBJECT_AGE_MAX_MS) * 1_000,
    (receivedAt + SUBJECT_AGE_MAX_MS) * 1_000 + 999,
    SUBJECT_MESSAGES_MAX,
    toSubjectPart(base),
  );
  const alike = [...near].filter(({ subject }) => toBaseSubject(subject).base === base);
  for (const thread of new Set(alike.map((each) => each.thread))) {
    if (!isReply && !lacksOriginal(sql, thread)) continue;
    const people = listParticipants(sql, thread, receivedAt);
    const isAddressed = recipients.length === 0 || recipients.some((recipient) => people.has(recipient));
    if (people.has(sender) && isAddressed) return thread;
  }
  return null;
}

/** True if all messages of a thread are replies that name no parent. */
function lacksOriginal(sql: SqlStorage, thread: number): boolean {
  const rows = sql.exec<{ subject: string; is_alone: number }>(
    `SELECT subject, in_reply_to IS NULL AND reference_list = '[]' AS is_alone FROM message WHERE thread = ? LIMIT ?`,
    thread,
    PARTICIPANTS_MESSAGES_MAX,
  );
  return [...rows].every(({ subject, is_alone }) => is_alone === 1 && toBaseSubject(subject).isReply);
}

/** @returns senders and recipients of a thread's messages near a time; empty if the thread has none then. */
function listParticipants(sql: SqlStorage, thread: number, near: number): Set<string> {
  const rows = sql.exec<{ sender: string; to_list: string; cc_list: string }>(
    `SELECT sender, to_list, cc_list FROM (SELECT * FROM message WHERE thread = ? ORDER BY position DESC LIMIT ?)
     WHERE received_at BETWEEN ? AND ?`,
    thread,
    PARTICIPANTS_MESSAGES_MAX,
    near - SUBJECT_AGE_MAX_MS,
    near + SUBJECT_AGE_MAX_MS,
  );
  const people = new Set<string>();
  for (const { sender, to_list, cc_list } of rows) {
    const named = [JSON.parse(sender) as MailAddress | null, ...JSON.parse(to_list), ...JSON.parse(cc_list)];
    for (const person of named as (MailAddress | null)[]) people.add(toKey(person));
  }
  return people;
}

const toKey = (person: MailAddress | null): string => person?.email.toLowerCase() ?? '';

/** @returns the ids of a stored message: its own id and those it refers to. */
export function readReferences(sql: SqlStorage, position: number): string[] {
  const row = first<ReferencesRow>(sql, `SELECT ${REFERENCES_COLUMNS} FROM message WHERE position = ?`, position);
  return row ? toIds(row) : [];
}

type ReferencesRow = { header_message_id: string | null; in_reply_to: string | null; reference_list: string };
const REFERENCES_COLUMNS = 'header_message_id, in_reply_to, reference_list';
const toIds = (row: ReferencesRow): string[] =>
  listIds({
    messageId: row.header_message_id,
    inReplyTo: row.in_reply_to,
    references: JSON.parse(row.reference_list) as string[],
    subject: '',
    from: null,
    to: [],
    cc: [],
  });

/**
 * Forgets those of the ids that no message of the thread has or refers to any more. Call it after the message with these ids left
 * the thread.
 * @returns whether the thread is empty.
 */
export function forgetReferences(sql: SqlStorage, thread: number, ids: readonly string[]): boolean {
  const rows = [
    ...sql.exec<ReferencesRow>(
      `SELECT ${REFERENCES_COLUMNS} FROM message WHERE thread = ? LIMIT ?`,
      thread,
      FORGET_MESSAGES_MAX + 1,
    ),
  ];
  if (rows.length > FORGET_MESSAGES_MAX) return false;
  const named = new Set(rows.flatMap(toIds));
  const unnamed = JSON.stringify(ids.filter((id) => !named.has(id)));
  sql.exec(
    'DELETE FROM thread_reference WHERE reference IN (SELECT value FROM json_each(?)) AND thread = ?',
    unnamed,
    thread,
  );
  return rows.length === 0;
}

/** Mutes or unmutes a thread. @returns false if nothing changed. */
export function muteThread(sql: SqlStorage, thread: number, isMuted: boolean, now: number): boolean {
  if (isMuted === isThreadMuted(sql, thread)) return false;
  if (isMuted) sql.exec('INSERT INTO muted_thread (thread, muted_at) VALUES (?, ?)', thread, now);
  else sql.exec('DELETE FROM muted_thread WHERE thread = ?', thread);
  return true;
}

export const isThreadMuted = (sql: SqlStorage, thread: number): boolean =>
  first(sql, 'SELECT 1 AS found FROM muted_thread WHERE thread = ?', thread) !== null;

export const formatThreadId = (thread: number): string => `t${thread.toString(36)}`;

/** @returns the thread's number; -1 if the text is not a thread id. */
export const parseThreadId = (threadId: string): number =>
  /^t[0-9a-z]{1,10}$/.test(threadId) ? Number.parseInt(threadId.slice(1), 36) : -1;

/** @returns the thread's number; null if there is no thread with this id. */
export function findThread(sql: SqlStorage, threadId: string): number | null {
  const thread = parseThreadId(threadId);
  return isThread(sql, thread) ? thread : null;
}

export const isThread = (sql: SqlStorage, thread: number): boolean =>
  first(sql, 'SELECT 1 AS found FROM message WHERE thread = ? LIMIT 1', thread) !== null;
