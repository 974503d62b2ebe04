/** The mailbox as this tab knows it: folders, the open list and what is chosen in it. */
import { createStore } from '../../shared/store.ts';
import type { Folder, FolderRole, Summary } from './api.ts';
import { groupByThread, patchRows, type Row } from './rows.ts';
import { toSummary } from './summaries.ts';

/** What the list shows: a folder, or the answer of a search. */
export type Source = { kind: 'folder'; folderId: string } | { kind: 'search'; q: string };

export interface MailboxState {
  folders: Folder[];
  source: Source | null;
  /** An unbroken piece of the list, newest first. */
  messages: Summary[];
  rows: Row[];
  /** How many messages of the folder stand above them, and about how many rows. */
  start: number;
  firstRow: number;
  /** Grows by so many rows as what is drawn has moved down in the list. */
  shift: number;
  cursor: string | null;
  isLoading: boolean;
  error: string | null;
  /** Thread id of the row that keys act on. */
  activeId: string | null;
  /** That row, where the list was left for another place of it. */
  leftRow: Row | null;
  selected: ReadonlySet<string>;
}

const NOTHING: MailboxState = {
  folders: [],
  source: null,
  messages: [],
  rows: [],
  start: 0,
  firstRow: 0,
  shift: 0,
  cursor: null,
  isLoading: false,
  error: null,
  activeId: null,
  leftRow: null,
  selected: new Set(),
};

export const mailbox = createStore<MailboxState>(NOTHING);

/** Forgets what was seen: the next person at this browser may be another. */
export const forgetMailbox = (): void => mailbox.set(NOTHING);

export const folderByRole = (role: FolderRole): Folder | undefined =>
  mailbox.get().folders.find((folder) => folder.role === role);

const ROLE_ORDER: FolderRole[] = ['inbox', 'flagged', 'drafts', 'sent', 'archive', 'all', 'junk', 'trash'];

/** @returns the folders with a role in their fixed order, then the others by name. */
export const sortFolders = (folders: readonly Folder[]): Folder[] => {
  const place = (folder: Folder) => (folder.role ? ROLE_ORDER.indexOf(folder.role) : ROLE_ORDER.length);
  return folders.toSorted((a, b) => place(a) - place(b) || a.name.localeCompare(b.name));
};

export function setMessages(messages: Summary[], more: Partial<MailboxState> = {}): void {
  mailbox.set({ messages, rows: groupByThread(messages), ...more });
}

/** Changes some messages in place: null takes one out. What a long list costs does not depend on its length alone. */
export function updateMessages(ids: ReadonlySet<string>, update: (message: Summary) => Summary | null): void {
  const { messages, rows } = mailbox.get();
  const threads = new Set<string>();
  const next: Summary[] = [];
  for (const message of messages) {
    if (!ids.has(message.id)) next.push(message);
    else {
      threads.add(message.thread_id);
      const updated = update(message);
      if (updated) next.push(updated);
    }
  }
  if (threads.size > 0) mailbox.set({ messages: next, rows: patchRows(rows, threads, next) ?? groupByThread(next) });
}

export function replaceSummary(id: string, summary: Summary | null): void {
  const { source } = mailbox.get();
  const isGone = (message: Summary) =>
    source?.kind === 'folder' && message.folder_id !== source.folderId && !isVirtualFolder(source.folderId);
  updateMessages(new Set([id]), (message) => {
    if (summary === null) return null;
    const merged = { ...message, ...toSummary(summary) };
    return isGone(merged) ? null : merged;
  });
}

/** All and Flagged hold messages of other folders. */
export function isVirtualFolder(folderId: string): boolean {
  const role = mailbox.get().folders.find((folder) => folder.id === folderId)?.role;
  return role === 'all' || role === 'flagged';
}
