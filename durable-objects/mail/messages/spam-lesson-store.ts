/**
 * Training of the user's spam model. A move into or out of Junk only writes a lesson; a wake trains the model with it later. So a
 * move never waits for the raw message.
 */

import type { FolderRow } from '../contract/folders.ts';
import type { SpamLesson } from '../contract/jobs.ts';
import { first, readMailbox } from '../database/store.ts';

/**
 * @returns the lesson of a move, or null. A move to Junk is a lesson, and so is a move out of Junk. A move from Junk to Trash is
 * none: emptying Junk says nothing about the message.
 */
export function decideLesson(from: FolderRow, to: FolderRow): 'junk' | 'ham' | null {
  if (from.role === to.role) return null;
  if (to.role === 'junk') return 'junk';
  return from.role === 'junk' && to.role !== 'trash' ? 'ham' : null;
}

/** Adds a lesson. Replaces an older lesson about the same message. */
export function addLesson(sql: SqlStorage, messageId: string, label: 'junk' | 'ham'): void {
  sql.exec('INSERT OR REPLACE INTO spam_lesson (message_id, label) VALUES (?, ?)', messageId, label);
}

/** @returns the user's spam model; null before the first training. */
export function readSpamModel(sql: SqlStorage): Uint8Array | null {
  const row = first<{ model: ArrayBuffer }>(sql, 'SELECT model FROM spam_model WHERE id = 1');
  return row ? new Uint8Array(row.model) : null;
}

/** @returns the oldest lessons that wait for training. */
export function listLessons(sql: SqlStorage, limit: number): SpamLesson[] {
  const rows = sql.exec<{ message_id: string; label: 'junk' | 'ham'; raw_key: string | null }>(
    `SELECT l.message_id, l.label, m.raw_key FROM spam_lesson l LEFT JOIN message m ON m.message_id = l.message_id
     ORDER BY l.rowid LIMIT ?`,
    limit,
  );
  return [...rows].map((row) => ({ messageId: row.message_id, label: row.label, rawKey: row.raw_key }));
}

/** Query of when lessons are due: at once, if there is one. */
export const LESSONS_DUE_AT = 'SELECT 0 FROM spam_lesson LIMIT 1';

/**
 * Stores the trained model and removes its lessons. Keeps a lesson that was replaced during the training. Does nothing if the
 * mailbox was erased.
 */
export function finishLessons(sql: SqlStorage, lessons: readonly SpamLesson[], model: Uint8Array | null): void {
  if (!readMailbox(sql)) return;
  if (model) sql.exec('INSERT OR REPLACE INTO spam_model (id, model) VALUES (1, ?)', model);
  for (const { messageId, label } of lessons) {
    sql.exec('DELETE FROM spam_lesson WHERE message_id = ? AND label = ?', messageId, label);
  }
}
