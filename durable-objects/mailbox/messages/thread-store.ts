/**
 * Threads by Message-ID, In-Reply-To and References. Messages that name a common id form one thread, in any order of arrival. A message
 * that names ids of two threads merges them. The subject joins messages only where RFC 5256 allows it and ids cannot: a reply that
 * names no parent joins the newest thread of its base subject, and an original joins a thread that holds only such replies. For that,
 * the sender and a recipient must take part in the thread already, within a few days. Otherwise a stranger who guesses a subject
 * would appear in a trusted conversation.
 */
import { toBaseSubject } from '../../../workers/mail/domain/base-subject.ts';
import type { MailAddress } from '../contract/delivered-message.ts';
import { recordChange } from '../database/change-store.ts';
import { first } from '../database/store.ts';

/** Ids used per message. The root and the nearest parents matter, so the middle of a longer list is dropped. */
const REFERENCES_MAX = 100;
/** Longest time between a message and the last one of the thread that it joins by its subject. */
const SUBJECT_AGE_MAX_MS = 5 * 86_400_000;
/** Threads of one subject, and messages of a thread, that are searched for a participant. The newest count. */
const SUBJECT_THREADS_MAX = 20;
const SUBJECT_MESSAGES_MAX = 100;

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
 * Finds, merges or creates the thread of a message.
 * @param receivedAt when the message came, which may be years before `now` for an imported one.
 * @returns the thread's number.
 */
export function assignThread(sql: SqlStorage, message: Threadable, receivedAt: number, now: number): number {
  const ids = listIds(message);
  const { base, isReply } = toBaseSubject(message.subject);
  const namesParent = message.inReplyTo !== null || message.references.length > 0;
  let found = findThreads(sql, ids);
  if (found.length === 0 && !namesParent && base !== '') found = findBySubject(sql, message, base, isReply, receivedAt);
  if (found.length === 0) return join(sql, [createThread(sql, base, isReply && !namesParent)], ids, now);
  const thread = join(sql, found, ids, now);
  if (!isReply || namesParent) sql.exec('UPDATE thread SET lacks_root = 0 WHERE thread = ? AND lacks_root = 1', thread);
  return thread;
}

/** Keeps a message in its thread and merges the threads that its ids name. @returns the thread's number. */
export function rejoinThread(sql: SqlStorage, thread: number, message: Threadable, now: number): number {
  const ids = listIds(message);
  return join(sql, [thread, ...findThreads(sql, ids)], ids, now);
}

/** Merges threads into the oldest and assigns the ids to it. */
function join(sql: SqlStorage, threads: readonly number[], ids: readonly string[], now: number): number {
  const thread = Math.min(...threads);
  for (const other of new Set(threads)) if (other !== thread) mergeThreads(sql, other, thread, now);
  for (const id of ids)
    sql.exec('INSERT OR IGNORE INTO thread_reference (reference, thread) VALUES (?, ?)', id, thread);
  return thread;
}

function listIds(message: Threadable): string[] {
  const named = [...message.references, ...(message.inReplyTo === null ? [] : [message.inReplyTo])];
  const kept = named.length > REFERENCES_MAX ? [...named.slice(0, 1), ...named.slice(1 - REFERENCES_MAX)] : named;
  const all = message.messageId === null ? kept : [message.messageId, ...kept];
  return [...new Set(all.map((id) => id.slice(0, 500)))];
}

function findThreads(sql: SqlStorage, ids: readonly string[]): number[] {
  if (ids.length === 0) return [];
  const rows = sql.exec<{ thread: number }>(
    'SELECT DISTINCT r.thread AS thread FROM json_each(?) AS j CROSS JOIN thread_reference AS r WHERE r.reference = j.value',
    JSON.stringify(ids),
  );
  return [...rows].map((row) => row.thread);
}

function findBySubject(
  sql: SqlStorage,
  message: Threadable,
  base: string,
  isReply: boolean,
  receivedAt: number,
): number[] {
  const sender = toKey(message.from);
  const recipients = [...message.to, ...message.cc].map(toKey);
  if (sender === '') return [];
  const threads = sql.exec<{ thread: number }>(
    `SELECT thread FROM thread WHERE base_subject = ? AND merged_into IS NULL ${isReply ? '' : 'AND lacks_root = 1'}
     ORDER BY thread DESC LIMIT ?`,
    base,
    SUBJECT_THREADS_MAX,
  );
  for (const { thread } of threads) {
    const people = listParticipants(sql, thread, receivedAt);
    const isAddressed = recipients.length === 0 || recipients.some((recipient) => people.has(recipient));
    if (people.has(sender) && isAddressed) return [thread];
  }
  return [];
}

/** Senders and recipients of a thread's messages near a time; empty if it has none. */
function listParticipants(sql: SqlStorage, thread: number, near: number): Set<string> {
  const rows = sql.exec<{ sender: string; to_list: string; cc_list: string }>(
    `SELECT sender, to_list, cc_list FROM (SELECT * FROM message WHERE thread = ? ORDER BY position DESC LIMIT ?)
     WHERE received_at BETWEEN ? AND ?`,
    thread,
    SUBJECT_MESSAGES_MAX,
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

function createThread(sql: SqlStorage, base: string, lacksRoot: boolean): number {
  const row = first<{ thread: number }>(
    sql,
    'INSERT INTO thread (base_subject, lacks_root) VALUES (?, ?) RETURNING thread',
    base,
    lacksRoot ? 1 : 0,
  );
  if (!row) throw new Error('an insert returned no row');
  return row.thread;
}

function mergeThreads(sql: SqlStorage, from: number, into: number, now: number): void {
  const moved = [...sql.exec<{ message_id: string }>('SELECT message_id FROM message WHERE thread = ?', from)];
  sql.exec('UPDATE message SET thread = ? WHERE thread = ?', into, from);
  sql.exec('UPDATE thread_reference SET thread = ? WHERE thread = ?', into, from);
  sql.exec('UPDATE thread SET merged_into = ?1 WHERE thread = ?2 OR merged_into = ?2', into, from);
  for (const { message_id } of moved) {
    recordChange(sql, { type: 'message_updated', message_id, thread_id: formatThreadId(into) }, now);
  }
}

/** Deletes a thread without messages, and its ids. A merged thread stays as a pointer to the other. */
export function releaseThread(sql: SqlStorage, thread: number): void {
  if (first(sql, 'SELECT 1 AS found FROM message WHERE thread = ? LIMIT 1', thread)) return;
  if (first(sql, 'SELECT 1 AS merged FROM thread WHERE thread = ? AND merged_into IS NOT NULL', thread)) return;
  sql.exec('DELETE FROM thread_reference WHERE thread = ?', thread);
  sql.exec('DELETE FROM thread WHERE thread = ?1 OR merged_into = ?1', thread);
}

export const formatThreadId = (thread: number): string => `t${thread.toString(36)}`;

/** @returns the thread's number after merges; null if the id is unknown. */
export function findThread(sql: SqlStorage, threadId: string): number | null {
  if (!/^t[0-9a-z]{1,10}$/.test(threadId)) return null;
  const row = first<{ thread: number; merged_into: number | null }>(
    sql,
    'SELECT thread, merged_into FROM thread WHERE thread = ?',
    Number.parseInt(threadId.slice(1), 36),
  );
  return row ? (row.merged_into ?? row.thread) : null;
}
