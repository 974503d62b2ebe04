/** Folders and their counts. Eight have roles and exist from the start. All and Flagged are views. */
import { toNameKey } from '../../../workers/mail/domain/folder-name.ts';
import { err, ok, type Result } from '../../../workers/shared/result.ts';
import { recordChange } from '../change-store.ts';
import { first, type Row } from '../store.ts';
import { FOLDER_ROLES, type FolderRole, VIEW_ROLES } from './delivered-message.ts';

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

export interface FolderRow extends Row {
  folder: number;
  folder_id: string;
  name: string;
  role: FolderRole | null;
  total: number;
  unread: number;
}

const COLUMNS = 'folder, folder_id, name, role, total, unread';

export function createRoleFolders(sql: SqlStorage, now: number): void {
  for (const role of FOLDER_ROLES) {
    sql.exec(
      'INSERT OR IGNORE INTO folder (folder_id, name, name_key, role, created_at) VALUES (?, ?, ?, ?, ?)',
      crypto.randomUUID(),
      ROLE_NAMES[role],
      toNameKey(ROLE_NAMES[role]),
      role,
      now,
    );
  }
}

/** Lists Inbox first, then the other roles in RFC 6154's order, then the user's folders by name. Views have their own counts. */
export function listFolders(sql: SqlStorage): FolderRow[] {
  const rows = [...sql.exec<FolderRow>(`SELECT ${COLUMNS} FROM folder ORDER BY role IS NULL, folder, name_key`)];
  const own = rows.filter((row) => row.role === null).sort((a, b) => (toNameKey(a.name) < toNameKey(b.name) ? -1 : 1));
  const visible = rows.filter((row) => row.role !== 'junk' && row.role !== 'trash' && !isView(row));
  const all = {
    total: visible.reduce((sum, row) => sum + row.total, 0),
    unread: visible.reduce((sum, row) => sum + row.unread, 0),
  };
  return [...rows.filter((row) => row.role !== null), ...own].map((row) =>
    row.role === 'all' ? { ...row, ...all } : row,
  );
}

export const isView = (folder: { role: FolderRole | null }): boolean =>
  folder.role !== null && VIEW_ROLES.includes(folder.role);
/** True for Junk and Trash: not in All, not in a search without a folder, messages erased after 30 days. */
export const isHidden = (folder: { role: FolderRole | null }): boolean =>
  folder.role === 'junk' || folder.role === 'trash';

/** @param key a folder's id or role. */
export function findFolder(sql: SqlStorage, key: string): FolderRow | null {
  return first<FolderRow>(sql, `SELECT ${COLUMNS} FROM folder WHERE folder_id = ?1 OR role = ?1`, key);
}

export function findFolderByNumber(sql: SqlStorage, folder: number): FolderRow {
  const row = first<FolderRow>(sql, `SELECT ${COLUMNS} FROM folder WHERE folder = ?`, folder);
  if (!row) throw new Error(`folder ${folder} has messages but no row`);
  return row;
}

export function findFolderByName(sql: SqlStorage, name: string): FolderRow | null {
  return first<FolderRow>(sql, `SELECT ${COLUMNS} FROM folder WHERE name_key = ?`, toNameKey(name));
}

export function addToCounts(sql: SqlStorage, folder: number, total: number, unread: number): void {
  if (total === 0 && unread === 0) return;
  sql.exec('UPDATE folder SET total = total + ?, unread = unread + ? WHERE folder = ?', total, unread, folder);
}

/** The Flagged view's own counts: flagged messages outside Junk and Trash. */
export function addToFlaggedCounts(sql: SqlStorage, total: number, unread: number): void {
  if (total === 0 && unread === 0) return;
  sql.exec("UPDATE folder SET total = total + ?, unread = unread + ? WHERE role = 'flagged'", total, unread);
}

export type FolderError =
  | { readonly kind: 'no_folder' }
  | { readonly kind: 'folder_exists' }
  | { readonly kind: 'folder_fixed' }
  | { readonly kind: 'too_many_folders'; readonly max: number }
  | { readonly kind: 'bad_folder_name'; readonly reason: string };

/** Validates a path, then creates the folder and its missing parents. */
export function createFolder(sql: SqlStorage, name: string, now: number): Result<FolderRow, FolderError> {
  const fault = findNameFault(name);
  if (fault) return err({ kind: 'bad_folder_name', reason: fault });
  if (findFolderByName(sql, name)) return err({ kind: 'folder_exists' });
  const count = first<{ count: number }>(sql, 'SELECT count(*) AS count FROM folder')?.count ?? 0;
  const parts = name.split('/');
  if (count + parts.length > FOLDERS_MAX) return err({ kind: 'too_many_folders', max: FOLDERS_MAX });
  let path = '';
  for (const part of parts) {
    path = path === '' ? part : `${path}/${part}`;
    const existing = findFolderByName(sql, path);
    if (existing) {
      // An existing folder keeps its spelling, and folders in it use that spelling.
      path = existing.name;
      continue;
    }
    const folderId = crypto.randomUUID();
    sql.exec(
      'INSERT INTO folder (folder_id, name, name_key, created_at) VALUES (?, ?, ?, ?)',
      folderId,
      path,
      toNameKey(path),
      now,
    );
    recordChange(sql, { type: 'folder_created', folder_id: folderId }, now);
  }
  const created = findFolderByName(sql, name);
  return created ? ok(created) : err({ kind: 'no_folder' });
}

/** At most 10 parts of at most 100 characters each; no control characters; nothing under a view. */
export function findNameFault(name: string): string | null {
  const parts = name.split('/');
  if (parts.length > 10) return 'Folders can be nested at most 10 deep.';
  for (const part of parts) {
    if (part === '' || part !== part.trim()) return 'No part of the name may be empty, or begin or end with a space.';
    if (part.length > 100) return 'Each part of the name may have at most 100 characters.';
    if (/[\p{C}\p{Zl}\p{Zp}]/u.test(part)) return 'The name contains a character that cannot be displayed.';
  }
  // A wide "／" folds to "/", which would split one part in two.
  if (toNameKey(name).split('/').length !== parts.length)
    return 'The name contains a character that is equivalent to "/".';
  const root = toNameKey(parts[0] ?? '');
  if (VIEW_ROLES.some((role) => toNameKey(ROLE_NAMES[role]) === root)) return 'A view cannot contain folders.';
  return null;
}

/** Renames a folder that the user created, and everything under it. */
export function renameFolder(sql: SqlStorage, key: string, name: string, now: number): Result<FolderRow, FolderError> {
  const folder = findFolder(sql, key);
  if (!folder) return err({ kind: 'no_folder' });
  if (folder.role !== null) return err({ kind: 'folder_fixed' });
  const fault = findNameFault(name);
  if (fault) return err({ kind: 'bad_folder_name', reason: fault });
  if (toNameKey(name).startsWith(`${toNameKey(folder.name)}/`))
    return err({ kind: 'bad_folder_name', reason: 'A folder cannot lie in itself.' });
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
  // In two steps, so that a name of which only the case changes does not conflict with itself.
  for (const { row } of targets)
    sql.exec('UPDATE folder SET name_key = ? WHERE folder = ?', `\u0000${row.folder}`, row.folder);
  for (const { row } of targets) {
    const path = spelled + row.name.slice(folder.name.length);
    sql.exec('UPDATE folder SET name = ?, name_key = ? WHERE folder = ?', path, toNameKey(path), row.folder);
    recordChange(sql, { type: 'folder_updated', folder_id: row.folder_id }, now);
  }
  return ok({ ...folder, name: spelled });
}

/** Creates the parent folder of a path. @returns the path, with its beginning spelt as in the parent's name. */
function makeParent(sql: SqlStorage, name: string, now: number): Result<string, FolderError> {
  const slash = name.lastIndexOf('/');
  if (slash === -1) return ok(name);
  const existing = findFolderByName(sql, name.slice(0, slash));
  const parent = existing ? ok(existing) : createFolder(sql, name.slice(0, slash), now);
  return parent.ok ? ok(parent.value.name + name.slice(slash)) : parent;
}

/** @returns the folder and all folders under it. */
export function listSubtree(sql: SqlStorage, folder: FolderRow): FolderRow[] {
  const key = toNameKey(folder.name);
  return [
    ...sql.exec<FolderRow>(
      `SELECT ${COLUMNS} FROM folder WHERE folder = ?1 OR (role IS NULL AND name_key >= ?2 AND name_key < ?3)`,
      folder.folder,
      `${key}/`,
      `${key}0`,
    ),
  ];
}

/** Removes the row of a folder whose messages were moved before. */
export function removeFolder(sql: SqlStorage, folder: FolderRow, now: number): void {
  sql.exec('DELETE FROM folder WHERE folder = ?', folder.folder);
  recordChange(sql, { type: 'folder_deleted', folder_id: folder.folder_id }, now);
}
