/** Selects every message of the open list, or those of one sender in it: also messages that are not loaded. */

import type { Page } from '../../shared/api.ts';
import { showError } from '../../shared/toasts.tsx';
import { loadMessages, type Summary, searchMessages } from './api.ts';
import { mailbox, type Source } from './mailbox.ts';

const PAGE_MESSAGES = 200;
/** Limit of the messages that can be selected at once. Their ids are in memory, and an undo needs all of them. */
const MESSAGES_MAX = 50_000;

const readPage = (source: Source, cursor: string | null): Promise<Page<Summary>> =>
  source.kind === 'folder'
    ? loadMessages(source.folderId, { cursor }, PAGE_MESSAGES)
    : searchMessages(source.q, cursor, PAGE_MESSAGES);

async function readAll(source: Source): Promise<Summary[]> {
  const messages = new Map<string, Summary>();
  let cursor: string | null = null;
  do {
    const page: Page<Summary> = await readPage(source, cursor);
    for (const message of page.data) messages.set(message.id, message);
    cursor = page.next_cursor;
    // The user has opened another list meanwhile.
    if (mailbox.get().source !== source) return [];
  } while (cursor !== null && messages.size < MESSAGES_MAX);
  return [...messages.values()];
}

/** @param sender address of the sender whose messages are meant; null for all messages. */
export async function selectWhole(sender: string | null): Promise<void> {
  const { source } = mailbox.get();
  if (!source) return;
  mailbox.set({ isSelecting: true });
  try {
    const all = await readAll(source);
    const messages = sender === null ? all : all.filter((message) => message.from?.email === sender);
    const threads = new Set(messages.map((message) => message.thread_id));
    const of = new Set(mailbox.get().rows.flatMap(({ threadId }) => (threads.has(threadId) ? threadId : [])));
    if (mailbox.get().source === source) mailbox.set({ selected: of, whole: { of, messages } });
  } catch (error) {
    showError(error);
  } finally {
    mailbox.set({ isSelecting: false });
  }
}

/** The messages of the whole selection, while the selection is still the same. */
export function findWhole(): readonly Summary[] | null {
  const { whole, selected } = mailbox.get();
  return whole?.of === selected ? whole.messages : null;
}
