/** Addresses of conversations: `#/inbox/t/<thread>`, and `#/search/t/<thread>?q=` in a search. */
import { type Route, readRoute, toHash } from '../../shared/hash-route.ts';
import { mailbox } from '../model/mailbox.ts';
import { view } from '../model/view.ts';

const MARK = 't';

/** Returns the conversation that the address names. */
export const threadOf = ({ parts }: Route): string | null =>
  parts[0] !== 'settings' && parts[1] === MARK ? (parts[2] ?? null) : null;

/** Returns the address of the list that is open. */
export const listHash = (): string => {
  const { parts, query } = readRoute();
  const isConversation = threadOf(readRoute()) !== null;
  return toHash(isConversation || parts.length === 0 ? [parts[0] ?? 'inbox'] : parts, Object.fromEntries(query));
};

/** Returns the address of a conversation in the list that is open. */
export function threadHash(threadId: string): string {
  const { parts, query } = readRoute();
  const list = parts[0] === undefined || parts[0] === 'register' ? 'inbox' : parts[0];
  return toHash([list, MARK, threadId], Object.fromEntries(query));
}

/** Opens the conversation that the address names, or closes the open one if it names none. */
export function showAddressed(): void {
  const threadId = threadOf(readRoute());
  if (view.get().threadId !== threadId) view.set({ threadId, messageId: null });
  if (threadId !== null && mailbox.get().activeId !== threadId) mailbox.set({ activeId: threadId });
}
