/**
 * The user's own messages in conversations. They are read from the newest of Sent, because rows of other folders do not contain
 * them.
 */
import { createStore } from '../../shared/store.ts';
import { loadMessages, type Summary } from './api.ts';
import { folderByRole, mailbox } from './mailbox.ts';
import type { Row } from './rows.ts';
import { toSummary } from './summaries.ts';

/** Number of newest messages of Sent that are read. Older replies are not marked in the list. */
const READ_MAX = 200;

type Threads = ReadonlyMap<string, readonly Summary[]>;
export const ownReplies = createStore<{ threads: Threads }>({ threads: new Map() });

let lastKey = '';

/** Reads the newest messages of Sent again if that folder has changed. */
async function readOwnReplies(): Promise<void> {
  const sent = folderByRole('sent');
  const key = sent ? `${sent.id} ${sent.total}` : '';
  if (!sent || key === lastKey) return;
  lastKey = key;
  try {
    const threads = new Map<string, Summary[]>();
    for (const message of (await loadMessages(sent.id, { cursor: null }, READ_MAX)).data.map(toSummary)) {
      const known = threads.get(message.thread_id);
      if (known) known.push(message);
      else threads.set(message.thread_id, [message]);
    }
    if (key === lastKey) ownReplies.set({ threads });
  } catch {
    // A failed read is ignored: the list works without the marks, and the next change of Sent reads them again.
    if (key === lastKey) lastKey = '';
  }
}

export function watchOwnReplies(): () => void {
  void readOwnReplies();
  const stop = mailbox.subscribe(() => void readOwnReplies());
  return () => {
    stop();
    lastKey = '';
    ownReplies.set({ threads: new Map() });
  };
}

/** The people of a conversation, as its row shows them. */
export interface RowPeople {
  /** Names of all who wrote, in the order of their first messages. */
  names: string[];
  /** Number of known messages in the conversation, including the user's own. */
  count: number;
  isAnsweredLast: boolean;
  /** The last person who is not the user; null if there is none. */
  other: Summary['from'];
}

/** Shortens a name to the given name if there are several people. */
const toShortName = (name: string): string => (name.includes('@') ? name : (name.split(/\s+/)[0] ?? name));

/** Describes the people of a row. @param own the user's addresses. @param me the word for the user, such as "me". */
export function describeRow(row: Row, replies: readonly Summary[], own: readonly string[], me: string): RowPeople {
  const here = new Set(row.messages.map((message) => message.id));
  const all = [...row.messages, ...replies.filter((message) => !here.has(message.id))].toSorted((a, b) =>
    a.received_at < b.received_at ? -1 : 1,
  );
  const addresses = new Set(own.map((address) => address.toLowerCase()));
  const isOwn = ({ from }: Summary) => from !== null && addresses.has(from.email.toLowerCase());
  const names = [
    ...new Set(all.map((message) => (isOwn(message) ? me : message.from?.name || message.from?.email || '?'))),
  ];
  const newest = all.at(-1);
  return {
    names: names.length > 1 ? names.map(toShortName) : names,
    count: all.length,
    other: all.findLast((message) => !isOwn(message))?.from ?? null,
    isAnsweredLast: newest !== undefined && isOwn(newest) && all.length > 1,
  };
}
