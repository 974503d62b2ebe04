/** Folders with the counts that JMAP mailboxes have (RFC 8621 §2). */
import { execute, type RowOf, statement } from '../../../workers/shared/stores/statement.ts';
import type { FolderRole } from '../contract/folders.ts';
import type { JmapFolder } from '../contract/jmap.ts';
import { readRows } from '../database/store.ts';
import { isHidden, listFolders } from '../messages/folder-store.ts';
import type { folder } from '../messages/schema.ts';

/**
 * Threads are counted only in folders with at most this many messages. Other folders report their number of messages as that of
 * threads.
 */
export const COUNTED_MESSAGES_MAX = 2_000;

const listArrangement = statement<
  Record<never, never>,
  Pick<RowOf<typeof folder>, 'folder' | 'sort_order' | 'is_subscribed'>
>('SELECT folder, sort_order, is_subscribed FROM folder');

/** @param withThreads true to count threads too, which costs more reads. */
export function readJmapFolders(sql: SqlStorage, withThreads: boolean): JmapFolder[] {
  const arrangement = new Map([...execute(sql, listArrangement, {})].map((row) => [row.folder, row]));
  const folders = listFolders(sql);
  const unread = withThreads ? countUnreadThreads(sql, folders) : null;
  return folders.map((row) => ({
    folderId: row.folder_id,
    name: row.name,
    role: row.role,
    total: row.total,
    unread: row.unread,
    totalThreads: withThreads ? countThreads(sql, row.folder, row.total) : row.total,
    unreadThreads: unread?.(row.folder) ?? row.unread,
    sortOrder: arrangement.get(row.folder)?.sort_order ?? 0,
    isSubscribed: arrangement.get(row.folder)?.is_subscribed !== 0,
  }));
}

const countAll = statement<{ folder: number }, { count: number }>(
  `SELECT count(DISTINCT m.thread) AS count FROM message_folder AS f CROSS JOIN message AS m ON m.position = f.position
   WHERE f.folder = :folder`,
);

function countThreads(sql: SqlStorage, folder: number, total: number): number {
  return total === 0 || total > COUNTED_MESSAGES_MAX ? total : execute(sql, countAll, { folder }).one().count;
}

const listUnread = statement<
  Record<never, never>,
  { thread: number; folder: number; also_in: string | null; is_unread_visible: number; is_unread_hidden: number }
>(
  `SELECT m.thread, m.folder, m.also_in, u.is_unread_visible, u.is_unread_hidden
   FROM (SELECT thread, max(is_visible) AS is_unread_visible, max(1 - is_visible) AS is_unread_hidden
         FROM message INDEXED BY message_unread WHERE is_read = 0 GROUP BY thread) AS u
   CROSS JOIN message AS m INDEXED BY message_thread ON m.thread = u.thread`,
);

/**
 * Counts unread threads per folder. A thread is unread in each folder that has one of its messages, whichever of its messages is
 * unread. But unread messages in Junk and Trash count only in these folders.
 */
function countUnreadThreads(
  sql: SqlStorage,
  folders: ReturnType<typeof listFolders>,
): (folder: number) => number | null {
  const unread = folders
    .filter(({ role }) => role === null || !isViewRole(role))
    .reduce((sum, row) => sum + row.unread, 0);
  if (unread > COUNTED_MESSAGES_MAX) return () => null;
  const hidden = new Set(folders.filter(isHidden).map(({ folder }) => folder));
  const threads = new Map<number, Set<number>>();
  for (const row of readRows(execute(sql, listUnread, {}))) {
    const places = [row.folder, ...(row.also_in === null ? [] : (JSON.parse(row.also_in) as number[]))];
    for (const place of places) {
      if ((hidden.has(place) ? row.is_unread_hidden : row.is_unread_visible) !== 1) continue;
      threads.set(place, (threads.get(place) ?? new Set()).add(row.thread));
    }
  }
  return (folder) => threads.get(folder)?.size ?? 0;
}

const isViewRole = (role: FolderRole): boolean => role === 'all' || role === 'flagged';
