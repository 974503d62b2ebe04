/**
 * Rebuilds a message's derived data (texts, attachments, search terms, summary) from a new parse. The thread of the message stays
 * the same.
 */
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import { execute, statement } from '../../../workers/shared/stores/statement.ts';
import type { ParsedMessage } from '../contract/delivered-message.ts';
import type { RebuildSource } from '../contract/recovery.ts';
import { recordChange } from '../database/change-store.ts';
import { addGarbage, first } from '../database/store.ts';
import { findMessage, listStoredKeys, toParsedColumns, writeContent } from './message-store.ts';
import { formatThreadId, keepReferences } from './thread-store.ts';

/** Lists messages after a position that have a raw form, oldest first. */
export function listRebuildSources(sql: SqlStorage, after: number, limit: number): RebuildSource[] {
  const rows = sql.exec<{ position: number; message_id: string; raw_key: string; origin: string }>(
    `SELECT position, message_id, raw_key, origin FROM message WHERE position > ? AND raw_key IS NOT NULL
     ORDER BY position LIMIT ?`,
    after,
    limit,
  );
  return [...rows].map((row) => ({
    position: row.position,
    messageId: row.message_id,
    rawKey: row.raw_key,
    isSent: row.origin === 'sent',
  }));
}

type ParsedColumns = ReturnType<typeof toParsedColumns>;
const updateParsed = statement<ParsedColumns & { position: number }>(
  `UPDATE message SET has_attachment = :has_attachment, sent_at = :sent_at, sender = :sender, to_list = :to_list, cc_list = :cc_list,
     bcc_list = :bcc_list, reply_to_list = :reply_to_list, subject = :subject, preview = :preview,
     header_message_id = :header_message_id, in_reply_to = :in_reply_to, reference_list = :reference_list
   WHERE position = :position`,
);

/** Replaces the derived data of a message. Keeps folder, flags, labels and Bcc, which are not in the raw bytes. Idempotent. */
export function rebuildMessage(
  sql: SqlStorage,
  messageId: string,
  parsed: ParsedMessage,
  now: number,
): Result<null, { readonly kind: 'not_found' }> {
  const message = findMessage(sql, messageId);
  if (!message) return err({ kind: 'not_found' });
  const { position } = message;
  const kept = first<{ bcc_list: string }>(sql, 'SELECT bcc_list FROM message WHERE position = ?', position);
  const bcc = message.origin === 'sent' ? (JSON.parse(kept?.bcc_list ?? '[]') as ParsedMessage['bcc']) : parsed.bcc;
  const held = listStoredKeys(sql, position);
  keepReferences(sql, message.thread, parsed);
  execute(sql, updateParsed, { ...toParsedColumns({ ...parsed, bcc }), position });
  writeContent(sql, position, { ...parsed, bcc });
  const holds = new Set(listStoredKeys(sql, position));
  addGarbage(
    sql,
    held.filter((key) => !holds.has(key)),
    now,
  );
  const thread_id = formatThreadId(message.thread);
  recordChange(sql, { type: 'message_updated', message_id: messageId, thread_id }, now);
  return ok(null);
}
