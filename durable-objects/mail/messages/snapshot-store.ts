/**
 * Snapshots of the facts that raw mail lacks: folders, flags, labels and ids. An hour after the first change, each changed page is
 * written to R2. A lost mailbox is therefore rebuilt as it was at most about an hour before. A page covers the mail of 25 days.
 *
 * R2 keys contain the time when the mailbox was created. A mailbox that replaces a lost one therefore never overwrites the lost
 * one's snapshots.
 */

import { createHash } from 'node:crypto';
import { FLAG_COLUMNS, type FlagColumn, toFlags } from '../../../workers/mail/domain/message-flags.ts';
import { execute, type RowOf, statement } from '../../../workers/shared/stores/statement.ts';
import type { MailboxRow } from '../contract/mailbox.ts';
import type { FolderState, MessageSnapshot } from '../contract/recovery.ts';
import { executeFirst, first } from '../database/store.ts';
import { createFolder, findFolder, findFolderByName } from './folder-store.ts';
import { LABELS_SQL, type MessageRow } from './message-row-store.ts';
import { foldersOf } from './message-store.ts';
import type { snapshot } from './snapshot-schema.ts';
import { readUidValidity } from './uid-validity-store.ts';

const SNAPSHOT_AFTER_MS = 3_600_000;
const PAGE_MICROSECONDS = 2 ** 41;

export interface SnapshotPage {
  readonly page: string;
  readonly r2Key: string;
  readonly sha256: string;
  readonly body: string;
}

const findState = statement<Record<never, never>, { state: number }>(
  "SELECT state FROM snapshot WHERE page = 'folders'",
);
const firstAfter = statement<{ state: number }, { at: number }>(
  'SELECT changed_at AS at FROM change WHERE state > :state ORDER BY state LIMIT 1',
);

/** @returns the time of the next snapshot: an hour after the first change that the last snapshot lacks; null if it lacks none. */
export function nextSnapshotAt(sql: SqlStorage): number | null {
  const { state } = executeFirst(sql, findState, {}) ?? { state: 0 };
  const change = executeFirst(sql, firstAfter, { state });
  return change && change.at + SNAPSHOT_AFTER_MS;
}

const findPage = statement<{ page: string }, Pick<RowOf<typeof snapshot>, 'sha256'>>(
  'SELECT sha256 FROM snapshot WHERE page = :page',
);
const listFolderStates = statement<
  Record<never, never>,
  { folder: number; id: string; role: string | null; name: string }
>('SELECT folder, folder_id AS id, role, name FROM folder ORDER BY folder');
const nextPosition = statement<{ from: number }, { at: number | null }>(
  'SELECT min(position) AS at FROM message WHERE position >= :from',
);
type StateRow = Pick<MessageRow, 'message_id' | 'received_at' | 'folder' | 'also_in' | 'snoozed_until' | FlagColumn> & {
  raw_key: string;
  labels: string;
  uids: string;
};
const listStates = statement<{ from: number; until: number }, StateRow>(
  `SELECT message_id, raw_key, received_at, folder, also_in, ${FLAG_COLUMNS.join(', ')}, snoozed_until, ${LABELS_SQL} AS labels,
     (SELECT json_group_object(p.folder, p.uid) FROM message_folder AS p WHERE p.position = m.position AND
        (p.folder = m.folder OR p.folder IN (SELECT value FROM json_each(m.also_in)))) AS uids
   FROM message AS m WHERE position >= :from AND position < :until AND raw_key IS NOT NULL ORDER BY position`,
);

/** Yields the pages whose content changed since they were written, one at a time, the page with the folders last. */
export function* listChangedPages(sql: SqlStorage, mailbox: MailboxRow): Generator<SnapshotPage> {
  const createdAt = first<{ at: number }>(sql, 'SELECT created_at AS at FROM mailbox')?.at ?? 0;
  const folders = [...execute(sql, listFolderStates, {})];
  const uidValidity = readUidValidity(sql);
  const idOf = new Map(folders.map(({ folder, id }) => [folder, id]));
  const toPage = (page: string, content: unknown): SnapshotPage[] => {
    const body = JSON.stringify(content);
    const sha256 = createHash('sha256').update(body).digest('hex');
    if (executeFirst(sql, findPage, { page })?.sha256 === sha256) return [];
    return [{ page, r2Key: `mail/${mailbox.userId}/snapshot/${createdAt}-${page}`, sha256, body }];
  };
  const after = (from: number) => execute(sql, nextPosition, { from }).one().at;
  for (let at = after(0); at !== null; ) {
    const number = Math.floor(at / PAGE_MICROSECONDS);
    const until = (number + 1) * PAGE_MICROSECONDS;
    const rows = [...execute(sql, listStates, { from: number * PAGE_MICROSECONDS, until })];
    yield* toPage(
      String(number),
      rows.map((row) => toSnapshot(row, idOf)),
    );
    at = after(until);
  }
  yield* toPage(
    'folders',
    folders.map(({ folder: _, ...state }) => ({ ...state, uidValidity })),
  );
}

function toSnapshot(row: StateRow, idOf: ReadonlyMap<number, string>): MessageSnapshot {
  const uids = JSON.parse(row.uids) as Readonly<Record<string, number | null>>;
  const folders = foldersOf(row).filter((folder) => idOf.has(folder));
  return {
    id: row.message_id,
    rawKey: row.raw_key,
    receivedAt: row.received_at,
    folders: folders.flatMap((folder) => idOf.get(folder) ?? []),
    ...toFlags(row),
    snoozedUntil: row.snoozed_until,
    labels: JSON.parse(row.labels) as string[],
    uids: folders.map((folder) => uids[folder] ?? null),
  };
}

const savePage = statement<Omit<SnapshotPage, 'body'>>(
  `INSERT INTO snapshot (page, r2_key, sha256, state) VALUES (:page, :r2Key, :sha256, 0)
   ON CONFLICT (page) DO UPDATE SET sha256 = :sha256`,
);
const saveState = statement<{ state: number }>("UPDATE snapshot SET state = :state WHERE page = 'folders'");

/** Records that a quorum of the locations has the page. */
export const markPageSaved = (sql: SqlStorage, { page, r2Key, sha256 }: SnapshotPage): void => {
  execute(sql, savePage, { page, r2Key, sha256 });
};

/** Records that the snapshot in R2 includes everything up to a change. */
export const markSnapshot = (sql: SqlStorage, state: number): void => {
  execute(sql, saveState, { state });
};

const setId = statement<{ id: string; role: string }>('UPDATE folder SET folder_id = :id WHERE role = :role');
const setOwnId = statement<{ id: string; folder: number }>('UPDATE folder SET folder_id = :id WHERE folder = :folder');

/** Gives a new mailbox the folders of a lost mailbox, with their ids. Idempotent. */
export function restoreFolders(sql: SqlStorage, folders: readonly FolderState[], now: number): void {
  for (const { id, role, name } of folders) {
    if (findFolder(sql, id)) continue;
    if (role !== null) execute(sql, setId, { id, role });
    else {
      createFolder(sql, name, now);
      const made = findFolderByName(sql, name);
      if (made && made.role === null) execute(sql, setOwnId, { id, folder: made.folder });
    }
  }
}
