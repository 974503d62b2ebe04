/** Reads messages in order for an export. Also finds the messages that an import can skip. */
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import type { MailAddress } from '../contract/delivered-message.ts';
import type { ExportedMessage } from '../contract/messages.ts';
import { first } from '../database/store.ts';
import { findFolder, isView } from './folder-store.ts';
import { listLabels } from './label-store.ts';
import type { MessageRow } from './message-row-store.ts';
import { findMessage } from './message-store.ts';

/** @returns those of the given hashes that belong to stored messages. */
export const listKnownRaws = (sql: SqlStorage, rawSha256s: readonly string[]): string[] =>
  rawSha256s.filter(
    (sha256) => first(sql, 'SELECT 1 AS found FROM message WHERE raw_sha256 = ? LIMIT 1', sha256) !== null,
  );

type ExportRow = Pick<MessageRow, 'position' | 'message_id' | 'received_at' | 'sender' | 'is_read' | 'is_flagged'> & {
  raw_key: string;
  name: string;
};

/**
 * Lists messages, oldest first, without drafts, which have no raw form.
 * @param folderKey id or role of the folder; null for all mail.
 * @param afterId starts after the message with this id.
 * @param position continues after this position.
 */
export function listForExport(
  sql: SqlStorage,
  folderKey: string | null,
  afterId: string | null,
  position: number | null,
  limit: number,
): Result<ExportedMessage[], { readonly kind: 'not_found' }> {
  const folder = folderKey === null ? null : findFolder(sql, folderKey);
  if (folderKey !== null && (!folder || isView(folder))) return err({ kind: 'not_found' });
  const after = afterId === null ? null : findMessage(sql, afterId);
  if (afterId !== null && !after) return err({ kind: 'not_found' });
  const rows = sql.exec<ExportRow>(
    `SELECT m.position, m.message_id, m.raw_key, m.received_at, m.sender, m.is_read, m.is_flagged, f.name
     FROM ${folder ? 'message_folder AS p CROSS JOIN message AS m ON m.position = p.position' : 'message AS m'}
     CROSS JOIN folder AS f ON f.folder = m.folder
     WHERE ${folder ? `p.folder = ${folder.folder} AND p.position` : 'm.position'} > ? AND m.raw_key IS NOT NULL
     ORDER BY ${folder ? 'p' : 'm'}.position LIMIT ?`,
    position ?? after?.position ?? -1,
    limit,
  );
  return ok(
    [...rows].map((row) => ({
      position: row.position,
      messageId: row.message_id,
      rawKey: row.raw_key,
      receivedAt: row.received_at,
      sender: (JSON.parse(row.sender) as MailAddress | null)?.email ?? '',
      isRead: row.is_read === 1,
      isFlagged: row.is_flagged === 1,
      labels: listLabels(sql, row.position),
      folder: row.name,
    })),
  );
}
