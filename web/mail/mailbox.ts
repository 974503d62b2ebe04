/**
 * The mailbox as this tab knows it: folders, the open list and what is chosen in it. Changes are shown at once and told to
 * the server behind; a refusal brings the server's truth back.
 */
import { formatNumber } from '../shared/format.ts';
import { createStore } from '../shared/store.ts';
import { announce, showError, showToast } from '../shared/toasts.tsx';
import { describeAddress } from './addresses.ts';
import {
  type BatchPatch,
  eraseMessages,
  type Folder,
  type FolderRole,
  loadFolders,
  loadMessages,
  type Patch,
  patchMessages,
  type Summary,
  searchMessages,
} from './api.ts';
import { changeCount, changesTold, tellInOrder } from './change-queue.ts';
import { appendToRows, groupByThread, patchRows, putBack, type Row } from './rows.ts';
import { noteError } from './session.ts';
import { forgetPeople, toSummary } from './summaries.ts';

/** What the list shows: a folder, or the answer of a search. */
export type Source = { kind: 'folder'; folderId: string } | { kind: 'search'; q: string };

export interface MailboxState {
  folders: Folder[];
  source: Source | null;
  messages: Summary[];
  rows: Row[];
  cursor: string | null;
  isLoading: boolean;
  error: string | null;
  /** Thread id of the row that keys act on. */
  activeId: string | null;
  selected: ReadonlySet<string>;
}

const NOTHING: MailboxState = {
  folders: [],
  source: null,
  messages: [],
  rows: [],
  cursor: null,
  isLoading: false,
  error: null,
  activeId: null,
  selected: new Set(),
};

export const mailbox = createStore<MailboxState>(NOTHING);

/** Forgets what was seen: the next person at this browser may be another. */
export function forgetMailbox(): void {
  lastUndo = null;
  mailbox.set(NOTHING);
}

const PAGE_SIZE = 100;
/** What one batch of changes may name. */
const BATCH_MAX = 1_000;

export const folderByRole = (role: FolderRole): Folder | undefined =>
  mailbox.get().folders.find((folder) => folder.role === role);

function setMessages(messages: Summary[], more: Partial<MailboxState> = {}): void {
  mailbox.set({ messages, rows: groupByThread(messages), ...more });
}

/** Changes some messages in place: null takes one out. What a long list costs does not depend on its length alone. */
function updateMessages(ids: ReadonlySet<string>, update: (message: Summary) => Summary | null): void {
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

let folderReads = 0;

export async function refreshFolders(): Promise<void> {
  folderReads += 1;
  const read = folderReads;
  try {
    const folders = await loadFolders();
    // Counts of an older question say less than those that were asked for since.
    if (read === folderReads) mailbox.set({ folders });
  } catch (error) {
    noteError(error);
  }
}

async function fetchPage(source: Source, cursor: string | null, limit = PAGE_SIZE) {
  const page =
    source.kind === 'folder'
      ? await loadMessages(source.folderId, cursor, limit)
      : await searchMessages(source.q, cursor, limit);
  return { ...page, data: page.data.map(toSummary) };
}

export async function openSource(source: Source): Promise<void> {
  forgetPeople();
  setMessages([], { source, cursor: null, isLoading: true, error: null, activeId: null, selected: new Set() });
  await loadFirst(source);
}

async function loadFirst(source: Source): Promise<void> {
  try {
    const page = await fetchPage(source, null);
    if (mailbox.get().source === source)
      setMessages(page.data, { cursor: page.next_cursor, isLoading: false, error: null });
  } catch (error) {
    noteError(error);
    if (mailbox.get().source === source) mailbox.set({ isLoading: false, error: (error as Error).message });
  }
}

export async function loadMore(): Promise<void> {
  const { source, cursor, isLoading } = mailbox.get();
  if (!source || cursor === null || isLoading) return;
  mailbox.set({ isLoading: true });
  try {
    const page = await fetchPage(source, cursor, 200);
    if (mailbox.get().source !== source) return;
    const { messages, rows } = mailbox.get();
    // A page begins after the last message that is known; only a change of the list meanwhile lets them overlap.
    const tail = new Set(messages.slice(-2 * page.data.length).map((message) => message.id));
    const added = page.data.filter((message) => !tail.has(message.id));
    mailbox.set({
      messages: [...messages, ...added],
      rows: appendToRows(rows, added),
      cursor: page.next_cursor,
      isLoading: false,
    });
  } catch (error) {
    noteError(error);
    mailbox.set({ isLoading: false });
    showError(error);
  }
}

/** Says what has come to those who do not see it. */
function announceArrivals(now: MailboxState, newest: readonly Summary[]): void {
  if (now.isLoading) return;
  const known = new Set(now.messages.map((message) => message.id));
  const above = newest.slice(
    0,
    Math.max(
      0,
      newest.findIndex((message) => known.has(message.id)),
    ),
  );
  const arrived = (now.messages.length === 0 ? newest : above).filter((one) => !one.is_read && !one.is_draft);
  const first = arrived[0];
  if (!first) return;
  const one = `New mail from ${describeAddress(first.from)}: ${first.subject}`;
  announce(arrived.length === 1 ? one : `${formatNumber(arrived.length, 'new message')}. ${one}`);
}

/** Reads the newest page again and lays it over what is known: new mail, changed flags, messages that left. */
export async function refreshList(): Promise<void> {
  const { source } = mailbox.get();
  if (!source) return;
  try {
    await changesTold();
    const before = changeCount();
    const page = await fetchPage(source, null);
    const now = mailbox.get();
    if (now.source !== source) return;
    // Something was changed meanwhile, and this page does not know of it: a message would come back for a moment.
    if (changeCount() !== before) return await refreshList();
    announceArrivals(now, page.data);
    const oldest = page.data.at(-1);
    // Below the fetched page nothing is known to have changed; above its last message the page is the whole truth.
    const fresh = new Set(page.data.map((message) => message.id));
    const from =
      oldest && page.next_cursor !== null ? now.messages.findIndex((message) => message.id === oldest.id) : -1;
    const rest = from === -1 ? [] : now.messages.slice(from + 1).filter((message) => !fresh.has(message.id));
    setMessages([...page.data, ...rest], { cursor: rest.length > 0 ? now.cursor : page.next_cursor, error: null });
  } catch (error) {
    noteError(error);
  }
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

interface Undo {
  text: string;
  run: () => Promise<unknown>;
}
let lastUndo: Undo | null = null;

/** `z`: takes back the last thing that was done. */
export function undoLast(): void {
  const undo = lastUndo;
  lastUndo = null;
  if (!undo) {
    showToast('There is nothing to undo.');
    return;
  }
  tellInOrder(undo.run).then(
    () => {
      refreshAll();
    },
    (error: unknown) => showError(error),
  );
}

export function offerUndo(text: string, run: () => Promise<unknown>, durationMs = 6000): void {
  lastUndo = { text, run };
  showToast(text, { action: { label: 'Undo', run: undoLast }, durationMs });
}

export function refreshAll(): void {
  void refreshFolders();
  void refreshList();
}

/** Labels belong to messages: one more or one less on each. */
export async function labelMessages(targets: Summary[], label: string, isOn: boolean): Promise<void> {
  const known = new Set(targets.map((message) => message.id));
  const relabel = (labels: string[]) => (isOn ? [...labels, label] : labels.filter((one) => one !== label));
  updateMessages(known, (message) => ({ ...message, labels: relabel(message.labels) }));
  await tellServer([...known], isOn ? { add_labels: [label] } : { remove_labels: [label] });
}

/** Changes messages here at once and on the server behind. */
export async function changeMessages(ids: string[], patch: Patch): Promise<void> {
  const { source } = mailbox.get();
  const leaves = patch.folder_id !== undefined && source?.kind === 'folder' && !isVirtualFolder(source.folderId);
  updateMessages(new Set(ids), (message) =>
    leaves && patch.folder_id !== message.folder_id ? null : { ...message, ...patch },
  );
  await tellServer(ids, patch);
}

async function tellServer(ids: string[], patch: BatchPatch): Promise<void> {
  try {
    for (let start = 0; start < ids.length; start += BATCH_MAX) {
      await tellInOrder(() => patchMessages(ids.slice(start, start + BATCH_MAX), patch));
    }
    void refreshFolders();
  } catch (error) {
    noteError(error);
    showError(error);
    refreshAll();
  }
}

/** Moves messages and offers to take it back. */
export async function moveMessages(messages: Summary[], folder: Folder): Promise<void> {
  const before = new Map<string, string[]>();
  for (const message of messages) {
    before.set(message.folder_id, [...(before.get(message.folder_id) ?? []), message.id]);
  }
  const { source, messages: then } = mailbox.get();
  offerUndo(`${formatNumber(messages.length, 'message')} moved to ${folder.name}.`, async () => {
    // Far down in a long list no reading of its top would bring them back.
    const { source: shown, messages: now } = mailbox.get();
    if (shown === source) setMessages(putBack(now, then, new Set(messages.map((message) => message.id))));
    for (const [folderId, ids] of before) {
      for (let start = 0; start < ids.length; start += BATCH_MAX) {
        await patchMessages(ids.slice(start, start + BATCH_MAX), { folder_id: folderId });
      }
    }
  });
  await changeMessages(
    messages.map((message) => message.id),
    { folder_id: folder.id },
  );
}

/** Trash, and out of the Trash for good. */
export async function trashMessages(messages: Summary[]): Promise<void> {
  const trash = folderByRole('trash');
  if (!trash) return;
  const inTrash = messages.filter((message) => message.folder_id === trash.id);
  if (inTrash.length === 0) {
    await moveMessages(messages, trash);
    return;
  }
  if (!confirm(`Erase ${formatNumber(inTrash.length, 'message')} for good?`)) return;
  const gone = new Set(inTrash.map((message) => message.id));
  updateMessages(gone, () => null);
  try {
    const ids = inTrash.map((message) => message.id);
    for (let start = 0; start < ids.length; start += BATCH_MAX) {
      await tellInOrder(() => eraseMessages(ids.slice(start, start + BATCH_MAX)));
    }
    showToast(`${formatNumber(inTrash.length, 'message')} erased.`);
  } catch (error) {
    showError(error);
  }
  refreshAll();
}
