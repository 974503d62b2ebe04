/** Reads folders and messages for mail programs: UIDs, keywords, and changes since a state. */
import { FLAG_COLUMNS, type FlagColumn, toFlags } from '../../../workers/mail/domain/message-flags.ts';
import { execute, type RowOf, statement } from '../../../workers/shared/stores/statement.ts';
import type { Change } from '../contract/changes.ts';
import type { FolderRow } from '../contract/folders.ts';
import type {
  ImapAccount,
  ImapChanges,
  ImapFolder,
  ImapMessage,
  ImapPage,
  ImapSource,
  ImapState,
} from '../contract/imap.ts';
import type { MailboxRow } from '../contract/mailbox.ts';
import { readState } from '../database/change-store.ts';
import { executeFirst, first } from '../database/store.ts';
import { findFolder, isView, listFolders } from '../messages/folder-store.ts';
import { DRAFT_LABEL } from '../messages/label-store.ts';
import { LABELS_SQL, type MessageRow } from '../messages/message-row-store.ts';
import { findMessage } from '../messages/message-store.ts';
import type { folder, messageFolder } from '../messages/schema.ts';
import { readUidValidity } from '../messages/uid-validity-store.ts';

/** Maximum of change records that one answer reads. After more, the client lists the folder again, which is cheaper. */
const CHANGES_READ_MAX = 50_000;

/** @returns a folder that holds messages; null for a view, or if there is none. */
export function findImapFolder(sql: SqlStorage, key: string): FolderRow | null {
  const found = findFolder(sql, key);
  return found && !isView(found) ? found : null;
}

export const readImapState = (sql: SqlStorage): ImapState => ({
  uidValidity: readUidValidity(sql),
  state: readState(sql),
});

type ArrangedRow = Pick<RowOf<typeof folder>, 'folder' | 'is_subscribed' | 'uid_next'>;
const listArranged = statement<Record<never, never>, ArrangedRow>('SELECT folder, is_subscribed, uid_next FROM folder');
const findNext = statement<{ folder: number }, { uid_next: number }>(
  'SELECT uid_next FROM folder WHERE folder = :folder',
);

/** Lists the folders that hold messages. */
export function readImapAccount(sql: SqlStorage, { accountType }: MailboxRow): ImapAccount {
  const arranged = new Map([...execute(sql, listArranged, {})].map((row) => [row.folder, row]));
  const folders = listFolders(sql)
    .filter((row) => !isView(row))
    .map(
      (row): ImapFolder => ({
        folderId: row.folder_id,
        name: row.name,
        role: row.role,
        total: row.total,
        unread: row.unread,
        isSubscribed: arranged.get(row.folder)?.is_subscribed !== 0,
        uidNext: arranged.get(row.folder)?.uid_next ?? 1,
      }),
    );
  return { ...readImapState(sql), accountType, folders };
}

export const readUidNext = (sql: SqlStorage, { folder }: FolderRow): number =>
  executeFirst(sql, findNext, { folder })?.uid_next ?? 1;

type Row = Pick<MessageRow, 'message_id' | 'size_bytes' | 'received_at' | 'origin' | FlagColumn> &
  Pick<RowOf<typeof messageFolder>, 'uid' | 'is_deleted'> & { raw_key: string | null; labels: string };
const ROW_SQL = `SELECT p.uid, p.is_deleted, m.message_id, m.size_bytes, m.received_at, m.origin, m.raw_key,
     ${FLAG_COLUMNS.map((name) => `m.${name}`).join(', ')}, ${LABELS_SQL} AS labels
   FROM message_folder AS p CROSS JOIN message AS m ON m.position = p.position`;
const listAfterUid = statement<{ folder: number; afterUid: number; limit: number }, Row>(
  `${ROW_SQL} WHERE p.folder = :folder AND p.uid > :afterUid ORDER BY p.uid LIMIT :limit`,
);
const findAt = statement<{ folder: number; position: number }, Row>(
  `${ROW_SQL} WHERE p.folder = :folder AND p.position = :position`,
);

/** Lists messages of a folder after a UID, in the order of UIDs. */
export function listImapMessages(sql: SqlStorage, place: FolderRow, afterUid: number, limit: number): ImapPage {
  const rows = [...execute(sql, listAfterUid, { folder: place.folder, afterUid, limit: limit + 1 })];
  const page = rows.slice(0, limit);
  const modseqOf = readModseqs(sql, null);
  return {
    ...readImapState(sql),
    uidNext: readUidNext(sql, place),
    messages: page.map((row) => toImapMessage(row, modseqOf)),
    nextAfterUid: rows.length > limit ? (page.at(-1)?.uid ?? null) : null,
  };
}

/** @returns those of the messages that are in the folder. */
export function readImapMessages(sql: SqlStorage, place: FolderRow, messageIds: readonly string[]): ImapMessage[] {
  const modseqOf = readModseqs(sql, messageIds);
  return messageIds.flatMap((id) => {
    const message = findMessage(sql, id);
    const row = message && executeFirst(sql, findAt, { folder: place.folder, position: message.position });
    return row ? [toImapMessage(row, modseqOf)] : [];
  });
}

function toImapMessage(row: Row, modseqOf: (messageId: string) => number): ImapMessage {
  const labels = JSON.parse(row.labels) as string[];
  return {
    ...toFlags(row),
    uid: row.uid ?? 0,
    messageId: row.message_id,
    isDraft: row.origin === 'draft' || labels.includes(DRAFT_LABEL),
    isDeleted: row.is_deleted === 1,
    labels: labels.filter((label) => label !== DRAFT_LABEL),
    sizeBytes: row.size_bytes,
    receivedAt: row.received_at,
    modseq: modseqOf(row.message_id),
    isComposed: row.raw_key === null,
  };
}

/** Number of the last change that is no longer in the log. */
export const readFloor = (sql: SqlStorage): number =>
  first<{ floor: number }>(sql, 'SELECT state_floor AS floor FROM mailbox WHERE id = 1')?.floor ?? 0;

const IS_MESSAGE = `json_extract(body, '$.type') IN ('message_created', 'message_updated', 'message_deleted')`;
const listLast = statement<{ ids: string | null }, { id: string | null; state: number }>(
  `SELECT json_extract(body, '$.message_id') AS id, max(state) AS state FROM change WHERE ${IS_MESSAGE}
     AND (:ids IS NULL OR json_extract(body, '$.message_id') IN (SELECT value FROM json_each(:ids))) GROUP BY id`,
);

/**
 * Reads the number of the last change of messages from the change log, so no row stores it.
 * @param messageIds null for all messages.
 */
function readModseqs(sql: SqlStorage, messageIds: readonly string[] | null): (messageId: string) => number {
  const floor = Math.max(1, readFloor(sql));
  const ids = messageIds === null ? null : JSON.stringify(messageIds);
  const last = new Map([...execute(sql, listLast, { ids })].map((row) => [row.id, row.state]));
  return (messageId) => last.get(messageId) ?? floor;
}

type ChangeRow = { state: number; body: string };
const listSince = statement<{ since: number; limit: number }, ChangeRow>(
  `SELECT state, body FROM change WHERE state > :since AND ${IS_MESSAGE} ORDER BY state LIMIT :limit`,
);

/** @returns the messages of a folder that changed since a state, and those that left it. */
export function readImapChanges(sql: SqlStorage, place: FolderRow, since: number): ImapChanges {
  const state = readImapState(sql);
  const empty = { ...state, uidNext: readUidNext(sql, place), isResync: true, messages: [], gone: [] };
  if (since < readFloor(sql) || since > state.state) return empty;
  const ids = new Set<string>();
  let read = 0;
  for (const { body } of execute(sql, listSince, { since, limit: CHANGES_READ_MAX + 1 })) {
    const change = JSON.parse(body) as Change;
    if (change.message_id !== undefined && mayBeIn(change, place.folder_id)) ids.add(change.message_id);
    read += 1;
  }
  if (read > CHANGES_READ_MAX) return empty;
  const messages = readImapMessages(sql, place, [...ids]);
  const present = new Set(messages.map(({ messageId }) => messageId));
  return { ...empty, isResync: false, messages, gone: [...ids].filter((id) => !present.has(id)) };
}

/** False if the change shows that its message was not in the folder, neither before it nor after it. */
export const mayBeIn = ({ folder_id, folder_ids = [], left_folder_ids = [] }: Change, folderId: string): boolean =>
  folder_id === undefined || [folder_id, ...folder_ids, ...left_folder_ids].includes(folderId);

/** @returns the ids of messages that changed after a state; null if the log does not have all changes since. */
export function listChangedSince(sql: SqlStorage, since: number): ReadonlySet<string> | null {
  if (since < readFloor(sql)) return null;
  const rows = execute(sql, listSince, { since, limit: CHANGES_READ_MAX });
  return new Set([...rows].flatMap(({ body }) => (JSON.parse(body) as Change).message_id ?? []));
}

const findSource = statement<{ position: number }, { raw_key: string | null; structure: string | null }>(
  `SELECT m.raw_key, (SELECT c.structure FROM message_content AS c WHERE c.position = m.position) AS structure
   FROM message AS m WHERE m.position = :position`,
);

/** @returns where the bytes of those of the messages are that exist. */
export const readImapSources = (sql: SqlStorage, messageIds: readonly string[]): ImapSource[] =>
  messageIds.flatMap((id) => {
    const message = findMessage(sql, id);
    if (!message) return [];
    const { raw_key, structure } = execute(sql, findSource, { position: message.position }).one();
    return [{ messageId: message.message_id, rawKey: raw_key, structure }];
  });
