/**
 * What the user teaches the spam check by moving mail into and out of Junk: lessons that wait, and the model made of those before.
 * A lesson is written with the move; a wake learns it, so that a move never waits for the raw message.
 */
import { getBlob } from '../../workers/mail/blobs.ts';
import { readTokens, trainUserModel } from '../../workers/mail/checks/index.ts';
import type { FolderRow } from './folder-store.ts';
import { type Database, first, scheduleWake } from './store.ts';

export const SPAM_LESSONS_WAKE = 'spam_lessons';
/** Enough for all the text that the classifier reads; attachments teach nothing. */
const LESSON_BYTES_MAX = 1024 * 1024;

/** To Junk is a lesson, and out of it, save to Trash: who empties Junk says nothing about it. */
export function decideLesson(from: FolderRow, to: FolderRow): 'junk' | 'ham' | null {
  if (from.role === to.role) return null;
  if (to.role === 'junk') return 'junk';
  return from.role === 'junk' && to.role !== 'trash' ? 'ham' : null;
}

/** The newest word on a message counts. */
export function addLesson(sql: SqlStorage, messageId: string, label: 'junk' | 'ham', now: number): void {
  sql.exec('INSERT OR REPLACE INTO spam_lesson (message_id, label) VALUES (?, ?)', messageId, label);
  scheduleWake(sql, SPAM_LESSONS_WAKE, now);
}

/** @returns the user's model, null before the first lesson. */
export function readSpamModel(sql: SqlStorage): Uint8Array | null {
  const row = first<{ model: ArrayBuffer }>(sql, 'SELECT model FROM spam_model WHERE id = 1');
  return row ? new Uint8Array(row.model) : null;
}

/** Learns what waits, one message after another; a throw (a store is down) leaves the rest for the next time. */
export async function learnLessons({ sql, transaction }: Database, env: Env): Promise<void> {
  const next = () =>
    first<{ message_id: string; label: 'junk' | 'ham'; raw_key: string | null }>(
      sql,
      `SELECT l.message_id, l.label, m.raw_key FROM spam_lesson l LEFT JOIN message m ON m.message_id = l.message_id
       ORDER BY l.rowid LIMIT 1`,
    );
  for (let lesson = next(); lesson !== null; lesson = next()) {
    const { message_id: messageId, label, raw_key: rawKey } = lesson;
    const stored = rawKey === null ? null : await getBlob(env, rawKey, { offset: 0, length: LESSON_BYTES_MAX });
    const tokens = stored ? readTokens(new Uint8Array(await stored.arrayBuffer())) : null;
    transaction(() => {
      if (tokens) writeSpamModel(sql, trainUserModel(readSpamModel(sql), tokens, label));
      // A new word on the same message meanwhile stays.
      sql.exec('DELETE FROM spam_lesson WHERE message_id = ? AND label = ?', messageId, label);
    });
  }
}

function writeSpamModel(sql: SqlStorage, model: Uint8Array): void {
  sql.exec('INSERT OR REPLACE INTO spam_model (id, model) VALUES (1, ?)', model);
}
