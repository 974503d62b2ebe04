/**
 * Mailing lists that the user has left. The server marks two messages: the one that was open, and the newest one of the list. A
 * search for the mark shows that a list was left, and which of its messages arrived later.
 */
import { toListQuery } from '../../../workers/mail/domain/list-query.ts';
import { callJson, type Page } from '../../shared/api.ts';
import { loadMessage, type Message, type Summary } from './api.ts';
import { UNSUBSCRIBED_LABEL } from './labels.ts';

/** Time within which a list should stop. Gmail asks senders for the same. */
const GRACE_MS = 48 * 3_600_000;

/** `arriving`: the list has sent for longer than `GRACE_MS` after the user left it. */
export type ListState = 'member' | 'left' | 'arriving';

/** When the newest marked message of a list arrived, by the query that finds the list. */
const marks = new Map<string, Promise<string | null>>();

/** After the user left a list, and at sign-out. */
export const forgetLists = (): void => marks.clear();

async function findNewest(q: string, { list_id: listId, from }: Message): Promise<Summary | null> {
  const { data } = await callJson<Page<Summary>>(`/v1/messages?sort=newest&limit=10&q=${encodeURIComponent(q)}`);
  if (listId !== null) return data[0] ?? null;
  for (const one of data.filter((other) => other.from?.email === from?.email)) {
    // The sender may also have lists with an id, which are others.
    const found = await loadMessage(one.id);
    if (found.unsubscribe && found.list_id === null) return one;
  }
  return null;
}

function findMark(list: string, message: Message): Promise<string | null> {
  const known = marks.get(list);
  if (known) return known;
  const reading = findNewest(`${list} label:${UNSUBSCRIBED_LABEL}`, message).then((one) => one?.received_at ?? null);
  marks.set(list, reading);
  // The next message asks again.
  reading.catch(() => marks.delete(list));
  return reading;
}

export async function readListState(message: Message): Promise<ListState> {
  if (message.labels.includes(UNSUBSCRIBED_LABEL)) return 'left';
  const list = message.unsubscribe && toListQuery(message.list_id, message.from?.email ?? null);
  const mark = list && (await findMark(list, message));
  if (!mark) return 'member';
  const end = Date.parse(message.received_at) - GRACE_MS;
  if (Date.parse(mark) >= end) return 'left';
  // A message without the mark, after a marked one, came after the user left. The time between the two is unknown.
  const later = `${list} after:${mark} before:${new Date(end).toISOString()} -label:${UNSUBSCRIBED_LABEL}`;
  return (await findNewest(later, message)) ? 'arriving' : 'left';
}
