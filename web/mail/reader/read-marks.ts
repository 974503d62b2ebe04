/** Marks the messages of the open conversation as read. */
import { useEffect, useRef } from 'react';
import type { Message } from '../model/api.ts';
import { isOffline } from '../model/change-queue.ts';
import { changeMessages } from '../model/changes.ts';
import { mailbox } from '../model/mailbox.ts';

const READ_AFTER_MS = 600;

/** Whether the list says that a message is read. Without a network, the stored conversation may be older than the list. */
const isReadInList = (threadId: string, id: string): boolean =>
  mailbox
    .get()
    .rows.find((row) => row.threadId === threadId)
    ?.messages.some((message) => message.id === id && message.is_read) ?? false;

/** Marks each message only once. If the user marks it as unread later, it stays unread. */
export function useReadMarks(threadId: string, messages: readonly Message[] | null | undefined): void {
  const seen = useRef(new Set<string>());
  useEffect(() => {
    const unread =
      messages?.flatMap((message) => (message.is_read || seen.current.has(message.id) ? [] : message.id)) ?? [];
    if (unread.length === 0) return;
    const timer = setTimeout(() => {
      for (const id of unread) seen.current.add(id);
      const marked = unread.filter((id) => !(isOffline() && isReadInList(threadId, id)));
      if (marked.length > 0) void changeMessages(marked, { is_read: true });
    }, READ_AFTER_MS);
    return () => clearTimeout(timer);
  }, [messages, threadId]);
}
