/**
 * Threads by In-Reply-To, References and Message-ID. A message joins the thread of its nearest known parent. If no parent is known,
 * it joins a thread in which a message refers to it. A message never moves to another thread, and threads are never merged. Thread
 * ids are therefore stable.
 *
 * The subject is used only where no ids are given and RFC 5256 allows it: a reply without a parent joins a message with the same base
 * subject, and an original joins a thread that consists of such replies. The sender and a recipient must already have taken part in
 * that thread within a few days. Otherwise a stranger who guesses a subject would appear in a trusted conversation.
 */
import { toBaseSubject } from '../../../workers/mail/domain/base-subject.ts';
import type { MailAddress } from '../contract/delivered-message.ts';
import { first } from '../database/store.ts';

/** Ids used per message. The root and the nearest parents matter, so the middle of a longer list is dropped. */
const REFERENCES_MAX = 100;
/** Longest time between a message and another one of the thread that it joins by its subject. */
const SUBJECT_AGE_MAX_MS = 5 * 86_400_000;
/** Messages near in time, and messages of a thread, that are searched for the subject and a participant. */
const SUBJECT_MESSAGES_MAX = 500;
const PARTICIPANTS_MESSAGES_MAX = 100;
/**
 * Longest thread in which the ids of an erased message are forgotten if no other message of the thread names them. In longer
 * threads they stay.
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
 * Finds the thread of a new message, or begins one.
 * @param receivedAt when the message came, which may be years ago for an imported one.
 * @returns the thread's number, which is `position` if the message begins a thread.
 */
export function assignThread(sql: SqlStorage, message: Threadable, position: number, receivedAt: number): number {
  const thread = findByIds(sql, message) ?? findBySubject(sql, message, receivedAt) ?? position;
  keepReferences(sql, thread, message);
  return thread;
}

/** Moves a saved draft to the thread of a parent that it names now. Without one it stays. @returns the thread's number. */
export function reassignThread(sql: SqlStorage, thread: number, message: Threadable): number {
  const found = findByIds(sql, message) ?? thread;
  keepReferences(sql, found, message);
  return found;
}

/** Assigns to a thread those of the message's ids that no thread has yet. */
export function keepReferences(sql: SqlStorage, thread: number, message: Threadable): void {
  for (const id of listIds(message))
    sql.exec('INSERT OR IGNORE INTO thread_reference (reference, thread) VALUES (?, ?)', id, thread);
}

/** The nearest parent first, the message's own id last. */
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
    `SELECT thread, subject FROM message WHERE position BETWEEN ? AND ? ORDER BY position DESC LIMIT ?`,
    (receivedAt - SUBJECT_AGE_MAX_MS) * 1_000,
    (receivedAt + SUBJECT_AGE_MAX_MS) * 1_000 + 999,
    SUBJECT_MESSAGES_MAX,
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

/** True if a thread holds only replies that name no parent. */
function lacksOriginal(sql: SqlStorage, thread: number): boolean {
  const rows = sql.exec<{ subject: string; is_alone: number }>(
    `SELECT subject, in_reply_to IS NULL AND reference_list = '[]' AS is_alone FROM message WHERE thread = ? LIMIT ?`,
    thread,
    PARTICIPANTS_MESSAGES_MAX,
  );
  return [...rows].every(({ subject, is_alone }) => is_alone === 1 && toBaseSubject(subject).isReply);
}

/** Senders and recipients of a thread's messages near a time; empty if it has none. */
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

/** The ids that a stored message has or names. */
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

/** Call it after a message with these ids left a thread. Forgets those that no other message of the thread has or names. @returns whether the thread ended. */
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

/** @returns false if nothing changed. */
export function muteThread(sql: SqlStorage, thread: number, isMuted: boolean, now: number): boolean {
  if (isMuted === isThreadMuted(sql, thread)) return false;
  if (isMuted) sql.exec('INSERT INTO muted_thread (thread, muted_at) VALUES (?, ?)', thread, now);
  else sql.exec('DELETE FROM muted_thread WHERE thread = ?', thread);
  return true;
}

export const isThreadMuted = (sql: SqlStorage, thread: number): boolean =>
  first(sql, 'SELECT 1 AS found FROM muted_thread WHERE thread = ?', thread) !== null;

export const formatThreadId = (thread: number): string => `t${thread.toString(36)}`;

/** @returns -1 if it is not an id. */
export const parseThreadId = (threadId: string): number =>
  /^t[0-9a-z]{1,10}$/.test(threadId) ? Number.parseInt(threadId.slice(1), 36) : -1;

/** @returns the thread's number; null if the id is unknown. */
export function findThread(sql: SqlStorage, threadId: string): number | null {
  const thread = parseThreadId(threadId);
  return isThread(sql, thread) ? thread : null;
}

export const isThread = (sql: SqlStorage, thread: number): boolean =>
  first(sql, 'SELECT 1 AS found FROM message WHERE thread = ? LIMIT 1', thread) !== null;
