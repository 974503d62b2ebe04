/** Folders and their counts. Eight folders have roles and always exist. All and Flagged are views. */
import { toNameKey } from '../../../workers/mail/domain/folder-name.ts';
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import { execute, type RowOf, statement } from '../../../workers/shared/stores/statement.ts';
import { FOLDER_ROLES, type FolderError, type FolderRole, type FolderRow, VIEW_ROLES } from '../contract/folders.ts';
import { recordChange } from '../database/change-store.ts';
import { executeFirst, readRows } from '../database/store.ts';
import type { folder } from './schema.ts';

const ROLE_NAMES: Record<FolderRole, string> = {
  inbox: 'Inbox',
  all: 'All',
  archive: 'Archive',
  drafts: 'Drafts',
  flagged: 'Flagged',
  junk: 'Junk',
  sent: 'Sent',
  trash: 'Trash',
};
export const FOLDERS_MAX = 1_000;

type StoredFolder = Pick<RowOf<typeof folder>, keyof FolderRow>;

const COLUMNS = 'folder, folder_id, name, role, total, unread';
const insertRole = statement<{ folderId: string; name: string; nameKey: string; role: FolderRole; now: number }>(
  `INSERT OR IGNORE INTO folder (folder_id, name, name_key, role, created_at)
   VALUES (:folderId, :name, :nameKey, :role, :now)`,
);

export function createRoleFolders(sql: SqlStorage, now: number): void {
  for (const role of FOLDER_ROLES) {
    const name = ROLE_NAMES[role];
    execute(sql, insertRole, { folderId: crypto.randomUUID(), name, nameKey: toNameKey(name), role, now });
  }
}

type CountedRow = StoredFolder & { total_elsewhere: number; unread_elsewhere: number };
const listAll = statement<Record<never, never>, CountedRow>(
  `SELECT ${COLUMNS}, total_elsewhere, unread_elsewhere FROM folder ORDER BY role IS NULL, folder, name_key`,
);

/**
 * Lists Inbox first, then the other folders with roles in RFC 6154's order, then the user's folders by name. Views have counts of
 * their own.
 */
export function listFolders(sql: SqlStorage): FolderRow[] {
  const rows = [...readRows(execute(sql, listAll, {}))];
  const own = rows.filter((row) => row.role === null).sort((a, b) => (toNameKey(a.name) < toNameKey(b.name) ? -1 : 1));
  const visible = rows.filter((row) => row.role !== 'junk' && row.role !== 'trash' && !isView(row));
  const all = {
    total: visible.reduce((sum, row) => sum + row.total - row.total_elsewhere, 0),
    unread: visible.reduce((sum, row) => sum + row.unread - row.unread_elsewhere, 0),
  };
  return [...rows.filter((row) => row.role !== null), ...own].map(
    ({ total_elsewhere: _, unread_elsewhere: __, ...row }) => (row.role === 'all' ? { ...row, ...all } : row),
  );
}

export const isView = (folder: { role: FolderRole | null }): boolean =>
  folder.role !== null && VIEW_ROLES.includes(folder.role);
/** True for Junk and Trash. Their messages are not in All, nor in a search that names no folder, and are erased after 30 days. */
export const isHidden = (folder: { role: FolderRole | null }): boolean =>
  folder.role === 'junk' || folder.role === 'trash';

const findByKey = statement<{ key: string }, StoredFolder>(
  `SELECT ${COLUMNS} FROM folder WHERE folder_id = :key OR role = :key`,
);
const findByNumber = statement<{ folder: number }, StoredFolder>(
  `SELECT ${COLUMNS} FROM folder WHERE folder = :folder`,
);
const findByName = statement<{ nameKey: string }, StoredFolder>(
  `SELECT ${COLUMNS} FROM folder WHERE name_key = :nameKey`,
);

/** @param key id or role of the folder. @returns the folder; null if there is none. */
export const findFolder = (sql: SqlStorage, key: string): FolderRow | null => executeFirst(sql, findByKey, { key });

export function findFolderByNumber(sql: SqlStorage, folder: number): FolderRow {
  const row = executeFirst(sql, findByNumber, { folder });
  if (!row) throw new Error(`folder ${folder} has messages but no row`);
  return row;
}

export const findFolderByName = (sql: SqlStorage, name: string): FolderRow | null =>
  executeFirst(sql, findByName, { nameKey: toNameKey(name) });

/** @returns the folder with a role, name or id, in this order of precedence; null if there is none. */
export const findNamedFolder = (sql: SqlStorage, name: string): FolderRow | null =>
  findFolder(sql, name.toLowerCase()) ?? findFolderByName(sql, name) ?? findFolder(sql, name);

const addCounts = statement<Counted & { folder: number; uidNext: number }>(
  `UPDATE folder SET uid_next = max(uid_next, :uidNext), total = total + :total, unread = unread + :unread, total_elsewhere = total_elsewhere + :totalElsewhere,
     unread_elsewhere = unread_elsewhere + :unreadElsewhere, bytes = bytes + :bytes, delivered = delivered + :delivered WHERE folder = :folder`,
);
const addFlaggedCounts = statement<{ total: number; unread: number }>(
  `UPDATE folder SET total = total + :total, unread = unread + :unread WHERE role = 'flagged'`,
);

/** Counts that a message adds to a folder. */
type Counted = {
  readonly total: number;
  readonly unread: number;
  readonly totalElsewhere: number;
  readonly unreadElsewhere: number;
  readonly bytes: number;
  readonly delivered: number;
};

/** The folders of a message, its first folder first, and the facts that the folders' counts depend on. */
export interface Place {
  readonly folders: readonly number[];
  readonly isUnread: boolean;
  readonly sizeBytes: number;
  /** True for an accepted message that is being stored now. Its first folder counts it as delivered. */
  readonly isDelivered?: boolean;
  /** UID of the message in the folders that it joins. */
  readonly uid?: number;
}

function countIn(folder: number, place: Place | null): Counted {
  const at = place?.folders.indexOf(folder) ?? -1;
  const [total, elsewhere] = [Number(at >= 0), Number(at > 0)];
  const unread = Number(place?.isUnread ?? false);
  return {
    total,
    unread: total * unread,
    totalElsewhere: elsewhere,
    unreadElsewhere: elsewhere * unread,
    bytes: at === 0 ? (place?.sizeBytes ?? 0) : 0,
    delivered: Number(at === 0 && (place?.isDelivered ?? false)),
  };
}

/**
 * Updates the counts of all folders that a message left, joined or stayed in.
 * @param before null for a new message.
 * @param after null for an erased message.
 */
export function updateCounts(sql: SqlStorage, before: Place | null, after: Place | null): void {
  for (const folder of new Set([...(before?.folders ?? []), ...(after?.folders ?? [])])) {
    const [was, is] = [countIn(folder, before), countIn(folder, after)];
    const added = {
      total: is.total - was.total,
      unread: is.unread - was.unread,
      totalElsewhere: is.totalElsewhere - was.totalElsewhere,
      unreadElsewhere: is.unreadElsewhere - was.unreadElsewhere,
      bytes: is.bytes - was.bytes,
      delivered: is.delivered,
    };
    if (Object.values(added).every((count) => count === 0)) continue;
    const uidNext = added.total > 0 && after?.uid !== undefined ? after.uid + 1 : 0;
    execute(sql, addCounts, { folder, uidNext, ...added });
  }
}

/** Changes the counts of the view Flagged. They include flagged messages outside Junk and Trash. */
export function addToFlaggedCounts(sql: SqlStorage, total: number, unread: number): void {
  if (total === 0 && unread === 0) return;
  execute(sql, addFlaggedCounts, { total, unread });
}

const countAll = statement<Record<never, never>, { count: number }>('SELECT count(*) AS count FROM folder');
const insert = statement<{ folderId: string; name: string; nameKey: string; now: number }>(
  'INSERT INTO folder (folder_id, name, name_key, created_at) VALUES (:folderId, :name, :nameKey, :now)',
);

/** Validates a path, then creates the folder and its missing parents. */
export function createFolder(sql: SqlStorage, name: string, now: number): Result<FolderRow, FolderError> {
  const fault = findNameFault(name);
  if (fault) return err({ kind: 'bad_folder_name', reason: fault });
  if (findFolderByName(sql, name)) return err({ kind: 'folder_exists' });
  const parts = name.split('/');
  if (execute(sql, countAll, {}).one().count + parts.length > FOLDERS_MAX)
    return err({ kind: 'too_many_folders', max: FOLDERS_MAX });
  let path = '';
  for (const part of parts) {
    path = path === '' ? part : `${path}/${part}`;
    const existing = findFolderByName(sql, path);
    if (existing) {
      // If a folder of the path exists, its spelling is kept, and new subfolders get the same spelling of the path.
      path = existing.name;
      continue;
    }
    const folderId = crypto.randomUUID();
    execute(sql, insert, { folderId, name: path, nameKey: toNameKey(path), now });
    recordChange(sql, { type: 'folder_created', folder_id: folderId }, now);
  }
  const created = findFolderByName(sql, name);
  return created ? ok(created) : err({ kind: 'no_folder' });
}

/**
 * @returns why a path is invalid, or null. A path has at most 10 parts of at most 100 characters each and no control characters,
 * and is not under a view.
 */
export function findNameFault(name: string): string | null {
  const parts = name.split('/');
  if (parts.length > 10) return 'Folders can be nested at most 10 deep.';
  for (const part of parts) {
    if (part === '' || part !== part.trim()) return 'No part of the name may be empty, or begin or end with a space.';
    if (part.length > 100) return 'Each part of the name may have at most 100 characters.';
    if (/[\p{C}\p{Zl}\p{Zp}]/u.test(part)) return 'The name contains a character that cannot be displayed.';
  }
  // The full-width slash "／" folds to "/", which would split one part in two.
  if (toNameKey(name).split('/').length !== parts.length)
    return 'The name contains a character that is equivalent to "/".';
  const root = toNameKey(parts[0] ?? '');
  if (VIEW_ROLES.some((role) => toNameKey(ROLE_NAMES[role]) === root)) return 'A view cannot contain folders.';
  return null;
}

const setKey = statement<{ folder: number; nameKey: string }>(
  'UPDATE folder SET name_key = :nameKey WHERE folder = :folder',
);
const setName = statement<{ folder: number; name: string; nameKey: string }>(
  'UPDATE folder SET name = :name, name_key = :nameKey WHERE folder = :folder',
);

/** Renames a folder that the user created, and everything under it. */
export function renameFolder(sql: SqlStorage, key: string, name: string, now: number): Result<FolderRow, FolderError> {
  const folder = findFolder(sql, key);
  if (!folder) return err({ kind: 'no_folder' });
  if (folder.role !== null) return err({ kind: 'folder_fixed' });
  const fault = findNameFault(name);
  if (fault) return err({ kind: 'bad_folder_name', reason: fault });
  if (toNameKey(name).startsWith(`${toNameKey(folder.name)}/`))
    return err({ kind: 'bad_folder_name', reason: 'A folder cannot be moved into itself.' });
  const moving = listSubtree(sql, folder);
  const movingIds = new Set(moving.map((row) => row.folder));
  const targets = moving.map((row) => ({ row, name: name + row.name.slice(folder.name.length) }));
  for (const target of targets) {
    const taken = findFolderByName(sql, target.name);
    if (taken && !movingIds.has(taken.folder)) return err({ kind: 'folder_exists' });
    const targetFault = findNameFault(target.name);
    if (targetFault) return err({ kind: 'bad_folder_name', reason: targetFault });
  }
  const made = makeParent(sql, name, now);
  if (!made.ok) return made;
  const spelled = made.value;
  // Renaming takes two steps. With one, a new name that differs from an old one only in case would conflict with it.
  for (const { row } of targets) execute(sql, setKey, { folder: row.folder, nameKey: `\u0000${row.folder}` });
  for (const { row } of targets) {
    const path = spelled + row.name.slice(folder.name.length);
    execute(sql, setName, { folder: row.folder, name: path, nameKey: toNameKey(path) });
    recordChange(sql, { type: 'folder_updated', folder_id: row.folder_id }, now);
  }
  return ok({ ...folder, name: spelled });
}

/**
 * Creates the parent folder of a path if it is missing.
 * @returns the path, with the parent's part spelt as in the parent's name.
 */
function makeParent(sql: SqlStorage, name: string, now: number): Result<string, FolderError> {
  const slash = name.lastIndexOf('/');
  if (slash === -1) return ok(name);
  const existing = findFolderByName(sql, name.slice(0, slash));
  const parent = existing ? ok(existing) : createFolder(sql, name.slice(0, slash), now);
  return parent.ok ? ok(parent.value.name + name.slice(slash)) : parent;
}

const listUnder = statement<{ folder: number; from: string; before: string }, StoredFolder>(
  `SELECT ${COLUMNS} FROM folder WHERE folder = :folder OR (role IS NULL AND name_key >= :from AND name_key < :before)`,
);

/** @returns the folder and all its subfolders. */
export function listSubtree(sql: SqlStorage, folder: FolderRow): FolderRow[] {
  const key = toNameKey(folder.name);
  // "0" is the character after "/", so the range contains all names that begin with the folder's name and "/".
  return [...execute(sql, listUnder, { folder: folder.folder, from: `${key}/`, before: `${key}0` })];
}

/** Adds the count of delivered messages of a deleted folder to that of the Archive, so that the ledger's totals do not shrink. */
const keepDelivered = statement<{ folder: number }>(
  `UPDATE folder SET delivered = delivered + (SELECT delivered FROM folder WHERE folder = :folder) WHERE role = 'archive'`,
);
const remove = statement<{ folder: number }>('DELETE FROM folder WHERE folder = :folder');

/** Removes the row of a folder whose messages were already moved. */
export function removeFolder(sql: SqlStorage, folder: FolderRow, now: number): void {
  execute(sql, keepDelivered, { folder: folder.folder });
  execute(sql, remove, { folder: folder.folder });
  recordChange(sql, { type: 'folder_deleted', folder_id: folder.folder_id }, now);
}
