/** Reading the list: its first page, what comes near as one scrolls, a jump far away, and what changed meanwhile. */
import { formatNumber } from '../../shared/format.ts';
import { announce, showError } from '../../shared/toasts.tsx';
import { describeAddress } from './addresses.ts';
import { loadFolders, loadMessages, type Summary, searchMessages } from './api.ts';
import { changeCount, changesTold } from './change-queue.ts';
import { type MailboxState, mailbox, type Source, setMessages } from './mailbox.ts';
import { appendToRows, groupByThread, moveOfRows, rowCount, toMessageOffset } from './rows.ts';
import { noteError } from './session.ts';
import { forgetPeople, toSummary } from './summaries.ts';

const FIRST_PAGE = 100;
const PAGE = 200;
/** Rows from an end of what is known at which the next page is asked for. */
const AHEAD = 40;
/** Rows from there at which one has left for another place, and what lies between is not read. */
const FAR = 200;
/** Messages that may have come or gone above, unheard of, when the page above is asked for. */
const SLACK = 20;

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

export function refreshAll(): void {
  void refreshFolders();
  void refreshList();
}

async function fetchPage(source: Source, from: { cursor: string | null } | { offset: number }, limit: number) {
  const page =
    source.kind === 'folder'
      ? await loadMessages(source.folderId, from, limit)
      : await searchMessages(source.q, 'cursor' in from ? from.cursor : null, limit);
  return { ...page, data: page.data.map(toSummary) };
}
type ReadPage = Awaited<ReturnType<typeof fetchPage>>;

const TOP = { start: 0, firstRow: 0, shift: 0, cursor: null, error: null, activeId: null, leftRow: null };

export async function openSource(source: Source): Promise<void> {
  forgetPeople();
  setMessages([], { ...TOP, source, isLoading: true, selected: new Set() });
  try {
    const page = await fetchPage(source, { cursor: null }, FIRST_PAGE);
    if (mailbox.get().source === source)
      setMessages(page.data, { cursor: page.next_cursor, isLoading: false, error: null });
  } catch (error) {
    noteError(error);
    if (mailbox.get().source === source) mailbox.set({ isLoading: false, error: (error as Error).message });
  }
}

/** What the open folder holds; of a search nobody knows. */
export const totalOf = ({ source, folders }: MailboxState): number =>
  source?.kind === 'folder' ? (folders.find((one) => one.id === source.folderId)?.total ?? 0) : 0;

/** Reads what is missing where these rows are to be drawn. What is chosen stays known: then nothing is jumped over. */
export async function readAround(first: number, last: number): Promise<void> {
  const { source, rows, firstRow, start, cursor, isLoading, selected } = mailbox.get();
  if (!source || isLoading) return;
  const end = firstRow + rows.length;
  const isFar = source.kind === 'folder' && selected.size === 0 && (first > end + FAR || last < firstRow - FAR);
  if (isFar) await read(source, (now) => jump(source, now, first));
  else if (cursor !== null && last > end - AHEAD) await read(source, () => readBelow(source, cursor));
  else if (start > 0 && first < firstRow + AHEAD) await read(source, (now) => readAbove(source, now));
}

/** @param work asks the server, and answers how the list is then. */
async function read(source: Source, work: (now: MailboxState) => Promise<(now: MailboxState) => void>): Promise<void> {
  mailbox.set({ isLoading: true });
  try {
    const lay = await work(mailbox.get());
    if (mailbox.get().source !== source) return;
    lay(mailbox.get());
    mailbox.set({ isLoading: false });
  } catch (error) {
    noteError(error);
    if (mailbox.get().source === source) mailbox.set({ isLoading: false });
    showError(error);
  }
}

async function readBelow(source: Source, cursor: string) {
  const page = await fetchPage(source, { cursor }, PAGE);
  return ({ messages, rows }: MailboxState) => {
    // A page begins after the last message that is known; only a change of the list meanwhile lets them overlap.
    const tail = new Set(messages.slice(-2 * page.data.length).map((message) => message.id));
    const added = page.data.filter((message) => !tail.has(message.id));
    mailbox.set({ messages: [...messages, ...added], rows: appendToRows(rows, added), cursor: page.next_cursor });
  };
}

async function readAbove(source: Source, { start }: MailboxState) {
  const offset = Math.max(0, start - PAGE + SLACK);
  const page = await fetchPage(source, { offset }, PAGE);
  return (now: MailboxState) => {
    const at = page.data.findIndex((message) => message.id === now.messages[0]?.id);
    // So much came or went above that the two pieces do not meet: what is below is read anew.
    if (at === -1) layAnew(page, now, offset, now.firstRow);
    else layOver([...page.data.slice(0, at), ...now.messages], now, { start: offset });
  };
}

async function jump(source: Source, now: MailboxState, row: number) {
  const total = totalOf(now);
  const target = Math.max(0, row - AHEAD);
  const offset = Math.max(0, Math.min(toMessageOffset(now, total, target), total - PAGE));
  const page = await fetchPage(source, { offset }, PAGE);
  return (then: MailboxState) => layAnew(page, then, offset, target);
}

/** In place of all that is known of the list. The row that is open stays within reach. */
function layAnew(page: ReadPage, now: MailboxState, start: number, row: number): void {
  const rows = groupByThread(page.data);
  const isEnd = page.next_cursor === null;
  const firstRow = start === 0 ? 0 : Math.max(1, isEnd ? rowCount(now, totalOf(now)) - rows.length : row);
  const leftRow = [...now.rows, ...(now.leftRow ? [now.leftRow] : [])].find((one) => one.threadId === now.activeId);
  mailbox.set({
    ...{ messages: page.data, rows, start, firstRow, cursor: page.next_cursor, error: null },
    leftRow: leftRow ?? null,
  });
}

/** The same piece of the list with news in it; what is drawn keeps its place, unless it is at the top. */
function layOver(messages: Summary[], now: MailboxState, more: { start?: number; cursor?: string | null }): void {
  const rows = groupByThread(messages);
  const start = more.start ?? now.start;
  const moved = moveOfRows(now.rows, rows);
  const firstRow = start === 0 ? 0 : Math.max(1, now.firstRow - moved);
  const isTop = now.start === 0;
  mailbox.set({
    ...{ messages, rows, ...more, start, firstRow, error: null },
    shift: isTop ? now.shift : now.shift + firstRow + moved - now.firstRow,
  });
}

/** Says what has come to those who do not see it. */
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
  const one = `New mail from ${describeAddress(first.from)}: ${first.subject}`;
  announce(arrived.length === 1 ? one : `${formatNumber(arrived.length, 'new message')}. ${one}`);
}

/** Reads the first page of what is known again and lays it over: new mail, changed flags, messages that left. */
export async function refreshList(): Promise<void> {
  const { source, start } = mailbox.get();
  if (!source) return;
  try {
    await changesTold();
    const before = changeCount();
    const page = await fetchPage(source, { offset: start }, FIRST_PAGE);
    const now = mailbox.get();
    if (now.source !== source) return;
    // Something was changed meanwhile, and this page does not know of it: a message would come back for a moment.
    if (changeCount() !== before || now.start !== start) return await refreshList();
    announceArrivals(now, page.data);
    const oldest = page.data.at(-1);
    // Below the fetched page nothing is known to have changed; above its last message the page is the whole truth.
    const fresh = new Set(page.data.map((message) => message.id));
    const from =
      oldest && page.next_cursor !== null ? now.messages.findIndex((message) => message.id === oldest.id) : -1;
    const rest = from === -1 ? [] : now.messages.slice(from + 1).filter((message) => !fresh.has(message.id));
    layOver([...page.data, ...rest], now, { cursor: rest.length > 0 ? now.cursor : page.next_cursor });
  } catch (error) {
    noteError(error);
  }
}
