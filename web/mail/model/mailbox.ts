/** State of the mailbox in this tab: folders, the loaded part of the open list, and its selection. */
import { createStore } from '../../shared/store.ts';
import type { Folder, FolderRole, Summary } from './api.ts';
import { groupByThread, patchRows, type Row } from './rows.ts';
import { toSummary } from './summaries.ts';

/** Source of the list: a folder or the result of a search. */
export type Source = { kind: 'folder'; folderId: string } | { kind: 'search'; q: string };

export interface MailboxState {
  folders: Folder[];
  source: Source | null;
  /** The loaded rows: a part of the list without gaps, newest first. */
  messages: Summary[];
  rows: Row[];
  /** Number of messages in the folder above the loaded rows. `firstRow` estimates how many rows they make. */
  start: number;
  firstRow: number;
  /**
   * Sum of the rows by which loaded rows have moved down so far. The list scrolls by the same distance, so that rows keep their
   * place.
   */
  shift: number;
  cursor: string | null;
  isLoading: boolean;
  error: string | null;
  /** Thread id of the active row, on which keys act. */
  activeId: string | null;
  /** The active row, if a jump removed it from `rows`. */
  leftRow: Row | null;
  selected: ReadonlySet<string>;
  /** All messages of the list or of one sender, which were selected with the rows `of`. It ends with that selection. */
  whole: { of: ReadonlySet<string>; messages: readonly Summary[] } | null;
  /** Whether the messages for `whole` are being read. */
  isSelecting: boolean;
}

const EMPTY_MAILBOX: MailboxState = {
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
  whole: null,
  isSelecting: false,
};

export const mailbox = createStore<MailboxState>(EMPTY_MAILBOX);

/** Clears everything at sign-out: the next user of this browser may be another person. */
export const forgetMailbox = (): void => mailbox.set(EMPTY_MAILBOX);

export const folderByRole = (role: FolderRole): Folder | undefined =>
  mailbox.get().folders.find((folder) => folder.role === role);

const ROLE_ORDER: FolderRole[] = ['inbox', 'flagged', 'drafts', 'sent', 'archive', 'all', 'junk', 'trash'];

/** Sorts folders. @returns the folders with a role in their fixed order, then the others by name. */
export const sortFolders = (folders: readonly Folder[]): Folder[] => {
  const position = (folder: Folder) => (folder.role ? ROLE_ORDER.indexOf(folder.role) : ROLE_ORDER.length);
  return folders.toSorted((a, b) => position(a) - position(b) || a.name.localeCompare(b.name));
};

export function setMessages(messages: Summary[], more: Partial<MailboxState> = {}): void {
  mailbox.set({ messages, rows: groupByThread(messages), ...more });
}

/**
 * Updates messages in place, and removes those for which `update` returns null. Rebuilds only the rows of changed
 * threads.
 */
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

/** All and Flagged show messages that are stored in other folders. */
export function isVirtualFolder(folderId: string): boolean {
  const role = mailbox.get().folders.find((folder) => folder.id === folderId)?.role;
  return role === 'all' || role === 'flagged';
}

/** A conversation that was opened by its address may not be in the loaded list. Keeps its row, so that keys and buttons act on it. */
export function noteOpenedRow(threadId: string, messages: readonly Summary[]): void {
  const { activeId, rows, leftRow } = mailbox.get();
  if (activeId !== threadId || leftRow?.threadId === threadId || rows.some((row) => row.threadId === threadId)) return;
  const [row] = groupByThread(messages.toReversed());
  mailbox.set({ leftRow: row ?? null });
}
