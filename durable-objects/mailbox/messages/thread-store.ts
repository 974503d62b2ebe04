/**
 * Threads by Message-ID, In-Reply-To and References. Messages that name a common id form one thread, in any order of arrival. A message
 * that names ids of two threads merges them. The subject joins messages only where RFC 5256 allows it and ids cannot: a reply that
 * names no parent joins the newest thread of its base subject, and an original joins a thread that holds only such replies.
 */
import { toBaseSubject } from '../../../workers/mail/domain/base-subject.ts';
import { recordChange } from '../database/change-store.ts';
import { first } from '../database/store.ts';

/** Ids used per message. The root and the nearest parents matter, so the middle of a longer list is dropped. */
const REFERENCES_MAX = 100;

export interface Threadable {
  readonly messageId: string | null;
  readonly inReplyTo: string | null;
  readonly references: readonly string[];
  readonly subject: string;
}

/** Finds, merges or creates the thread of a message. @returns its number. */
export function assignThread(sql: SqlStorage, message: Threadable, now: number): number {
  const ids = listIds(message);
  const { base, isReply } = toBaseSubject(message.subject);
  const namesParent = message.inReplyTo !== null || message.references.length > 0;
  let found = findThreads(sql, ids);
  if (found.length === 0 && !namesParent && base !== '') found = findBySubject(sql, base, isReply);
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

function findBySubject(sql: SqlStorage, base: string, isReply: boolean): number[] {
  const row = first<{ thread: number }>(
    sql,
    `SELECT thread FROM thread WHERE base_subject = ? AND merged_into IS NULL ${isReply ? '' : 'AND lacks_root = 1'}
     ORDER BY thread DESC LIMIT 1`,
    base,
  );
  return row ? [row.thread] : [];
}

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
