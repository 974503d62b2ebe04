/**
 * Loads the list: its first page, further pages while the user scrolls, a page after a jump, and changes since the last
 * read.
 */
import { fill, plural } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { announce, showError } from '../../shared/toasts.tsx';
import { describeAddress } from './addresses.ts';
import { loadFolders, loadMessages, type Summary, searchMessages } from './api.ts';
import { changeCount, changesSettled, waiting } from './change-queue.ts';
import { FIRST_PAGE_MESSAGES } from './first-reads.ts';
import { noticeLabels } from './labels.ts';
import { isVirtualFolder, type MailboxState, mailbox, type Source, setMessages } from './mailbox.ts';
import { appendToRows, findRowShift, groupByThread, rowCount, toMessageOffset } from './rows.ts';
import { signOutIfUnauthorized } from './session.ts';
import { applyWaiting, forgetAddresses, toSummary } from './summaries.ts';

const t = mailTexts.changes;

const PAGE_MESSAGES = 200;
/** Distance in rows: if the visible rows come this close to an end of the loaded part, the next page is read. */
const READ_AHEAD_ROWS = 40;
/** Distance in rows: if the visible rows are farther than this from the loaded part, the rows between are skipped. */
const JUMP_ROWS = 200;
/** Overlap of the page above with the loaded part, in messages. It allows for messages that came or left since. */
const OVERLAP_MESSAGES = 20;

let folderReads = 0;

export async function refreshFolders(): Promise<void> {
  folderReads += 1;
  const read = folderReads;
  try {
    const folders = await loadFolders();
    // Ignore the answer if a newer request has started, because its counts would be older than those of the newer one.
    if (read === folderReads) mailbox.set({ folders });
  } catch (error) {
    signOutIfUnauthorized(error);
  }
}

export function refreshAll(): void {
  void refreshFolders();
  void refreshList();
}

async function fetchPage(source: Source, from: { cursor: string | null } | { offset: number }, limit: number) {
  const page =
    source.kind === 'folder'
      ? await loadMessages(source.folderId, from, limit)
      : await searchMessages(source.q, 'cursor' in from ? from.cursor : null, limit);
  noticeLabels(page.data);
  const folderId = source.kind === 'folder' && !isVirtualFolder(source.folderId) ? source.folderId : null;
  return { ...page, data: applyWaiting(page.data.map(toSummary), waiting.get().changes, folderId) };
}
type ReadPage = Awaited<ReturnType<typeof fetchPage>>;

const TOP = { start: 0, firstRow: 0, shift: 0, cursor: null, error: null, activeId: null, leftRow: null };

export async function openSource(source: Source): Promise<void> {
  forgetAddresses();
  setMessages([], { ...TOP, source, isLoading: true, selected: new Set() });
  try {
    const page = await fetchPage(source, { cursor: null }, FIRST_PAGE_MESSAGES);
    if (mailbox.get().source === source)
      setMessages(page.data, { cursor: page.next_cursor, isLoading: false, error: null });
  } catch (error) {
    signOutIfUnauthorized(error);
    if (mailbox.get().source === source) mailbox.set({ isLoading: false, error: (error as Error).message });
  }
}

/** Number of messages in the open folder; 0 for a search, whose total is unknown. */
export const totalOf = ({ source, folders }: MailboxState): number =>
  source?.kind === 'folder' ? (folders.find((one) => one.id === source.folderId)?.total ?? 0) : 0;

/**
 * Reads rows that are missing around the visible ones. Skips no rows while some are selected, so that these stay
 * loaded.
 */
export async function loadAround(first: number, last: number): Promise<void> {
  const { source, rows, firstRow, start, cursor, isLoading, selected } = mailbox.get();
  if (!source || isLoading) return;
  const end = firstRow + rows.length;
  const isFar =
    source.kind === 'folder' && selected.size === 0 && (first > end + JUMP_ROWS || last < firstRow - JUMP_ROWS);
  if (isFar) await read(source, (now) => jump(source, now, first));
  else if (cursor !== null && last > end - READ_AHEAD_ROWS) await read(source, () => readBelow(source, cursor));
  else if (start > 0 && first < firstRow + READ_AHEAD_ROWS) await read(source, (now) => readAbove(source, now));
}

/** Runs one read of the list. @param work reads a page and returns a function that applies it to the list. */
async function read(source: Source, work: (now: MailboxState) => Promise<(now: MailboxState) => void>): Promise<void> {
  mailbox.set({ isLoading: true });
  try {
    const apply = await work(mailbox.get());
    if (mailbox.get().source !== source) return;
    apply(mailbox.get());
    mailbox.set({ isLoading: false });
  } catch (error) {
    signOutIfUnauthorized(error);
    if (mailbox.get().source === source) mailbox.set({ isLoading: false });
    showError(error);
  }
}

async function readBelow(source: Source, cursor: string) {
  const page = await fetchPage(source, { cursor }, PAGE_MESSAGES);
  return ({ messages, rows }: MailboxState) => {
    // A page begins after the last loaded message. The two overlap only if the list changed meanwhile.
    const tail = new Set(messages.slice(-2 * page.data.length).map((message) => message.id));
    const added = page.data.filter((message) => !tail.has(message.id));
    mailbox.set({ messages: [...messages, ...added], rows: appendToRows(rows, added), cursor: page.next_cursor });
  };
}

async function readAbove(source: Source, { start }: MailboxState) {
  const offset = Math.max(0, start - PAGE_MESSAGES + OVERLAP_MESSAGES);
  const page = await fetchPage(source, { offset }, PAGE_MESSAGES);
  return (now: MailboxState) => {
    const at = page.data.findIndex((message) => message.id === now.messages[0]?.id);
    // If too many messages were added or removed above, the page and the loaded part do not meet. Keep only the page.
    if (at === -1) replaceList(page, now, offset, now.firstRow);
    else updateList([...page.data.slice(0, at), ...now.messages], now, { start: offset });
  };
}

async function jump(source: Source, now: MailboxState, row: number) {
  const total = totalOf(now);
  const target = Math.max(0, row - READ_AHEAD_ROWS);
  const offset = Math.max(0, Math.min(toMessageOffset(now, total, target), total - PAGE_MESSAGES));
  const page = await fetchPage(source, { offset }, PAGE_MESSAGES);
  return (then: MailboxState) => replaceList(page, then, offset, target);
}

/** Replaces the loaded part of the list. Keeps the active row in `leftRow`, so that keys still act on it. */
function replaceList(page: ReadPage, now: MailboxState, start: number, row: number): void {
  const rows = groupByThread(page.data);
  const isEnd = page.next_cursor === null;
  const firstRow = start === 0 ? 0 : Math.max(1, isEnd ? rowCount(now, totalOf(now)) - rows.length : row);
  const leftRow = [...now.rows, ...(now.leftRow ? [now.leftRow] : [])].find((one) => one.threadId === now.activeId);
  mailbox.set({
    ...{ messages: page.data, rows, start, firstRow, cursor: page.next_cursor, error: null },
    leftRow: leftRow ?? null,
  });
}

/** Updates the loaded part of the list. Visible rows keep their place on the screen, unless the list is at its top. */
function updateList(messages: Summary[], now: MailboxState, more: { start?: number; cursor?: string | null }): void {
  const rows = groupByThread(messages);
  const start = more.start ?? now.start;
  const moved = findRowShift(now.rows, rows);
  const firstRow = start === 0 ? 0 : Math.max(1, now.firstRow - moved);
  const isTop = now.start === 0;
  mailbox.set({
    ...{ messages, rows, ...more, start, firstRow, error: null },
    shift: isTop ? now.shift : now.shift + firstRow + moved - now.firstRow,
  });
}

/** Announces new mail to screen readers. */
function announceArrivals(now: MailboxState, newest: readonly Summary[]): void {
  if (now.isLoading || now.start > 0) return;
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
  const one = fill(t.newMail, { from: describeAddress(first.from), subject: first.subject });
  announce(arrived.length === 1 ? one : `${plural(mailTexts.counts.newMessages, arrived.length)}. ${one}`);
}

/** Reads the first page of the loaded part again and merges it: new mail, changed flags, messages that left. */
export async function refreshList(): Promise<void> {
  const { source, start } = mailbox.get();
  if (!source) return;
  try {
    await changesSettled();
    // While changes wait for the network, do not read the list. It is read again when they are sent.
    if (waiting.get().isBlocked) return;
    const before = changeCount();
    const page = await fetchPage(source, { offset: start }, FIRST_PAGE_MESSAGES);
    const now = mailbox.get();
    if (now.source !== source) return;
    // If a change was queued or ended meanwhile, this page may still contain a removed message. Read it again.
    if (changeCount() !== before || now.start !== start) return await refreshList();
    announceArrivals(now, page.data);
    const oldest = page.data.at(-1);
    // The page has all messages down to its last one. Loaded messages below that stay as they are.
    const fresh = new Set(page.data.map((message) => message.id));
    const from =
      oldest && page.next_cursor !== null ? now.messages.findIndex((message) => message.id === oldest.id) : -1;
    const rest = from === -1 ? [] : now.messages.slice(from + 1).filter((message) => !fresh.has(message.id));
    updateList([...page.data, ...rest], now, { cursor: rest.length > 0 ? now.cursor : page.next_cursor });
  } catch (error) {
    signOutIfUnauthorized(error);
  }
}
